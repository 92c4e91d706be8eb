"""A run file on its way in: rules, check without a session, then one transaction that stores or rejects."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import add_unless_taken, lock_key, lock_row, now
from leaderboard.db.tables import (
    Entry,
    Phase,
    RankingBlock,
    RankingIndex,
    Run,
    Task,
    Team,
    Upload,
    UploadChunk,
)
from leaderboard.errors import Conflict, Invalid, NotFound, OverQuota, Problem
from leaderboard.services import audit, policy
from leaderboard.services.accounts import names
from leaderboard.services.evaluations import editions
from leaderboard.services.jobs import queue
from leaderboard.services.policy import Viewer
from leaderboard.services.pseudonyms import pseudonyms
from leaderboard.services.runs import admission, facts, limits, prepare
from leaderboard.services.runs.admission import RunRequest
from leaderboard.services.runs.prepare import PreparedUpload
from leaderboard.services.statistics import prepared
from leaderboard.trec.runs.reports import Report

BATCH = 32
"""Rows of up to a megabyte each that are added with one statement."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Delivery:
    """A run file as it is sent: by whom, to which task, for which team, and what the run is to be."""

    sender: Viewer
    slug: str
    team_id: int
    file: PreparedUpload
    wishes: RunRequest
    key: str | None = None
    """A key seen before gives the submission it made, so that a form sent twice makes one run."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What became of an upload: state is received, accepted or rejected."""

    upload_id: int
    run_id: int | None
    state: str
    report: Report | None


def submit(session: Session, delivery: Delivery) -> Submission:
    """Store a checked file: an accepted one as a run with its jobs, a rejected one as its report only.

    Deadline, limits and the run's name are checked here, inside the transaction. Raises Closed, OverQuota,
    Conflict for a key used for another file; Forbidden unless the sender is in the team.
    """
    begun = _begin(session, delivery)
    if isinstance(begun, Submission):
        return begun
    task, phase, upload = begun
    checked = _Checked(
        viewer=delivery.sender,
        task=task,
        phase=phase,
        upload=upload,
        prepared=delivery.file,
        wishes=delivery.wishes,
        is_stored=False,
    )
    return _decide(session, checked)


def receive(session: Session, delivery: Delivery) -> Submission:
    """Keep a large file as it came and queue its check; raises as `submit` does."""
    begun = _begin(session, delivery)
    if isinstance(begun, Submission):
        return begun
    _, _, upload = begun
    limits.count_check(session, delivery.sender.account_id)
    _add_chunks(session, upload.id, delivery.file)
    queue.enqueue(session, queue.CHECK, upload.id, priority=queue.FRESH)
    return Submission(upload.id, None, upload.state, None)


def stored(session: Session, upload_id: int) -> tuple[str, str, int]:
    """A stored upload's file name as sent, SHA-256 and size; raises NotFound where it is gone."""
    upload = session.get(Upload, upload_id)
    if upload is None:
        raise NotFound(f"There is no upload {upload_id}.")
    return upload.file_name, upload.sha256, upload.bytes


def decide(session: Session, upload_id: int, prepared: PreparedUpload) -> Submission:
    """Accept or reject a received upload once it was checked; one decided before stays as it is."""
    upload = session.get_one(Upload, upload_id)
    if upload.state != "received":
        run_id = session.scalar(select(Run.id).where(Run.upload_id == upload_id))
        return Submission(upload_id, run_id, upload.state, report_of(upload))
    task = session.get_one(Task, upload.task_id)
    phase = admission.phase_of(session, task)
    checked = _Checked(
        viewer=policy.OPERATOR,
        task=task,
        phase=phase,
        upload=upload,
        prepared=_within_limits(session, phase, upload, prepared),
        wishes=RunRequest(**upload.wishes),
        is_stored=True,
    )
    submission = _decide(session, checked)
    if submission.run_id is not None:
        limits.count_accepted(session, upload.account_id)
    return submission


def withdraw(session: Session, viewer: Viewer, run_id: int, why: str) -> None:
    """Take a run off the board, for good and with a reason; its file and scores are kept.

    Raises Conflict where it is withdrawn already, Forbidden unless the team or an organiser asks.
    """
    run, task, _ = policy.visible_run(session, viewer, run_id)
    if not policy.organises(viewer, task.id):
        policy.require_member(viewer, run.team_id)
    if run.withdrawn_at is not None:
        raise Conflict(f"Run {run.name} is withdrawn already.")
    if not why.strip():
        raise Invalid("Say why the run is withdrawn; the reason stays on its page.")
    run.withdrawn_at, run.withdrawn_by, run.withdrawn_why = now(session), viewer.account_id, why.strip()
    session.flush()
    editions.drop_jobs(session, run.id)
    prepared.prepare(session, task.id)
    audit.record(session, viewer, "run.withdraw", f"run:{run.id}", why=run.withdrawn_why)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Checked:
    """A checked upload that is about to become a run or a rejection; is_stored: whether its file is."""

    viewer: Viewer
    task: Task
    phase: Phase
    upload: Upload
    prepared: PreparedUpload
    wishes: RunRequest
    is_stored: bool


def _earlier(session: Session, delivery: Delivery) -> Submission | None:
    """What became of the same form when it was sent before."""
    if delivery.key is None:
        return None
    upload = session.scalar(select(Upload).where(Upload.idempotency_key == delivery.key))
    if upload is None:
        return None
    if upload.sha256 != delivery.file.sha256:
        raise Conflict("This form was sent before with another file; open the form anew.")
    run_id = session.scalar(select(Run.id).where(Run.upload_id == upload.id))
    return Submission(upload.id, run_id, upload.state, report_of(upload))


def _begin(session: Session, delivery: Delivery) -> Submission | tuple[Task, Phase, Upload]:
    """Admit a form and make its upload; what became of it where it was sent before, even a moment ago."""
    # Of two forms of a team with one key the second is to find what the first one made.
    lock_row(session, Team, delivery.team_id)
    if (earlier := _earlier(session, delivery)) is not None:
        return earlier
    task, _, phase = admission.admit(
        session, delivery.sender, delivery.slug, delivery.team_id, delivery.wishes
    )
    upload = _new_upload(session, delivery, task)
    if not add_unless_taken(session, upload):
        # The same key was sent in this moment for another team, whose row another transaction holds.
        return _earlier(session, delivery) or _begin(session, delivery)
    return task, phase, upload


def _new_upload(session: Session, delivery: Delivery, task: Task) -> Upload:
    return Upload(
        task_id=task.id,
        team_id=delivery.team_id,
        account_id=delivery.sender.account_id,
        file_name=delivery.file.file_name,
        sha256=delivery.file.sha256,
        bytes=delivery.file.size,
        idempotency_key=delivery.key,
        state="received",
        wishes=asdict(delivery.wishes),
        created_at=now(session),
    )


def _decide(session: Session, checked: _Checked) -> Submission:
    upload = checked.upload
    report = _with_name_problem(
        session, checked.task, upload.team_id, checked.wishes, checked.prepared.report
    )
    run = _new_run(session, checked) if report.accepted else None
    upload.report, upload.checked_at = report.as_json(), now(session)
    if run is None:
        upload.state = "rejected"
        if checked.is_stored:
            _drop_chunks(session, upload.id)
        session.flush()
        return Submission(upload.id, None, upload.state, report)
    upload.state = "accepted"
    if not checked.is_stored:
        _add_chunks(session, upload.id, checked.prepared)
    session.add(run)
    session.flush()
    _add_rankings(session, run, checked)
    audit.record(session, checked.viewer, "run.submit", f"run:{run.id}", name=run.name, sha256=upload.sha256)
    editions.queue_run(session, run)
    return Submission(upload.id, run.id, upload.state, report)


def _within_limits(
    session: Session, phase: Phase, upload: Upload, prepared: PreparedUpload
) -> PreparedUpload:
    """The file with one more problem where it is over the limits of its team or account by now."""
    try:
        limits.require_still_room(session, phase, upload)
    except OverQuota as error:
        problem = Problem(error.message, field="run")
        report = replace(prepared.report, problems=(problem, *prepared.report.problems))
        return replace(prepared, report=report)
    return prepared


def _with_name_problem(
    session: Session, task: Task, team_id: int, wishes: RunRequest, report: Report
) -> Report:
    alike = _name_alike(session, task, team_id, wishes.name)
    if alike == wishes.name:
        rule, remedy = "is the name of another run of this task.", "Send the run under another name."
    elif alike is not None:
        rule, remedy = f"looks like {alike}, another run of this task.", "Send the run under another name."
    elif not prepare.NAME.fullmatch(wishes.name):
        rule = (
            "must be 1 to 64 letters, digits, dots, hyphens or underscores, starting with a letter or digit."
        )
        remedy = f"For instance {prepare.suggested_name(wishes.name)}."
    else:
        return report
    problem = Problem(rule, remedy, field="run name", value=wishes.name[:80])
    return replace(report, problems=(problem, *report.problems))


def _name_alike(session: Session, task: Task, team_id: int, name: str) -> str | None:
    """The name of a run of the task that is this one or looks like it; None where there is none.

    While nobody may know of other teams' runs, only the team's own are looked at: a refusal would tell.
    For the same reason runs of masked teams are known by what others read.
    """
    lock_key(session, f"run names {task.id}")
    known = select(Run.id, Run.name).where(Run.task_id == task.id)
    if not policy.sight_of(session, policy.ANONYMOUS, task).means:
        known = known.where(Run.team_id == team_id)
    shown = policy.shown_names(session, policy.Viewer(team_ids=frozenset({team_id})), task)
    others = (shown.run(*row) for row in session.execute(known))
    alike = [other for other in others if names.looks_like(name, other)]
    return name if name in alike else next(iter(alike), None)


def _new_run(session: Session, checked: _Checked) -> Run:
    packed, upload, wishes = checked.prepared.run, checked.upload, checked.wishes
    assert packed is not None, "an accepted file has a run"
    return Run(
        upload_id=upload.id,
        task_id=upload.task_id,
        phase_id=checked.phase.id,
        team_id=upload.team_id,
        name=wishes.name,
        tag=packed.tag,
        kind=wishes.kind,
        description=wishes.description,
        details=facts.stored(packed.details, wishes.facts),
        topics=packed.topics,
        entries=packed.entries,
        deepest=packed.deepest,
        ranking_sha256=packed.digest,
        sketch=packed.sketch,
        order_differs=packed.order_differs,
        created_at=now(session),
    )


def _add_rankings(session: Session, run: Run, checked: _Checked) -> None:
    packed = checked.prepared.run
    assert packed is not None, "an accepted file has a run"
    session.add(RankingIndex(run_id=run.id, body=packed.index))
    _insert(session, RankingBlock, {"run_id": run.id}, packed.blocks)
    _enter(session, run.task_id, run.team_id)
    session.flush()


def _enter(session: Session, task_id: int, team_id: int) -> None:
    entry = select(Entry.id).where(Entry.task_id == task_id, Entry.team_id == team_id)
    if session.scalar(entry) is None:
        session.add(Entry(task_id=task_id, team_id=team_id, created_at=now(session)))
        pseudonyms.enter(session, task_id)


def _add_chunks(session: Session, upload_id: int, stored: PreparedUpload) -> None:
    _insert(session, UploadChunk, {"upload_id": upload_id}, stored.chunks())


def _insert(
    session: Session, table: type[RankingBlock | UploadChunk], owner: dict[str, int], bodies: Iterable[bytes]
) -> None:
    """Add numbered rows a few at a time: a large run's must not all be in memory."""
    numbered = enumerate(bodies)
    while rows := [{**owner, "number": number, "body": body} for number, body in islice(numbered, BATCH)]:
        session.execute(insert(table), rows)


def _drop_chunks(session: Session, upload_id: int) -> None:
    session.execute(delete(UploadChunk).where(UploadChunk.upload_id == upload_id))


def report_of(upload: Upload) -> Report | None:
    """The report of an upload's check; None before it."""
    stored: dict[str, Any] | None = upload.report
    return None if stored is None else Report.from_json(stored)
