"""Storage of judges' submissions: one row per run, a board or labels.

The board made from labels depends on the reference. It is stored where judged hits of rankings are, by run
and revision, with the scores that are computed from it.

Each is stored as the text of its digest. Runs of references may have other names, as in releases.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to
from leaderboard.core import policy, shown_names
from leaderboard.core.kinds import PackedRun
from leaderboard.core.policy import ANONYMOUS, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Alignment, Collection, Edition, JudgeBoard, Qrels, QrelsRevision, Run, Task
from leaderboard.errors import Forbidden, NotFound, SignInNeeded
from leaderboard.judges.ops import sending
from leaderboard.memory import keep
from leaderboard.trec.boards.answer_labels import KeptAnswerLabels, unpack_answer_labels
from leaderboard.trec.boards.judge_labels import KeptLabels, are_labels, unpack_labels
from leaderboard.trec.boards.packing import (
    ForeignOrigin,
    KeptBoard,
    KeptReference,
    Origin,
    is_board,
    unpack_board,
)
from leaderboard.trec.boards.renaming import renamed, renamed_reference
from leaderboard.trec.boards.texts import Sent as TextsSent
from leaderboard.trec.boards.texts import text_of

Sent = KeptBoard | KeptLabels | KeptAnswerLabels


def add(session: Session, run_id: int, packed: PackedRun) -> None:
    """Store the submission of a judge's run."""
    session.add(JudgeBoard(run_id=run_id, body=packed.board))


def damage(database: Database, run: Run) -> Iterator[str]:
    """The problem with a judge's stored submission; also raises Damaged."""
    with database.read() as session:
        kept = sent_labels(session, run.id)
    if kept is None or kept.sha256 != run.ranking_sha256:
        yield "its board or its labels do not have its digest"


def sent_labels(session: Session, run_id: int, name: str = "") -> Sent | None:
    """A judge's submission, under the name of its run; None if it is missing; raises Damaged."""
    body = session.scalar(select(JudgeBoard.body).where(JudgeBoard.run_id == run_id))
    if body is None:
        return None
    with belonging_to(f"run {run_id}"):
        return unpacked(body, name)


def unpacked(body: bytes, name: str = "") -> Sent:
    """A judge's packed submission; raises Damaged."""
    if is_board(body):
        return _unpacked(body, name)
    return unpack_labels(body) if are_labels(body) else unpack_answer_labels(body)


def has_labels(session: Session, run_id: int) -> bool:
    """Whether a judge submitted labels."""
    body = session.scalar(select(JudgeBoard.body).where(JudgeBoard.run_id == run_id))
    return body is not None and not is_board(body)


def of_runs(session: Session, runs: Iterable[tuple[int, str]], edition: Edition) -> dict[int, KeptBoard]:
    """Run id -> its board under an edition, for runs with their names; one statement; raises Damaged.

    Excludes judges whose labels are not scored yet.
    """
    names = dict(runs)
    under_edition = and_(
        Alignment.run_id == JudgeBoard.run_id,
        Alignment.revision_id == edition.revision_id,
        Alignment.dialect == edition.dialect,
    )
    boards = (
        select(JudgeBoard.run_id, func.coalesce(Alignment.body, JudgeBoard.body))
        .outerjoin(Alignment, under_edition)
        .where(JudgeBoard.run_id.in_(names))
        .order_by(JudgeBoard.run_id)
    )
    rows = session.execute(boards).all()
    return {run_id: opened(run_id, body, names[run_id]) for run_id, body in rows if is_board(body)}


def made(session: Session, run_id: int, revision_id: int, dialect: int) -> KeptBoard | None:
    """The board made from a judge's labels under a revision, None if absent; raises Damaged."""
    body = session.scalar(
        select(Alignment.body).where(
            Alignment.run_id == run_id, Alignment.revision_id == revision_id, Alignment.dialect == dialect
        )
    )
    return None if body is None else opened(run_id, body)


def opened(run_id: int, body: bytes, name: str = "") -> KeptBoard:
    """A stored board; raises Damaged, naming the run."""
    with belonging_to(f"run {run_id}"):
        return _unpacked(body, name)


# Cached because a page of judges reads all boards of its task on every request.
@keep
def _unpacked(body: bytes, name: str) -> KeptBoard:
    return unpack_board(body, name)


Found = tuple[int, str, str]
"""Id, name and digest of a run."""


def origins_told(session: Session, viewer: Viewer, kept: KeptReference) -> ForeignOrigin | None:
    """The source of a reference, for viewers who may see that board; None for others and if it is gone.

    Visitors see it while all of its runs are on the board. The source of a reference brought from another
    site is visible only to organisers.
    """
    origin = kept.origin
    if origin is None:
        return kept.elsewhere if viewer != ANONYMOUS else None
    task, edition = session.get(Task, origin.task_id), session.get(Edition, origin.edition_id)
    if task is None or edition is None or not _sees(session, viewer, task):
        return None
    query = select(Run.id, Run.team_id, Run.ranking_sha256, Run.withdrawn_at).where(
        Run.id.in_(origin.run_ids)
    )
    runs = {row.id: row for row in session.execute(query)}
    is_changed = viewer == ANONYMOUS and any(row.withdrawn_at for row in runs.values())
    names = shown_names.shown_names(session, viewer, task)
    # A digest reveals whose run it is, through other tasks that have the same digest.
    is_masked = any(names.is_masked(row.team_id) for row in runs.values())
    if len(runs) < len(origin.run_ids) or is_changed or is_masked:
        return None
    return ForeignOrigin(
        slug=task.slug,
        kind=origin.kind,
        judgments=session.get_one(QrelsRevision, edition.revision_id).sha256,
        dialect=edition.dialect,
        size=session.get_one(Collection, task.collection_id).size,
        runs=tuple(runs[run_id].ranking_sha256 for run_id in origin.run_ids),
    )


def origins_found(
    session: Session, viewer: Viewer, elsewhere: ForeignOrigin, names: Sequence[str]
) -> Origin | None:
    """The same board on this site, by the digests of its runs and judgments; None if absent.

    names: of the runs, which distinguish runs with one digest. The viewer must be allowed to see the task's
    scores by topic, as when choosing a reference; a task with that slug comes first, then the oldest.
    """
    rows = session.execute(
        select(Run.task_id, Run.id, Run.name, Run.ranking_sha256)
        .where(Run.ranking_sha256.in_(set(elsewhere.runs)))
        .order_by(Run.id)
    )
    by_task: dict[int, list[Found]] = {}
    for row in rows:
        by_task.setdefault(row.task_id, []).append((row.id, row.name, row.ranking_sha256))
    tasks = session.scalars(select(Task).where(Task.id.in_(by_task), Task.kind == elsewhere.kind))
    for task in sorted(tasks, key=lambda task: (task.slug != elsewhere.slug, task.id)):
        run_ids = _matched(by_task[task.id], elsewhere.runs, names)
        edition_id = _edition(session, task, elsewhere)
        if run_ids is not None and edition_id is not None and _sees(session, viewer, task):
            return Origin(task.id, task.kind, edition_id, run_ids)
    return None


def _matched(rows: Sequence[Found], digests: Sequence[str], names: Sequence[str]) -> tuple[int, ...] | None:
    """A run for each digest, preferably with the names; None if there are too few."""
    left, chosen = list(rows), []
    for digest, name in zip(digests, names, strict=True):
        alike = [row for row in left if row[2] == digest]
        if not alike:
            return None
        match = next((row for row in alike if row[1] == name), alike[0])
        left.remove(match)
        chosen.append(match[0])
    return tuple(chosen)


def _edition(session: Session, task: Task, elsewhere: ForeignOrigin) -> int | None:
    """The newest edition shown under the same judgments, on a collection of that size."""
    if session.get_one(Collection, task.collection_id).size != elsewhere.size:
        return None
    return session.scalar(
        select(Edition.id)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .where(
            Edition.task_id == task.id,
            Edition.dialect == elsewhere.dialect,
            Edition.state.in_(("current", "past")),
            QrelsRevision.sha256 == elsewhere.judgments,
        )
        .order_by(Edition.number.desc())
        .limit(1)
    )


def _sees(session: Session, viewer: Viewer, task: Task) -> bool:
    """Whether the viewer may see the scores of a task by topic."""
    try:
        # An edition or phase requested for the judge task does not apply to this task.
        seen_task, access = policy.visible_task(session, replace(viewer, edition=None, phase=""), task.slug)
    except (NotFound, Forbidden, SignInNeeded):
        return False
    return seen_task.id == task.id and access.details


UNTOLD = "a board that is not named here"
"""Placeholder for the source of a reference in a release."""
FOLDER = "judges"
ARCHIVE_ENDINGS = (".zip", ".tar", ".tgz")


def run_ending(file_name: str) -> str:
    """Name of a judge's file in a bundle, by its original name; several files become an archive."""
    return next((ending for ending in ARCHIVE_ENDINGS if file_name.endswith(ending)), ".txt")


def reference(
    session: Session, viewer: Viewer, revision_id: int, names: Mapping[str, str] | None = None
) -> KeptReference:
    """A reference without ids of this site; raises Damaged.

    names: public names of its runs in an anonymous export; then neither its source nor declared
    facts are included, because their teams would reveal their names.
    """
    kept = sending.of_revision(session, revision_id)
    if names is not None:
        hidden = replace(kept, source=UNTOLD, facts={}, origin=None, elsewhere=None)
        return renamed_reference(hidden, names)
    return replace(kept, origin=None, elsewhere=origins_told(session, viewer, kept))


def named(session: Session, task_id: int) -> tuple[frozenset[str], frozenset[str]]:
    """The runs of all references of a task, and their declared teams."""
    revisions = select(QrelsRevision.id).join(Qrels, Qrels.id == QrelsRevision.qrels_id)
    of_task = revisions.where(Qrels.task_id == task_id, Qrels.kind == sending.LINE)
    kept = [sending.of_revision(session, revision_id) for revision_id in session.scalars(of_task).all()]
    runs = frozenset(run for kept_reference in kept for run in kept_reference.reference.runs)
    return runs, frozenset(
        declared.team
        for kept_reference in kept
        for declared in kept_reference.facts.values()
        if declared.team
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedJudge:
    """A judge for export to a bundle.

    name: prefix of its file names; revisions: id -> number in the bundle. tag: public name of a judge whose
    own name is hidden, so that its file is rewritten; None to keep the file. names: of the reference's
    runs, if they are renamed.
    """

    session: Session
    run_id: int
    name: str
    revisions: Mapping[int, int]
    tag: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The fields of its record that are not columns: its files, and the digest of rewritten contents."""
        sent = self._sent()
        record: dict[str, Any] = {}
        if self.tag is not None:
            record["ranking_sha256"] = sent.sha256
        elif isinstance(sent, KeptAnswerLabels):
            record["labels"] = f"{FOLDER}/{self.name}.labels.json"
        if boards := [{**place, "file": path} for place, path, _ in self._boards(sent)]:
            record["boards"] = boards
        return record

    def anew(self) -> bytes:
        """Its submission as one text, without any names."""
        return text_of(self._sent())

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Path and text of each file that the record names in addition to the submitted one."""
        sent = self._sent()
        if self.tag is None and isinstance(sent, KeptAnswerLabels):
            yield f"{FOLDER}/{self.name}.labels.json", text_of(sent)
        for _, path, body in self._boards(sent):
            yield path, text_of(renamed(opened(self.run_id, body), self.names))

    def _sent(self) -> TextsSent:
        sent = sent_labels(self.session, self.run_id)
        if sent is None:
            raise NotFound(f"The submission of run {self.run_id} is missing.")
        return sent if self.tag is None else renamed(sent, self.names, self.tag)

    def _boards(self, sent: TextsSent) -> Iterator[tuple[dict[str, int], str, bytes]]:
        """Revision, dialect, path and stored board of each board made from its labels."""
        if isinstance(sent, KeptBoard):
            return
        rows = self.session.execute(
            select(Alignment.revision_id, Alignment.dialect, Alignment.body)
            .where(Alignment.run_id == self.run_id)
            .order_by(Alignment.revision_id, Alignment.dialect)
        ).all()
        for revision_id, dialect, body in rows:
            if (number := self.revisions.get(revision_id)) is not None:
                path = f"{FOLDER}/{self.name}.board-{number}-{dialect}.json"
                yield {"revision_id": number, "dialect": dialect}, path, body
