"""Declarations of runs and judges, as CSV: teams, language models, whether a judge saw the reference."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, numbered_lines, shown

_YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False, "": False}


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations of a run or judge; "" where not given.

    llm, reranker: models, as free text; saw_reference: whether it had the reference's nuggets or labels.
    """

    team: str = ""
    llm: str = ""
    reranker: str = ""
    saw_reference: bool = False


def read_declared(path: Path, of: str, limits: Limits = DEFAULT_LIMITS) -> Mapping[str, Declared]:
    """Name -> what it declares, from CSV with a heading whose column `of` (run or judge) has the names.

    The other columns are team, llm, reranker and saw_reference (yes or no), in any order; all may be left
    out. Raises Invalid for another column, for a name that is missing or comes twice, and for a line of
    another length.
    """
    text = io.StringIO("".join(f"{line}\n" for _, line in numbered_lines(path, limits)), newline="")
    rows = csv.reader(text)
    head = [name.strip().casefold() for name in next(rows, [])]
    strangers = [name for name in head if name not in (of, "team", "llm", "reranker", "saw_reference")]
    if of not in head or strangers or len(set(head)) < len(head):
        rule = f"The header must have {of} and may have team, llm, reranker and saw_reference, each once."
        raise _refused(path, Problem(rule, f"Such as {of},team,llm.", 1, "heading", shown(",".join(head))))
    by_name: dict[str, Declared] = {}
    for row in rows:
        if row:
            name, declared = _row(path, rows.line_num, dict(zip(head, map(str.strip, row), strict=False)), of)
            if len(row) != len(head) or name in by_name:
                rule = f"Each line must name a different {of} and have {len(head)} cells."
                raise _refused(path, Problem(rule, "", rows.line_num, of, shown(name)))
            by_name[name] = declared
    return by_name


def _row(path: Path, number: int, cells: Mapping[str, str], of: str) -> tuple[str, Declared]:
    name, saw = cells.get(of, ""), cells.get("saw_reference", "").casefold()
    if not name or saw not in _YES:
        rule = f"Each line must name a {of}; saw_reference must be yes or no."
        raise _refused(path, Problem(rule, "", number, "saw_reference" if name else of, shown(saw)))
    team, llm, reranker = (cells.get(column, "") for column in ("team", "llm", "reranker"))
    return name, Declared(team, llm, reranker, _YES[saw])


def _refused(path: Path, problem: Problem) -> Invalid:
    return Invalid(f"{path.name} cannot be read: {problem}", [problem])
