"""The form of a judge's file: a board, labels of documents, or labels of answers.

Both have files of four and of six columns. Qrels have `0` or `Q0` in the second of them throughout, and a
board in the order `ranked`, which has that too, names runs of the reference in its third.
"""

import csv
import io
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.nuggets.packing import Part
from leaderboard.trec.nuggets.sets import is_counted
from leaderboard.trec.read.json_objects import LONG_LINES
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, numbered_lines, raw_lines, shown, text_of

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


Form = Literal["board", "labels", "nuggets", "assignments", "support", "argue"]
MOST_LINES = 1000
"""The number of lines inspected to recognise a file."""
_SECOND = (b"0", b"Q0", b"q0")

_RUN_IN = {4: 1, 6: 2}
"""Columns of a line -> where a board that looks like qrels has the run."""


def form_of(path: Path, runs: Collection[str], limits: Limits) -> Form:
    """The form of a judge's file; runs: of the reference. Any other file is read, and refused, as a board.

    Lines of another length do not make a board of labels: they are errors of that file.
    """
    are_labels = False
    for _, line in islice(raw_lines(path, limits), MOST_LINES):
        if line.lstrip().startswith(b"{"):
            return _form_of_object(line)
        fields = line.split()
        if line.startswith(b"#") or len(fields) not in _RUN_IN:
            continue
        if fields[1] not in _SECOND or text_of(fields[_RUN_IN[len(fields)]]) in runs:
            return "board"
        are_labels = True
    return "labels" if are_labels else "board"


def split_parts(path: Path, first: Part, folder: Path, limits: Limits) -> dict[Part, Path]:
    """The parts of answers' labels in a file of JSON lines: the file itself, or where it has several, files.

    Each of these has its lines where they were, so that their numbers are the same. first: what the first
    line is; other lines belong to the part before them, whose reader reports errors.
    """
    lines = replace(limits, line_bytes=LONG_LINES.line_bytes)
    parts = list(dict.fromkeys(part for _, part, _ in _parted(path, first, lines)))
    if len(parts) <= 1:
        return {first: path}
    files = {part: folder / f"{part}.jsonl" for part in parts}
    with ExitStack() as stack:
        opened = {part: stack.enter_context(file.open("wb")) for part, file in files.items()}
        written = dict.fromkeys(parts, 0)
        for number, part, line in _parted(path, first, lines):
            opened[part].write(b"\n" * (number - 1 - written[part]) + line + b"\n")
            written[part] = number
    return files


def _parted(path: Path, first: Part, limits: Limits) -> Iterator[tuple[int, Part, bytes]]:
    """Number, part and bytes of each line that is not blank."""
    part = first
    for number, line in raw_lines(path, limits):
        if line.strip():
            form = _form_of_object(line)
            part = form if form != "board" and form != "labels" else part
            yield number, part, line


def _form_of_object(line: bytes) -> Form:
    """The form of JSON lines, by the keys of the first."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return "board"
    if not isinstance(record, dict) or "measure" in record:
        return "board"
    if "judgments" in record or "report" in record or is_counted(record):
        return "argue"
    if "sentences" in record or "support_label" in record or "status" in record:
        return "support"
    given = record.get("nuggets")
    if isinstance(given, list):
        is_assigned = any(isinstance(entry, dict) and "assignment" in entry for entry in given)
        return "assignments" if is_assigned or "run_id" in record else "nuggets"
    return "nuggets" if "nugget_bank" in record else "board"
