"""Every run against every other, as cells of a table: screen readers know rows and columns of one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.scales import shorten

LONGEST_NAME = 22
KINDS = {1: ("better", "▲"), 0: ("undecided", "·"), -1: ("worse", "▼")}


@dataclass(frozen=True, slots=True)
class Cell:
    """A row's run against a column's: kind, its sign, what it says as text, and lines of numbers."""

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

    notes (n, n) follow the verdict in a cell's tooltip, lines (n, n) are written into the
    cells, hrefs are the links of the runs' names and cell_hrefs those of cells. The diagonal is not read.
    Raises ValueError where the shape is not n by n.

    >>> found = matrix(["a", "b"], [[0, 1], [-1, 0]], notes=[["", "p = .01"], ["p = .01", ""]])
    >>> [cell.label for cell in found.rows[0].cells]
    ['', 'a is significantly better than b: p = .01']
    """
    count = len(names)
    if len(verdicts) != count or any(len(row) != count for row in verdicts):
        raise ValueError(f"{count} runs need {count} rows of {count} verdicts")

    def cell(row: int, column: int) -> Cell:
        if row == column:
            return Cell("self", "", "", (), None)
        kind, sign = KINDS[verdicts[row][column]]
        phrases = {
            "better": "is significantly better than",
            "worse": "is significantly worse than",
            "undecided": "is not significantly different from",
        }
        note = f": {notes[row][column]}" if notes else ""
        return Cell(
            kind=kind,
            sign=sign,
            label=f"{names[row]} {phrases[kind]} {names[column]}{note}",
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


STEPS = 10
SIDES = 3


def heat_step(value: float, low: float, high: float) -> str:
    """One of ten equal steps from low to high; values outside take the nearer end.

    >>> [heat_step(value, 0.0, 1.0) for value in (0.0, 0.55, 1.0)], heat_step(3.0, 3.0, 3.0)
    (['step-0', 'step-5', 'step-9'], 'step-0')
    """
    share = (value - low) / (high - low) if high > low else 0.0
    return f"step-{min(max(math.floor(share * STEPS + 1e-9), 0), STEPS - 1)}"


def heat_difference(value: float, widest: float) -> str:
    """One of seven equal steps from -widest to widest, the middle one around zero.

    >>> [heat_difference(value, 0.3) for value in (-0.3, 0.01, 0.1, 9.0)]
    ['down-3', 'level', 'up-1', 'up-3']
    """
    steps = 2 * SIDES + 1
    reach = math.ceil(abs(value) / widest * steps / 2 - 0.5 - 1e-9) if widest > 0 else 0
    if reach <= 0:
        return "level"
    return f"{'up' if value > 0 else 'down'}-{min(reach, SIDES)}"


def heat_bounds(low: float, high: float) -> tuple[tuple[str, float, float], ...]:
    """Every step with its ends, lowest first, as a legend names them.

    >>> heat_bounds(0.0, 1.0)[5]
    ('step-5', 0.5, 0.6)
    """
    width = (high - low) / STEPS
    return tuple(
        (f"step-{step}", round(low + step * width, 12), round(low + (step + 1) * width, 12))
        for step in range(STEPS)
    )


def heat_difference_bounds(widest: float) -> tuple[tuple[str, float, float], ...]:
    """Every step of differences with its ends, lowest first.

    >>> [(name, round(low, 2), round(high, 2)) for name, low, high in heat_difference_bounds(0.35)][2:4]
    [('down-1', -0.15, -0.05), ('level', -0.05, 0.05)]
    """
    width = 2 * widest / (2 * SIDES + 1)
    names = [
        *(f"down-{step}" for step in range(SIDES, 0, -1)),
        "level",
        *(f"up-{step}" for step in range(1, SIDES + 1)),
    ]
    return tuple(
        (name, round(-widest + step * width, 12), round(-widest + (step + 1) * width, 12))
        for step, name in enumerate(names)
    )
