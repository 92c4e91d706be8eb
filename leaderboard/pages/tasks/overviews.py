"""Tasks in lists, and what an organiser checks before publishing one."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db import tables
from leaderboard.db.tables import Qrels, Run, Task, Topic, TopicSet
from leaderboard.services import kinds, logos, policy
from leaderboard.services.logos import TaskLogo
from leaderboard.services.phase_rules import PUBLIC_TOPICS
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.tasks import phases
from leaderboard.services.tasks.head import OfTask
from leaderboard.services.tasks.scored_topics import NOT_JUDGED
from leaderboard.tables.record import Place, Shown
from leaderboard.trec.qrels.packed_judgments import unpack_judgments


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOverview(OfTask):
    """What an organiser checks before publishing, and finds again later."""

    collection: tables.Collection
    opens_at: datetime | None
    closes_at: datetime | None
    topics: int
    public_topics: int | None
    revision: int | None
    origin: str
    judgments: int
    read_as: tuple[str, ...]
    """How the newest file of judgments was read, in sentences."""
    grades: dict[int, int]
    topics_without_judgments: tuple[str, ...]
    judged_not_topics: tuple[str, ...]
    topics_without_relevant: tuple[str, ...]
    excluded: dict[str, str]
    scores_judged: int
    """How many topics are left out because they are not judged; 0 where every topic counts."""
    not_judged: str = NOT_JUDGED


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task in a list."""

    id: int
    slug: Annotated[str, Shown(key="task", shown=Place.DATA)]
    name: Annotated[str, Shown("Task")]
    visibility: Annotated[str, Shown("Shown", shown=~Place.PAGE)]
    published_at: datetime | None
    topics: int
    runs: int
    archived_at: datetime | None = None
    description: str = ""
    organisers: str = ""
    """Who organises it, in the organisers' own words."""
    logo: TaskLogo | None = None


@dataclass(frozen=True, slots=True)
class KnownTask:
    """A task that a viewer may know of, before anything else is read of it."""

    id: int
    is_archived: bool


def overview(session: Session, viewer: Viewer, slug: str) -> TaskOverview:
    """Counts, grades and mismatches of a task; for its organisers."""
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require(viewer, task, policy.reads)
    rows = session.execute(select(Topic.topic_id, Topic.excluded).where(Topic.task_id == task.id)).all()
    topic_ids = {row.topic_id for row in rows}
    revision = files.newest(session, task.id)
    phase = phases.of_task(session, task.id)[0]
    judgments = unpack_judgments(revision.packed) if revision and kinds.of(task.kind).ranks_documents else {}
    public = session.scalar(
        select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name == PUBLIC_TOPICS)
    )
    origin = session.scalar(select(Qrels.origin).where(Qrels.task_id == task.id, Qrels.name == MAIN))
    counted = Counter(grade for topic in judgments.values() for grade in topic.values())
    return TaskOverview(
        of=task,
        collection=session.get_one(tables.Collection, task.collection_id),
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        topics=len(topic_ids),
        public_topics=len(public.topics) if public is not None and public.topics is not None else None,
        revision=revision.number if revision else None,
        origin=origin or "",
        judgments=revision.judgments if revision else 0,
        read_as=tuple(revision.read_as) if revision else (),
        grades=dict(sorted(counted.items())),
        topics_without_judgments=tuple(sorted(topic_ids - judgments.keys())) if revision else (),
        judged_not_topics=tuple(sorted(judgments.keys() - topic_ids)),
        topics_without_relevant=tuple(
            sorted(
                topic
                for topic, grades in judgments.items()
                if not any(grade >= task.level for grade in grades.values())
            )
        ),
        excluded={row.topic_id: row.excluded for row in rows if row.excluded},
        scores_judged=sum(row.excluded == NOT_JUDGED for row in rows),
    )


def known_tasks(session: Session, viewer: Viewer) -> tuple[KnownTask, ...]:
    """All tasks the viewer may know of, newest first: drafts only for their organisers; one statement."""
    selected = select(Task.id, Task.published_at, Task.archived_at)
    rows = session.execute(selected.order_by(Task.created_at.desc(), Task.id.desc()))
    return tuple(
        KnownTask(row.id, row.archived_at is not None)
        for row in rows
        if row.published_at is not None or policy.knows(viewer, row.id)
    )


def listing(session: Session, viewer: Viewer, only: Collection[int] | None = None) -> tuple[TaskRow, ...]:
    """All tasks the viewer may know of, or those of some ids, newest first; one statement.

    Drafts only for their organisers.
    """
    topics = select(func.count()).where(Topic.task_id == Task.id).scalar_subquery()
    runs = select(func.count()).where(Run.task_id == Task.id, Run.withdrawn_at.is_(None)).scalar_subquery()
    selected = select(
        *(Task.id, Task.slug, Task.name, Task.visibility, Task.published_at, topics, runs),
        *(Task.archived_at, Task.description, Task.organisers),
    )
    if only is not None:
        selected = selected.where(Task.id.in_(only))
    rows = session.execute(logos.with_logo(selected).order_by(Task.created_at.desc(), Task.id.desc()))
    return tuple(
        _task_row(row) for row in rows if row.published_at is not None or policy.knows(viewer, row.id)
    )


def _task_row(row: Any) -> TaskRow:
    *values, _, _ = row
    return replace(TaskRow(*values), logo=logos.in_row(row))
