"""Throttles: exact counts that stay in the database."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from leaderboard.core import throttles
from leaderboard.db.engine import Database
from leaderboard.db.tables import Throttle
from leaderboard.errors import OverQuota

pytestmark = pytest.mark.dialect

WINDOW = timedelta(minutes=5)


def _spend(database: Database, key: str = "k", limit: int = 3) -> bool:
    try:
        with database.write() as session:
            throttles.spend(session, key, limit, WINDOW)
    except OverQuota:
        return False
    return True


def test_the_try_over_the_limit_is_refused(database: Database) -> None:
    """The limit is let through and the next try is not; other keys are not touched."""
    assert [_spend(database) for _ in range(4)] == [True, True, True, False]
    assert _spend(database, "other")


def test_the_refusal_says_when_to_try_again(database: Database) -> None:
    """The error carries the seconds until the window ends."""
    _spend(database, limit=1)
    with database.write() as session, pytest.raises(OverQuota, match="Try again in") as caught:
        throttles.spend(session, "k", 1, WINDOW)
    assert 0 < int(str(caught.value.facts["retry_after_s"])) <= WINDOW.total_seconds()


def test_a_window_ends(database: Database) -> None:
    """Once the window has passed, the count starts anew."""
    assert [_spend(database, limit=1) for _ in range(2)] == [True, False]
    with database.write() as session:
        row = session.scalars(select(Throttle)).one()
        session.execute(update(Throttle).values(window_start=row.window_start - WINDOW))
    assert _spend(database, limit=1)


def test_tries_given_back_do_not_count(database: Database) -> None:
    """A try that turned out harmless leaves room for another one."""
    assert [_spend(database, limit=1) for _ in range(2)] == [True, False]
    with database.write() as session:
        throttles.give_back(session, "k")
    assert _spend(database, limit=1)


def test_old_windows_are_forgotten(database: Database) -> None:
    """Rows of windows long past are removed by the next try."""
    _spend(database, "old")
    with database.write() as session:
        row = session.scalars(select(Throttle)).one()
        session.execute(update(Throttle).values(window_start=row.window_start - timedelta(days=3)))
    _spend(database, "new")
    with database.read() as session:
        assert session.scalars(select(Throttle.key)).all() == ["new"]


def test_tries_at_the_same_moment_all_count(database: Database) -> None:
    """Of 20 tries at once with a limit of 5, exactly 5 get in."""
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: _spend(database, limit=5), range(20))) == 5


def test_visitors_of_a_socket_for_both_kinds_of_addresses_are_told_apart() -> None:
    """A server on `::` sees every IPv4 address inside one IPv6 /64; they are not one network for that."""
    first, second = throttles.network("::ffff:192.0.2.1"), throttles.network("::ffff:192.0.2.2")
    assert (first, second) == ("192.0.2.1", "192.0.2.2")
    assert throttles.network("2001:db8::1%eth0") == throttles.network("2001:db8::2")
    assert throttles.network("no address: at all") == "no address: at all"
