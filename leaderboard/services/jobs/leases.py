"""Leases of jobs that end before the job does: they ran out, or their holder died or lost the database."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Job
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.queue import Claim


def sweep(session: Session, lease_s: int) -> list[Job]:
    """Give back every job whose lease ran out: queued again, or failed.

    A lease that ends later than twice lease_s from now was taken before the clock was set back.
    """
    at = now(session)
    ran_out = or_(Job.lease_until < at, Job.lease_until > at + timedelta(seconds=2 * lease_s))
    return _release(session, _leased(session, ran_out))


def free(session: Session, owner: str) -> list[Job]:
    """Give back what a worker that is known to be dead still holds: queued again, or failed."""
    return _release(session, _leased(session, Job.owner == owner))


def put_off(session: Session, claimed: Claim, message: str) -> None:
    """Give back a job that met an object store that is away; the attempt counts as not made.

    Other files that wait to be moved would wait for the same store, while runs wait for evaluators.
    """
    job = session.get(Job, claimed.job_id, with_for_update=True)
    if job is None or job.token != claimed.token or job.state != "leased":
        return
    soon = now(session) + timedelta(seconds=queue.LONGEST_WAIT_S)
    queue.give_back(job, message, again=True)
    job.attempts -= 1
    job.run_after = soon
    session.flush()
    session.execute(
        update(Job)
        .where(Job.kind == queue.MOVE, Job.state == "queued", Job.run_after < soon)
        .values(run_after=soon)
    )


def return_unspent(session: Session, owner: str) -> int:
    """Give back what a worker that lost the database holds; its attempts count as not made."""
    jobs = _leased(session, Job.owner == owner)
    for job in jobs:
        queue.give_back(job, "The database was away; it is done again.", again=True)
        job.attempts -= 1
        job.run_after = now(session)
    session.flush()
    return len(jobs)


def owners_on(session: Session, host: str) -> list[str]:
    """The owners on this host that hold a job."""
    owners = select(Job.owner).where(Job.state == "leased", Job.owner.startswith(f"{host}:", autoescape=True))
    return list(session.scalars(owners.distinct()))


def _leased(session: Session, which: ColumnElement[bool]) -> list[Job]:
    jobs = select(Job).where(Job.state == "leased", which).order_by(Job.id)
    return list(session.scalars(jobs.with_for_update(skip_locked=True)))


def _ran_over(job: Job, at: datetime) -> bool:
    """Whether it ran for as long as it might: then its evaluator was killed for it."""
    limit = timedelta(seconds=job.limit_s)
    return job.started_at is not None and at - job.started_at >= limit


def _release(session: Session, jobs: list[Job]) -> list[Job]:
    at = now(session)
    for job in jobs:
        if not _ran_over(job, at) and job.max_attempts < queue.MOST_ATTEMPTS:
            # Who is killed in a job need not have been killed by it: an attempt more makes up for this one.
            job.max_attempts += 1
        queue.give_back(
            job,
            f"The evaluator stopped before it was done (attempt {job.attempts} of {job.max_attempts}).",
            job.attempts < job.max_attempts,
        )
        job.run_after = at
        job.finished_at = at if job.state == "failed" else None
    session.flush()
    return jobs
