"""Topics that count: a task may have more topics than were judged, and selects those it scores."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, aliased

from leaderboard.core import audit, policy
from leaderboard.core.phase_rules import ALL_TOPICS, PUBLIC_TOPICS, public_part
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.core.shown_names import ShownNames
from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Qrels, QrelsRevision, Run, Task, Topic, TopicSet
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.evaluations.shown import Basis, ShownEdition
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.tables.record import Shown


def put_topic_set(
    session: Session, task: Task, name: str, topic_ids: list[str] | None, seed: str = ""
) -> TopicSet:
    """Create or replace the task's topic set of that name."""
    named = (TopicSet.task_id == task.id, TopicSet.name == name)
    topic_set = session.scalar(select(TopicSet).where(*named))
    if topic_set is None:
        topic_set = TopicSet(task_id=task.id, name=name)
        session.add(topic_set)
    topic_set.topics, topic_set.seed = topic_ids, seed
    session.flush()
    return topic_set


def put_public(session: Session, task: Task, name: str) -> bool:
    """Create the public part of a set if absent; public topics stay public. Returns whether created."""
    if name == ALL_TOPICS:
        return draw_topic_set(session, task)
    public = public_part(name)
    named = (TopicSet.task_id == task.id, TopicSet.name == public)
    if session.scalar(select(TopicSet.id).where(*named)) is not None:
        return False
    whole = session.scalar(select(TopicSet.topics).where(TopicSet.task_id == task.id, TopicSet.name == name))
    seed = f"{task.slug} {name}"
    put_topic_set(session, task, public, half(seed, whole or topic_set_ids(session, task)), seed)
    return True


def drop_topic_set(session: Session, task: Task, name: str) -> None:
    """Delete a set and its public part."""
    named = TopicSet.name.in_((name, public_part(name)))
    session.execute(delete(TopicSet).where(TopicSet.task_id == task.id, named))


def topic_set_ids(session: Session, task: Task) -> list[str]:
    """The ids of the task's topics, in order."""
    return list(
        session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id).order_by(Topic.position))
    )


def read_topic_set(session: Session, task: Task, text: str) -> list[str]:
    """The topics in a list separated by spaces, commas or newlines; raises Invalid for unknown ones."""
    topic_ids = topic_set_ids(session, task)
    requested = dict.fromkeys(text.replace(",", " ").split())
    unknown = [topic for topic in requested if topic not in set(topic_ids)]
    if unknown:
        problems = [
            Problem("is not a topic of this task.", "Use an id from the list of topics.", value=topic[:80])
            for topic in unknown[:25]
        ]
        raise Invalid("Some topics do not exist in this task.", problems)
    return [topic for topic in topic_ids if topic in requested]


def find_public(session: Session, task: Task) -> TopicSet | None:
    """The task's public topics; None if never drawn."""
    return session.scalar(select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name == PUBLIC_TOPICS))


def draw_topic_set(session: Session, task: Task) -> bool:
    """Draw the public half if not drawn before; returns whether it was drawn."""
    if find_public(session, task) is not None:
        return False
    drawn = half(task.slug, topic_set_ids(session, task))
    session.add(TopicSet(task_id=task.id, name=PUBLIC_TOPICS, topics=drawn, seed=task.slug))
    session.flush()
    return True


def draw_again(session: Session, task: Task) -> None:
    """Draw the public half again, if there is one, after the task's topics changed."""
    drawn = find_public(session, task)
    if drawn is not None:
        seed = drawn.seed or task.slug
        drawn.topics, drawn.seed = half(seed, topic_set_ids(session, task)), seed


def half(seed: str, topic_ids: Sequence[str]) -> list[str]:
    """Half of the topics, in order; reproducible by seed."""
    ordered = sorted(topic_ids, key=lambda topic: hashlib.sha256(f"{seed}\0{topic}".encode()).digest())
    chosen = set(ordered[: (len(ordered) + 1) // 2])
    return [topic for topic in topic_ids if topic in chosen]


NOT_JUDGED = "Not judged."
"""The reason of topics excluded by `score_judged`. It is public: the organiser publishes with it which
topics are scored, unlike with other reasons, such as that nothing is relevant."""


def scored(session: Session, task: Task) -> tuple[str, ...]:
    """The topics for file rules: those that a submitter may know to be scored, in task order.

    For an open task: judged topics that are not excluded, or all non-excluded topics before there are
    judgments. While judgments are hidden: all topics except publicly excluded ones, because a warning would
    reveal the others.
    """
    rows = session.execute(
        select(Topic.topic_id, Topic.excluded).where(Topic.task_id == task.id).order_by(Topic.position)
    ).all()
    if not policy.is_shown(session, task):
        return tuple(row.topic_id for row in rows if row.excluded != NOT_JUDGED)
    counted = tuple(row.topic_id for row in rows if not row.excluded)
    judged = set(_judged(session, task.id))
    return tuple(topic for topic in counted if topic in judged) or counted


def why_left_out(excluded: str, access: TaskAccess) -> str:
    """Why a topic is excluded from means, if the viewer may know; otherwise empty."""
    return excluded if access.details or excluded == NOT_JUDGED else ""


def score_judged(session: Session, viewer: Viewer, slug: str) -> int:
    """Exclude topics without judgments from means and rules; returns their number.

    No mean changes. Topics excluded earlier that have judgments by now count again, in a new edition of the
    board. Raises Conflict if nothing is judged.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    topics = _topics(session, task)
    judged = set(_judged(session, task.id))
    if not judged & {topic.topic_id for topic in topics}:
        raise Conflict("No topic of this task has judgments yet; add judgments first.")
    left_out = _leave_out(session, task, topics, lambda topic: topic.topic_id not in judged)
    audit.record(session, viewer, "task.score_judged", f"task:{task.id}", left_out=left_out)
    return left_out


def score_all(session: Session, viewer: Viewer, slug: str) -> None:
    """Undo `score_judged`: every topic counts as soon as it has judgments."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    _leave_out(session, task, _topics(session, task), lambda _: False)
    audit.record(session, viewer, "task.score_all", f"task:{task.id}")


def _leave_out(session: Session, task: Task, topics: list[Topic], is_out: Callable[[Topic], bool]) -> int:
    """Exclude the given topics and include the others; returns the number excluded."""
    had = [topic.topic_id for topic in topics if topic.excluded != NOT_JUDGED]
    returning = set()
    for topic in topics:
        if is_out(topic):
            topic.excluded = topic.excluded or NOT_JUDGED
        elif topic.excluded == NOT_JUDGED:
            topic.excluded = ""
            returning.add(topic.topic_id)
    left = [topic.topic_id for topic in topics if topic.excluded != NOT_JUDGED]
    session.flush()
    if task.published_at is None:
        _draw_again(session, task, had, left)
    revision = files.newest(session, task.id)
    if task.published_at is not None and revision is not None and returning & set(revision.topics):
        editions.build(session, task, revision)
    return len(topics) - len(left)


def _draw_again(session: Session, task: Task, had: list[str], left: list[str]) -> None:
    """Draw the public half of a blind draft among the included topics, unless chosen by hand."""
    public = session.scalar(
        select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name == PUBLIC_TOPICS)
    )
    seed = public.seed or task.slug if public is not None else ""
    if public is not None and public.topics == half(seed, had):
        public.topics = half(seed, left)


def _judged(session: Session, task_id: int) -> list[str]:
    """The topics of the board's newest judgments, without reading these judgments."""
    newest = select(QrelsRevision.topics).join(Qrels, Qrels.id == QrelsRevision.qrels_id)
    of_board = newest.where(Qrels.task_id == task_id, Qrels.name == MAIN)
    return session.scalar(of_board.order_by(QrelsRevision.number.desc()).limit(1)) or []


def _topics(session: Session, task: Task) -> list[Topic]:
    return list(session.scalars(select(Topic).where(Topic.task_id == task.id).order_by(Topic.position)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTask:
    """Base of pages about a task that the reader may see."""

    of: Task

    @property
    def task(self) -> str:
        """The task's name."""
        return self.of.name

    @property
    def slug(self) -> Annotated[str, Shown(key="task")]:
        """The slug of the task."""
        return self.of.slug

    @property
    def is_draft(self) -> bool:
        """Whether only its organisers can see it."""
        return self.of.published_at is None

    @property
    def level(self) -> int:
        """Lowest grade that counts as relevant."""
        return self.of.level


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHead(OfTask):
    """The head of a task's page; basis is None without judgments, and if scores are hidden."""

    access: TaskAccess
    basis: Basis | None = None

    @property
    def head(self) -> dict[str, Any]:
        """These fields, for another page of the same task."""
        return {field.name: getattr(self, field.name) for field in fields(TaskHead)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicHead(TaskHead):
    """The head of a page of one topic; previous, following: neighbours in task order, if linked."""

    topic: Topic
    previous: str | None = None
    following: str | None = None

    @property
    def topic_id(self) -> str:
        """The topic id in files."""
        return self.topic.topic_id

    @property
    def title(self) -> str:
        """The topic's title."""
        return self.topic.title

    @property
    def description(self) -> str:
        """The description of the topic, in one sentence."""
        return self.topic.description

    @property
    def narrative(self) -> str:
        """The narrative: the relevant and the others."""
        return self.topic.narrative

    @property
    def excluded(self) -> str:
        """Why it is excluded from means; otherwise empty."""
        return why_left_out(self.topic.excluded, self.access)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOnTopic(TopicHead):
    """The head of a page of one run on a topic."""

    run_id: int
    run: str
    team: str
    is_own: bool


PlacedTopic = tuple[Topic, str | None, str | None]
"""A topic with the ids of the one before it and the one after it in the task's order."""


def task_head(task: Task, placed: PlacedTopic, access: TaskAccess, shown: ShownEdition) -> dict[str, Any]:
    """The fields of TopicHead."""
    topic, previous, following = placed
    return {
        "of": task,
        "access": access,
        "basis": shown.basis,
        "topic": topic,
        "previous": previous,
        "following": following,
    }


def of_run(viewer: Viewer, names: ShownNames, run: Run) -> dict[str, Any]:
    """The additional fields of RunOnTopic: run and team, by names visible to the viewer."""
    return {
        "run_id": run.id,
        "run": names.run(run.id, run.name),
        "team": names.team(run.team_id),
        "is_own": policy.owns(viewer, run.team_id),
    }


def find_topic(session: Session, task: Task, topic_id: str) -> Topic:
    """The task's topic of that id; raises NotFound."""
    topic = session.scalar(select(Topic).where(Topic.task_id == task.id, Topic.topic_id == topic_id))
    if topic is None:
        raise _no_topic(task, topic_id)
    return topic


def placed_topic(session: Session, task: Task, topic_id: str) -> PlacedTopic:
    """As `find_topic`, with its neighbours; one statement."""
    other = aliased(Topic)
    around = select(other.topic_id).where(other.task_id == Topic.task_id).limit(1)
    before = around.where(other.position < Topic.position).order_by(other.position.desc())
    after = around.where(other.position > Topic.position).order_by(other.position)
    row = session.execute(
        select(Topic, before.scalar_subquery(), after.scalar_subquery()).where(
            Topic.task_id == task.id, Topic.topic_id == topic_id
        )
    ).one_or_none()
    if row is None:
        raise _no_topic(task, topic_id)
    return row[0], row[1], row[2]


def _no_topic(task: Task, topic_id: str) -> NotFound:
    return NotFound(f"Task {task.name} has no topic {topic_id!r}.", topic=topic_id)


def grade_names(task: Task) -> dict[int, str]:
    """Grade -> its name in this task."""
    return {int(grade): str(name) for grade, name in task.grade_names.items()}
