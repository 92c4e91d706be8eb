"""Cells as lines of a terminal."""

from collections.abc import Sequence
from typing import Any

from leaderboard.tables.cells import cell_text, stands_right
from leaderboard.tables.record import Place, Table


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The rows as lines, the first columns flush left and the others right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def table_lines(table: Table[Any]) -> list[str]:
    """A table with its heads, text flush left and numbers right; no line where it is empty."""
    if not table.rows:
        return []
    columns = table.shown(Place.PRINT)
    rows = [[cell_text(column, column.printed(row)) or "" for column in columns] for row in table.rows]
    right = [stands_right(column, [column.value(row) for row in table.rows]) for column in columns]
    widths = [
        max(len(line[place]) for line in ([column.heading for column in columns], *rows))
        for place in range(len(columns))
    ]
    return [
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in ([column.heading for column in columns], *rows)
    ]
