"""The sets of topics of a task: all, those that a phase scores, and the public part of a blind phase's."""

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Task, Topic, TopicSet
from leaderboard.errors import Invalid, Problem
from leaderboard.services.phase_rules import ALL_TOPICS, public_part
from leaderboard.services.tasks import public_topics


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
        return public_topics.draw(session, task)
    public = public_part(name)
    named = (TopicSet.task_id == task.id, TopicSet.name == public)
    if session.scalar(select(TopicSet.id).where(*named)) is not None:
        return False
    whole = session.scalar(select(TopicSet.topics).where(TopicSet.task_id == task.id, TopicSet.name == name))
    seed = f"{task.slug} {name}"
    put(session, task, public, public_topics.half(seed, whole or ids(session, task)), seed)
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
