"""All rows of a database, table by table, in a form that SQLite and PostgreSQL share.

Tables and the kinds of their columns are read from the database, not from the code: a backup of an earlier
schema is restored by the same functions.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sqlalchemy import Connection, MetaData, Table, text, types

from leaderboard.db.tables import SiteVersion

VERSION_TABLE = "alembic_version"
"""Made by migrations, so no part of a backup."""
KINDS: tuple[tuple[type[types.TypeEngine[Any]], str], ...] = (
    (types.JSON, "json"),
    (types.Boolean, "truth"),
    (types.DateTime, "moment"),
    (types.LargeBinary, "bytes"),
    (types.Integer, "integer"),
    (types.Float, "real"),
    (types.String, "text"),
)
"""SQLAlchemy's type -> what its values are in a backup; moments are ISO texts in UTC, JSON is its text."""

Row = tuple[Any, ...]
LEFT_OUT = frozenset((VERSION_TABLE, SiteVersion.__tablename__))
"""Tables that every database has filled by its own migrations, and counts in for itself."""


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table: names and kinds of its columns, and those of its primary key, by which rows are ordered."""

    name: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def at_once(self) -> int:
        """How many rows are held in memory: pieces of a file are up to a megabyte each."""
        return 16 if "bytes" in self.kinds else 500


def tables_of(connection: Connection) -> list[RowTable]:
    """All tables, those that others refer to first."""
    metadata = MetaData()
    metadata.reflect(connection)
    return [_shape(table) for table in metadata.sorted_tables if table.name not in LEFT_OUT]


def rows_of(connection: Connection, table: RowTable) -> Generator[Row]:
    """The rows of a table by its primary key, which both databases compare byte by byte."""
    postgres = connection.dialect.name == "postgresql"
    kinds = dict(zip(table.columns, table.kinds, strict=True))
    chosen = ", ".join(_selected(name, kinds[name], postgres) for name in table.columns)
    order = ", ".join(
        f'"{name}" COLLATE "C"' if postgres and kinds[name] == "text" else f'"{name}"' for name in table.key
    )
    streamed = connection.execution_options(stream_results=True, yield_per=table.at_once)
    with streamed.exec_driver_sql(f'SELECT {chosen} FROM "{table.name}" ORDER BY {order}') as found:
        for row in found:
            yield tuple(_shared(value, kind) for value, kind in zip(row, table.kinds, strict=True))


def add_rows(connection: Connection, table: RowTable, rows: Iterable[Row]) -> None:
    """Store rows as they are; the caller's transaction holds them."""
    columns = ", ".join(f'"{name}"' for name in table.columns)
    if connection.dialect.name == "postgresql":
        _copy_in(connection, f'COPY "{table.name}" ({columns}) FROM STDIN', rows, table.kinds)
        return
    marks = ", ".join("?" for _ in table.columns)
    left = iter(rows)
    while some := list(islice(left, table.at_once)):
        stored = [tuple(map(_for_sqlite, row, table.kinds)) for row in some]
        connection.exec_driver_sql(f'INSERT INTO "{table.name}" ({columns}) VALUES ({marks})', stored)


def set_sequences(connection: Connection, tables: Sequence[RowTable]) -> None:
    """Let PostgreSQL number new rows after the ones that were stored; SQLite does so by itself."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        if table.key != ("id",):
            continue
        sequence = connection.scalar(text(f"SELECT pg_get_serial_sequence('\"{table.name}\"', 'id')"))
        last = connection.scalar(text(f'SELECT max(id) FROM "{table.name}"'))
        if sequence is not None and last is not None:
            connection.execute(text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last})


def _shape(table: Table) -> RowTable:
    kinds = tuple(
        next(kind for known, kind in KINDS if isinstance(column.type, known)) for column in table.columns
    )
    names = tuple(column.name for column in table.columns)
    return RowTable(table.name, names, kinds, tuple(column.name for column in table.primary_key))


def _selected(name: str, kind: str, postgres: bool) -> str:
    return f'CAST("{name}" AS text)' if kind == "json" and postgres else f'"{name}"'


def _shared(value: Any, kind: str) -> Any:
    """A value from either driver as both write it."""
    if value is None:
        return None
    if kind == "moment":
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        plain = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
        return plain.isoformat(timespec="microseconds")
    if kind == "truth":
        return bool(value)
    return bytes(value) if kind == "bytes" else value


def _for_sqlite(value: Any, kind: str) -> Any:
    """A value as SQLAlchemy keeps it in SQLite."""
    return value.replace("T", " ") if kind == "moment" and value is not None else value


def _copy_in(connection: Connection, statement: str, rows: Iterable[Row], kinds: Sequence[str]) -> None:
    moments = [place for place, kind in enumerate(kinds) if kind == "moment"]
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(statement) as copying:
        for row in rows:
            values = list(row)
            for place in moments:
                values[place] = values[place] and f"{values[place]}Z"
            copying.write_row(values)
