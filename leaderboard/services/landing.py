"""The site's front page: every task with who leads it."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Evaluation, EvaluationMean, QrelsRevision, Run, Task, TopicSet
from leaderboard.measures.grammar import parse
from leaderboard.services import collections, overviews, policy
from leaderboard.services.boards import RANKED_KIND
from leaderboard.services.overviews import TaskRow
from leaderboard.services.policy import ALL_TOPICS, Viewer


@dataclass(frozen=True, slots=True)
class Leader:
    """The best ranked run of an open task by its primary measure; several share the place as tied says."""

    run_id: int
    run: str
    measure: str
    value: float
    digits: int
    tied: int


@dataclass(frozen=True, slots=True)
class LandingRow:
    """A task on the front page; revision and leader are None where there are no scores to show."""

    task: TaskRow
    revision: int | None
    leader: Leader | None


@dataclass(frozen=True, slots=True)
class About:
    """A task's description and rules."""

    name: str
    slug: str
    description: str
    collection: str
    size: int | None
    topics: int
    visibility: str
    depth: int
    level: int
    dialect: int
    measures: tuple[str, ...]
    primary: str
    grade_names: dict[int, str]
    organises: bool


def landing(session: Session, viewer: Viewer) -> tuple[LandingRow, ...]:
    """All tasks the viewer may know of; three statements however many there are."""
    rows = overviews.listing(session, viewer)
    shown = {row.id for row in rows if row.visibility == "open"}
    revisions = _revisions(session, shown)
    leaders = _leaders(session, shown)
    return tuple(LandingRow(row, revisions.get(row.id), leaders.get(row.id)) for row in rows)


def about(session: Session, viewer: Viewer, slug: str) -> About:
    """What a task is and by which rules it runs."""
    task, _ = policy.visible_task(session, viewer, slug)
    row = next(each for each in overviews.listing(session, viewer) if each.id == task.id)
    collection = collections.by_id(session, task.collection_id)
    return About(
        name=task.name,
        slug=task.slug,
        description=task.description,
        collection=collection.name,
        size=collection.size,
        topics=row.topics,
        visibility=task.visibility,
        depth=task.depth,
        level=task.level,
        dialect=task.dialect,
        measures=tuple(task.measures),
        primary=task.primary_measure,
        grade_names={int(grade): str(name) for grade, name in task.grade_names.items()},
        organises=policy.organises(viewer, task.id),
    )


def _revisions(session: Session, task_ids: set[int]) -> dict[int, int]:
    rows = session.execute(
        select(Edition.task_id, QrelsRevision.number)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .where(Edition.task_id.in_(task_ids), Edition.state == "current")
    )
    return {task_id: number for task_id, number in rows}


def _leaders(session: Session, task_ids: set[int]) -> dict[int, Leader]:
    rows = session.execute(
        select(Task.id, Run.id, Run.name, Evaluation.measure, EvaluationMean.mean)
        .join(Edition, (Edition.task_id == Task.id) & (Edition.state == "current"))
        .join(
            Evaluation,
            (Evaluation.revision_id == Edition.revision_id)
            & (Evaluation.measure == Edition.primary_measure)
            & (Evaluation.dialect == Edition.dialect),
        )
        .join(Run, Run.id == Evaluation.run_id)
        .join(TopicSet, (TopicSet.task_id == Task.id) & (TopicSet.name == ALL_TOPICS))
        .join(
            EvaluationMean,
            (EvaluationMean.evaluation_id == Evaluation.id) & (EvaluationMean.topic_set_id == TopicSet.id),
        )
        .where(
            Task.id.in_(task_ids), Run.task_id == Task.id, Run.kind == RANKED_KIND, Run.withdrawn_at.is_(None)
        )
        .order_by(Run.name)
    ).all()
    leaders: dict[int, Leader] = {}
    for task_id, run_id, name, key, mean in rows:
        measure = parse(key).measure
        sign = 1 if measure.direction == "higher" else -1
        best = leaders.get(task_id)
        if best is None or sign * mean > sign * best.value:
            leaders[task_id] = Leader(run_id, name, key, mean, measure.digits, 1)
        elif mean == best.value:
            leaders[task_id] = Leader(best.run_id, best.run, key, mean, measure.digits, best.tied + 1)
    return leaders
