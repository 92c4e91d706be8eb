"""Checks of the database as a whole: SQLite's own, references between rows, the record of acts."""

from collections.abc import Iterator, Sequence

from sqlalchemy import text

from leaderboard.db.engine import Database
from leaderboard.services import audit
from leaderboard.services.checks.damage import DamageCheck


def _sqlite(database: Database) -> Sequence[None]:
    """One place on SQLite; PostgreSQL checks its pages and references itself."""
    return [None] if database.is_sqlite else []


def _pages(database: Database, _: None) -> Iterator[str]:
    with database.read() as session:
        for row in session.execute(text("PRAGMA integrity_check(100)")):
            if row[0] != "ok":
                yield str(row[0])


def _references(database: Database, _: None) -> Iterator[str]:
    with database.read() as session:
        for table, row_id, referred, _number in session.execute(text("PRAGMA foreign_key_check")):
            yield f"row {row_id} of {table} points at no row of {referred}"


def _acts(database: Database, _: None) -> Iterator[str]:
    with database.read() as session:
        chain = audit.verify(session)
    if chain.broken_at is not None:
        yield f"act {chain.broken_at} does not follow from the one before: it or its neighbour was changed"


CHECKS = (
    DamageCheck("pages and indexes", "the database", _sqlite, _pages),
    DamageCheck("references", "the database", _sqlite, _references),
    DamageCheck("record of acts", "the record of acts", lambda _: [None], _acts),
)
