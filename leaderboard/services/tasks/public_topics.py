"""The public half of a blind task's topics: drawn once, by digest, so that it is nobody's choice."""

import hashlib
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Task, Topic, TopicSet
from leaderboard.services.phase_rules import PUBLIC_TOPICS


def find(session: Session, task: Task) -> TopicSet | None:
    """The task's public topics; None where they were never drawn."""
    return session.scalar(select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name == PUBLIC_TOPICS))


def draw(session: Session, task: Task) -> bool:
    """Draw the public half unless it was drawn before; whether it was drawn now."""
    if find(session, task) is not None:
        return False
    drawn = half(task.slug, _topic_ids(session, task))
    session.add(TopicSet(task_id=task.id, name=PUBLIC_TOPICS, topics=drawn, seed=task.slug))
    session.flush()
    return True


def draw_again(session: Session, task: Task) -> None:
    """Draw anew where there is a public half: its task has other topics now."""
    drawn = find(session, task)
    if drawn is not None:
        seed = drawn.seed or task.slug
        drawn.topics, drawn.seed = half(seed, _topic_ids(session, task)), seed


def half(seed: str, topic_ids: Sequence[str]) -> list[str]:
    """Half of the topics, in their order: the same for the same seed."""
    ordered = sorted(topic_ids, key=lambda topic: hashlib.sha256(f"{seed}\0{topic}".encode()).digest())
    chosen = set(ordered[: (len(ordered) + 1) // 2])
    return [topic for topic in topic_ids if topic in chosen]


def _topic_ids(session: Session, task: Task) -> list[str]:
    rows = select(Topic.topic_id).where(Topic.task_id == task.id).order_by(Topic.position)
    return list(session.scalars(rows))
