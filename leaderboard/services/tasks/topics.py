"""A task's topics one by one: finding them, what stands beside them, how their grades are called."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Task, Topic
from leaderboard.errors import NotFound


def find(session: Session, task: Task, topic_id: str) -> Topic:
    """The task's topic of that id; raises NotFound."""
    topic = session.scalar(select(Topic).where(Topic.task_id == task.id, Topic.topic_id == topic_id))
    if topic is None:
        raise NotFound(f"Task {task.name} has no topic {topic_id!r}.", topic=topic_id)
    return topic


def neighbours(session: Session, task: Task, topic: Topic) -> tuple[str | None, str | None]:
    """The ids of the topics before and after this one in the task's order."""
    around = select(Topic.topic_id).where(Topic.task_id == task.id)
    before = around.where(Topic.position < topic.position).order_by(Topic.position.desc()).limit(1)
    after = around.where(Topic.position > topic.position).order_by(Topic.position).limit(1)
    return session.scalar(before), session.scalar(after)


def grade_names(task: Task) -> dict[int, str]:
    """Grade -> its name in this task."""
    return {int(grade): str(name) for grade, name in task.grade_names.items()}
