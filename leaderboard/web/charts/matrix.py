"""Every run against every other, as cells of a table: screen readers know rows and columns of one."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.scales import shorten

LONGEST_NAME = 22
KINDS = {1: ("better", "▲"), 0: ("undecided", "·"), -1: ("worse", "▼")}


@dataclass(frozen=True, slots=True)
class Cell:
    """A row's run against a column's: kind, its sign, what it says in words, and lines of numbers."""

    kind: str
    sign: str
    label: str
    lines: tuple[str, ...]
    href: str | None


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A run against all, the columns in the same order as the rows."""

    name: str
    full_name: str
    href: str | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows in the order given; roomy where cells carry numbers."""

    roomy: bool
    rows: tuple[MatrixRow, ...]


def matrix(
    names: Sequence[str],
    verdicts: Sequence[Sequence[int]],
    *,
    notes: Sequence[Sequence[str]] | None = None,
    lines: Sequence[Sequence[tuple[str, ...]]] | None = None,
    hrefs: Sequence[str | None] | None = None,
    cell_hrefs: Sequence[Sequence[str | None]] | None = None,
) -> Matrix:
    """verdicts[i][j] is 1 where run i is better than run j, -1 where it is worse, 0 where undecided.

    notes (n, n) are said after the verdict when a cell is pointed at, lines (n, n) are written into the
    cells, hrefs are where the runs' names lead and cell_hrefs where cells do. The diagonal is not read.
    Raises ValueError where the shape is not n by n.

    >>> found = matrix(["a", "b"], [[0, 1], [-1, 0]], notes=[["", "p = .01"], ["p = .01", ""]])
    >>> [cell.label for cell in found.rows[0].cells]
    ['', 'a is better than b: p = .01']
    """
    count = len(names)
    if len(verdicts) != count or any(len(row) != count for row in verdicts):
        raise ValueError(f"{count} runs need {count} rows of {count} verdicts")

    def cell(row: int, column: int) -> Cell:
        if row == column:
            return Cell("self", "", "", (), None)
        kind, sign = KINDS[verdicts[row][column]]
        said = {
            "better": "is better than",
            "worse": "is worse than",
            "undecided": "cannot be told apart from",
        }
        note = f": {notes[row][column]}" if notes else ""
        return Cell(
            kind=kind,
            sign=sign,
            label=f"{names[row]} {said[kind]} {names[column]}{note}",
            lines=lines[row][column] if lines else (),
            href=cell_hrefs[row][column] if cell_hrefs else None,
        )

    return Matrix(
        roomy=lines is not None,
        rows=tuple(
            MatrixRow(
                name=shorten(name, LONGEST_NAME),
                full_name=name,
                href=hrefs[row] if hrefs else None,
                cells=tuple(cell(row, column) for column in range(count)),
            )
            for row, name in enumerate(names)
        ),
    )
