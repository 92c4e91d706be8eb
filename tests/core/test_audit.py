"""The audit record: a chain that shows when a row was changed."""

import pytest
from sqlalchemy import delete, select, update

from leaderboard.core import audit
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit

pytestmark = pytest.mark.dialect


@pytest.fixture
def recorded(database: Database) -> Database:
    """A database with five acts on record."""
    for number in range(5):
        with database.write() as session:
            audit.record(
                session, Viewer(ip="192.0.2.1"), "test.act", f"thing:{number}", text="Ärger\n", list=[1, None]
            )
    return database


def test_an_untouched_record_verifies(recorded: Database) -> None:
    """Every row follows from the one before, and the last digest is given."""
    with recorded.read() as session:
        chain = audit.verify(session)
        last = session.scalars(select(Audit.digest).order_by(Audit.id.desc())).first()
    assert (chain.rows, chain.broken_at, chain.digest) == (5, None, last)


@pytest.mark.parametrize(
    "change",
    [
        {"subject": "thing:9"},
        {"action": "test.other"},
        {"ip": ""},
        {"account_id": 7},
        {"detail": {}},
        {"digest": "x"},
    ],
)
def test_a_changed_row_is_found(recorded: Database, change: dict[str, object]) -> None:
    """Changing any column of a row breaks the chain at that row."""
    with recorded.write() as session:
        third = session.scalars(select(Audit.id).order_by(Audit.id)).all()[2]
        session.execute(update(Audit).where(Audit.id == third).values(**change))
    with recorded.read() as session:
        assert audit.verify(session).broken_at == third


def test_a_removed_row_is_found(recorded: Database) -> None:
    """Removing a row breaks the chain at the row after it."""
    with recorded.write() as session:
        ids = session.scalars(select(Audit.id).order_by(Audit.id)).all()
        session.execute(delete(Audit).where(Audit.id == ids[1]))
    with recorded.read() as session:
        assert audit.verify(session).broken_at == ids[2]


def test_a_rolled_back_act_leaves_no_record(database: Database) -> None:
    """The record belongs to the transaction of the act."""
    with pytest.raises(ZeroDivisionError), database.write() as session:
        audit.record(session, Viewer(), "test.act", "thing:1")
        raise ZeroDivisionError
    with database.read() as session:
        assert audit.verify(session).rows == 0
