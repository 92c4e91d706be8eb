"""Tables as Markdown: pipes, as GitHub, GitLab, Jupyter and pandoc read them."""

import re
from collections.abc import Sequence
from typing import Any

from leaderboard.tables.record import Column, Place, Table, cell_text, seen, stands_right

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
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", seen(" ".join(text.split())))


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
