"""The job table: nothing lost, nothing done twice."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from leaderboard.core.jobs import leases, queue
from leaderboard.core.jobs.queue import Claim, ClaimLost
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job
from leaderboard.errors import NotFound
from leaderboard.settings import Settings

pytestmark = pytest.mark.dialect

SETTINGS = Settings(lease_s=60, job_limit_s=90)


def _queue(database: Database, *subjects: int, priority: int = queue.FRESH) -> None:
    with database.write() as session:
        for subject in subjects:
            queue.enqueue(session, queue.EVALUATE, subject, priority=priority)


def _claim(database: Database, owner: str = "here:1") -> Claim:
    with database.write() as session:
        held = queue.claim(session, owner, SETTINGS)
    assert held is not None
    return held


def _expire_leases(database: Database) -> int:
    with database.write() as session:
        for job in session.scalars(select(Job).where(Job.state == "leased")):
            job.lease_until = now(session) - timedelta(seconds=1)
        session.flush()
        return len(leases.sweep(session, SETTINGS.lease_s))


def _states(database: Database) -> list[str]:
    with database.read() as session:
        return list(session.scalars(select(Job.state).order_by(Job.id)))


def test_the_most_urgent_job_comes_first_then_the_oldest(database: Database) -> None:
    """A fresh upload overtakes the re-scoring that was queued before it."""
    _queue(database, 1, 2, priority=queue.AGAIN)
    _queue(database, 3, priority=queue.FRESH)
    assert [_claim(database).subject_id for _ in range(3)] == [3, 1, 2]


@pytest.mark.parametrize(
    ("kind", "limit_s"), [(queue.EVALUATE, 90), (queue.CHECK, 90), (queue.COMPARE, 3600)]
)
def test_the_one_who_claims_a_job_sets_its_limit(database: Database, kind: str, limit_s: int) -> None:
    """A job has the limit of the settings of its worker; a comparison has one of its own."""
    with database.write() as session:
        queue.enqueue(session, kind, 1, priority=queue.FRESH)
    assert _claim(database).limit_s == limit_s
    with database.read() as session:
        assert session.scalars(select(Job.limit_s)).one() == limit_s


def test_queueing_what_is_queued_or_running_adds_nothing(database: Database) -> None:
    """The same job asked for twice is one job."""
    _queue(database, 7, 7)
    _claim(database)
    _queue(database, 7)
    assert _states(database) == ["leased"]


def test_a_finished_job_is_done_and_never_claimed_again(database: Database) -> None:
    """After finish nothing is left to claim."""
    _queue(database, 1)
    held = _claim(database)
    with database.write() as session:
        queue.finish(session, held)
    with database.write() as session:
        assert queue.claim(session, "here:1", SETTINGS) is None
    assert _states(database) == ["done"]


def test_a_worker_whose_lease_was_taken_over_stores_nothing(database: Database) -> None:
    """Of two workers on one job only the one with the newest token may finish it, or say that it failed."""
    _queue(database, 1)
    slow = _claim(database, "here:1")
    assert _expire_leases(database) == 1
    quick = _claim(database, "here:2")
    with pytest.raises(ClaimLost, match="taken over"), database.write() as session:
        queue.finish(session, slow)
    with database.write() as session:
        assert not queue.heartbeat(session, slow, SETTINGS.lease_s)
        queue.fail(session, slow, "It broke.", again=True)
        assert queue.heartbeat(session, quick, SETTINGS.lease_s)
        queue.finish(session, quick)
    assert _states(database) == ["done"]


def test_a_heartbeat_keeps_the_lease(database: Database) -> None:
    """A lease that was pushed on is not swept."""
    _queue(database, 1)
    held = _claim(database)
    with database.write() as session:
        assert queue.heartbeat(session, held, SETTINGS.lease_s)
        assert leases.sweep(session, SETTINGS.lease_s) == []


def test_a_job_outlives_its_evaluators_and_a_poisonous_one_does_not(database: Database) -> None:
    """Three kills leave three attempts for errors; the ninth attempt is the last one."""
    _queue(database, 1)
    for _ in range(3):
        _claim(database)
        _expire_leases(database)
    with database.read() as session:
        job = session.scalars(select(Job)).one()
    assert (job.state, job.attempts, job.max_attempts) == ("queued", 3, 6)
    for _ in range(6):
        _claim(database)
        _expire_leases(database)
    with database.read() as session:
        job = session.scalars(select(Job)).one()
    assert (job.state, job.attempts) == ("failed", 9)
    assert job.error == "The evaluator stopped before the job was done (attempt 9 of 9)."
    with database.write() as session:
        queue.retry(session, job.id)
        assert (job.id, session.get_one(Job, job.id).max_attempts) == (job.id, 3)


def test_an_evaluator_that_is_killed_for_the_time_a_job_takes_counts_in_full(database: Database) -> None:
    """Each attempt takes an hour of an evaluator, so three are enough."""
    _queue(database, 1)
    for _ in range(3):
        _claim(database)
        with database.write() as session:
            job = session.scalars(select(Job)).one()
            job.started_at = now(session) - timedelta(seconds=job.limit_s + 1)
        _expire_leases(database)
    with database.read() as session:
        assert session.scalars(select(Job.state)).one() == "failed"


def test_a_failed_job_can_be_queued_anew_with_all_attempts(database: Database) -> None:
    """Evaluate again gives a failed job three new attempts; a job that has not failed is not found."""
    _queue(database, 1)
    held = _claim(database)
    with database.write() as session:
        queue.fail(session, held, "It broke.", again=False)
    with database.write() as session:
        queue.retry(session, held.job_id)
    again = _claim(database)
    assert (again.job_id, again.token) == (held.job_id, held.token + 1)
    with pytest.raises(NotFound, match="no failed job"), database.write() as session:
        queue.retry(session, held.job_id)


def test_an_unexpected_failure_is_tried_again_later(database: Database) -> None:
    """A job that failed for reasons of its own time waits before its next attempt."""
    _queue(database, 1)
    held = _claim(database)
    with database.write() as session:
        queue.fail(session, held, "It broke.", again=True)
    with database.write() as session:
        assert queue.claim(session, "here:1", SETTINGS) is None
        job = session.scalars(select(Job)).one()
        assert (job.state, job.error) == ("queued", "It broke.")
        assert job.run_after > now(session)


def test_jobs_of_a_dead_owner_are_given_back_at_once(database: Database) -> None:
    """What a crashed process held is queued again without waiting for its lease."""
    _queue(database, 1, 2)
    _claim(database, "here:1")
    _claim(database, "here:2")
    with database.write() as session:
        assert sorted(leases.owners_on(session, "here")) == ["here:1", "here:2"]
        assert leases.owners_on(session, "her") == []
        assert len(leases.free(session, "here:1")) == 1
    assert _states(database) == ["queued", "leased"]


def test_eight_workers_at_once_claim_each_job_exactly_once(database: Database) -> None:
    """Concurrent claims never hand out a job twice, and none is left over."""
    _queue(database, *range(60))

    def work(number: int) -> list[int]:
        mine = []
        while True:
            with database.write() as session:
                held = queue.claim(session, f"here:{number}", SETTINGS)
                if held is None:
                    return mine
                queue.finish(session, held)
                mine.append(held.subject_id)

    with ThreadPoolExecutor(8) as pool:
        done = [subject for mine in pool.map(work, range(8)) for subject in mine]
    assert sorted(done) == list(range(60))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(["queue", "claim", "finish", "stale", "fail", "expire"]), max_size=30))
def test_any_history_keeps_every_job_in_one_place(database: Database, steps: list[str]) -> None:
    """Whatever happens in whatever order, a job is finished by its newest token only, and none vanishes."""
    with database.write() as session:
        session.query(Job).delete()
    held: list[Claim] = []
    finished: list[int] = []
    queued = 0
    for number, step in enumerate(steps):
        if step == "queue":
            _queue(database, 1000 + number)
            queued += 1
        elif step == "claim":
            with database.write() as session:
                got = queue.claim(session, "here:1", SETTINGS)
            held += [got] if got else []
        elif step == "expire":
            _expire_leases(database)
        elif held and step == "fail":
            with database.write() as session:
                queue.fail(session, held[-1], "broke", again=True)
        elif held:
            one = held[0] if step == "stale" else held[-1]
            try:
                with database.write() as session:
                    queue.finish(session, one)
                finished.append(one.job_id)
            except ClaimLost:
                continue
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Job)) == queued
        done = session.scalars(select(Job.id).where(Job.state == "done")).all()
    assert sorted(finished) == sorted(done)


def _compare(database: Database, *subjects: int) -> None:
    with database.write() as session:
        for subject in subjects:
            queue.enqueue(session, queue.COMPARE, subject, priority=queue.AGAIN)


def test_an_evaluator_stays_free_for_runs(database: Database) -> None:
    """Of three evaluators two compare at most: the third waits for a run, and takes it though others wait."""
    three = Settings(evaluators=3)
    _compare(database, 1, 2, 3)
    with database.write() as session:
        held = [queue.claim(session, f"here:{number}", three) for number in range(3)]
    assert [claimed and claimed.subject_id for claimed in held] == [1, 2, None]
    _queue(database, 7, priority=queue.AGAIN - 1)
    with database.write() as session:
        fresh = queue.claim(session, "here:3", three)
        assert fresh is not None
        assert fresh.kind == queue.EVALUATE
        assert held[0] is not None
        queue.finish(session, held[0])
        after = queue.claim(session, "here:1", three)
        assert after is not None
        assert after.subject_id == 3


def test_comparisons_claimed_at_once_keep_an_evaluator_free(database: Database) -> None:
    """Claims of eight evaluators at the same time are one too few for all of them to compare."""
    _compare(database, *range(20))

    def claim(number: int) -> bool:
        with database.write() as session:
            return queue.claim(session, f"here:{number}", Settings(evaluators=8)) is not None

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(claim, range(8))) == 7


@pytest.mark.parametrize(("given", "at_once"), [({"evaluators": 1}, 1), ({"comparisons": 4}, 4)])
def test_a_single_evaluator_compares_too(given: dict[str, int], at_once: int) -> None:
    """One comparison may always run, and the setting wins."""
    assert Settings(**given).comparisons_at_once == at_once
