"""An upload as its team and the organisers of the task see it: its report, and how far its check is."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.core import policy, shown_names
from leaderboard.core.jobs import queue
from leaderboard.core.jobs.queue import RunState
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Account, Run, Task, Team, Topic, Upload
from leaderboard.errors import NotFound
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import Judged
from leaderboard.measures.naming import parse
from leaderboard.measures.trec_lines import HEAD, lines_of, requested
from leaderboard.runs.ops import fixing, limits
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.prepare import suggested_name
from leaderboard.runs.ops.uploads import report_of
from leaderboard.runs.page.head import RunActions, actions_of, ranked_documents
from leaderboard.scoring.ops import collections
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.scoring.ops.rankings import alignment
from leaderboard.scoring.ops.scored_topics import OfTask, is_over
from leaderboard.tasks.ops import phases
from leaderboard.trec.runs.check import Report
from leaderboard.trec.scores.in_memory import missed
from leaderboard.trec.scores.report import RunScores, trec

ALL_TREC = "all_trec"
LONGEST_NAME = 120
TYPES = {
    ".gz": "application/gzip",
    ".bz2": "application/x-bzip2",
    ".xz": "application/x-xz",
    ".zst": "application/zstd",
}
"""Ending of a file's name -> what it holds; anything else is text."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A run's file as submitted: which upload holds its bytes, and how it is offered."""

    upload_id: int
    name: str
    media_type: str
    size: int
    sha256: str
    run_id: int | None = None
    """The run it became."""


def sent_file(session: Session, viewer: Viewer, run_id: int) -> SentFile:
    """The submitted file; raises NotFound for an unknown run and where the viewer may not have the file."""
    run, task, access = policy.visible_run(session, viewer, run_id)
    if not shown_names.may_have_file(session, viewer, run, task, access):
        raise NotFound(f"You are not allowed to download the file of run {run_id}.", run=run_id)
    upload = session.get_one(Upload, run.upload_id)
    return replace(sent_as(upload, download_name(upload.file_name, run.id)), run_id=run.id)


def sent_as(upload: Upload, name: str) -> SentFile:
    """An upload's file, named with the extension of its content type."""
    ending = name[name.rfind(".") :].lower() if "." in name else ""
    kind = TYPES.get(ending, "text/plain; charset=utf-8")
    return SentFile(upload.id, name, kind, upload.bytes, upload.sha256)


def download_name(file_name: str, run_id: int) -> str:
    """A name a file can be saved under anywhere: plain letters, digits, dots, dashes and underscores.

    >>> download_name("../my run (1).txt.gz", 7), download_name("прогон", 7)
    ('my-run-1-.txt.gz', 'run-7.txt')
    """
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "._-") else " " for letter in file_name
    )
    name = "-".join(plain.split()).lstrip(".-")[-LONGEST_NAME:].lstrip(".-")
    return name or f"run-{run_id}.txt"


def command(
    file_name: str, keys: Sequence[str], *, dialect: int, level: int, leaves_out: bool = False
) -> str:
    """The line for a shell that computes measures from the file, as `trec_eval_text` gives them.

    level: the task's. It is an option where every measure has it, as trec_eval's names imply one level.
    leaves_out: whether the revision leaves documents out of rankings.

    >>> command("run.txt", ["AP(rel=2)", "nDCG@10"], dialect=10, level=2)
    "leaderboard evaluate qrels.txt run.txt -q --dialect 10 -l 2 -m runid -m num_q -m 'AP(rel=2)' -m nDCG@10"
    """
    options = ["-q", "--dialect", str(dialect)]
    options += ["--leave-out", "left_out.txt"] if leaves_out else []
    if (common := level_of([parse(key) for key in keys], level)) > 1:
        options += ["-l", str(common)]
    measures = [part for key in ("runid", "num_q", *keys) for part in ("-m", key)]
    return shlex.join(["leaderboard", "evaluate", "qrels.txt", file_name, *options, *measures])


def level_of(measures: Sequence[BoundMeasure], level: int) -> int:
    """The level that measures were bound with: the task's, or 1 where one of them has another."""
    levels = {measure.params["rel"] for measure in measures if "rel" in measure.params}
    return level if levels == {level} else 1


def trec_eval_text(session: Session, viewer: Viewer, run_id: int, *, all_trec: bool) -> str:
    """A run's scores by topic and over all topics, as trec_eval prints them.

    By the board's measures, or by all of trec_eval's. Raises NotFound for an unknown run, for one that ranks
    no documents, is withdrawn or not scored, and while scores by topic are hidden.
    """
    scored = ranked_documents(session, viewer, run_id)
    run, task, source = scored.run, scored.seen.task, scored.source
    judged = alignment(session, source, run.id)
    if all_trec:
        lines, _ = requested([ALL_TREC], source.dialect, task.level)
    else:
        measures = [parse(column.key) for column in scored.columns]
        lines = lines_of(measures, level_of(measures, task.level), HEAD)
    tag = scored.seen.name if scored.seen.masked else run.tag
    chosen = [line.measure for line in lines if line.measure is not None]
    return "".join(trec([_scores(tag, judged, chosen, source)], lines, per_topic=True))


def _scores(tag: str, judged: Judged, measures: Sequence[BoundMeasure], source: Source) -> RunScores:
    places = np.array(source.places, dtype=np.int64)
    scores = {measure: measure.compute(judged)[places] for measure in measures}
    parts = {measure: part[:, places] for measure in measures if (part := measure.parts(judged)) is not None}
    of_missed = missed(judged, measures, places=places)
    return RunScores(tag, source.topics, scores, parts, of_missed)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadPage(OfTask):
    """An upload as its sender and the organisers see it."""

    upload: Upload
    team: str
    sender: str
    name: str
    kind: str
    report: Report | None
    run_id: int | None
    progress: RunState
    offered: tuple[str, ...]
    """Available fixes of the file, by name."""
    fixed_ids: tuple[int, ...]
    """The uploads created from this one by fixes."""
    has_file: bool
    actions: RunActions | None
    """The reader's allowed actions on the run; None without a run."""
    rejections: str
    """The warning to its sender about the remaining rejections; usually empty."""
    may_review: bool
    """Whether the reader may accept or reject it, where it is held for review."""


def upload_page(session: Session, viewer: Viewer, upload_id: int) -> UploadPage:
    """One upload with its report; NotFound for all but the team that sent it and the organisers."""
    upload, task, team, sender = _row(session, viewer, upload_id)
    run_request = RunRequest(**upload.wishes)
    fixed = select(Upload.id).where(Upload.fixed_from_id == upload_id).order_by(Upload.id)
    run = session.scalar(select(Run).where(Run.upload_id == upload.id))
    closed = {run.phase_id} if run is not None and is_over(session, run.phase_id) else ()
    return UploadPage(
        of=task,
        upload=upload,
        team=team.name,
        sender=sender or "",
        name=run_request.name if run is None else run.name,
        kind=run_request.kind,
        report=report_of(upload),
        run_id=None if run is None else run.id,
        progress=queue.check_position(session, upload.id),
        offered=fixing.offered(session, upload),
        fixed_ids=tuple(session.scalars(fixed)),
        has_file=fixing.is_kept(session, upload.id),
        actions=actions_of(session, viewer, [run], {task.id: task}, closed)[run.id] if run else None,
        rejections=_rejections(session, viewer, upload),
        may_review=policy.organises(viewer, task.id),
    )


def _rejections(session: Session, viewer: Viewer, upload: Upload) -> str:
    if viewer.account_id is None or viewer.account_id != upload.account_id or upload.state == "accepted":
        return ""
    return limits.rejections_in_words(limits.rejections_left(session, viewer.account_id))


def upload_file(session: Session, viewer: Viewer, upload_id: int) -> SentFile:
    """An upload's file as submitted or fixed, for viewers of the upload; NotFound if it is not kept."""
    upload, *_ = _row(session, viewer, upload_id)
    if not fixing.is_kept(session, upload_id):
        raise NotFound(f"The file of upload {upload_id} was not kept.", upload=upload_id)
    # A fixed file is plain text, regardless of its source.
    name = f"{suggested_name(upload.file_name)}.txt" if upload.fixes else upload.file_name
    return sent_as(upload, download_name(name, upload.id))


def _row(session: Session, viewer: Viewer, upload_id: int) -> tuple[Upload, Task, Team, str | None]:
    row = session.execute(
        select(Upload, Task, Team, Account.name)
        .join(Task, Task.id == Upload.task_id)
        .join(Team, Team.id == Upload.team_id)
        .outerjoin(Account, Account.id == Upload.account_id)
        .where(Upload.id == upload_id)
    ).one_or_none()
    if row is None or not (policy.owns(viewer, row.Upload.team_id) or policy.reads(viewer, row.Task.id)):
        raise NotFound(f"There is no upload {upload_id}.", upload=upload_id)
    upload, task, team, sender = row
    policy.require_bound(viewer, task)
    return upload, task, team, sender


SAMPLE_DEPTH = 10
"""Documents per topic of a sample run: as many as blind tasks require."""


def sample_run(session: Session, viewer: Viewer, slug: str) -> str:
    """A run file that the task accepts, of its topics and a few documents; worthless, to show the format.

    Raises NotFound where the task is not visible to the viewer or its kind has no sample, Closed for a draft.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    rules = limits.public_rules(session, viewer, slug)
    docnos = collections.some_docnos(session, task.collection_id, SAMPLE_DEPTH)
    docnos = docnos or [f"document-{number}" for number in range(1, SAMPLE_DEPTH + 1)]
    lines = () if rules.kind.sample is None else rules.kind.sample(rules, docnos)
    if not (text := "".join(f"{line}\n" for line in lines)):
        raise NotFound(f"{task.name} has no sample run: its runs are not a file of lines.")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckForm(OfTask):
    """The rules of a task that a file is checked against."""

    topics: int
    visibility: str
    """blind where any phase that accepts runs now is."""
    phases: tuple[str, ...]
    """The phases that accept runs now, if several do."""
    organises: bool
    details: bool
    """Whether scores by topic are shown to the viewer."""

    @property
    def phase(self) -> str:
        """The phase that is offered first."""
        return self.phases[-1] if self.phases else ""


def check_form(session: Session, viewer: Viewer, slug: str) -> CheckForm:
    """The public form of one task; NotFound if the task is not visible to the viewer."""
    task, access = policy.visible_task(session, viewer, slug)
    all_phases, at = phases.of_task(session, task.id), now(session)
    taking = [phase for phase in all_phases if phases.is_open(phase, at)] or all_phases[-1:]
    visibilities = [phase.visibility or task.visibility for phase in taking]
    return CheckForm(
        of=task,
        topics=session.scalar(select(func.count(Topic.id)).where(Topic.task_id == task.id)) or 0,
        visibility="blind" if "blind" in visibilities else visibilities[0],
        phases=tuple(phase.name for phase in taking) if len(taking) > 1 else (),
        organises=policy.organises(viewer, task.id),
        details=access.details,
    )
