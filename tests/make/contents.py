"""What a database of tests on PostgreSQL holds: taken out as it is stored, and put back."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from leaderboard.db.engine import Database
from leaderboard.db.tables import SiteVersion, metadata

TABLES = tuple(name for name in metadata.tables if name != SiteVersion.__tablename__)
"""The number of changes is no part of it: it goes on, as else a page kept of before would be shown again."""


@dataclass(frozen=True)
class Contents:
    """The rows of all tables that have any, in PostgreSQL's binary form, and where sequences stand."""

    rows: Mapping[str, bytes] = field(default_factory=dict)
    sequences: Mapping[str, int] = field(default_factory=dict)
    """The last number of each that was asked for one."""


def take(database: Database) -> Contents:
    """What the database holds."""
    with _connected(database) as connection:
        asked = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in TABLES)
        filled = [name for (name,) in connection.execute(asked)]
        begun = "SELECT sequencename, last_value FROM pg_sequences WHERE last_value IS NOT NULL"
        sequences = dict(connection.execute(begun).fetchall())
        return Contents({name: _rows(connection, name) for name in filled}, sequences)


def put(database: Database, wanted: Contents, held: Contents) -> None:
    """Make the database hold what is wanted, given what it holds; tables that are alike are left alone."""
    differing = [name for name in TABLES if wanted.rows.get(name) != held.rows.get(name)]
    with _connected(database) as connection:
        # Tables refer to one another: in which order they are written is nobody's business here.
        statements = ["SET LOCAL session_replication_role = replica"]
        statements += [f"DELETE FROM {name}" for name in differing if name in held.rows]
        connection.execute("; ".join(statements))
        for name in differing:
            if name in wanted.rows:
                with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT binary)") as copy:
                    copy.write(wanted.rows[name])
        statements = [f"SELECT setval('{name}', {last})" for name, last in wanted.sequences.items()]
        statements += [
            f"SELECT setval('{name}', 1, false)" for name in held.sequences.keys() - wanted.sequences.keys()
        ]
        connection.execute(
            "; ".join([*statements, f"UPDATE {SiteVersion.__tablename__} SET number = number + 1"])
        )
        connection.commit()


def count_writing(database: Database) -> int:
    """The number of this transaction among all of the server that wrote, or tried to.

    What comes next to a number that was given before shows that nobody has written since.
    """
    with _connected(database) as connection:
        [number] = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone() or (0,)
        connection.commit()
        return int(number)


@contextmanager
def _connected(database: Database) -> Iterator["psycopg.Connection[Any]"]:
    """A connection of the database's own pool; what is not committed is undone."""
    pooled = database.engine.raw_connection()
    try:
        connection = pooled.driver_connection
        assert isinstance(connection, psycopg.Connection)
        yield connection
    finally:
        pooled.close()


def _rows(connection: "psycopg.Connection[Any]", name: str) -> bytes:
    with connection.cursor().copy(f"COPY {name} TO STDOUT (FORMAT binary)") as copy:
        return b"".join(bytes(piece) for piece in copy)
