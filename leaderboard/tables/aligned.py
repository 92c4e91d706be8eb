"""Tables as lines of a terminal: cells under each other."""

from collections.abc import Sequence
from typing import Any

from leaderboard.tables.record import Column, Place, Table, cell_text, stands_right


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The rows as lines, the first columns flush left and the others right.

    >>> aligned([["run", "AP"], ["a", "0.25"]])
    ['run    AP', 'a    0.25']
    """
    return _lines(rows, [place >= left for place in range(len(rows[0]))])


def table_lines(table: Table[Any], absent: str = "") -> list[str]:
    """A table as lines under its heads, numbers flush right; absent: text for missing values.

    No line where it is empty.

    >>> age = Column(key="age", value=lambda row: row[0])
    >>> table_lines(Table(name="t", caption="", rows=[(1,), (None,)], columns=[age]), "none")
    [' age', '   1', 'none']
    """
    if not table.rows:
        return []
    columns = table.shown(Place.PRINT)
    right = [stands_right(column, [column.printed(row) for row in table.rows]) for column in columns]
    cells = [[_cell(column, row) or absent for column in columns] for row in table.rows]
    return _lines([[column.heading for column in columns], *cells], right)


def _cell(column: Column[Any], row: Any) -> str:
    text = cell_text(column, column.printed(row))
    if text is None:
        return ""
    return text if column.mark is None else f"{text} {column.mark(row)}".rstrip()


def _lines(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def four_decimals(value: float | None) -> str:
    """A number with four decimals, or `undefined`."""
    return "undefined" if value is None else f"{value:.4f}"
