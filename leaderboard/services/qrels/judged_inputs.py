"""What the scores under a revision rest on: its judgments, and what stands beside them at its number.

A revision of subtopics or preferences of its own is always followed by a new revision of the judgments a
board is computed from. So the companions of that one always are the newest that were there before it,
and scores, comparisons and snapshots need to know no number but its.
"""

from collections.abc import Iterable

from sqlalchemy import func, select
from sqlalchemy.orm import Session, undefer

from leaderboard.db.tables import Collection, Judgment, Qrels, QrelsRevision, Task
from leaderboard.trec.qrels.revision_inputs import RevisionInputs, pack_subtopics

MAIN = "main"
"""Name of the qrels a board is computed from."""
WHOLE = tuple(map(undefer, (QrelsRevision.packed, QrelsRevision.distractors, QrelsRevision.left_out)))
"""Options of a statement that reads revisions with all that they hold."""
COMPANIONS = ("subtopic", "preference")
"""Kinds of qrels that stand beside graded ones, each under its kind as its name."""


def companions(session: Session, revision: QrelsRevision) -> dict[str, int]:
    """Kind -> id of the revision beside a revision of the judgments of a board; one statement."""
    main = select(Qrels.task_id).where(Qrels.id == revision.qrels_id, Qrels.name == MAIN).scalar_subquery()
    rows = session.execute(
        select(Qrels.kind, func.max(QrelsRevision.id))
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .where(Qrels.task_id == main, Qrels.name.in_(COMPANIONS), QrelsRevision.id < revision.id)
        .group_by(Qrels.kind)
    )
    return {kind: revision_id for kind, revision_id in rows}


def inputs(session: Session, revision_id: int) -> RevisionInputs:
    """All that the scores under a revision rest on, packed; a few statements."""
    row = session.execute(
        select(QrelsRevision, Qrels.kind, Collection.size)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .join(Task, Task.id == Qrels.task_id)
        .join(Collection, Collection.id == Task.collection_id)
        .where(QrelsRevision.id == revision_id)
        .options(*WHOLE)
    ).one()
    revision = row.QrelsRevision
    beside = companions(session, revision)
    others = select(QrelsRevision.id, QrelsRevision.packed).where(QrelsRevision.id.in_(beside.values()))
    bodies = {row.id: row.packed for row in session.execute(others)} if beside else {}
    packed = {kind: bodies[companion] for kind, companion in beside.items()}
    if row.kind == "subtopic":
        packed["subtopic"] = pack_subtopics(subtopics(session, revision_id))
    return RevisionInputs(
        judgments=revision.packed,
        subtopics=packed.get("subtopic"),
        preferences=packed.get("preference"),
        distractors=revision.distractors,
        left_out=revision.left_out,
        collection_size=row.size,
        name=f"revision {revision.number} (number {revision.id} of all)",
        kind=row.kind,
    )


def subtopics(session: Session, revision_id: int) -> dict[str, dict[str, dict[bytes, int]]]:
    """Topic -> subtopic -> docno -> grade of a revision of that kind."""
    by_topic: dict[str, dict[str, dict[bytes, int]]] = {}
    rows = session.execute(
        select(Judgment.topic_id, Judgment.subtopic, Judgment.docno, Judgment.grade).where(
            Judgment.revision_id == revision_id
        )
    )
    for topic, subtopic, docno, grade in rows:
        by_topic.setdefault(topic, {}).setdefault(subtopic, {})[docno.encode()] = grade
    return by_topic


def has(session: Session, revision: QrelsRevision) -> frozenset[str]:
    """Which needs of measures the judgments meet besides grades: subtopics, preferences."""
    kinds = set(companions(session, revision))
    kinds.add(session.scalars(select(Qrels.kind).where(Qrels.id == revision.qrels_id)).one())
    return needs_met_by(kinds)


def needs_met_by(kinds: Iterable[str]) -> frozenset[str]:
    """Which needs of measures judgments of these kinds meet besides grades.

    >>> needs_met_by(["graded", "subtopic"])
    frozenset({'subtopics'})
    """
    words = {"subtopic": "subtopics", "preference": "preferences"}
    return frozenset(words[kind] for kind in kinds if kind in words)
