"""The record of a table: what of it stands where, and which of a page's tables is asked for."""

import pytest

from leaderboard.errors import NotFound
from leaderboard.tables.record import Column, Files, Place, Table
from leaderboard.tables.text import csv_text


def _table(page: str) -> Table[str]:
    columns: list[Column[str]] = [
        Column(key="letter", value=lambda row: row),
        Column(key="code", value=ord, digits=0, shown=Place.DATA),
        Column(key="shown", head="Code", value=ord, words=lambda row: f"#{ord(row)}", shown=~Place.DATA),
    ]
    return Table(name="letters", caption="Letters.", columns=columns, rows=page)


def test_a_column_stands_only_where_it_is_shown() -> None:
    """Data have plain values, pages and print have words."""
    table = _table("a=")
    assert [column.key for column in table.shown(Place.PAGE)] == ["letter", "shown"]
    assert table.data() == (["letter", "code"], [["a", 97], ["=", 61]])
    assert table.facts()[0] == {"letter": "a", "code": 97}
    assert [column.printed("a") for column in table.shown(Place.PRINT)] == ["a", "#97"]
    assert csv_text(table) == "letter,code\r\na,97\r\n'=,61\r\n"


def test_a_page_has_a_usual_table_and_refuses_unknown_ones() -> None:
    """The first table is the usual one; a name that is unknown is answered with those that are known."""
    files: Files[str] = Files(facts=lambda page: {"letters": page}, tables={"one": _table, "two": _table})
    assert files.table("a", None).name == "letters"
    assert files.table("a", "two").rows == "a"
    with pytest.raises(NotFound, match="it has one, two"):
        files.table("a", "three")
