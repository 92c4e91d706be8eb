"""What one assessor has to judge of a topic, what is done, and which documents come next."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import median

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessment, Assessor, Assignment, Pool, PoolTopic, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.services.assessors import adaptive, assignments, log
from leaderboard.services.assessors.adaptive import LiveTopic
from leaderboard.services.assessors.assignments import Share, in_order, own_and_shared, size
from leaderboard.services.assessors.log import Label
from leaderboard.services.pools import documents
from leaderboard.services.pools.documents import PoolDocument

AHEAD = 5
"""Documents on the page besides the one that is shown: as many can be judged without a connection."""
PAUSE_S = 300.0
"""What takes longer was a pause."""


@dataclass(frozen=True, slots=True)
class ComingDocument:
    """A document that comes later; of an adaptive pool only if the one shown is relevant, or is not."""

    docno: str
    condition: str = ""
    """`relevant`, `other`, or nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """What decides which document comes next in an adaptive pool."""

    topic: LiveTopic | None
    """None where the assessor has no part of the topic."""
    part: frozenset[str]
    """Documents of the assessor's own part."""
    twice: tuple[str, ...]
    """Documents of other parts that another assessor judged and that this one judges too."""
    grades: Mapping[str, int]
    """Docno -> grade of every judged document, by whichever assessor."""

    def next(self, grades: Mapping[str, int], given: Set[str], level: int) -> str | None:
        """Of the own part what the method chooses; after that what is to be judged twice.

        given: documents that the assessor has had, graded or skipped.
        """
        if self.topic is not None:
            docno = self.topic.next(grades, self.part, given - grades.keys(), level)
            if docno is not None:
                return docno
        return next((docno for docno in self.twice if docno not in given), None)


@dataclass(frozen=True, slots=True, eq=False)
class Queue:
    """One assessor's documents of one topic of a pool, and their labels of them."""

    assessor: Assessor
    task: Task
    pool: Pool
    topic: Topic
    docnos: tuple[str, ...]
    """The assessor's documents in order; of an adaptive pool those that were judged, and no others."""
    total: int
    """How many documents the assessor has in all; of an adaptive pool about."""
    own: Mapping[str, Label]
    """Docno -> this assessor's label."""
    method: Method | None
    """None unless the pool is adaptive."""

    @property
    def judged(self) -> int:
        """How many documents have a grade."""
        return sum(self.own[docno].grade is not None for docno in self.docnos if docno in self.own)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Documents that were skipped."""
        return tuple(docno for docno in self.docnos if docno in self.own and self.own[docno].grade is None)

    def first(self) -> str | None:
        """The document to judge now; None where none is left but skipped ones."""
        if self.method is not None:
            return self.method.next(self.method.grades, self.own.keys(), self.task.level)
        return next((docno for docno in self.docnos if docno not in self.own), None)

    def ahead(self, after: str) -> tuple[ComingDocument, ...]:
        """What comes after a document that is shown and not judged yet."""
        if self.method is not None:
            return _branches(self.method, after, self.own.keys(), self.task.level)
        place = self.docnos.index(after) + 1 if after in self.docnos else 0
        later = (*self.docnos[place:], *self.docnos[:place])
        left = [docno for docno in later if docno not in self.own and docno != after]
        return tuple(ComingDocument(docno) for docno in left[:AHEAD])

    def pace(self) -> float | None:
        """Seconds a document took, the median; None before the first."""
        seconds = [label.seconds for label in self.own.values() if label.seconds is not None]
        without_pauses = [took for took in seconds if took <= PAUSE_S]
        return median(without_pauses) if without_pauses else None


def queue(session: Session, token: str, number: int, topic_id: str) -> Queue:
    """The assessor's queue of a topic; raises NotFound for a dead link or a topic of others."""
    assessor, pool = log.assessor_and_pool(session, token, number)
    row = session.execute(
        select(Assignment, PoolTopic.documents, PoolTopic.body, Topic)
        .join(
            PoolTopic, (PoolTopic.pool_id == Assignment.pool_id) & (PoolTopic.topic_id == Assignment.topic_id)
        )
        .join(Topic, (Topic.task_id == pool.task_id) & (Topic.topic_id == Assignment.topic_id))
        .where(
            Assignment.pool_id == pool.id,
            Assignment.assessor_id == assessor.id,
            Assignment.topic_id == topic_id,
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"Topic {topic_id} is not among the topics you are asked to judge.")
    assignment, planned, body, topic = row
    task = session.get_one(Task, pool.task_id)
    share, rows = assignments.share_of(assignment), documents.unpack(body)
    part, twice = own_and_shared(rows, share, pool.seed, topic_id)
    # In an adaptive pool the next document depends on the labels of all assessors.
    labels = log.in_force(
        session, pool.id, topic_id=topic_id, assessor_ids=None if pool.adaptive else (assessor.id,)
    )
    own = {label.docno: label for label in labels if label.assessor_id == assessor.id}
    if pool.adaptive:
        docnos, total = tuple(own), max(size(share, planned), len(own))
        others = {label.docno for label in labels if label.assessor_id != assessor.id}
        method = Method(
            topic=adaptive.live_topic(session, task, pool, topic_id) if part else None,
            part=frozenset(row.docno for row in part),
            twice=tuple(row.docno for row in twice if row.docno in others),
            grades=_grades(rows, labels),
        )
    else:
        docnos = _in_order(rows, (*part, *twice), share, topic_id)
        total, method = len(docnos), None
    return Queue(
        assessor=assessor,
        task=task,
        pool=pool,
        topic=topic,
        docnos=docnos,
        total=total,
        own=own,
        method=method,
    )


def judged_topics(session: Session, assessor_id: int, pool_ids: Sequence[int]) -> dict[tuple[int, str], int]:
    """(pool, topic) -> documents the assessor has given a grade, in force or not yet taken back."""
    rows = session.execute(
        select(Assessment.pool_id, Assessment.topic_id, Assessment.docno, Assessment.grade)
        .where(
            Assessment.assessor_id == assessor_id,
            Assessment.pool_id.in_(pool_ids),
            Assessment.undone.is_(False),
        )
        .order_by(Assessment.saved_at, Assessment.id)
    )
    last = {(row.pool_id, row.topic_id, row.docno): row.grade for row in rows}
    return Counter((pool_id, topic_id) for (pool_id, topic_id, _), grade in last.items() if grade is not None)


def _in_order(
    rows: Sequence[PoolDocument], mine: Sequence[PoolDocument], share: Share, topic_id: str
) -> tuple[str, ...]:
    """The assessor's documents in their order; rows are in the order of their priority."""
    docnos = {row.docno for row in mine}
    ordered = in_order([row for row in rows if row.docno in docnos], share, topic_id)
    return tuple(row.docno for row in ordered)


def _grades(rows: Sequence[PoolDocument], labels: Sequence[Label]) -> dict[str, int]:
    """Docno -> grade: of several labels the last one, before those the judgment that is used again."""
    used = {row.docno: row.grade for row in rows if row.grade is not None}
    by_time = sorted(labels, key=lambda label: label.saved_at)
    return used | {label.docno: label.grade for label in by_time if label.grade is not None}


def _branches(method: Method, shown: str, own: Set[str], level: int) -> tuple[ComingDocument, ...]:
    """The document after one that is shown: if that is relevant, and if it is not."""
    given = {*own, shown}
    hit = method.next({**method.grades, shown: level}, given, level)
    miss = method.next({**method.grades, shown: 0}, given, level)
    if hit == miss:
        return (ComingDocument(hit),) if hit is not None else ()
    both = ((hit, "relevant"), (miss, "other"))
    return tuple(ComingDocument(docno, condition) for docno, condition in both if docno is not None)
