"""The number of a site's version: raised by what may be seen, by nothing else."""

import pytest
from sqlalchemy import delete, insert, update

from leaderboard.db import engine
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Collection, SiteVersion, Worker

pytestmark = pytest.mark.dialect


def _number(database: Database) -> int:
    found = engine.present_version(database.engine)
    assert found is not None
    return found


def _add(database: Database, name: str) -> None:
    with database.write() as session:
        session.add(Collection(name=name, created_at=now(session)))


def test_every_change_raises_it_once(database: Database) -> None:
    """However many rows, whether by rows or in bulk, and whoever made the connection."""
    first = _number(database)
    _add(database, "one")
    assert _number(database) == first + 1
    with database.write() as session:
        rows = [{"name": name, "created_at": now(session)} for name in ("two", "three")]
        session.execute(insert(Collection), rows)
        session.execute(update(Collection).values(name=Collection.name + "!"))
    assert _number(database) == first + 2
    other = Database(database.engine.url.render_as_string(hide_password=False))
    with other.write() as session:
        session.execute(delete(Collection))
    other.dispose()
    assert _number(database) == first + 3


def test_reading_and_failing_raise_nothing(database: Database) -> None:
    """Nor does a transaction that is open to write and writes nothing, or a heartbeat."""
    _add(database, "one")
    first = _number(database)
    with database.write() as session:
        session.get(SiteVersion, 1)
    with database.write(is_shown=False) as session:
        session.add(Worker(owner="here:1", seen_at=now(session)))
    with database.write() as session:
        session.get(SiteVersion, 1)
    assert _number(database) == first
    with pytest.raises(ZeroDivisionError), database.write() as session:
        session.add(Collection(name="two", created_at=now(session)))
        session.flush()
        raise ZeroDivisionError
    assert _number(database) == first
    # What was rolled back may be counted with the next change, never instead of it.
    _add(database, "three")
    assert _number(database) > first
