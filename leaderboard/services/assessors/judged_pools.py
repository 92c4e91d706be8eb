"""A pool and what was judged in it: who gave which grade to what, as agreement and settling need it."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessment, Assessor, Pool, PoolTopic, Task, Topic
from leaderboard.services.assessors import links, log
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import grade_scales
from leaderboard.services.tasks.grade_scales import Grade

WHOSE = {
    "human": "people",
    "machine": "machines",
    "all": "people and machines beside each other",
}
"""Whose labels a page looks at, by its name in an address, and how a form calls it."""


KEPT_POOLS = 4
"""Pools whose labels stay in memory, as they were when they were last looked at."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Somebody, or some machine, with labels in a pool or asked for them."""

    id: int
    name: str
    is_machine: bool
    machine: str
    """Which one; empty of people."""
    is_adjudicator: bool


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """A judge's label of a document that is in force; grade None where the document was skipped."""

    topic_id: str
    docno: str
    judge: Judge
    grade: int | None
    note: str
    saved_at: datetime
    seconds: float | None


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """What every page of a pool says of it."""

    id: int
    task: str
    slug: str
    number: int
    state: str
    documents: int
    level: int
    scale: tuple[Grade, ...]
    grade_names: dict[int, str]
    topics: tuple["TopicOfPool", ...]
    """In the task's order."""

    @property
    def is_binary(self) -> bool:
        """Whether there are two grades only."""
        return len(self.scale) <= 2


@dataclass(frozen=True, slots=True)
class TopicOfPool:
    """One topic of a pool."""

    topic_id: str
    title: str
    documents: int
    """To be judged."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPool:
    """A pool with everybody's labels, adjudicators' apart."""

    facts: PoolFacts
    judges: tuple[Judge, ...]
    """All of the task: people first, then machines, by name."""
    labels: tuple[GivenLabel, ...]
    """Of assessors, by topic, document and assessor."""
    decisions: tuple[GivenLabel, ...]
    """Of adjudicators."""

    def labels_of(self, whose: str) -> tuple[GivenLabel, ...]:
        """Assessors' labels of people, of machines, or of both."""
        return tuple(each for each in self.labels if is_of(each.judge, whose))

    def decided(self) -> dict[tuple[str, str], GivenLabel]:
        """(topic, docno) -> the adjudicators' last decision."""
        found: dict[tuple[str, str], GivenLabel] = {}
        for each in sorted(self.decisions, key=lambda label: label.saved_at):
            if each.grade is not None:
                found[each.topic_id, each.docno] = each
        return found


def is_of(judge: Judge, whose: str) -> bool:
    """Whether a judge is one of people, machines or all."""
    return whose == "all" or judge.is_machine == (whose == "machine")


_kept: OrderedDict[tuple[object, ...], tuple[GivenLabel, ...]] = OrderedDict()
_lock = threading.Lock()


def judged_pool(
    session: Session, viewer: Viewer, slug: str, number: int, topic_id: str | None = None
) -> tuple[Task, JudgedPool]:
    """A pool of a task that the viewer organises, with all labels or those of one topic.

    Raises SignInNeeded, Forbidden or NotFound.
    """
    task, pool = links.own_pool(session, viewer, slug, number)
    facts = pool_facts(session, task, pool)
    judges = tuple(_judge(each) for each in links.of_task(session, task.id))
    chiefs = tuple(each for each in judges if each.is_adjudicator)
    labels = _kept_labels(session, pool.id, tuple(each for each in judges if not each.is_adjudicator))
    decisions = _labels(session, pool.id, chiefs) if chiefs else ()
    if topic_id is not None:
        labels, decisions = (
            tuple(each for each in found if each.topic_id == topic_id) for found in (labels, decisions)
        )
    return task, JudgedPool(facts, judges, labels, decisions)


def _kept_labels(session: Session, pool_id: int, judges: tuple[Judge, ...]) -> tuple[GivenLabel, ...]:
    """The labels of assessors, kept in memory: events come and are taken back, so two counts tell all."""
    ids = [each.id for each in judges]
    events = session.execute(
        select(func.count(), func.count().filter(Assessment.undone.is_(True))).where(
            Assessment.pool_id == pool_id, Assessment.assessor_id.in_(ids)
        )
    ).one()
    key = str(session.get_bind().engine.url), pool_id, *events, judges
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    labels = _labels(session, pool_id, judges)
    with _lock:
        _kept[key] = labels
        while len(_kept) > KEPT_POOLS:
            _kept.popitem(last=False)
    return labels


def _labels(session: Session, pool_id: int, judges: tuple[Judge, ...]) -> tuple[GivenLabel, ...]:
    by_id = {each.id: each for each in judges}
    return tuple(
        GivenLabel(
            *(each.topic_id, each.docno, by_id[each.assessor_id], each.grade),
            *(each.note, each.saved_at, each.seconds),
        )
        for each in log.in_force(session, pool_id, assessor_ids=list(by_id))
    )


def pool_facts(session: Session, task: Task, pool: Pool) -> PoolFacts:
    """What every page of the pool says of it."""
    rows = session.execute(
        select(PoolTopic.topic_id, PoolTopic.documents, Topic.title, Topic.position)
        .outerjoin(Topic, (Topic.topic_id == PoolTopic.topic_id) & (Topic.task_id == task.id))
        .where(PoolTopic.pool_id == pool.id)
    ).all()
    ordered = sorted(rows, key=lambda row: (row.position is None, row.position or 0, row.topic_id.encode()))
    scale = grade_scales.scale(task)
    return PoolFacts(
        id=pool.id,
        task=task.name,
        slug=task.slug,
        number=pool.number,
        state=pool.state,
        documents=sum(row.documents for row in rows),
        level=task.level,
        scale=scale,
        grade_names={each.value: each.name for each in scale if each.name},
        topics=tuple(TopicOfPool(row.topic_id, row.title or "", row.documents) for row in ordered),
    )


def by_document(labels: Iterable[GivenLabel]) -> dict[tuple[str, str], list[GivenLabel]]:
    """(topic, docno) -> its labels, in the order given."""
    found: dict[tuple[str, str], list[GivenLabel]] = {}
    for each in labels:
        found.setdefault((each.topic_id, each.docno), []).append(each)
    return found


def _judge(assessor: Assessor) -> Judge:
    return Judge(
        assessor.id,
        assessor.name,
        assessor.origin == links.MACHINE,
        assessor.origin_name,
        assessor.role == links.ADJUDICATOR,
    )
