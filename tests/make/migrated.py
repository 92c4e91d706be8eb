"""SQLite's tables made at once: all migrations from nothing take seconds, for each of many databases."""

from functools import cache

from sqlalchemy import Connection

from leaderboard.db import schema

migrate = schema.run_to
"""What a site runs, step by step; tests/db does, too."""
_script: list[str] = []


def make_at_once() -> None:
    """Let an empty SQLite database become what the migrations of the first one in this process made.

    The steps are looked through for the newest once: every command asks for it twice.
    """
    schema.run_to = make
    schema.head = cache(schema.head)


def make(connection: Connection, revision: str) -> None:
    """What `schema.run_to` does; from nothing to the newest revision by the statements that it left."""
    raw = connection.connection.driver_connection
    is_empty = connection.dialect.name == "sqlite" and not _has_tables(connection)
    if not is_empty or revision not in ("head", schema.head()):
        migrate(connection, revision)
    elif _script:
        for statement in _script:
            connection.exec_driver_sql(statement)
    else:
        migrate(connection, revision)
        assert raw is not None
        _script.extend(line for line in raw.iterdump() if line not in ("BEGIN TRANSACTION;", "COMMIT;"))


def _has_tables(connection: Connection) -> bool:
    return connection.exec_driver_sql("SELECT 1 FROM sqlite_master").first() is not None
