"""Tables as Markdown: pipes, as GitHub, GitLab, Jupyter and pandoc read them."""

import re
from collections.abc import Sequence
from typing import Any

from leaderboard.tables.record import Column, Place, Table, cell_text, seen, stands_right


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


ABSENT = "–"
_SPECIAL = re.compile(
    r"[\\`*_\[\]<>&|~^$]|(?<=https):(?=//)|(?<=http):(?=//)|(?<=\w)@(?=[A-Za-z])|(?<=www)\."
)
"""Characters that would be read as markup, a tag, an entity, a cell border or a link."""


def markdown_text(table: Table[Any]) -> str:
    """A table with its caption, with heads, cells and caption verbatim.

    Numbers have the decimals of their column and are right-aligned. None, and any number that is not finite,
    is a dash. The best is bold; marks are superscript.

    >>> from leaderboard.tables.record import Column, Table
    >>> run = Column(key="run", value=lambda row: row[0])
    >>> score = Column(key="AP", value=lambda row: row[1], digits=4)
    >>> rows = [("a|1", 0.25), ("b", None)]
    >>> print(markdown_text(Table(name="t", caption="Two.", columns=[run, score], rows=rows)))
    | run | AP |
    | :-- | --: |
    | a\\|1 | 0.2500 |
    | b | – |
    <BLANKLINE>
    Table: Two.
    <BLANKLINE>
    """
    columns = table.shown(Place.PRINT)
    values = [[column.printed(row) for row in table.rows] for column in columns]
    cells = [
        [_marked(column, row, value) for row, value in zip(table.rows, shown, strict=True)]
        for column, shown in zip(columns, values, strict=True)
    ]
    rules = [
        "--:" if stands_right(column, shown) else ":--" for column, shown in zip(columns, values, strict=True)
    ]
    lines = [
        _line([_head(column) for column in columns]),
        _line(rules),
        *map(_line, zip(*cells, strict=True)),
    ]
    return "\n".join([*lines, "", f"Table: {escaped(f'{table.caption} {table.legend}')}", ""])


def escaped(text: str) -> str:
    """The text in a line of Markdown that shows it letter by letter, also in a cell.

    >>> print(escaped("a_1 | <b> [x](y)"), escaped("http://a.b"))
    a\\_1 \\| \\<b\\> \\[x\\](y) http\\://a.b
    """
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", seen(" ".join(text.split())))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _head(column: Column[Any]) -> str:
    return escaped(column.heading) + (" ↓" if column.lower_is_better else "")


def _marked(column: Column[Any], row: Any, value: Any) -> str:
    text = cell_text(column, value)
    if text is None:
        return ABSENT
    text = escaped(text)
    if column.bold is not None and column.bold(row):
        text = f"**{text}**"
    mark = "" if column.mark is None else column.mark(row)
    return f"{text}<sup>{mark}</sup>" if mark else text
