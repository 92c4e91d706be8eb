"""What one assessor has to judge of a topic, what is done, and which documents come next."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessment, Assessor, Assignment, Pool, PoolTopic, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.services.assessors import adaptive, assignments, log
from leaderboard.services.assessors.log import Label
from leaderboard.services.assessors.shares import Share, in_order, own_and_shared, size
from leaderboard.services.pools import documents
from leaderboard.services.pools.documents import PoolDocument

AHEAD = 5
"""Documents on the page besides the one that is shown: as many can be judged without a connection."""
PAUSE_S = 300.0
"""What takes longer was a pause."""


@dataclass(frozen=True, slots=True)
class Coming:
    """A document that comes later; of an adaptive pool only if the one shown is relevant, or is not."""

    docno: str
    condition: str = ""
    """`relevant`, `other`, or nothing."""


@dataclass(frozen=True, eq=False)
class Queue:
    """One assessor's documents of one topic of a pool and what is known of them."""

    session: Session
    assessor: Assessor
    task: Task
    pool: Pool
    topic: Topic
    share: Share
    planned: int
    """Documents of the topic to be judged by anybody; of an adaptive pool its budget."""
    rows: tuple[PoolDocument, ...]
    labels: tuple[Label, ...]
    """In force of the topic, by all its assessors where the pool is adaptive, else by this one."""

    @cached_property
    def own(self) -> dict[str, Label]:
        """Docno -> this assessor's label."""
        return {each.docno: each for each in self.labels if each.assessor_id == self.assessor.id}

    @cached_property
    def _parts(self) -> tuple[list[PoolDocument], list[PoolDocument]]:
        return own_and_shared(self.rows, self.share, self.pool.seed, self.topic.topic_id)

    @cached_property
    def docnos(self) -> tuple[str, ...]:
        """The assessor's documents in order; of an adaptive pool those that were judged, and no others."""
        if self.pool.adaptive:
            return tuple(self.own)
        mine = {each.docno for part in self._parts for each in part}
        rows = [row for row in self.rows if row.docno in mine]
        return tuple(row.docno for row in in_order(rows, self.share, self.topic.topic_id))

    @property
    def total(self) -> int:
        """How many documents the assessor has in all; of an adaptive pool about."""
        if not self.pool.adaptive:
            return len(self.docnos)
        return max(size(self.share, self.planned), len(self.own))

    @cached_property
    def judged(self) -> int:
        """Documents with a grade."""
        return sum(self.own[docno].grade is not None for docno in self.docnos if docno in self.own)

    @cached_property
    def skipped(self) -> tuple[str, ...]:
        """Documents that were skipped."""
        return tuple(each for each in self.docnos if each in self.own and self.own[each].grade is None)

    def first(self) -> str | None:
        """The document to judge now; None where none is left but skipped ones."""
        if self.pool.adaptive:
            return self._live(self._grades(), set(self.own))
        return next((each for each in self.docnos if each not in self.own), None)

    def ahead(self, after: str) -> tuple[Coming, ...]:
        """What comes after a document that is shown and not judged yet."""
        if self.pool.adaptive:
            return self._branches(after)
        place = self.docnos.index(after) + 1 if after in self.docnos else 0
        later = (*self.docnos[place:], *self.docnos[:place])
        found = (each for each in later if each not in self.own and each != after)
        return tuple(Coming(each) for each, _ in zip(found, range(AHEAD), strict=False))

    def _branches(self, shown: str) -> tuple[Coming, ...]:
        grades, given = self._grades(), {*self.own, shown}
        hit = self._live({**grades, shown: self.task.level}, given)
        miss = self._live({**grades, shown: 0}, given)
        if hit == miss:
            return (Coming(hit),) if hit is not None else ()
        both = ((hit, "relevant"), (miss, "other"))
        return tuple(Coming(docno, condition) for docno, condition in both if docno is not None)

    def _grades(self) -> dict[str, int]:
        """Docno -> grade, whoever judged; of several the last, and of judgments used again theirs."""
        used = {row.docno: row.grade for row in self.rows if row.grade is not None}
        by_time = sorted(self.labels, key=lambda each: each.saved_at)
        return {**used, **{each.docno: each.grade for each in by_time if each.grade is not None}}

    def _live(self, grades: Mapping[str, int], given: Set[str]) -> str | None:
        """Of the own part what the method says; then what others judged and is to be judged twice.

        given: documents that the assessor has had, graded or skipped.
        """
        own, shared = ([each.docno for each in part] for part in self._parts)
        if own:
            topic = adaptive.live_topic(self.session, self.task, self.pool, self.topic.topic_id)
            found = topic.next(grades, set(own), given - grades.keys(), self.task.level)
            if found is not None:
                return found
        others = {each.docno for each in self.labels if each.assessor_id != self.assessor.id}
        return next((each for each in shared if each in others and each not in given), None)

    def pace(self) -> float | None:
        """Seconds a document took, the median; None before the first."""
        taken = [each.seconds for each in self.own.values() if each.seconds is not None]
        kept = [each for each in taken if each <= PAUSE_S]
        return median(kept) if kept else None


def queue(session: Session, token: str, number: int, topic_id: str) -> Queue:
    """The assessor's queue of a topic; raises NotFound for a dead link or a topic of others."""
    assessor, pool = log.assessor_and_pool(session, token, number)
    task = session.get_one(Task, pool.task_id)
    row = session.execute(
        select(Assignment, PoolTopic.documents, PoolTopic.body, Topic)
        .join(
            PoolTopic,
            (PoolTopic.pool_id == Assignment.pool_id) & (PoolTopic.topic_id == Assignment.topic_id),
        )
        .join(Topic, (Topic.task_id == task.id) & (Topic.topic_id == Assignment.topic_id))
        .where(
            Assignment.pool_id == pool.id,
            Assignment.assessor_id == assessor.id,
            Assignment.topic_id == topic_id,
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"Topic {topic_id} is not among the topics you are asked to judge.")
    assignment, planned, body, topic = row
    labels = log.in_force(
        session,
        pool.id,
        topic_id=topic_id,
        assessor_ids=None if pool.adaptive else (assessor.id,),
    )
    rows = documents.unpack(body)
    share = assignments.share_of(assignment)
    return Queue(session, assessor, task, pool, topic, share, planned, rows, labels)


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
    counts: dict[tuple[int, str], int] = {}
    for (pool_id, topic_id, _), grade in last.items():
        if grade is not None:
            counts[pool_id, topic_id] = counts.get((pool_id, topic_id), 0) + 1
    return counts
