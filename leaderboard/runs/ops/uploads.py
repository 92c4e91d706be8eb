"""A run file on its way in: rules, check without a session, then one transaction that stores or rejects."""

import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import count, islice
from typing import Annotated, Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import names
from leaderboard.accounts.ops.tokens import RUNNER
from leaderboard.core import audit, events, kinds, policy, shown_names, throttles
from leaderboard.core.actions import Action, File, Given, Received
from leaderboard.core.jobs import queue
from leaderboard.core.kinds import RunKind
from leaderboard.core.phase_rules import KINDS
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import add_unless_taken, lock_key, lock_row, now
from leaderboard.db.tables import (
    ApiToken,
    Entry,
    Phase,
    RankingBlock,
    Run,
    Task,
    Team,
    Upload,
    UploadBatch,
    UploadChunk,
)
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound, OverQuota, Problem
from leaderboard.fields import Field
from leaderboard.runs import slots
from leaderboard.runs.ops import limits, prepare
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.prepare import PreparedUpload
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.run_facts import DESCRIPTION_CHARACTERS, FACTS
from leaderboard.scoring.ops.scored_topics import is_over
from leaderboard.settings import Settings
from leaderboard.tasks.ops import entries
from leaderboard.trec.facts import read_fact_fields
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.check import Report

IMAGE, COMMIT = re.compile("sha256:[0-9a-f]{64}"), re.compile("[0-9a-f]{7,64}")


def sending(
    session: Session, viewer: Viewer, slug: str, team_id: int, image: str, commit: str
) -> tuple[Viewer, Mapping[str, str]]:
    """As whom a token submits a run for a team, and the stored facts of its execution.

    A runner sends for each team that has entered its task itself, as a member would: the team's limits hold.
    All others send as themselves, and nothing is kept. Raises Forbidden for a digest that no runner gives and
    for a runner whose owner no longer organises the task, SecondFactorNeeded where that is due to a missing
    one, Invalid for a bad digest or none, NotFound for a team that is not in the task.
    """
    token = session.get(ApiToken, viewer.token_id) if viewer.token_id is not None else None
    if token is None or token.kind != RUNNER:
        if image or commit:
            raise Forbidden("Only a runner token can state the image or commit of a run.")
        return viewer, {}
    task, _ = policy.visible_task(session, viewer, slug)
    if not policy.executes(viewer, task.id):
        policy.require_second_factor(viewer)
        raise Forbidden("The owner of this token no longer organises the task.")
    _require_digests(image, commit)
    entered = select(Entry.id).where(Entry.task_id == task.id, Entry.team_id == team_id, entries.takes_part())
    if session.scalar(entered) is None:
        raise NotFound(f"There is no team {team_id} in {task.name}.", team=team_id)
    stated = {"by": token.label, "image": image, "commit": commit}
    return replace(viewer, team_ids=frozenset({team_id})), {key: text for key, text in stated.items() if text}


def _require_digests(image: str, commit: str) -> None:
    problems = []
    if not image and not commit:
        problems.append(
            Problem(
                "or a commit is needed.", "Give the image or the commit that was executed.", field="image"
            )
        )
    if image and not IMAGE.fullmatch(image):
        problems.append(
            Problem("must be `sha256:` and 64 hexadecimal digits.", "", field="image", value=image[:80])
        )
    if commit and not COMMIT.fullmatch(commit):
        problems.append(
            Problem("must have 7 to 64 hexadecimal digits.", "", field="commit", value=commit[:80])
        )
    if problems:
        raise Invalid("A runner must state what it executed.", problems)


MENDABLE_BYTES = 2**26
"""Maximum submitted size in bytes of a rejected file that is kept for fixes."""
LONGEST_REASON = 1_000
BATCH = 32
"""Rows of up to a megabyte each that are added with one statement."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Delivery:
    """A submitted run file: its sender, task and team, and the requested run."""

    sender: Viewer
    slug: str
    team_id: int
    file: PreparedUpload
    run_request: RunRequest
    key: str | None = None
    """A repeated key returns the earlier submission, so that a form submitted twice creates one run."""
    batch_id: int | None = None
    """Its batch, if any; in a batch an organiser can file a run for any team."""
    any_team: bool = False
    """Whether an organiser can do so without a batch: for a task created from files."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The outcome of an upload: state is received, held, accepted or rejected."""

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
        run_request=delivery.run_request,
        is_stored=False,
    )
    return _decide(session, checked)


def receive(session: Session, delivery: Delivery) -> Submission:
    """Keep a large file as it came and queue its check; raises as `submit` does."""
    begun = _begin(session, delivery)
    if isinstance(begun, Submission):
        return begun
    _, _, upload = begun
    queue_check(session, upload)
    _add_chunks(session, upload.id, delivery.file)
    return Submission(upload.id, None, upload.state, None)


def queue_check(session: Session, upload: Upload) -> None:
    """Queue the check of a file that was received; raises OverQuota as `limits.turn_of` does."""
    if upload.batch_id is not None:
        is_slow = session.get_one(UploadBatch, upload.batch_id).wishes.get("slow")
        priority = queue.UNHURRIED if is_slow else queue.OF_MANY
        queue.enqueue(session, queue.CHECK, upload.id, priority=priority)
    elif limits.count_check(session, upload.account_id):
        # A single file, whose sender waits, is checked before the next file of a batch.
        queue.enqueue(session, queue.CHECK, upload.id, priority=queue.FRESH)
    else:
        turn = limits.turn_of(session, upload)
        queue.enqueue(session, queue.CHECK, upload.id, priority=queue.OF_MANY, after=turn)


def stored(session: Session, upload_id: int) -> tuple[str, str, int]:
    """A stored upload's submitted file name, SHA-256 and size; raises NotFound where it is gone."""
    upload = session.get(Upload, upload_id)
    if upload is None:
        raise NotFound(f"There is no upload {upload_id}.")
    return upload.file_name, upload.sha256, upload.bytes


def decide(session: Session, upload_id: int, prepared: PreparedUpload) -> Submission:
    """Accept or reject a received upload once it was checked; one decided before is unchanged."""
    upload = session.get_one(Upload, upload_id)
    if upload.state != "received":
        run_id = session.scalar(select(Run.id).where(Run.upload_id == upload_id))
        return Submission(upload_id, run_id, upload.state, report_of(upload))
    task = session.get_one(Task, upload.task_id)
    phase = limits.phase_of(session, upload)
    checked = _Checked(
        viewer=policy.OPERATOR,
        task=task,
        phase=phase,
        upload=upload,
        prepared=_within_limits(session, phase, upload, prepared),
        run_request=RunRequest(**upload.wishes),
        is_stored=True,
    )
    is_first = upload.checked_at is None
    submission = _decide(session, checked)
    if upload.batch_id is None and is_first and submission.state != "rejected":
        limits.count_accepted(session, upload.account_id)
    if upload.batch_id is not None and submission.state == "rejected":
        limits.count_rejected(session, upload.account_id)
    return submission


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Checked:
    """A checked upload that is about to become a run or a rejection; is_stored: whether its file is."""

    viewer: Viewer
    task: Task
    phase: Phase
    upload: Upload
    prepared: PreparedUpload
    run_request: RunRequest
    is_stored: bool


def _earlier(session: Session, delivery: Delivery) -> Submission | None:
    """The outcome of an earlier submission of the same form."""
    if delivery.key is None:
        return None
    upload = session.scalar(select(Upload).where(Upload.idempotency_key == delivery.key))
    if upload is None:
        return None
    if upload.sha256 != delivery.file.sha256:
        raise Conflict("This form was already submitted with another file. Reload the page.")
    run_id = session.scalar(select(Run.id).where(Run.upload_id == upload.id))
    return Submission(upload.id, run_id, upload.state, report_of(upload))


def _begin(session: Session, delivery: Delivery) -> Submission | tuple[Task, Phase, Upload]:
    """Admit a form and make its upload; what became of it where it was sent before, even a moment ago."""
    # Of two forms of a team with one key the second is to find what the first one made.
    lock_row(session, Team, delivery.team_id)
    if (earlier := _earlier(session, delivery)) is not None:
        return earlier
    is_filed = delivery.any_team or delivery.batch_id is not None
    task, _, phase = limits.admit(
        session, delivery.sender, delivery.slug, delivery.team_id, delivery.run_request, any_team=is_filed
    )
    limits.require_size(phase, delivery.file.size)
    upload = _new_upload(session, delivery, phase)
    if not add_unless_taken(session, upload):
        # The same key was sent in this moment for another team, whose row another transaction holds.
        return _earlier(session, delivery) or _begin(session, delivery)
    return task, phase, upload


def _new_upload(session: Session, delivery: Delivery, phase: Phase) -> Upload:
    # The reason is kept for a run that is late only.
    late = delivery.run_request.late.strip()[:LONGEST_REASON] if is_over(session, phase.id) else ""
    return Upload(
        task_id=phase.task_id,
        phase_id=phase.id,
        team_id=delivery.team_id,
        account_id=delivery.sender.account_id,
        file_name=delivery.file.file_name,
        sha256=delivery.file.sha256,
        bytes=delivery.file.size,
        idempotency_key=delivery.key,
        state="received",
        agent=delivery.sender.is_agent,
        wishes=asdict(replace(delivery.run_request, filed=_is_filed(delivery), late=late)),
        batch_id=delivery.batch_id,
        created_at=now(session),
    )


def _is_filed(delivery: Delivery) -> bool:
    """Whether the run is filed for the team: by an organisers' runner or by an account outside the team."""
    return bool(delivery.run_request.execution) or not policy.owns(delivery.sender, delivery.team_id)


def _decide(session: Session, checked: _Checked) -> Submission:
    upload = checked.upload
    name, alike = _name_for(session, checked.task, upload.team_id, checked.run_request.name)
    report = _with_name_problem(checked.run_request, alike, checked.prepared.report)
    is_held = report.accepted and _waits_for_a_look(session, checked)
    run = _new_run(session, checked, name) if report.accepted and not is_held else None
    upload.report, upload.checked_at = report.as_json(), now(session)
    if report.accepted and not checked.is_stored:
        _add_chunks(session, upload.id, checked.prepared)
    if run is None:
        upload.state = "held" if is_held else "rejected"
        if not is_held:
            _keep_for_fixes(session, checked, report)
            for listener in events.LISTENERS:
                listener.upload_decided(session, checked.task, upload, None)
        session.flush()
        return Submission(upload.id, None, upload.state, report)
    upload.state = "accepted"
    session.add(run)
    session.flush()
    packed = checked.prepared.run
    assert packed is not None, "an accepted file has a run"
    kinds.of(checked.task.kind).store(session, run.id, packed)
    session.flush()
    _note_entry(session, run, checked)
    audit.record(
        session,
        checked.viewer,
        "run.submit",
        f"run:{run.id}",
        name=run.name,
        sha256=upload.sha256,
        **({"late": late} if (late := upload.wishes.get("late")) else {}),
    )
    if checked.run_request.reproduces:
        for tell in slots.MADE:
            tell(session, checked.viewer, run.id, checked.run_request.reproduces)
    editions.queue_run(session, run)
    for listener in events.LISTENERS:
        listener.upload_decided(session, checked.task, upload, run.id)
    return Submission(upload.id, run.id, upload.state, report)


def _waits_for_a_look(session: Session, checked: _Checked) -> bool:
    """Whether the first check of a file is to be followed by a review: by its sender, or the organisers.

    A sender requests one per batch; no agent sends batches.
    """
    upload = checked.upload
    if upload.checked_at is not None:
        return False
    if upload.batch_id is None:
        return upload.agent and checked.phase.agent_review
    return bool(session.get_one(UploadBatch, upload.batch_id).wishes["hold"])


def _keep_for_fixes(session: Session, checked: _Checked, report: Report) -> None:
    """Keep a rejected file that a fix may make a run of; drop all others."""
    upload = checked.upload
    fixable = (
        any(problem.fix for problem in report.problems)
        and upload.bytes <= MENDABLE_BYTES
        and not _comes_after_many(session, upload)
    )
    if fixable and not checked.is_stored:
        _add_chunks(session, upload.id, checked.prepared)
    elif checked.is_stored and not fixable:
        drop_pieces(session, upload.id)


def _comes_after_many(session: Session, upload: Upload) -> bool:
    """Whether too many files of the account were rejected before: it is not to fill the disk with more."""
    if upload.batch_id is not None:
        return bool(session.get_one(UploadBatch, upload.batch_id).wishes.get("slow"))
    return limits.rejections_left(session, upload.account_id) == 0


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


def _with_name_problem(run_request: RunRequest, alike: str | None, report: Report) -> Report:
    if alike == run_request.name:
        rule, remedy = "is the name of another run of this task.", "Submit the run under another name."
    elif alike is not None:
        rule, remedy = f"looks like {alike}, another run of this task.", "Submit the run under another name."
    elif not prepare.NAME.fullmatch(run_request.name):
        rule = (
            "must be 1 to 64 letters, digits, dots, hyphens or underscores, starting with a letter or digit."
        )
        remedy = f"For example {prepare.suggested_name(run_request.name)}."
    else:
        return report
    problem = Problem(rule, remedy, field="run name", value=run_request.name[:80])
    return replace(report, problems=(problem, *report.problems))


def _name_for(session: Session, task: Task, team_id: int, name: str) -> tuple[str, str | None]:
    """The name for a run, and the name of the run it conflicts with, if any.

    That of a withdrawn run is free, followed by a number: `bm25 (2)`. While nobody may know of other
    teams' runs, only the team's own are checked: a refusal would reveal one. For this reason masked teams'
    runs are known by the names that others read.
    """
    lock_key(session, f"run names {task.id}")
    query = select(Run.id, Run.name, Run.withdrawn_at).where(Run.task_id == task.id)
    if not policy.access_of(session, policy.ANONYMOUS, task).means:
        query = query.where(Run.team_id == team_id)
    shown = shown_names.shown_names(session, Viewer(team_ids=frozenset({team_id})), task)
    runs = [(shown.run(run.id, run.name), run.withdrawn_at is None) for run in session.execute(query).all()]
    for number in count(1):
        candidate = name if number == 1 else f"{name} ({number})"
        alike = [run for run in runs if names.looks_like(candidate, run[0])]
        standing = [other for other, stands in alike if stands]
        if standing:
            return name, name if candidate in standing else standing[0]
        if not alike:
            return candidate, None
    raise AssertionError("some number is free")


def _new_run(session: Session, checked: _Checked, name: str) -> Run:
    packed, upload, run_request = checked.prepared.run, checked.upload, checked.run_request
    assert packed is not None, "an accepted file has a run"
    return Run(
        upload_id=upload.id,
        task_id=upload.task_id,
        phase_id=checked.phase.id,
        team_id=upload.team_id,
        name=name,
        tag=packed.tag,
        kind=run_request.kind,
        filed=upload.wishes.get("filed", False),
        description=run_request.description,
        details=facts.stored(packed.details, run_request.facts),
        topics=packed.topics,
        entries=packed.entries,
        deepest=packed.deepest,
        ranking_sha256=packed.digest,
        sketch=packed.sketch,
        order_differs=packed.order_differs,
        created_at=now(session),
    )


def _note_entry(session: Session, run: Run, checked: _Checked) -> None:
    """Enter the team with its first run; its members are notified of a run filed for them."""
    task, account_id = checked.task, checked.upload.account_id
    is_own = not run.filed and not policy.is_organiser(session, task.id, account_id)
    entries.ensure(session, task, run.team_id, entered_by=account_id if is_own else None)
    if run.filed:
        entries.tell_of_filed(session, task, [run])


def _add_chunks(session: Session, upload_id: int, stored: PreparedUpload) -> None:
    add_pieces(session, upload_id, stored.chunks())


def add_pieces(session: Session, upload_id: int, pieces: Iterable[bytes]) -> None:
    """Store an upload's file, in compressed pieces as `PreparedUpload.chunks` gives them."""
    add_numbered(session, UploadChunk, {"upload_id": upload_id}, pieces)


def add_numbered(
    session: Session, table: type[RankingBlock | UploadChunk], owner: dict[str, int], bodies: Iterable[bytes]
) -> None:
    """Add numbered rows a few at a time: a large run's must not all be in memory."""
    numbered = enumerate(bodies)
    while rows := [{**owner, "number": number, "body": body} for number, body in islice(numbered, BATCH)]:
        session.execute(insert(table), rows)


def reject(session: Session, upload: Upload, why: str) -> None:
    """Reject a file that was held, with the reason as its report; its pieces are deleted."""
    upload.state = "rejected"
    upload.report = Report((Problem(why),)).as_json()
    drop_pieces(session, upload.id)


def drop_pieces(session: Session, upload_id: int) -> None:
    """Drop an upload's file."""
    session.execute(delete(UploadChunk).where(UploadChunk.upload_id == upload_id))


def report_of(upload: Upload) -> Report | None:
    """The report of an upload's check; None before it."""
    stored: dict[str, Any] | None = upload.report
    return None if stored is None else Report.from_json(stored)


PhaseName = Annotated[
    str, Field(title="Phase", help="The name of a phase; default: the open one, or the only one.")
]
CHECK_ONLY_AT_ONCE = 2
"""Maximum check-only files at a time; submissions and pages take precedence."""
_checks = threading.BoundedSemaphore(CHECK_ONLY_AT_ONCE)
BUSY = "Other files are being checked right now. Try again in a few seconds."


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckQuery:
    """The phase that the file is for, if several take runs now."""

    phase: PhaseName = ""


def check_only(given: Given, asked: CheckQuery) -> Report:
    """The report on a file by the rules for submitting it now, counted towards the check-only limits."""
    path, asker = given.files["file"].path, given.viewer
    with given.sessions.reading() as session:
        rules = limits.public_rules(
            session, asker, given.at[0], asked.phase or asker.phase, path.stat().st_size
        )
    with given.sessions.writing() as session:
        limits.count_check_only(session, asker.account_id, asker.ip)
    most = largest_check(given.settings, asker, rules.kind)
    is_large = prepare.is_large(path, most)
    report = None if is_large else prepare.check_only(path, rules, Limits(plain_bytes=most))
    rule = f"The file is too large to check here; the limit is {most:,} bytes."
    remedy = "Check it on your own machine with `leaderboard check`, or submit it."
    return report or Report((Problem(rule, remedy),))


def largest_check(here: Settings, viewer: Viewer, kind: RunKind) -> int:
    """Bytes of the largest plain file that the viewer may have checked.

    A ranking of 11 MB takes 0.03 s of processor, or 4 s if it is wrong in every topic; answers take 7 s.
    """
    is_more = kind.ranks_documents and viewer.account_id is not None
    return max(here.inline_bytes, here.check_bytes) if is_more else here.inline_bytes


CHECK = Action(
    name="check_run",
    summary="Check a file without submitting it",
    more="Applies the rules for submitting it now. The body is the file itself. Nothing is stored, and no "
    "run limit is used.",
    path="/tasks/<slug>/check",
    form="/tasks/<slug>/check",
    may=policy.visible_task,
    record=CheckQuery,
    file=File(
        field="file",
        missing="Choose a run file.",
        body="CHECK",
        turn=partial(throttles.turn, _checks, BUSY, 5),
        prepare=check_only,
    ),
    act=lambda session, viewer, slug, report, _: report,
    only_reads=True,
    scopes=(Scope.READ, Scope.SUBMIT),
    is_public=True,
)


TURNS = 3
"""Maximum files checked while their senders wait; the other threads serve pages."""
_turns = threading.BoundedSemaphore(TURNS)

TEAM = Field(
    title="Team", help="The number of the team.", form="team", missing="Choose the team that submits the run."
)
KIND = Field(
    title="Kind",
    help="Official runs are ranked. Only organisers add baseline and late runs.",
    choices={kind: kind for kind in KINDS},
)
DESCRIPTION = Field(
    title="Description",
    help="Description of the method.",
    rows=5,
    longest=DESCRIPTION_CHARACTERS,
    read=str.strip,
)
FILE = Field(
    title="File name",
    help="The name of the file; its extension gives the compression.",
    longest=1000,
    is_of_api=True,
)
IMAGE_FIELD = Field(
    title="Image",
    help="The digest of the container image that the runner executed: `sha256:` and hexadecimal digits.",
    is_of_api=True,
)
LATE = Field(
    title="Reason",
    help="Reason to count the run after its phase has closed; for organisers only.",
    longest=LONGEST_REASON,
)


def read_number(text: str) -> str:
    """The number of a run in that text or in the address of its page; raises ValueError.

    >>> read_number("https://example.org/runs/12/")
    '12'
    """
    number = text.strip().rstrip("/").rpartition("/")[2]
    if not number.isdecimal():
        raise ValueError("must be the number of a run or the address of its page, such as …/runs/12.")
    return number


def _run_field(title: str, which: str, form: str) -> Field:
    """A run by its number or, in the form, by the address of its page."""
    return Field(title=title, help=f"The number of the run that {which}.", form=form, read=read_number)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetails:
    """The team of a run, and what is said of it."""

    team_id: Annotated[int, TEAM]
    kind: Annotated[str, KIND] = "official"
    description: Annotated[str, DESCRIPTION] = ""
    facts: Annotated[Mapping[str, str], replace(FACTS, is_carried=True)] = field(default_factory=dict)
    file_name: Annotated[str, FILE] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProperties(RunDetails):
    """The team and the properties of a run."""

    phase: PhaseName = ""
    reproduces: Annotated[
        int | None, _run_field("Reproduces run", "this run reproduces", "reproduces-original")
    ] = None
    original_baseline: Annotated[
        int | None,
        _run_field("Original baseline", "the original improves on", "reproduces-original_baseline"),
    ] = None
    baseline: Annotated[
        int | None, _run_field("Baseline here", "this reproduction improves on", "reproduces-baseline")
    ] = None
    late: Annotated[str, LATE] = ""

    @property
    def told(self) -> dict[str, Any]:
        """What requests for one run and for many have in common; raises Invalid for facts."""
        told = {each: getattr(self, each) for each in ("kind", "description", "phase", "late")}
        return told | {"facts": read_fact_fields(self.facts)}

    def request(self, name: str, execution: Mapping[str, str] | None = None) -> RunRequest:
        """The run that is asked for; raises Invalid for facts, and for a baseline without an original."""
        runs = (self.reproduces, self.original_baseline, self.baseline)
        named = zip(("original", "original_baseline", "baseline"), runs, strict=True)
        given = {of: run_id for of, run_id in named if run_id is not None}
        if given and self.reproduces is None:
            problem = Problem("is missing.", "Name the run that this run reproduces.", field="reproduces")
            raise Invalid("A baseline alone does not make a reproduction.", [problem])
        return RunRequest(name.strip(), execution=execution or {}, reproduces=given, **self.told)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendQuery(RunProperties):
    """The team and the properties of the run; image and commit: what a runner executed."""

    image: Annotated[str, IMAGE_FIELD] = ""
    commit: Annotated[
        str, Field(title="Commit", help="The commit that the runner executed.", is_of_api=True)
    ] = ""


def _as_sent(
    session: Session, viewer: Viewer, slug: str, name: str, asked: SendQuery
) -> tuple[Viewer, RunRequest]:
    sender, execution = sending(session, viewer, slug, asked.team_id, asked.image, asked.commit)
    return sender, asked.request(name, execution)


def prepared(given: Given, team_id: int, sender: Viewer, run_request: RunRequest) -> tuple[Delivery, bool]:
    """A run file, and whether it was checked: not where that takes long, or others are being checked.

    A run without a name is named after the tag in its file, else after the file.
    """
    file = given.files["file"]
    name = run_request.name or prepare.suggested_name(prepare.first_tag(file.path) or file.name)
    file = replace(file, name=file.name or name)
    checked = _checked(given, file, team_id, sender, run_request.phase)
    delivery = Delivery(
        sender=sender,
        slug=given.at[0],
        team_id=team_id,
        file=checked or prepare.unchecked(file.path, file.name),
        run_request=replace(run_request, name=name),
        key=given.key,
    )
    return delivery, checked is not None


def _checked(given: Given, file: Received, team_id: int, sender: Viewer, phase: str) -> PreparedUpload | None:
    """The file checked while its sender waits, outside any transaction.

    None if that takes long, or if too many files of the account or network were rejected.
    """
    if prepare.is_large(file.path, given.settings.inline_bytes) or not _turns.acquire(blocking=False):
        return None
    try:
        with given.sessions.reading() as session:
            rules = limits.rules_for(session, sender, given.at[0], team_id, phase)
        with given.sessions.writing() as session:
            if not limits.count_check(session, sender.account_id, sender.ip):
                return None
        within = Limits(plain_bytes=given.settings.plain_bytes)
        checked = prepare.quick(file.path, file.name, rules, within)
        if checked is None:
            with given.sessions.writing() as session:
                limits.count_accepted(session, sender.account_id, sender.ip)
        return checked
    finally:
        _turns.release()


def store(session: Session, delivery: Delivery, is_checked: bool) -> Submission:
    """Store a run file that was checked, or keep it for the evaluator; one whose key came before is not."""
    if not is_checked:
        return receive(session, delivery)
    submission = submit(session, delivery)
    if submission.state != "rejected":
        limits.count_accepted(session, delivery.sender.account_id, delivery.sender.ip)
    return submission


SEND = Action(
    name="send_run",
    summary="Submit a run",
    more="The body is the file itself, plain or compressed. A small file is checked at once: 201, or 422 "
    "with every problem. A large one is checked by an evaluator: 202, and `Location` gives the address to "
    "query. With `Idempotency-Key`, the same file sent again creates no second run.",
    method="PUT",
    path="/tasks/<slug>/runs/<name>",
    form="/tasks/<slug>/submit",
    named={"name": "name"},
    may=policy.visible_task,
    record=SendQuery,
    plan=_as_sent,
    file=File(
        field="file",
        missing="Choose a run file.",
        prepare=lambda given, asked: prepared(given, asked.team_id, *given.allowed),
    ),
    act=lambda session, viewer, slug, name, sent, _: (sent[0], store(session, *sent)),
    scopes=(Scope.SUBMIT,),
    status=201,
)
