"""The sets of topics of a task: all, those that a phase scores, and the public part of a blind phase's."""

import hashlib
from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Task, Topic, TopicSet
from leaderboard.errors import Invalid, Problem
from leaderboard.services.phase_rules import ALL_TOPICS, PUBLIC_TOPICS, public_part


def put(session: Session, task: Task, name: str, topic_ids: list[str] | None, seed: str = "") -> TopicSet:
    """Make the task's set of that name, or make it anew."""
    named = (TopicSet.task_id == task.id, TopicSet.name == name)
    topic_set = session.scalar(select(TopicSet).where(*named))
    if topic_set is None:
        topic_set = TopicSet(task_id=task.id, name=name)
        session.add(topic_set)
    topic_set.topics, topic_set.seed = topic_ids, seed
    session.flush()
    return topic_set


def put_public(session: Session, task: Task, name: str) -> bool:
    """Make the public part of a set unless it is there: what was public stays so; whether it was made."""
    if name == ALL_TOPICS:
        return draw(session, task)
    public = public_part(name)
    named = (TopicSet.task_id == task.id, TopicSet.name == public)
    if session.scalar(select(TopicSet.id).where(*named)) is not None:
        return False
    whole = session.scalar(select(TopicSet.topics).where(TopicSet.task_id == task.id, TopicSet.name == name))
    seed = f"{task.slug} {name}"
    put(session, task, public, half(seed, whole or ids(session, task)), seed)
    return True


def drop(session: Session, task: Task, name: str) -> None:
    """Forget a set and its public part."""
    named = TopicSet.name.in_((name, public_part(name)))
    session.execute(delete(TopicSet).where(TopicSet.task_id == task.id, named))


def ids(session: Session, task: Task) -> list[str]:
    """The ids of the task's topics in their order."""
    return list(
        session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id).order_by(Topic.position))
    )


def read(session: Session, task: Task, text: str) -> list[str]:
    """The topics that a list separated by spaces, commas or line ends names; raises Invalid for others."""
    known = ids(session, task)
    wanted = dict.fromkeys(text.replace(",", " ").split())
    unknown = [topic for topic in wanted if topic not in set(known)]
    if unknown:
        problems = [
            Problem("is no topic of this task.", "Take its id from the list of topics.", value=topic[:80])
            for topic in unknown[:25]
        ]
        raise Invalid("Some topics are not there.", problems)
    return [topic for topic in known if topic in wanted]


def find_public(session: Session, task: Task) -> TopicSet | None:
    """The task's public topics; None where they were never drawn."""
    return session.scalar(select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name == PUBLIC_TOPICS))


def draw(session: Session, task: Task) -> bool:
    """Draw the public half unless it was drawn before; whether it was drawn now."""
    if find_public(session, task) is not None:
        return False
    drawn = half(task.slug, ids(session, task))
    session.add(TopicSet(task_id=task.id, name=PUBLIC_TOPICS, topics=drawn, seed=task.slug))
    session.flush()
    return True


def draw_again(session: Session, task: Task) -> None:
    """Draw anew where there is a public half: its task has other topics now."""
    drawn = find_public(session, task)
    if drawn is not None:
        seed = drawn.seed or task.slug
        drawn.topics, drawn.seed = half(seed, ids(session, task)), seed


def half(seed: str, topic_ids: Sequence[str]) -> list[str]:
    """Half of the topics, in their order: the same for the same seed."""
    ordered = sorted(topic_ids, key=lambda topic: hashlib.sha256(f"{seed}\0{topic}".encode()).digest())
    chosen = set(ordered[: (len(ordered) + 1) // 2])
    return [topic for topic in topic_ids if topic in chosen]
