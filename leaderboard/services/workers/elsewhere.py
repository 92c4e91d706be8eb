"""Evaluations by workers on other machines, who hold a token for one task and nothing of the database."""

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard import __version__
from leaderboard.db.tables import Answer, ApiToken, Edition, Job, QrelsRevision, RankingBlock, Task, TaskRole
from leaderboard.errors import Conflict, Forbidden
from leaderboard.services import audit
from leaderboard.services.accounts.tokens import WORKER
from leaderboard.services.evaluations import score, wire
from leaderboard.services.jobs import queue, workers
from leaderboard.services.jobs.queue import Claim, ClaimLost
from leaderboard.services.policy import ORGANISER, Viewer
from leaderboard.services.rankings.blocks import BATCH
from leaderboard.services.workers import finishing
from leaderboard.settings import Settings

EVALUATOR = f"{__version__}, elsewhere"
"""What is on record of scores that a worker on another machine computed."""


@dataclass(frozen=True, slots=True)
class RemoteWorker:
    """A worker that may do jobs of a task."""

    token_id: int
    task_id: int


def admitted(session: Session, viewer: Viewer) -> RemoteWorker:
    """The worker that asks by its token.

    Raises Forbidden for another kind of token, and where its owner organises the task no more: who
    evaluates could set scores.
    """
    token = session.get(ApiToken, viewer.token_id) if viewer.token_id is not None else None
    if token is None or token.kind != WORKER or token.task_id is None:
        raise Forbidden("This is for the token of a worker: an organiser makes one for the task.")
    if session.get(TaskRole, (token.task_id, token.account_id, ORGANISER)) is None:
        raise Forbidden("The owner of this token does not organise the task any more.")
    return RemoteWorker(token.id, token.task_id)


def claim(
    session: Session, worker: RemoteWorker, slot: int, version: str, settings: Settings
) -> Claim | None:
    """Take the most urgent evaluation of the worker's task; None where none is due that it may have.

    slot: tells processes with the same token apart. Raises Conflict for another version of this program:
    it might score otherwise.
    """
    if version != __version__:
        raise Conflict(f"This site evaluates with version {__version__}, not {version[:40]!r}; install that.")
    owner = f"token {worker.token_id}:{slot}"
    workers.seen(session, owner)
    of_task = select(Edition.id).where(Edition.task_id == worker.task_id)
    which = [Job.kind == queue.EVALUATE, Job.edition_id.in_(of_task)]
    if session.get_one(Task, worker.task_id).kind == "judges":
        which.append(_judges().given(session, worker.task_id))
    return queue.claim(session, owner, settings, *which)


def held(session: Session, worker: RemoteWorker, job_id: int, fence: int) -> Claim:
    """The claim that a worker says it holds; raises ClaimLost where it does not, or no more."""
    job = session.get(Job, job_id)
    if (
        job is None
        or job.state != "leased"
        or job.token != fence
        or not (job.owner or "").startswith(f"token {worker.token_id}:")
    ):
        raise ClaimLost(f"Job {job_id} is not held by this worker, or no more.", job=job_id)
    return Claim(job.id, job.token, job.kind, job.subject_id, job.edition_id, job.limit_s or 0)


def plan(session: Session, claim: Claim) -> bytes:
    """What is to be computed, with the judgments, as bytes."""
    assert claim.edition_id is not None, "an evaluation belongs to an edition"
    return wire.packed_plan(score.plan(session, claim.subject_id, claim.edition_id))


def judge(session: Session, claim: Claim) -> bytes:
    """What the judge of a job sent, as bytes; raises Conflict where the job is of no judge."""
    assert claim.edition_id is not None, "an evaluation belongs to an edition"
    task = session.get_one(Task, session.get_one(Edition, claim.edition_id).task_id)
    if task.kind != "judges":
        raise Conflict(f"Job {claim.job_id} is to score {task.kind}, not a judge.")
    sent: bytes = _judges().sent(session, claim)
    return sent


def rankings_of(session: Session, claim: Claim, run_id: int, first: int) -> bytes:
    """As `rankings`, of a run of the reference that a judge's labels score.

    Raises NotFound where the job does not need it, Forbidden where not everybody may have it any more.
    """
    _judges().require_needed(session, claim, run_id)
    return rankings(session, run_id, first)


def rankings(session: Session, run_id: int, first: int) -> bytes:
    """A run's packed rankings from block `first` on, as many as are sent at once, as bytes.

    Of a run of answers these, each with its topic; a run has either.
    """
    blocks = (
        select(RankingBlock.body)
        .where(RankingBlock.run_id == run_id, RankingBlock.number >= first)
        .order_by(RankingBlock.number)
        .limit(BATCH)
    )
    answers = (
        select(Answer.topic_id, Answer.body)
        .where(Answer.run_id == run_id)
        .order_by(Answer.topic_id)
        .offset(first)
        .limit(BATCH)
    )
    found = list(session.scalars(blocks))
    return msgspec.msgpack.encode(
        found or [msgspec.msgpack.encode(tuple(row)) for row in session.execute(answers)]
    )


def beat(session: Session, worker: RemoteWorker, claim: Claim, settings: Settings) -> None:
    """Push the lease on; raises ClaimLost where another has the job."""
    if not queue.heartbeat(session, claim, settings.lease_s):
        raise ClaimLost(f"Job {claim.job_id} was taken over by another worker.", job=claim.job_id)
    job = session.get_one(Job, claim.job_id)
    workers.seen(session, job.owner or f"token {worker.token_id}:0")


def deliver(session: Session, viewer: Viewer, claim: Claim, packed: bytes) -> None:
    """Store a result, once; raises ClaimLost for a lost lease, Invalid for what does not fit."""
    assert claim.edition_id is not None, "an evaluation belongs to an edition"
    wanted = score.plan(session, claim.subject_id, claim.edition_id)
    edition = session.get_one(Edition, claim.edition_id)
    topics = len(session.get_one(QrelsRevision, edition.revision_id).topics)
    scored = wire.opened_scores(packed, wanted, topics)
    finishing.finish(session, claim, scored, EVALUATOR)
    facts = {"run": claim.subject_id, "edition": claim.edition_id}
    audit.record(session, viewer, "job.result", f"job:{claim.job_id}", token=viewer.token_id, **facts)


def give_up(session: Session, claim: Claim, message: str) -> None:
    """Record that a worker could not do a job; it is done again while attempts are left."""
    queue.fail(session, claim, f"A worker elsewhere: {' '.join(message.split())[:300]}", again=True)


def _judges() -> ModuleType:
    # Where there are rankings only, no module of judges is ever loaded.
    return import_module("leaderboard.services.judges.elsewhere")
