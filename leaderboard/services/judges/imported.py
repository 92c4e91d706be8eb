"""A task of judges on its way in from a bundle: references, what judges sent, the boards that labels made."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from leaderboard.db.tables import Alignment, Qrels, QrelsRevision, Task
from leaderboard.errors import Invalid
from leaderboard.services.judges import choosing, origins, references, sending, store
from leaderboard.services.judges.labels import checks
from leaderboard.services.judges.references import PreparedReference
from leaderboard.services.kinds import PackedRun
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import prepare
from leaderboard.services.runs.prepare import PreparedUpload
from leaderboard.trec.boards.answer_labels import KeptAnswerLabels, Places
from leaderboard.trec.boards.labels import KeptLabels
from leaderboard.trec.boards.packing import BoardRules, KeptBoard, KeptReference, is_board, pack_board
from leaderboard.trec.boards.renaming import renamed, renamed_reference
from leaderboard.trec.boards.texts import DIALECTS, FAULTS, Sent, reference_of, sent_of
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.reports import Report

MOST_BYTES = 2**30
ANEW = ".json"
"""How the file of a judge ends that was written anew, as its name is not told."""


@dataclass(frozen=True, slots=True)
class BundleText:
    """A file of a bundle by the name that it has there, which archives are not unpacked under."""

    name: str
    path: Path

    def read(self) -> bytes:
        """All of it; raises ValueError for more than a site writes."""
        if self.path.stat().st_size > MOST_BYTES:
            raise ValueError("The file is too large.")
        return self.path.read_bytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtJudge:
    """What a bundle has of a judge: its file and, beside the file of labels of answers, what was read of it.

    sha256: of what it says.
    """

    file: BundleText
    labels: BundleText | None
    sha256: str

    @property
    def is_anew(self) -> bool:
        """Whether its file was written anew."""
        return self.file.name.endswith(ANEW)


def reference(
    session: Session, viewer: Viewer, task: Task, file: BundleText, sha256: str, names: Mapping[str, str]
) -> PreparedReference:
    """The reference in a file, linked to its board where that is on this site.

    sha256: what the record says of the text; names: what its runs are called here. Raises Invalid for
    anything that no site has written, another digest, and topics that the task does not have.
    """
    kept = _read_reference(file)
    if kept.sha256 != sha256:
        raise Invalid(f"{file.name} is not what its revision's digest is of. Get the bundle anew.")
    kept = renamed_reference(kept, names)
    origin = origins.found(session, viewer, kept.elsewhere, kept.reference.runs) if kept.elsewhere else None
    if origin is not None:
        kept = replace(kept, origin=origin, elsewhere=None)
    choosing.require_topics(session, task, kept.reference)
    return references.of_reference(kept)


def is_here(session: Session, viewer: Viewer, file: BundleText) -> bool:
    """Whether the board that a reference in a file was is on this site; raises Invalid as `reference`."""
    kept = _read_reference(file)
    return (
        kept.elsewhere is not None
        and origins.found(session, viewer, kept.elsewhere, kept.reference.runs) is not None
    )


def prepared(
    session: Session, task: Task, topics: tuple[str, ...], judge: BroughtJudge, file_name: str, limits: Limits
) -> PreparedUpload:
    """A judge's file, read by the reference by which what it says has its digest.

    The run of the answer is None where no reference takes the file. Raises Invalid for a text that no site
    has written.
    """
    report, run = _anew(judge) if judge.is_anew else _as_sent(session, task, topics, judge, limits)
    digest, size = prepare.digest(judge.file.path), judge.file.path.stat().st_size
    return PreparedUpload(judge.file.path, file_name, digest, size, report, run)


def under_names(packed: bytes, names: Mapping[str, str]) -> PackedRun:
    """What was read of a judge, as it is stored, with runs of the reference under other names."""
    return _packed(renamed(store.unpacked(packed), names))


def add_board(
    session: Session, key: Mapping[str, int], labels: bytes, file: BundleText, names: Mapping[str, str]
) -> bool:
    """Store the board that a judge's labels made where it came from; whether that was needed.

    key: run, revision and dialect. Not where the runs of the reference are on this site: they are scored by
    the labels. Raises Invalid for a file of something else, and for runs and topics that the reference does
    not have.
    """
    kept = references.of_revision(session, key["revision_id"])
    if kept.origin is not None:
        return False
    board = _text(file)
    if not isinstance(board, KeptBoard) or not are_labels(labels):
        raise Invalid(f"{file.name} is not the board of a judge's labels. Get the bundle anew.")
    board = _under(board, names)
    given, known = board.board, kept.reference
    is_its = set(given.runs) <= set(known.runs) and set(given.topics) <= set(known.topics)
    if not is_its or board.primary != known.measure:
        raise Invalid(f"{file.name} is not of its reference's runs, topics and measure. Get the bundle anew.")
    if store.made(session, **key) is not None:
        raise Invalid(f"{file.name} is the second board of a judge under one reference. Get the bundle anew.")
    session.add(Alignment(**key, body=pack_board(board)))
    session.flush()
    return True


def are_places(boards: object, revisions: Collection[int]) -> bool:
    """Whether a record says where the boards of its labels are, under revisions of the bundle."""
    keys = {"revision_id", "dialect", "file"}
    if not isinstance(boards, list):
        return False
    return all(
        isinstance(one, dict)
        and one.keys() == keys
        and type(one["revision_id"]) is int
        and one["revision_id"] in revisions
        and one["dialect"] in DIALECTS
        for one in boards
    )


def are_scored_here(session: Session, task: Task) -> bool:
    """Whether labels are scored under the newest reference of a task, as its runs are on this site."""
    kept = references.newest(session, task.id)
    return kept is not None and kept.origin is not None


def are_labels(packed: bytes) -> bool:
    """Whether what is stored of a judge are labels."""
    return not is_board(packed)


def _under(board: KeptBoard, names: Mapping[str, str]) -> KeptBoard:
    made = renamed(board, names)
    assert isinstance(made, KeptBoard), "a board stays one"
    return made


def _read_reference(file: BundleText) -> KeptReference:
    try:
        return reference_of(file.read())
    except FAULTS as error:
        raise Invalid(f"{file.name} does not hold a reference. Get the bundle anew.") from error


def _text(file: BundleText) -> Sent:
    try:
        return sent_of(file.read())
    except FAULTS as error:
        raise Invalid(f"{file.name} does not hold what a judge said. Get the bundle anew.") from error


def _anew(judge: BroughtJudge) -> tuple[Report, PackedRun]:
    return Report((), (), {}), _packed(_text(judge.file))


def _as_sent(
    session: Session, task: Task, topics: tuple[str, ...], judge: BroughtJudge, limits: Limits
) -> tuple[Report, PackedRun | None]:
    """Read by each reference of the task, the newest first, until what it says is what it said."""
    places = _places(judge)
    last: tuple[Report, PackedRun | None] | None = None
    for kept in _references(session, task):
        read = sending.read(judge.file.path, BoardRules(topics, kept, places), limits, is_brought=True)
        if read[1] is not None and read[1].digest == judge.sha256:
            return read
        # What a reference takes is more telling than why another one does not.
        last = read if last is None or read[1] is not None else last
    if last is None:
        raise Invalid("The bundle has judges, and no reference that they were held against. Get it anew.")
    return last


def _references(session: Session, task: Task) -> list[KeptReference]:
    revisions = select(QrelsRevision).join(Qrels, Qrels.id == QrelsRevision.qrels_id)
    of_task = revisions.where(Qrels.task_id == task.id, Qrels.kind == references.LINE)
    newest_first = of_task.order_by(QrelsRevision.id.desc()).options(undefer(QrelsRevision.packed))
    return [references.opened(revision.packed) for revision in session.scalars(newest_first)]


def _places(judge: BroughtJudge) -> Places:
    """How many documents each segment of an answer cites, as far as labels need to be told."""
    if judge.labels is None:
        return {}
    read = _text(judge.labels)
    if not isinstance(read, KeptAnswerLabels) or read.sha256 != judge.sha256:
        raise Invalid(f"{judge.labels.name} does not hold the labels of its judge. Get the bundle anew.")
    cells = read.answers.judgments.support.answers
    return {cell: tuple(len(labels) for labels in of_answer.labels) for cell, of_answer in cells.items()}


def _packed(sent: Sent) -> PackedRun:
    if isinstance(sent, KeptBoard):
        return sending.packed_board(sent)
    if isinstance(sent, KeptLabels):
        return checks.packed_documents(sent)
    return checks.packed_answers(sent, len(sent.answers.topics))
