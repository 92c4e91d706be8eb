"""The site's front page: every task with who leads it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Evaluation, EvaluationMean, QrelsRevision, Run, Task, TopicSet
from leaderboard.measures.grammar import parse
from leaderboard.pages.tasks import overviews
from leaderboard.pages.tasks.overviews import TaskRow
from leaderboard.services import collections, policy
from leaderboard.services.boards.rows import RANKED_KIND
from leaderboard.services.policy import ALL_TOPICS, Viewer
from leaderboard.services.runs import admission


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
    is_open: bool
    """Whether everything of it is shown: an open task, or a closed one."""
    revision: int | None
    leader: Leader | None

    @property
    def runs(self) -> int | None:
        """How many runs there are; None in a sealed task, where this is held back too."""
        return self.task.runs if self.is_open or self.task.visibility == "blind" else None


@dataclass(frozen=True, slots=True)
class Definition:
    """How one measure of a task is defined."""

    key: str
    title: str
    formula: str
    citation: str
    version: int


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
    measures: tuple[Definition, ...]
    primary: str
    grade_names: dict[int, str]
    opens_at: datetime | None
    closes_at: datetime | None
    organises: bool
    details: bool
    """Whether scores by topic are shown to the viewer."""


def landing(session: Session, viewer: Viewer) -> tuple[LandingRow, ...]:
    """All tasks the viewer may know of; three statements, and one more for each that is blind or sealed."""
    rows = overviews.listing(session, viewer)
    shown = {row.id for row in rows if row.visibility == "open" or policy.is_closed(session, row.id)}
    revisions = _revisions(session, shown)
    leaders = _leaders(session, shown)
    return tuple(LandingRow(row, row.id in shown, revisions.get(row.id), leaders.get(row.id)) for row in rows)


def as_json(rows: tuple[LandingRow, ...]) -> dict[str, Any]:
    """The tasks as plain values at full precision."""
    header, body = table(rows)
    return {"tasks": [dict(zip(header, row, strict=True)) for row in body]}


def table(rows: tuple[LandingRow, ...]) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the tasks, for CSV."""
    header = [
        "task",
        "name",
        "visibility",
        "topics",
        "runs",
        "revision",
        "leader",
        "measure",
        "score",
        "tied",
    ]
    return header, [_cells(row) for row in rows]


def _cells(row: LandingRow) -> list[Any]:
    task, leader = row.task, row.leader
    best = [leader.run, leader.measure, leader.value, leader.tied] if leader else [None] * 4
    return [task.slug, task.name, task.visibility, task.topics, row.runs, row.revision, *best]


def about(session: Session, viewer: Viewer, slug: str) -> About:
    """What a task is and by which rules it runs."""
    task, sight = policy.visible_task(session, viewer, slug)
    row = next(each for each in overviews.listing(session, viewer) if each.id == task.id)
    collection = collections.by_id(session, task.collection_id)
    phase = admission.phase_of(session, task)
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
        measures=tuple(_definition(key) for key in task.measures),
        primary=task.primary_measure,
        grade_names={int(grade): str(name) for grade, name in task.grade_names.items()},
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        organises=policy.organises(viewer, task.id),
        details=sight.details,
    )


def _definition(key: str) -> Definition:
    measure = parse(key).measure
    return Definition(key, measure.title, measure.formula, measure.citation, measure.version)


def _revisions(session: Session, task_ids: set[int]) -> dict[int, int]:
    rows = session.execute(
        select(Edition.task_id, QrelsRevision.number)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .where(Edition.task_id.in_(task_ids), Edition.state == "current")
    )
    return {task_id: number for task_id, number in rows}


def _leaders(session: Session, task_ids: set[int]) -> dict[int, Leader]:
    rows = session.execute(
        select(
            Task.id,
            Run.id,
            Run.name,
            Edition.measures,
            Evaluation.measure,
            Evaluation.measure_version,
            EvaluationMean.mean,
        )
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
    for task_id, run_id, name, measures, key, version, mean in rows:
        if {"key": key, "version": version} not in measures:
            continue
        measure = parse(key).measure
        sign = 1 if measure.direction == "higher" else -1
        best = leaders.get(task_id)
        if best is None or sign * mean > sign * best.value:
            leaders[task_id] = Leader(run_id, name, key, mean, measure.digits, 1)
        elif mean == best.value:
            leaders[task_id] = Leader(best.run_id, best.run, key, mean, measure.digits, best.tied + 1)
    return leaders
