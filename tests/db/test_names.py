"""The step that gives names their skeletons, on names that were there before it."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import CheckConstraint, select, text

from leaderboard.accounts.ops import accounts, names
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account, Team, metadata

pytestmark = pytest.mark.dialect
BEFORE = "0005"


@pytest.mark.trial
def test_names_that_look_alike_already_stay(database: Database) -> None:
    """Every account and team is kept under its name; the oldest of those that look alike has the skeleton."""
    schema.downgrade(database, BEFORE)
    at = datetime(2026, 11, 1, tzinfo=UTC)
    with database.engine.begin() as connection:
        for name in ("Owls", "\u041ewls", "Bears"):
            given = {"name": name, "canonical": names.canonical(name), "at": at.isoformat()}
            connection.execute(
                text(
                    "INSERT INTO account (name, canonical, email, is_organiser, created_at) "
                    "VALUES (:name, :canonical, '', false, :at)"
                ),
                given,
            )
            connection.execute(
                text("INSERT INTO team (name, canonical, created_at) VALUES (:name, :canonical, :at)"), given
            )
    schema.upgrade(database)
    with database.read() as session:
        for table in (Account, Team):
            rows = session.execute(select(table.name, table.skeleton).order_by(table.id)).all()
            expected = [
                ("Owls", names.skeleton("Owls")),
                ("\u041ewls", None),
                ("Bears", names.skeleton("Bears")),
            ]
            assert [tuple(row) for row in rows] == expected
        assert accounts.find(session, "\u041ewls")


def test_what_tables_check_is_kept(database: Database) -> None:
    """Tables that the step makes anew refuse what they refused."""
    if not database.is_sqlite:
        pytest.skip("PostgreSQL changes its tables in place")
    with database.read() as session:
        tables = session.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'table'")).all()
    made = {row.name: row.sql for row in tables}
    checks = [
        (table.name, str(check.name))
        for table in metadata.sorted_tables
        for check in table.constraints
        if isinstance(check, CheckConstraint)
    ]
    assert len(checks) > 3
    assert [check for check in checks if check[1] not in made[check[0]]] == []
