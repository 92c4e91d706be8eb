"""The record that every table of the site is: columns that say how a row is shown and written."""

import csv
import io
import json
import math
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from datetime import UTC, date, datetime
from enum import Flag, auto
from functools import cache
from math import isfinite
from operator import attrgetter
from types import NoneType
from typing import Annotated, Any, Final, Generic, TypeVar, cast, get_args, get_origin, get_type_hints

from leaderboard.errors import NotFound

Row = TypeVar("Row")
Page = TypeVar("Page")
BY_TYPE: Final = -1
"""Decimals that go by the type of a field: 0 for whole numbers, 4 for others, None for texts."""


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
    hashable = cast(Hashable, record)
    for part in parts:
        columns += [part] if isinstance(part, Column) else [_column(hashable, name) for name in part.split()]
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
        """Keys and plain values of all rows, as in CSV; moments as ISO 8601 writes them.

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


DIGITS = 4
"""Decimals of a number whose column says nothing else."""
DAGGER, DOUBLE_DAGGER, DOT = "†", "‡", "●"
"""Marks behind a cell; others are small letters."""
_UNSEEN = "?"
"""Represents what no font can show."""


def cell_text(column: Column[Any], value: Any) -> str | None:
    """A value with the decimals of its column, four where it says nothing; None where it is absent.

    >>> column = Column(key="AP", value=len, digits=2)
    >>> [cell_text(column, value) for value in (0.256, 12, True, "a", None, float("nan"))]
    ['0.26', '12', 'yes', 'a', None, None]
    """
    if value is None or value == "" or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{DIGITS if column.digits is None else column.digits}f}"
    return str(value)


def seen(text: str) -> str:
    """The text with a question mark for each letter that no font can show."""
    return "".join(
        letter if letter == " " or unicodedata.category(letter)[0] not in "CZ" else _UNSEEN for letter in text
    )


def stands_right(column: Column[Any], values: Sequence[Any]) -> bool:
    """Whether a column is one of numbers, by its record or by all its values that are there."""
    present = [value for value in values if value is not None]
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in present)
    return column.is_number or (bool(present) and are_numbers)


def lasting(seconds: float) -> str:
    """A duration in the largest unit that it has at least two of.

    >>> [lasting(seconds) for seconds in (7, 119, 7200, 200_000)]
    ['7 seconds', '119 seconds', '2 hours', '2 days']
    """
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return counted(int(seconds / size), unit)
    return counted(int(seconds), "second")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A count as text, with separators; the plural is the noun with an s unless it is given.

    >>> counted(1, "topic"), counted(1200, "run"), counted(0, "entry", "entries")
    ('1 topic', '1,200 runs', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def signed(change: int) -> str:
    """A change of a whole number, such as of a rank, with its sign.

    >>> signed(3), signed(-2), signed(0)
    ('+3', '−2', '0')
    """
    return f"{change:+d}".replace("-", "−") if change else "0"


def day_and_time(at: datetime) -> str:
    """A chosen date and time: to the minute, or to the second if it has seconds.

    >>> day_and_time(datetime(2031, 5, 31, 23, 59, 59)), day_and_time(datetime(2031, 5, 31, 12))
    ('2031-05-31 23:59:59', '2031-05-31 12:00')
    """
    return f"{at:%Y-%m-%d %H:%M:%S}" if at.second else f"{at:%Y-%m-%d %H:%M}"


def utc_time(at: datetime | None) -> str:
    """A chosen date and time in UTC, for use in a sentence; None is no limit."""
    return f"{day_and_time(at.astimezone(UTC))} UTC" if at else "no limit"


FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A text cell that starts like this would be run as a formula by a spreadsheet, the last four by some that
treat full-width signs as plain ones."""


def finite(value: float) -> float | None:
    """A number as JSON can have it: None for one that is not finite, no zero with a sign."""
    return float(value) + 0.0 if isfinite(value) else None


def json_text(facts: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """The facts as one line of JSON, numbers at full double precision."""
    return json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def csv_text(table: Table[Any]) -> str:
    """A table as CSV, numbers at full double precision, None as an empty cell."""
    return csv_lines(*table.data())


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Header and rows as CSV, with every cell as `cell` has it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([cell(name) for name in header])
    writer.writerows([cell(value) for value in row] for row in rows)
    return text.getvalue()


def cell(value: Any) -> Any:
    """A value as a CSV cell: None is empty, and text that a spreadsheet would run is quoted.

    >>> [cell(value) for value in (None, -0.5, "=1+1", "plain", "'=1")]
    ['', -0.5, "'=1+1", 'plain', "''=1"]
    """
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and _is_formula(value) else value


def text_of_cell(cell: str) -> str:
    """The text that `cell` made a cell of.

    >>> [text_of_cell(text) for text in ("'=1+1", "''=1", "plain", "'tis")]
    ['=1+1', "'=1", 'plain', "'tis"]
    """
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a text, or that of a quoted one: so no two texts have one cell."""
    return text.lstrip("'").startswith(FORMULA)
