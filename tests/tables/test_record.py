"""The record of a table: what of it stands where, and which of a page's tables is asked for."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from leaderboard.errors import NotFound
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from, csv_text


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


@dataclass(frozen=True)
class _Team:
    name: Annotated[str, Shown("Team", key="team")]


@dataclass(frozen=True)
class _Row:
    of: _Team | None
    place: Annotated[int | None, Shown("Rank", help="The best is 1.", shown=~Place.DATA, unit="of all")]
    mean_score: float
    is_late: bool = False
    seconds: Annotated[float | None, Shown(digits=1, group="times")] = None

    @property
    def doubled(self) -> Annotated[int, Shown(shown=Place.DATA)]:
        return 2 * (self.place or 0)


def test_columns_come_from_fields_in_the_order_that_is_asked_for() -> None:
    """Fields, fields of a record in a field, properties and columns; by type where nothing is said."""
    late: Column[_Row] = Column("late", lambda row: "late" if row.is_late else "")
    columns = columns_from(_Row, "of.name place mean_score", late, "seconds doubled")
    told = [(column.key, column.heading, column.digits) for column in columns]
    assert told == [
        ("team", "Team", None),
        ("place", "Rank (of all)", 0),
        ("mean_score", "Mean score", 4),
        ("late", "late", None),
        ("seconds", "Seconds", 1),
        ("doubled", "Doubled", 0),
    ]
    assert (columns[1].title, columns[1].shown, columns[4].group) == ("The best is 1.", ~Place.DATA, "times")
    table = Table("rows", "Rows.", columns, [_Row(_Team("Owls"), 3, 0.5)])
    assert table.data() == (
        ["team", "mean_score", "late", "seconds", "doubled"],
        [["Owls", 0.5, "", None, 6]],
    )


def test_all_fields_are_columns_unless_some_are_named() -> None:
    """A name that the record does not have is a fault of the program."""
    keys = [column.key for column in columns_from(_Row)]
    assert keys == ["of", "place", "mean_score", "is_late", "seconds"]
    with pytest.raises(AttributeError, match="nothing"):
        columns_from(_Row, "place nothing")
