"""Which jobs are sent through a broker: each once, again after a while, and no more than are wanted."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from leaderboard.core.jobs import carried, leases, queue
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job
from leaderboard.settings import Settings

pytestmark = pytest.mark.dialect

SETTINGS = Settings(smtp_url="smtp://localhost", comparisons=2, objects_url="s3://bucket")


def _queue(database: Database, kind: str, *subjects: int, priority: int = queue.FRESH) -> None:
    with database.write() as session:
        for subject in subjects:
            queue.enqueue(session, kind, subject, priority=priority)


def _take(database: Database, settings: Settings = SETTINGS) -> list[int]:
    """The subjects of the jobs that are to be sent now."""
    with database.write() as session:
        taken = carried.take(session, settings)
        return [session.get_one(Job, job.job_id).subject_id for job in taken]


def _shift(database: Database, seconds: float) -> None:
    """Move the moment at which all was sent."""
    with database.write() as session:
        session.execute(update(Job).values(carried_at=now(session) + timedelta(seconds=seconds)))


def test_a_job_is_sent_once_and_again_after_half_a_minute(database: Database) -> None:
    """Its message may have got lost; a stamp from the future is of a clock that was set back."""
    _queue(database, queue.EVALUATE, 1, 2)
    assert (_take(database), _take(database)) == ([1, 2], [])
    for seconds, expected in ((-29, []), (-31, [1, 2]), (31, [1, 2])):
        _shift(database, seconds)
        assert _take(database) == expected


def test_what_a_person_waits_for_is_told_apart(database: Database) -> None:
    """It goes by a queue of its own, and comes first."""
    _queue(database, queue.EVALUATE, 1, priority=queue.AGAIN)
    _queue(database, queue.EVALUATE, 2)
    with database.write() as session:
        assert [job.is_fresh for job in carried.take(session, SETTINGS)] == [True, False]


def test_only_what_waits_and_is_due_is_sent(database: Database) -> None:
    """Neither what is being done, nor what is over, nor what waits for its next attempt."""
    _queue(database, queue.EVALUATE, 1, 2, 3, 4)
    with database.write() as session:
        held = queue.claim(session, "here:1", SETTINGS)
        assert held is not None
        queue.finish(session, held)
        assert queue.claim(session, "here:1", SETTINGS) is not None
        later = now(session) + timedelta(seconds=20)
        session.execute(update(Job).where(Job.subject_id == 3).values(run_after=later))
    assert _take(database) == [4]


@pytest.mark.parametrize(("kind", "most"), [(queue.COMPARE, 2), (queue.MAIL, 1), (queue.MOVE, 1)])
def test_what_is_limited_is_sent_as_far_as_there_is_room(database: Database, kind: str, most: int) -> None:
    """A message for which there is no room finds nothing to claim, and its job waits for half a minute."""
    _queue(database, kind, 1, 2, 3, 4)
    first = _take(database)
    assert (first, _take(database)) == ([1, 2][:most], [])
    with database.write() as session:
        held = [queue.claim(session, "here:1", SETTINGS) for _ in first]
    assert _take(database) == []
    with database.write() as session:
        assert held[0] is not None
        queue.finish(session, held[0])
    assert _take(database) == [most + 1]


def test_what_this_site_does_not_do_is_not_sent(database: Database) -> None:
    """Mail without a mail server, webhooks where they are off."""
    _queue(database, queue.MAIL, 1)
    _queue(database, queue.WEBHOOK, 2)
    assert _take(database, Settings(webhooks=False)) == []


def test_thousands_of_runs_are_sent_by_and_by(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a broker never holds them all, and a fresh run passes them."""
    monkeypatch.setattr(carried, "MOST_ON_THE_WAY", 2)
    _queue(database, queue.EVALUATE, 1, 2, 3, priority=queue.AGAIN)
    assert _take(database) == [1, 2]
    _queue(database, queue.EVALUATE, 4)
    assert _take(database) == [4]
    with database.write() as session:
        assert queue.claim(session, "here:1", SETTINGS, Job.subject_id == 1) is not None
    assert _take(database) == [3]


def _fail(database: Database) -> None:
    with database.write() as session:
        held = queue.claim(session, "here:1", SETTINGS)
        assert held is not None
        queue.fail(session, held, "no", again=True)
        session.execute(update(Job).values(run_after=now(session)))


def _die(database: Database) -> None:
    with database.write() as session:
        assert queue.claim(session, "here:1", SETTINGS) is not None
        leases.free(session, "here:1")


def _retry(database: Database) -> None:
    with database.write() as session:
        held = queue.claim(session, "here:1", SETTINGS)
        assert held is not None
        queue.fail(session, held, "no", again=False)
        queue.retry(session, held.job_id)


def _hurry(database: Database) -> None:
    with database.write() as session:
        queue.hurry(session, queue.EVALUATE, 1, queue.FRESH + 1)


@pytest.mark.parametrize("happens", [_fail, _die, _retry, _hurry])
def test_what_is_queued_again_is_sent_again(database: Database, happens) -> None:  # type: ignore[no-untyped-def]
    """At once, not after the time in which a message may still come: that one is used up."""
    _queue(database, queue.EVALUATE, 1)
    assert _take(database) == [1]
    happens(database)
    assert _take(database) == [1]


def test_the_marks_show_on_no_page(database: Database) -> None:
    """Nothing but the stamp changes."""
    _queue(database, queue.EVALUATE, 1)
    with database.read() as session:
        before = session.execute(select(Job.__table__)).one()._asdict()
    _take(database)
    with database.read() as session:
        after = session.execute(select(Job.__table__)).one()._asdict()
    assert {name for name in before if before[name] != after[name]} == {"carried_at"}
