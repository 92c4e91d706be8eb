"""A pool and what was judged in it: who gave which grade to what, as agreement and settling need it."""

from dataclasses import dataclass
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessment, Pool, PoolTopic, Task, Topic
from leaderboard.memory import keep_by
from leaderboard.services.assessors import log
from leaderboard.services.judging.judged import GivenLabel, Judge, JudgedLabels, judges_of
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import pools
from leaderboard.services.tasks import grade_scales
from leaderboard.services.tasks.grade_scales import Grade
from leaderboard.tables.record import Place, Shown


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
    def name(self) -> str:
        """What its tables are called."""
        return f"{self.slug}-pool-{self.number}"

    @property
    def documents_of(self) -> dict[str, int]:
        """Topic -> documents to be judged."""
        return {topic.topic_id: topic.documents for topic in self.topics}

    @property
    def is_binary(self) -> bool:
        """Whether there are two grades only."""
        return len(self.scale) <= 2


@dataclass(frozen=True, slots=True)
class TopicOfPool:
    """One topic of a pool."""

    topic_id: Annotated[str, Shown(key="topic")]
    title: Annotated[str, Shown(shown=~Place.PAGE)]
    documents: int
    """To be judged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedPool(JudgedLabels):
    """A pool with everybody's labels, by topic, document and assessor."""

    facts: PoolFacts


def judged_pool(
    session: Session, viewer: Viewer, slug: str, number: int, topic_id: str | None = None
) -> tuple[Task, JudgedPool]:
    """A pool of a task that the viewer organises, with all labels or those of one topic.

    Raises SignInNeeded, Forbidden or NotFound.
    """
    task, pool = pools.seen_pool(session, viewer, slug, number)
    facts = pool_facts(session, task, pool)
    judges = judges_of(session, task)
    adjudicators = tuple(judge for judge in judges if judge.is_adjudicator)
    others = tuple(judge for judge in judges if not judge.is_adjudicator)
    labels = _kept_labels(session, pool, others, _state(session, pool, others))
    decisions = _labels(session, pool.id, adjudicators) if adjudicators else ()
    if topic_id is not None:
        labels = tuple(label for label in labels if label.topic_id == topic_id)
        decisions = tuple(label for label in decisions if label.topic_id == topic_id)
    return task, JudgedPool(judges=judges, labels=labels, decisions=decisions, facts=facts)


def _state(session: Session, pool: Pool, judges: tuple[Judge, ...]) -> tuple[Any, ...]:
    """What tells the labels of a pool at one time from those at any other.

    The log of a pool only grows: an event is never deleted, and it is changed in one way only, when it is
    taken back, which is for good. So whenever a label comes or goes, the number of events or of those taken
    back rises, and neither ever falls: as long as both are the same, so are the labels. The address of the
    database and the moment the pool was made tell pools apart that have the same id, in two databases or one
    after the other.
    """
    events, undone = session.execute(
        select(func.count(), func.count().filter(Assessment.undone.is_(True))).where(
            Assessment.pool_id == pool.id, Assessment.assessor_id.in_([judge.id for judge in judges])
        )
    ).one()
    return str(session.get_bind().engine.url), pool.id, pool.created_at, events, undone, judges


# The lock is for the threads of the web server. Labels are read after they are counted, so what is kept may
# be newer than its counts, never older.
@keep_by(lambda *given: given[-1])
def _kept_labels(
    session: Session, pool: Pool, judges: tuple[Judge, ...], state: tuple[Any, ...]
) -> tuple[GivenLabel, ...]:
    return _labels(session, pool.id, judges)


def _labels(session: Session, pool_id: int, judges: tuple[Judge, ...]) -> tuple[GivenLabel, ...]:
    by_id = {judge.id: judge for judge in judges}
    return tuple(
        GivenLabel(
            label.topic_id,
            label.docno,
            by_id[label.assessor_id],
            label.grade,
            label.saved_at,
            label.note,
            label.seconds,
        )
        for label in log.in_force(session, pool_id, assessor_ids=list(by_id))
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
        grade_names={grade.value: grade.name for grade in scale if grade.name},
        topics=tuple(TopicOfPool(row.topic_id, row.title or "", row.documents) for row in ordered),
    )
