"""What a bundle carries of a task of judges: references, what judges sent, the boards that labels made.

Each is the text that its digest is of. Runs of references may go by other names, as those of releases do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Alignment, Qrels, QrelsRevision
from leaderboard.errors import NotFound
from leaderboard.services.judges import origins, references, store
from leaderboard.services.policy import Viewer
from leaderboard.trec.boards.answer_labels import KeptAnswerLabels
from leaderboard.trec.boards.packing import KeptBoard, KeptReference
from leaderboard.trec.boards.renaming import renamed, renamed_reference
from leaderboard.trec.boards.texts import Sent, text_of

UNTOLD = "a board that is not named here"
"""Stands for where the reference of a release is from."""
FOLDER = "judges"
ARCHIVE_ENDINGS = (".zip", ".tar", ".tgz")


def run_ending(file_name: str) -> str:
    """How the file of a judge is called in a bundle, by the name it had: what came in parts is an archive."""
    return next((ending for ending in ARCHIVE_ENDINGS if file_name.endswith(ending)), ".txt")


def reference(
    session: Session, viewer: Viewer, revision_id: int, names: Mapping[str, str] | None = None
) -> KeptReference:
    """A reference without ids of this site; raises Damaged.

    names: what its runs go by where nobody is named; then neither where it is from is told nor what runs
    declare, as their teams would lead to their names.
    """
    kept = references.of_revision(session, revision_id)
    if names is not None:
        hidden = replace(kept, source=UNTOLD, facts={}, origin=None, elsewhere=None)
        return renamed_reference(hidden, names)
    return replace(kept, origin=None, elsewhere=origins.told(session, viewer, kept))


def named(session: Session, task_id: int) -> tuple[frozenset[str], frozenset[str]]:
    """The runs of all references of a task, and the teams that these declare."""
    revisions = select(QrelsRevision.id).join(Qrels, Qrels.id == QrelsRevision.qrels_id)
    of_task = revisions.where(Qrels.task_id == task_id, Qrels.kind == references.LINE)
    kept = [references.of_revision(session, revision_id) for revision_id in session.scalars(of_task).all()]
    runs = frozenset(run for one in kept for run in one.reference.runs)
    return runs, frozenset(declared.team for one in kept for declared in one.facts.values() if declared.team)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedJudge:
    """A judge on its way into a bundle.

    name: begins the names of its files; revisions: id -> number in the bundle. tag: what it is called whose
    own name is not told, so that its file is written anew; None as it was sent. names: of the reference's
    runs, where they go by others.
    """

    session: Session
    run_id: int
    name: str
    revisions: Mapping[int, int]
    tag: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """What its record has beside the columns: its files, and the digest of what is written anew."""
        sent = self._sent()
        made: dict[str, Any] = {}
        if self.tag is not None:
            made["ranking_sha256"] = sent.sha256
        elif isinstance(sent, KeptAnswerLabels):
            made["labels"] = f"{FOLDER}/{self.name}.labels.json"
        if boards := [{**place, "file": path} for place, path, _ in self._boards(sent)]:
            made["boards"] = boards
        return made

    def anew(self) -> bytes:
        """What it sent as one text, without any name."""
        return text_of(self._sent())

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Path and text of each file that the record names beside the one that was sent."""
        sent = self._sent()
        if self.tag is None and isinstance(sent, KeptAnswerLabels):
            yield f"{FOLDER}/{self.name}.labels.json", text_of(sent)
        for _, path, body in self._boards(sent):
            yield path, text_of(renamed(store.opened(self.run_id, body), self.names))

    def _sent(self) -> Sent:
        sent = store.sent(self.session, self.run_id)
        if sent is None:
            raise NotFound(f"What run {self.run_id} said is gone.")
        return sent if self.tag is None else renamed(sent, self.names, self.tag)

    def _boards(self, sent: Sent) -> Iterator[tuple[dict[str, int], str, bytes]]:
        """Revision and dialect, path and stored board of each that its labels made."""
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
