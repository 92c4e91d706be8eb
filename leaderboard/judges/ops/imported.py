"""Import of a judge task from a bundle: references, submissions of judges, boards made from labels."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from leaderboard.boards.ops.rows import Row, rank, read_rows
from leaderboard.core import policy
from leaderboard.core.actions import Action, File, Given
from leaderboard.core.kinds import PackedRun
from leaderboard.core.policy import ANONYMOUS, TaskAccess, Viewer
from leaderboard.db.tables import Alignment, Edition, Qrels, QrelsRevision, Task, Topic
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.fields import Field
from leaderboard.judges.ops import sending, store
from leaderboard.judges.ops.labels import run_sources
from leaderboard.judges.ops.sending import KIND, PreparedReference, of_reference
from leaderboard.measures.naming import parse
from leaderboard.qrels.ops import revisions
from leaderboard.runs.ops import prepare
from leaderboard.runs.ops.prepare import PreparedUpload
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.scoring.ops.evaluations.shown import ShownEdition, narrowed, scores_of, shown_edition
from leaderboard.scoring.ops.scored_topics import MeasureColumn, column
from leaderboard.trec.boards.align import FEWEST_RUNS, Reference, reference_from
from leaderboard.trec.boards.align import reference_of as align_reference_of
from leaderboard.trec.boards.answer_labels import KeptAnswerLabels, Places
from leaderboard.trec.boards.board_files import Known, read_board
from leaderboard.trec.boards.forms import Declared, read_declared
from leaderboard.trec.boards.judge_labels import KeptLabels
from leaderboard.trec.boards.packing import BoardRules, KeptBoard, KeptReference, Origin, is_board, pack_board
from leaderboard.trec.boards.renaming import renamed, renamed_reference
from leaderboard.trec.boards.texts import DIALECTS, FAULTS, Sent, reference_of, sent_of
from leaderboard.trec.read.bundles import base_name, kind_of, unbundled
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits
from leaderboard.trec.runs.check import Report

DECLARED = "declared.csv"


def from_task(
    session: Session, viewer: Viewer, slug: str, source: str, measure: str = ""
) -> PreparedReference:
    """The current board of another task, by one of its measures (by default its primary one).

    Its ranked runs under their public names, with declared facts. Raises NotFound for a task
    that the viewer may not see, Conflict if its scores by topic are hidden from the viewer, and
    Invalid for a measure that is better when lower, or has no scores by topic to average.
    """
    task = _judges_task(session, viewer, slug)
    other, access = policy.visible_task(session, viewer, source)
    if not access.details:
        raise Conflict(f"You cannot see the scores of {other.name} by topic: {access.why}")
    shown = shown_edition(session, other, access)
    if shown.edition is None or shown.source is None:
        raise Conflict(f"{other.name} has no board yet. Choose it once runs are scored.")
    by = _column(shown.edition, measure)
    rows = [row for row in _rows(session, other, access, shown, by) if row.rank is not None]
    reference, run_ids = _of_rows(session, shown, by, rows)
    made_by = shown.basis.origin if shown.basis is not None else "human"
    kept = KeptReference(
        reference=reference,
        source=f"{other.name} ({other.slug}), edition {shown.edition.number}",
        facts={row.run: declared_of(row) for row in rows},
        is_machine=made_by == "machine",
        origin=Origin(other.id, other.kind, shown.edition.id, run_ids),
    )
    require_topics(session, task, kept.reference)
    return of_reference(kept, f"{other.slug}-{shown.edition.number}")


def from_file(
    session: Session,
    viewer: Viewer,
    slug: str,
    board: Path,
    file_name: str,
    measure: str = "",
    declared: Path | None = None,
    *,
    is_machine: bool = False,
) -> PreparedReference:
    """A board file by one of its measures; declared: a file of facts declared by its runs.

    Raises Invalid if either cannot be read, the measure is ambiguous, a run lacks a topic, or there are
    no values by topic.
    """
    task = _judges_task(session, viewer, slug)
    topics = session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id)).all()
    read = read_board(board, Known((), frozenset(topics)))
    reference = align_reference_of(read, measure)
    if not reference.topics:
        raise Invalid(
            f"{file_name} has only values over all topics. A reference needs a value for every topic."
        )
    facts_by_run = read_declared(declared, "run") if declared is not None else {}
    if strangers := [run for run in facts_by_run if run not in reference.runs]:
        raise Invalid(f"Facts are declared for run {strangers[0]!r}, which is not in the reference.")
    kept = KeptReference(reference, file_name, facts_by_run, is_machine)
    require_topics(session, task, reference)
    return of_reference(kept, file_name)


def _judges_task(session: Session, viewer: Viewer, slug: str) -> Task:
    task = policy.own_task(session, viewer, slug)
    if task.kind != KIND:
        raise Conflict(f"{task.name} takes {task.kind}. Only judge tasks have a reference.")
    return task


def _column(edition: Edition, measure: str) -> MeasureColumn:
    keys = [edition_measure["key"] for edition_measure in edition.measures]
    by = column(parse(measure or edition.primary_measure))
    if by.key not in keys:
        raise Invalid(f"The board has no measure {by.key}; it has {', '.join(keys)}.")
    if by.direction != "higher" or by.aggregate != "mean":
        raise Invalid(
            f"{by.key} is not a mean with higher values better. Choose another measure of the board."
        )
    return by


def _rows(
    session: Session, task: Task, access: TaskAccess, shown: ShownEdition, by: MeasureColumn
) -> tuple[Row, ...]:
    # Not the viewer's: an organiser sees names that others do not.
    return rank(read_rows(session, ANONYMOUS, task, access, shown.edition, (by,)), by)


def _of_rows(
    session: Session, shown: ShownEdition, by: MeasureColumn, rows: list[Row]
) -> tuple[Reference, tuple[int, ...]]:
    """The reference made from ranked runs, and their ids in its order."""
    assert shown.source is not None, "an edition has scores"
    assert shown.edition is not None, "there is an edition"
    source = narrowed(shown.source, shown.edition, by.key)
    scores = scores_of(session, source, by.key, by.version, [row.run_id for row in rows])
    rows = [row for row in rows if row.run_id in scores]
    names = [row.run for row in rows]
    if len(names) < FEWEST_RUNS or len(set(names)) < len(names):
        raise Conflict(
            f"A reference needs at least {FEWEST_RUNS} runs with different names, not {len(set(names))}."
        )
    table = np.array([scores[row.run_id] for row in rows])
    return reference_from(names, source.topics, by.key, table), tuple(row.run_id for row in rows)


def declared_of(row: Row) -> Declared:
    """A run's declared machine facts: its team, model and reranker."""
    declared_facts = {fact.key: fact.text for fact in facts.facts(json.loads(row.details or "{}"))}
    return Declared(row.team, declared_facts.get("llm", ""), declared_facts.get("reranker", ""))


def require_topics(session: Session, task: Task, reference: Reference) -> None:
    """Raise Conflict for a reference of too few runs, Invalid for topics that the task does not have."""
    if len(reference.runs) < FEWEST_RUNS:
        raise Conflict(f"A reference needs at least {FEWEST_RUNS} runs; this one has {len(reference.runs)}.")
    task_topics = set(session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id)))
    strangers = [topic for topic in reference.topics if topic not in task_topics]
    if strangers:
        problem = Problem(
            "The task has no such topic.",
            "Use the topics of the reference for the task.",
            field="topic",
            value=strangers[0][:40],
            count=len(strangers),
        )
        raise Invalid("The topics of this board differ from the task's.", [problem])


@dataclass(frozen=True, slots=True)
class ReferenceFiles:
    """The board, its file name, and declared facts; None if none came with it."""

    board: Path
    name: str
    declared: Path | None


@contextmanager
def files_of(path: Path, name: str) -> Iterator[ReferenceFiles]:
    """Read the board from a file, or from a zip or tar of it and `declared.csv`; removes the file afterwards.

    Raises Invalid for an archive without exactly one board, TooLarge beyond limits.
    """
    kind = kind_of(path, DEFAULT_LIMITS)
    if not kind:
        yield ReferenceFiles(path, name or "board", None)
        return
    boards, declared = [], None
    with TemporaryDirectory(prefix="reference-") as folder:
        for member in unbundled(path, kind, Path(folder), DEFAULT_LIMITS, 2):
            called = base_name(member.name)
            if member.path is None:
                raise Invalid(f"The archive holds {called}. {member.problem}")
            if called == DECLARED:
                declared = member.path
            else:
                boards.append((member.path, called))
        if len(boards) != 1:
            raise Invalid(f"Pack one board file and, if runs declare facts, {DECLARED}.")
        yield ReferenceFiles(*boards[0], declared)


MOST_BYTES = 2**30
ANEW = ".json"
"""Suffix of a judge's rewritten file, whose name is hidden."""


@dataclass(frozen=True, slots=True)
class BundleText:
    """A file of a bundle under its name there, which archives are not unpacked under."""

    name: str
    path: Path

    def read(self) -> bytes:
        """The full contents; raises ValueError for more than a site writes."""
        if self.path.stat().st_size > MOST_BYTES:
            raise ValueError("The file is too large.")
        return self.path.read_bytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtJudge:
    """A judge in a bundle: its file and, for labels of answers, the extracted parts.

    sha256: of the submission's contents.
    """

    file: BundleText
    labels: BundleText | None
    sha256: str

    @property
    def is_anew(self) -> bool:
        """Whether its file was rewritten."""
        return self.file.name.endswith(ANEW)


def reference(
    session: Session, viewer: Viewer, task: Task, file: BundleText, sha256: str, names: Mapping[str, str]
) -> PreparedReference:
    """The reference in a file, linked to its board if that is on this site.

    sha256: the record's digest of the text; names: the names of its runs here. Raises Invalid for
    anything that no site writes, another digest, and topics that the task does not have.
    """
    kept = _read_reference(file)
    if kept.sha256 != sha256:
        raise Invalid(f"{file.name} does not match the digest of its revision. Download the bundle again.")
    kept = renamed_reference(kept, names)
    origin = (
        store.origins_found(session, viewer, kept.elsewhere, kept.reference.runs) if kept.elsewhere else None
    )
    if origin is not None:
        kept = replace(kept, origin=origin, elsewhere=None)
    require_topics(session, task, kept.reference)
    return sending.of_reference(kept)


def is_here(session: Session, viewer: Viewer, file: BundleText) -> bool:
    """Whether the board behind a reference file is on this site; raises Invalid as `reference`."""
    kept = _read_reference(file)
    return (
        kept.elsewhere is not None
        and store.origins_found(session, viewer, kept.elsewhere, kept.reference.runs) is not None
    )


def prepared(
    session: Session, task: Task, topics: tuple[str, ...], judge: BroughtJudge, file_name: str, limits: Limits
) -> PreparedUpload:
    """Read a judge's file with the reference under which its contents have its digest.

    The run in the answer is None if no reference accepts the file. Raises Invalid for a text that no site
    writes.
    """
    report, run = _anew(judge) if judge.is_anew else _as_sent(session, task, topics, judge, limits)
    digest, size = prepare.digest(judge.file.path), judge.file.path.stat().st_size
    return PreparedUpload(judge.file.path, file_name, digest, size, report, run)


def under_names(packed: bytes, names: Mapping[str, str]) -> PackedRun:
    """A judge's contents in storage format, with other names for runs of the reference."""
    return _packed(renamed(store.unpacked(packed), names))


def add_board(
    session: Session, key: Mapping[str, int], labels: bytes, file: BundleText, names: Mapping[str, str]
) -> bool:
    """Store the board that a judge's labels made on the exporting site; return whether that was needed.

    key: run, revision and dialect. Not needed if the runs of the reference are on this site, where the
    labels score them. Raises Invalid for a file of anything else, and for runs and topics outside the
    reference.
    """
    kept = sending.of_revision(session, key["revision_id"])
    if kept.origin is not None:
        return False
    board = _text(file)
    if not isinstance(board, KeptBoard) or not are_labels(labels):
        raise Invalid(f"{file.name} is not the board made from a judge's labels. Download the bundle again.")
    board = _under(board, names)
    given, reference = board.board, kept.reference
    is_its = set(given.runs) <= set(reference.runs) and set(given.topics) <= set(reference.topics)
    if not is_its or board.primary != reference.measure:
        raise Invalid(
            f"{file.name} does not match its reference's runs, topics and measure. Download the bundle again."
        )
    if store.made(session, **key) is not None:
        raise Invalid(
            f"{file.name} is the second board of a judge under one reference. Download the bundle again."
        )
    session.add(Alignment(**key, body=pack_board(board)))
    session.flush()
    return True


def are_places(boards: object, revisions: Collection[int]) -> bool:
    """Whether a record locates the boards of its labels, under revisions of the bundle."""
    keys = {"revision_id", "dialect", "file"}
    if not isinstance(boards, list):
        return False
    return all(
        isinstance(place, dict)
        and place.keys() == keys
        and type(place["revision_id"]) is int
        and place["revision_id"] in revisions
        and place["dialect"] in DIALECTS
        for place in boards
    )


def are_scored_here(session: Session, task: Task) -> bool:
    """Whether labels are scored under a task's newest reference, because its runs are on this site."""
    kept = sending.newest_reference(session, task.id)
    return kept is not None and kept.origin is not None


def are_labels(packed: bytes) -> bool:
    """Whether a judge's stored contents are labels."""
    return not is_board(packed)


def _under(board: KeptBoard, names: Mapping[str, str]) -> KeptBoard:
    renamed_board = renamed(board, names)
    assert isinstance(renamed_board, KeptBoard), "a board stays one"
    return renamed_board


def _read_reference(file: BundleText) -> KeptReference:
    try:
        return reference_of(file.read())
    except FAULTS as error:
        raise Invalid(f"{file.name} does not contain a reference. Download the bundle again.") from error


def _text(file: BundleText) -> Sent:
    try:
        return sent_of(file.read())
    except FAULTS as error:
        raise Invalid(
            f"{file.name} does not contain a judge's submission. Download the bundle again."
        ) from error


def _anew(judge: BroughtJudge) -> tuple[Report, PackedRun]:
    return Report((), (), {}), _packed(_text(judge.file))


def _as_sent(
    session: Session, task: Task, topics: tuple[str, ...], judge: BroughtJudge, limits: Limits
) -> tuple[Report, PackedRun | None]:
    """Read with each reference of the task, newest first, until the contents match the digest."""
    places = _places(judge)
    last: tuple[Report, PackedRun | None] | None = None
    for kept in _references(session, task):
        read = sending.read(judge.file.path, BoardRules(topics, kept, places), limits, is_brought=True)
        if read[1] is not None and read[1].digest == judge.sha256:
            return read
        # Why a reference accepts the file is more telling than why another does not.
        last = read if last is None or read[1] is not None else last
    if last is None:
        raise Invalid("The bundle has judges but no reference for them. Download the bundle again.")
    return last


def _references(session: Session, task: Task) -> list[KeptReference]:
    revisions = select(QrelsRevision).join(Qrels, Qrels.id == QrelsRevision.qrels_id)
    of_task = revisions.where(Qrels.task_id == task.id, Qrels.kind == sending.LINE)
    newest_first = of_task.order_by(QrelsRevision.id.desc()).options(undefer(QrelsRevision.packed))
    return [sending.opened_reference(revision.packed) for revision in session.scalars(newest_first)]


def _places(judge: BroughtJudge) -> Places:
    """Number of documents cited by each segment of an answer, as needed by labels."""
    if judge.labels is None:
        return {}
    read = _text(judge.labels)
    if not isinstance(read, KeptAnswerLabels) or read.sha256 != judge.sha256:
        raise Invalid(
            f"{judge.labels.name} does not contain the labels of its judge. Download the bundle again."
        )
    cells = read.answers.judgments.support.answers
    return {cell: tuple(len(labels) for labels in of_answer.labels) for cell, of_answer in cells.items()}


def _packed(sent: Sent) -> PackedRun:
    if isinstance(sent, KeptBoard):
        return sending.packed_board(sent)
    if isinstance(sent, KeptLabels):
        return run_sources.packed_documents(sent)
    return run_sources.packed_answers(sent, len(sent.answers.topics))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceBoard:
    """How to read a board, and what is new in this reference."""

    measure: Annotated[
        str,
        Field(
            title="Measure",
            help="Leave empty to use the measure that ranks that leaderboard, or the only one in the file.",
            longest=100,
            read=str.strip,
        ),
    ] = ""
    note: Annotated[str, Field(title="Change note", help="What is new in this reference.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceBody(ReferenceBoard):
    """A task whose board is used."""

    source: Annotated[
        str,
        Field(
            title="Task slug",
            help="Uses its ranked runs under their public names, with the models they declare.",
            longest=63,
            read=str.strip,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceFile(ReferenceBoard):
    """A board file."""

    is_machine: Annotated[bool, Field(title="Judged by a machine")] = False
    file_name: Annotated[str, Field(title="Name of the file", is_of_api=True)] = ""


def _of_file(given: Given, asked: ReferenceFile) -> PreparedReference:
    board, listed = given.files["board"], given.files.get("declared")
    with files_of(board.path, board.name) as sent, given.sessions.reading() as session:
        declared = listed.path if listed else sent.declared
        return from_file(
            *(session, given.viewer, given.at[0], sent.board, sent.name, asked.measure, declared),
            is_machine=asked.is_machine,
        )


def _keep(
    session: Session, viewer: Viewer, slug: str, reference: PreparedReference, asked: ReferenceBoard
) -> str:
    return revisions.keep_draft(session, viewer, slug, reference, asked.note)


CHOOSE = Action(
    name="choose_reference",
    summary="Use a task's board as the reference of a judge task",
    more="Uses its ranked runs under their public names. The reference is kept as a draft for a day: "
    "review it, then publish it like a draft of judgments.",
    path="/tasks/<slug>/reference",
    form="/tasks/<slug>/reference",
    record=ReferenceBody,
    plan=lambda session, viewer, slug, asked: from_task(session, viewer, slug, asked.source, asked.measure),
    act=_keep,
    status=201,
)
SEND = Action(
    name="send_reference",
    summary="Upload a board file as the reference of a judge task",
    more="The body is the file, or a zip of it and `declared.csv` with facts declared by its runs "
    "(columns run, team, llm, reranker). It is kept as a draft for a day, like a board of a task.",
    path="/tasks/<slug>/reference/file",
    form="/tasks/<slug>/reference/file",
    record=ReferenceFile,
    file=File(
        field="board", missing="Choose a board file.", others=("declared",), body="FILES", prepare=_of_file
    ),
    act=_keep,
    status=201,
)
ACTIONS = (CHOOSE, SEND)
