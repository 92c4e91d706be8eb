"""Leases that end early, and clocks that jump: no job is lost, none waits for hours."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from leaderboard.core.jobs import health, leases, queue
from leaderboard.core.jobs.queue import Claim
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job, Worker
from leaderboard.settings import Settings

pytestmark = pytest.mark.dialect

SETTINGS = Settings(lease_s=60)
JUMP = timedelta(hours=2)


def _queue(database: Database) -> None:
    with database.write() as session:
        queue.enqueue(session, queue.EVALUATE, 1, priority=queue.FRESH)


def _claim(database: Database, owner: str = "here:1") -> Claim | None:
    with database.write() as session:
        return queue.claim(session, owner, SETTINGS)


def _sweep(database: Database) -> int:
    with database.write() as session:
        return len(leases.sweep(session, SETTINGS.lease_s))


def _job(database: Database) -> Job:
    with database.read() as session:
        return session.scalars(select(Job)).one()


def _shift(database: Database, by: timedelta) -> None:
    """Move all stamps of jobs as if the clock had then been ahead by so much of what it is now."""
    with database.write() as session:
        for job in session.scalars(select(Job)):
            for name in ("run_after", "created_at", "started_at", "lease_until"):
                stamp = getattr(job, name)
                setattr(job, name, stamp and stamp + by)


@pytest.mark.parametrize("by", [JUMP, -JUMP])
def test_what_was_queued_under_another_clock_is_claimed(database: Database, by: timedelta) -> None:
    """Two hours either way: the job is due."""
    _queue(database)
    _shift(database, by)
    assert _claim(database) is not None


@pytest.mark.parametrize("by", [JUMP, -JUMP])
def test_a_lease_under_another_clock_ends(database: Database, by: timedelta) -> None:
    """The job of a worker that died before the clock jumped is given back."""
    _queue(database)
    _claim(database)
    assert _sweep(database) == 0
    _shift(database, by)
    assert _sweep(database) == 1
    assert _claim(database, "here:2") is not None


def test_a_retry_still_waits(database: Database) -> None:
    """A job that failed is not taken for one from the future."""
    _queue(database)
    held = _claim(database)
    assert held is not None
    with database.write() as session:
        queue.fail(session, held, "It broke.", again=True)
    assert _claim(database) is None


def test_attempts_that_the_database_ended_count_as_not_made(database: Database) -> None:
    """However often it is away, the job does not fail for it; only the holder's own jobs are returned."""
    _queue(database)
    for _ in range(5):
        assert _claim(database) is not None
        with database.write() as session:
            assert leases.return_unspent(session, "here:2") == 0
            assert leases.return_unspent(session, "here:1") == 1
    job = _job(database)
    assert (job.state, job.attempts, job.lease_until) == ("queued", 0, None)


def test_workers_are_seen_and_forgotten(database: Database) -> None:
    """Each has one row; rows of an hour ago, or of the future, are dropped when another comes."""
    with database.write() as session:
        for owner in ("here:1", "here:2", "here:1", "here:3"):
            health.worker_seen(session, owner)
        assert health.at_work(session) == 3
        at = now(session)
        session.execute(update(Worker).where(Worker.owner == "here:1").values(seen_at=at - JUMP))
        session.execute(update(Worker).where(Worker.owner == "here:2").values(seen_at=at + JUMP))
        assert health.at_work(session) == 1
        session.expire_all()
        health.worker_seen(session, "here:3")
        assert session.scalars(select(Worker.owner)).all() == ["here:3"]


def test_an_evaluator_and_its_heartbeat_may_say_so_at_once(database: Database) -> None:
    """Both are the first to, and neither fails: the second waits for the first."""
    said = threading.Event()

    def say() -> None:
        with database.write() as session:
            health.worker_seen(session, "here:1")
        said.set()

    heartbeat = threading.Thread(target=say)
    with database.write() as session:
        health.worker_seen(session, "here:1")
        heartbeat.start()
        # The row is there and not committed: nothing can be said until it is.
        assert not said.wait(0.5)
    heartbeat.join()
    assert said.is_set()
    with database.read() as session:
        assert health.at_work(session) == 1
