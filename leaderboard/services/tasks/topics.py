"""A task's topics one by one: finding them, what pages of one start with, how their grades are called."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.services import policy
from leaderboard.services.evaluations.shown import ShownEdition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.shown_names import ShownNames
from leaderboard.services.tasks.head import TaskHead
from leaderboard.services.tasks.scored_topics import why_left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicHead(TaskHead):
    """The head of a page of one topic; previous, following: in the task's order, where it leads there."""

    topic: Topic
    previous: str | None = None
    following: str | None = None

    @property
    def topic_id(self) -> str:
        """What the topic is called in files."""
        return self.topic.topic_id

    @property
    def title(self) -> str:
        """The topic's title."""
        return self.topic.title

    @property
    def description(self) -> str:
        """What the topic asks for, in a sentence."""
        return self.topic.description

    @property
    def narrative(self) -> str:
        """What is relevant to it and what is not."""
        return self.topic.narrative

    @property
    def excluded(self) -> str:
        """Why it is in no mean; empty where it counts."""
        return why_left_out(self.topic.excluded, self.sight)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOnTopic(TopicHead):
    """The head of a page of one run on a topic."""

    run_id: int
    run: str
    team: str
    is_own: bool


def head(session: Session, task: Task, topic: Topic, sight: Sight, shown: ShownEdition) -> dict[str, Any]:
    """The fields of TopicHead; two statements."""
    around = select(Topic.topic_id).where(Topic.task_id == task.id)
    before = around.where(Topic.position < topic.position).order_by(Topic.position.desc()).limit(1)
    after = around.where(Topic.position > topic.position).order_by(Topic.position).limit(1)
    return {
        "of": task,
        "sight": sight,
        "basis": shown.basis,
        "topic": topic,
        "previous": session.scalar(before),
        "following": session.scalar(after),
    }


def of_run(viewer: Viewer, names: ShownNames, run: Run) -> dict[str, Any]:
    """What RunOnTopic has beside: the run and its team, by the names that the viewer may read."""
    return {
        "run_id": run.id,
        "run": names.run(run.id, run.name),
        "team": names.team(run.team_id),
        "is_own": policy.owns(viewer, run.team_id),
    }


def find(session: Session, task: Task, topic_id: str) -> Topic:
    """The task's topic of that id; raises NotFound."""
    topic = session.scalar(select(Topic).where(Topic.task_id == task.id, Topic.topic_id == topic_id))
    if topic is None:
        raise NotFound(f"Task {task.name} has no topic {topic_id!r}.", topic=topic_id)
    return topic


def grade_names(task: Task) -> dict[int, str]:
    """Grade -> its name in this task."""
    return {int(grade): str(name) for grade, name in task.grade_names.items()}
