"""Judgments: a new revision, what it changes, and the re-scoring it causes."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session, undefer

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Judgment, Qrels, QrelsRevision, Run, Task
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.services import audit, editions, policy
from leaderboard.services.policy import Viewer
from leaderboard.trec.packing import pack_judgments, unpack_judgments
from leaderboard.trec.qrels import read_qrels

MAIN = "main"
"""Name of the qrels a board is computed from."""
ROWS_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class PreparedQrels:
    """A qrels file, parsed and packed; made without a session."""

    file_name: str
    sha256: str
    kind: str
    judgments: dict[str, dict[bytes, int]]
    rows: tuple[tuple[str, str, bytes, int], ...]
    """(topic, subtopic, docno, grade)."""
    packed: bytes
    warnings: tuple[Problem, ...]

    @property
    def grades(self) -> dict[int, int]:
        """Grade -> how many judgments have it."""
        counted = Counter(grade for topic in self.judgments.values() for grade in topic.values())
        return dict(sorted(counted.items()))


@dataclass(frozen=True, slots=True)
class Change:
    """How a revision differs from the one before: judgments added, changed, removed; topics too."""

    added: int
    changed: int
    removed: int
    topics_gained: tuple[str, ...]
    topics_lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Revision:
    """A stored revision; jobs is how many runs are being scored under it."""

    id: int
    number: int
    judgments: int
    topics: int
    change: Change
    jobs: int
    warnings: tuple[Problem, ...]


def prepare(path: Path, file_name: str = "") -> PreparedQrels:
    """The judgments of a file; raises Invalid with the lines at fault."""
    qrels = read_qrels(path)
    rows = tuple((row[0], row[1], row[2], row[3]) for row in qrels.entries())
    if not rows:
        raise Invalid(f"{file_name or path.name} holds no judgment.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return PreparedQrels(
        file_name or path.name,
        digest,
        qrels.kind,
        qrels.judgments,
        rows,
        pack_judgments(qrels.judgments),
        tuple(qrels.notes),
    )


def revise(
    session: Session,
    viewer: Viewer,
    slug: str,
    prepared: PreparedQrels,
    note: str,
    *,
    origin: str | None = None,
    origin_name: str = "",
    limit_s: int = 600,
) -> Revision:
    """Add a revision to the task's qrels and queue the scoring of every run under it.

    The board keeps showing the revision before until all runs are scored. Raises Conflict where
    the same judgments are the newest revision already, or where origin differs from that of the
    judgments there are: human and machine judgments are not mixed.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require_organiser(viewer, task)
    lock_row(session, Task, task.id)
    qrels = _main(session, task, prepared.kind, origin, origin_name)
    parent = newest(session, task.id)
    if parent is not None and parent.packed == prepared.packed:
        raise Conflict(f"These judgments are revision {parent.number} already; nothing was added.")
    change = compare(unpack_judgments(parent.packed) if parent else {}, prepared.judgments)
    revision = _add(session, viewer, qrels, parent, prepared, note)
    queued = 0
    if task.published_at is not None:
        editions.build(session, task, revision, limit_s)
        runs = select(func.count()).where(Run.task_id == task.id, Run.withdrawn_at.is_(None))
        queued = session.scalar(runs) or 0
    audit.record(
        session, viewer, "qrels.revise", f"task:{task.id}", number=revision.number, sha256=prepared.sha256
    )
    return Revision(
        revision.id,
        revision.number,
        revision.judgments,
        len(revision.topics),
        change,
        queued,
        prepared.warnings,
    )


def newest(session: Session, task_id: int) -> QrelsRevision | None:
    """The task's newest revision of its main qrels, with its packed judgments."""
    return session.scalar(
        select(QrelsRevision)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == task_id, Qrels.name == MAIN)
        .order_by(QrelsRevision.number.desc())
        .limit(1)
        .options(undefer(QrelsRevision.packed))
    )


def compare(before: dict[str, dict[bytes, int]], after: dict[str, dict[bytes, int]]) -> Change:
    """What changes from one set of judgments to another."""
    old = {(topic, docno): grade for topic, grades in before.items() for docno, grade in grades.items()}
    new = {(topic, docno): grade for topic, grades in after.items() for docno, grade in grades.items()}
    return Change(
        added=len(new.keys() - old.keys()),
        changed=sum(1 for pair in new.keys() & old.keys() if new[pair] != old[pair]),
        removed=len(old.keys() - new.keys()),
        topics_gained=tuple(sorted(after.keys() - before.keys())),
        topics_lost=tuple(sorted(before.keys() - after.keys())),
    )


def _main(session: Session, task: Task, kind: str, origin: str | None, origin_name: str) -> Qrels:
    qrels = session.scalar(select(Qrels).where(Qrels.task_id == task.id, Qrels.name == MAIN))
    if qrels is None:
        qrels = Qrels(
            task_id=task.id, name=MAIN, kind=kind, origin=origin or "human", origin_name=origin_name
        )
        session.add(qrels)
        session.flush()
    if origin is not None and origin != qrels.origin:
        raise Conflict(
            f"The judgments of this task are marked {qrels.origin}; {origin} ones are never mixed with them."
        )
    if kind != qrels.kind:
        raise Conflict(
            f"The judgments of this task are {qrels.kind}; this file holds {kind} ones, another qrels."
        )
    return qrels


def _add(
    session: Session,
    viewer: Viewer,
    qrels: Qrels,
    parent: QrelsRevision | None,
    prepared: PreparedQrels,
    note: str,
) -> QrelsRevision:
    revision = QrelsRevision(
        qrels_id=qrels.id,
        number=(parent.number if parent else 0) + 1,
        parent_id=parent.id if parent else None,
        sha256=prepared.sha256,
        file_name=prepared.file_name,
        note=note.strip(),
        topics=sorted(prepared.judgments, key=str.encode),
        judgments=len(prepared.rows),
        packed=prepared.packed,
        created_at=now(session),
        created_by=viewer.account_id,
    )
    session.add(revision)
    session.flush()
    for start in range(0, len(prepared.rows), ROWS_AT_ONCE):
        session.execute(
            insert(Judgment),
            [
                {
                    "revision_id": revision.id,
                    "topic_id": topic,
                    "subtopic": subtopic,
                    "docno": docno.decode(),
                    "grade": grade,
                }
                for topic, subtopic, docno, grade in prepared.rows[start : start + ROWS_AT_ONCE]
            ],
        )
    return revision
