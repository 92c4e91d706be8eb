"""Operations of workers on other machines: jobs claimed, fetched, kept and handed in."""

from dataclasses import dataclass
from pathlib import Path

from flask import Response

from leaderboard.services.accounts.tokens import Scope
from leaderboard.services.jobs.queue import Claim
from leaderboard.services.workers import elsewhere
from leaderboard.services.workers.elsewhere import RemoteWorker
from leaderboard.web import responses
from leaderboard.web.api.operations import BODY_OF_FILE, operation
from leaderboard.web.api.organise.answers import Done
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import finish_reading, reading, settings, viewer, wake, writing

HELD = Rule(SIGNED_IN)
BYTES = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBody:
    """The version of the worker, and a number that tells processes with the same token apart."""

    version: str
    slot: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBody:
    """The fence that came with the job."""

    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceQuery:
    """The fence that came with the job."""

    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlocksQuery:
    """The fence that came with the job; first: the number of the first block that is wanted."""

    fence: int
    first: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureBody:
    """The fence that came with the job, and what went wrong."""

    fence: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAnswer:
    """A job that was claimed; null where none is due.

    fence: sent with everything that is said of the job; who has an old one is refused. lease_s: seconds after
    which a worker that is not heard of loses it. limit_s: how long it may take.
    """

    job: int | None = None
    run: int | None = None
    fence: int = 0
    lease_s: int = 0
    limit_s: int = 0


@operation("POST", "/worker/claim", JobAnswer, body=WorkerBody, scopes=(Scope.READ,))
def claim_job(body: WorkerBody) -> JobAnswer:
    """Take an evaluation to do

    For the token of a worker, which is for one task: the most urgent evaluation of that task.
    """
    asker = viewer()
    with writing() as session:
        worker = elsewhere.admitted(session, asker)
        claim = elsewhere.claim(session, worker, body.slot, body.version, settings())
    if claim is None:
        return JobAnswer()
    return JobAnswer(
        job=claim.job_id,
        run=claim.subject_id,
        fence=claim.token,
        lease_s=settings().lease_s,
        limit_s=claim.limit_s,
    )


@operation("GET", "/worker/jobs/<id:job_id>/plan", bytes, query=FenceQuery, rule=HELD)
def job_plan(job_id: int, query: FenceQuery) -> Response:
    """What a job has to compute, with the judgments

    As MessagePack; `leaderboard worker --site` reads it.
    """
    return responses.as_stored(elsewhere.plan(reading(), _held(job_id, query.fence)), BYTES)


@operation("GET", "/worker/jobs/<id:job_id>/rankings", bytes, query=BlocksQuery, rule=HELD)
def job_rankings(job_id: int, query: BlocksQuery) -> Response:
    """Some blocks of the run's rankings, or some of its answers

    As a MessagePack list; an empty one is the end. Each answer is a topic and what is said on it.
    """
    claim = _held(job_id, query.fence)
    return responses.as_stored(elsewhere.rankings(reading(), claim.subject_id, query.first), BYTES)


@operation("GET", "/worker/jobs/<id:job_id>/judge", bytes, query=FenceQuery, rule=HELD)
def job_judge(job_id: int, query: FenceQuery) -> Response:
    """What the judge sent whom a job scores

    As MessagePack: its board or labels, and with labels the runs of the reference, each with its digest.
    """
    return responses.as_stored(elsewhere.judge(reading(), _held(job_id, query.fence)), BYTES)


@operation("GET", "/worker/jobs/<id:job_id>/runs/<id:run_id>/rankings", bytes, query=BlocksQuery, rule=HELD)
def job_rankings_of(job_id: int, run_id: int, query: BlocksQuery) -> Response:
    """The same of a run of the reference

    For labels of a judge, which score all runs of the reference; while everybody may have these.
    """
    claim = _held(job_id, query.fence)
    return responses.as_stored(elsewhere.rankings_of(reading(), claim, run_id, query.first), BYTES)


@operation(
    "POST", "/worker/jobs/<id:job_id>/heartbeat", Done, body=FenceBody, rule=HELD, scopes=(Scope.READ,)
)
def keep_job(job_id: int, body: FenceBody) -> Done:
    """Say that a job is being done

    Well before its lease runs out.
    """
    claim = _held(job_id, body.fence)
    with writing() as session:
        elsewhere.beat(session, _worker(), claim, settings())
    return Done(done="kept")


@operation(
    "PUT", "/worker/jobs/<id:job_id>/result", Done, query=FenceQuery, rule=BODY_OF_FILE, scopes=(Scope.READ,)
)
def hand_in(job_id: int, query: FenceQuery, file: Path) -> Done:
    """Hand in what came of a job

    The body is MessagePack with a digest over judgments and values; it is stored once, or refused.
    """
    claim, asker = _held(job_id, query.fence), viewer()
    finish_reading()
    packed = file.read_bytes()
    with writing() as session:
        elsewhere.deliver(session, asker, claim, packed)
    wake()
    return Done(done="stored")


@operation(
    "POST", "/worker/jobs/<id:job_id>/failure", Done, body=FailureBody, rule=HELD, scopes=(Scope.READ,)
)
def give_up_job(job_id: int, body: FailureBody) -> Done:
    """Say that a job cannot be done

    It is done again, here or elsewhere, while attempts are left.
    """
    claim = _held(job_id, body.fence)
    with writing() as session:
        elsewhere.give_up(session, claim, body.message)
    return Done(done="given back")


OPERATIONS = (claim_job, job_plan, job_rankings, job_judge, job_rankings_of, keep_job, hand_in, give_up_job)


def _worker() -> RemoteWorker:
    return elsewhere.admitted(reading(), viewer())


def _held(job_id: int, fence: int) -> Claim:
    return elsewhere.held(reading(), _worker(), job_id, fence)
