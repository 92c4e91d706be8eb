"""The record that every table of the site is: columns that say how a row is shown and written."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from datetime import date
from enum import Flag, auto
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Annotated, Any, Final, Generic, TypeVar, cast, get_args, get_origin, get_type_hints

from leaderboard.errors import NotFound

Row = TypeVar("Row")
Page = TypeVar("Page")
BY_TYPE: Final = -1
"""Decimals that go by the type of a field: 0 of a whole number, 4 of any other, None of a text."""


class Place(Flag):
    """Places where a column is shown."""

    PAGE = auto()
    """In HTML."""
    DATA = auto()
    """In JSON and CSV, at full precision."""
    PRINT = auto()
    """In LaTeX and Markdown."""
    EVERYWHERE = PAGE | DATA | PRINT


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column of a table.

    value gives the plain value of a row at full precision: text, a number, True, False or None. Where people
    read the table, numbers have `digits` decimals (0 for whole numbers, None for text), or the cell is what
    `words` makes of the row.
    """

    key: str
    """Its name in files."""
    value: Callable[[Row], Any]
    head: str = ""
    """Its name for readers; the key where this is empty."""
    _: KW_ONLY
    digits: int | None = None
    unit: str = ""
    words: Callable[[Row], str | None] | None = None
    title: str = ""
    """One more sentence on the head of the column."""
    lower_is_better: bool = False
    bold: Callable[[Row], bool] | None = None
    """Whether a row's cell is set in bold in print."""
    mark: Callable[[Row], str] | None = None
    """Small mark behind a row's cell in print: a glyph such as a dagger, or letters."""
    shown: Place = Place.EVERYWHERE
    group: str = ""
    """Group of columns, such as `measure`, whose cells and heads templates write alike."""

    @property
    def written_as(self) -> str:
        """By what name a template gives its cells and its head."""
        return self.group or self.key

    @property
    def heading(self) -> str:
        """Heading above the column.

        >>> Column(key="latency_ms", value=len, head="Latency", unit="ms").heading
        'Latency (ms)'
        """
        name = self.head or self.key
        return f"{name} ({self.unit})" if self.unit else name

    @property
    def is_number(self) -> bool:
        """Whether its cells are numbers, which are set to the right."""
        return self.digits is not None

    def printed(self, row: Row) -> Any:
        """Printed form of a row: its words, else its value."""
        return self.value(row) if self.words is None else self.words(row)


@dataclass(frozen=True, slots=True)
class Shown:
    """A record's field as a column, in its annotation: `Annotated[int, Shown("Rank")]`.

    A field without one is a column too: under its own name, with the decimals of its type.
    """

    title: str = ""
    """Its name for readers; that of its key where this is empty."""
    key: str = ""
    """Its name in files; the field's own where this is empty."""
    help: str = ""
    digits: int | None = BY_TYPE
    shown: Place = Place.EVERYWHERE
    group: str = ""
    unit: str = ""


def columns_from(record: type[Row], *parts: "str | Column[Row]") -> "list[Column[Row]]":
    """The columns of a table whose rows are of a record: names of its fields between spaces, and columns.

    Without parts these are all its fields. A name with points leads into the record that a field holds;
    a property counts as a field. Raises AttributeError for a name that the record does not have.

    >>> @dataclass
    ... class Pet:
    ...     name: Annotated[str, Shown("Who")]
    ...     age_in_years: int
    >>> [(column.key, column.heading, column.digits) for column in columns_from(Pet)]
    [('name', 'Who', None), ('age_in_years', 'Age in years', 0)]
    """
    if not parts:
        parts = tuple(each.name for each in fields(record))  # type: ignore[arg-type]
    columns: list[Column[Row]] = []
    held = cast(Hashable, record)
    for part in parts:
        columns += [part] if isinstance(part, Column) else [_column(held, name) for name in part.split()]
    return columns


@cache
def _column(record: Any, path: str) -> Column[Any]:
    hint: Any = record
    for name in path.split("."):
        hint = _hint(_kind(hint), name)
    about = next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Shown)), Shown())
    key = about.key or path.rpartition(".")[2]
    return Column(
        key,
        attrgetter(path),
        about.title or key.replace("_", " ").capitalize(),
        digits={int: 0, float: 4}.get(_kind(hint)) if about.digits == BY_TYPE else about.digits,
        unit=about.unit,
        title=about.help,
        shown=about.shown,
        group=about.group,
    )


def _hint(holder: type, name: str) -> Any:
    hints = _hints(holder)
    return hints[name] if name in hints else _hints(getattr(holder, name).fget)["return"]


@cache
def _hints(of: Any) -> dict[str, Any]:
    return get_type_hints(of, include_extras=True)


def _kind(hint: Any) -> Any:
    """The type of a value that is so annotated where it is not None; of a row's column that of its values."""
    # By its name, as tables know no database.
    if get_origin(hint) is Annotated or getattr(get_origin(hint), "__name__", "") == "Mapped":
        return _kind(get_args(hint)[0])
    if NoneType in get_args(hint):
        return next(_kind(each) for each in get_args(hint) if each is not NoneType)
    return get_origin(hint) or hint


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """A table: its rows, what their columns are, and one line that says what it shows.

    >>> ages = Table(name="ages", caption="Ages.", rows=["a", "bb"], columns=[Column(key="age", value=len)])
    >>> ages.facts()
    [{'age': 1}, {'age': 2}]
    """

    name: str
    """The name of its files without their ending, and its label in LaTeX."""
    caption: str
    columns: Sequence[Column[Row]]
    rows: Sequence[Row]
    legend: str = ""
    """Explanation of the marks behind the caption in print."""

    def shown(self, place: Place) -> list[Column[Row]]:
        """The columns that are shown in a place, in order."""
        return [column for column in self.columns if place in column.shown]

    def data(self) -> tuple[list[str], list[list[Any]]]:
        """Keys and plain values of all rows, as CSV has them; moments as ISO 8601 writes them.

        >>> from datetime import UTC, datetime
        >>> days = [Column(key="day", value=lambda day: datetime(2026, 12, day, tzinfo=UTC))]
        >>> Table(name="days", caption="Days.", rows=[1], columns=days).data()
        (['day'], [['2026-12-01T00:00:00+00:00']])
        """
        columns = self.shown(Place.DATA)
        return [column.key for column in columns], [
            [_plain(column.value(row)) for column in columns] for row in self.rows
        ]

    def facts(self) -> list[dict[str, Any]]:
        """Every row as keys and plain values, for JSON."""
        keys, rows = self.data()
        return [dict(zip(keys, row, strict=True)) for row in rows]


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


@dataclass(frozen=True, slots=True)
class Files(Generic[Page]):
    """A page as files: its facts as JSON, and its tables by name, the main one first."""

    facts: Callable[[Page], Mapping[str, Any]]
    tables: Mapping[str, Callable[[Page], Table[Any]]]

    def table(self, page: Page, name: str | None) -> Table[Any]:
        """The table of that name, the usual one for None; raises NotFound for an unknown name."""
        chosen = next(iter(self.tables)) if name is None else name
        if chosen not in self.tables:
            names = ", ".join(self.tables)
            raise NotFound(f"This page has no table {chosen[:40]!r}; it has {names}.")
        return self.tables[chosen](page)
