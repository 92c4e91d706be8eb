"""Lists that say which file of many is whose run: CSV with the columns run, team, kind and reproduces."""

import csv
import io
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem
from leaderboard.services.phase_rules import KINDS
from leaderboard.services.runs.prepare import suggested_name
from leaderboard.trec.read.bundles import base_name
from leaderboard.trec.read.lines import shown

LIST_BYTES = 500_000
NUMBER = re.compile("[1-9][0-9]{0,8}")
_COLUMNS = ("run", "team")


@dataclass(frozen=True, slots=True)
class ListRow:
    """What a list says of one run: by file name or tag, whose it is, its kind, and what it reproduces.

    kind: '' where it says none; reproduces: the number of the original, '' where it says none.
    """

    line: int
    run: str
    team: str
    kind: str
    reproduces: str = ""


@dataclass(frozen=True, slots=True)
class RunList:
    """The rows of a list."""

    rows: tuple[ListRow, ...]

    def row_of(self, names: Collection[str]) -> ListRow | None:
        """The row of the file that goes by these names, the most telling first; None without one."""
        # A list may name files with endings that were taken off since, or the other way round.
        by_run = {suggested_name(row.run): row for row in self.rows} | {row.run: row for row in self.rows}
        found = (by_run.get(name) for name in names)
        return next((row for row in found if row is not None), None)

    def without(self, used: Collection[ListRow]) -> tuple[ListRow, ...]:
        """The rows that are not among these."""
        return tuple(row for row in self.rows if row not in used)


def is_list(path: Path, name: str) -> bool:
    """Whether a file is a list: CSV by its name, whose first line names the columns run and team."""
    if not name.lower().endswith((".csv", ".tsv")) or path.stat().st_size > LIST_BYTES:
        return False
    with path.open("rb") as file:
        head = file.readline(1000).decode("utf-8-sig", "replace")
    return set(_COLUMNS) <= {cell.strip().lower() for cell in _cells(head)[0]} if head.strip() else False


def read_list(text: str) -> RunList:
    """The list in a text: columns run, team and perhaps kind and reproduces, by commas, tabs or semicolons.

    Raises Invalid with up to 25 problems: a column or a cell that is missing, an unknown kind, an original
    that is no number, a run twice.
    """
    rows = [[cell.strip() for cell in row] for row in _cells(text.removeprefix("\ufeff"))]
    head = [cell.lower() for cell in rows[0]] if rows else []
    missing = [column for column in _COLUMNS if column not in head]
    if missing:
        problem = Problem(f"The list has no column {missing[0]}.", "Its first line is run,team,kind.", 1)
        raise Invalid(str(problem), [problem])
    found: dict[str, ListRow] = {}
    problems: list[Problem] = []
    for line, cells in enumerate(rows[1:], start=2):
        if any(cells):
            row = _row(line, dict(zip(head, cells, strict=False)))
            problems += _wrong(row, found.get(row.run))
            found.setdefault(row.run, row)
    if problems:
        raise Invalid(f"The list cannot be used: {problems[0]}", problems[:MAX_PROBLEMS])
    return RunList(tuple(found.values()))


def _cells(text: str) -> list[list[str]]:
    first = text.split("\n", 1)[0]
    separator = next((letter for letter in "\t;" if letter in first), ",")
    try:
        return list(csv.reader(io.StringIO(text), delimiter=separator))
    except csv.Error as error:
        raise Invalid(f"The list is not CSV ({error}). Save it as CSV and send it again.") from error


def _row(line: int, cells: dict[str, str]) -> ListRow:
    run, team, kind, original = (cells.get(name, "") for name in ("run", "team", "kind", "reproduces"))
    return ListRow(line, run, team, kind.lower(), original)


def _wrong(row: ListRow, earlier: ListRow | None) -> Iterator[Problem]:
    if not row.run or not row.team:
        yield Problem("A row names a run and its team.", "Fill in both.", row.line)
    if row.kind and row.kind not in KINDS:
        yield Problem(f"A kind is one of {', '.join(KINDS)}.", "", row.line, "kind", shown(row.kind))
    if row.reproduces and not NUMBER.fullmatch(row.reproduces):
        rule = "A run that is reproduced is named by its number."
        yield Problem(rule, "Such as 12, of /runs/12.", row.line, "reproduces", shown(row.reproduces))
    if earlier is not None and row.run:
        rule = f"The run is on line {earlier.line} already."
        yield Problem(rule, "Keep one of the two lines.", row.line, "run", shown(row.run))


def names_of(file_name: str, tag: str) -> tuple[str, ...]:
    """By what a list may call a file: its path, its name, that without endings, its tag."""
    base = base_name(file_name)
    return (file_name, base, suggested_name(base), tag)
