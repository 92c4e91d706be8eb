"""Changing a task's topics: one corrected or added, all of them replaced before the first run."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Pool, Run, Task, Topic, TopicSet
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.fields import Field
from leaderboard.services import policy
from leaderboard.services.phase_rules import PUBLIC_TOPICS
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files
from leaderboard.services.tasks import board_measures, changes, topic_sets, topics
from leaderboard.services.tasks.setting_values import TEXT_CHARACTERS, tidy
from leaderboard.trec.topics import topics as trec_topics

ROWS_AT_ONCE = 5_000
PARTS = ("title", "description", "narrative")


@dataclass(frozen=True, slots=True)
class TopicText:
    """What a topic asks for."""

    title: Annotated[str, Field(title="Title", longest=TEXT_CHARACTERS, least=0)]
    description: Annotated[str, Field(title="Description", rows=3, longest=TEXT_CHARACTERS)] = ""
    narrative: Annotated[str, Field(title="Narrative", rows=6, longest=TEXT_CHARACTERS)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic(TopicText):
    """A topic to add."""

    topic: Annotated[str, Field(title="Topic id, as runs write it")]


def correct(session: Session, viewer: Viewer, slug: str, topic_id: str, text: TopicText) -> None:
    """Give a topic another title, description or narrative; no score depends on them."""
    task = policy.own_task(session, viewer, slug)
    topic = topics.find(session, task, topic_id)
    _check(topic_id, text)
    for part in PARTS:
        before, after = getattr(topic, part), tidy(getattr(text, part)).strip()
        setattr(topic, part, after)
        changes.note(session, viewer, task, f"{part} of topic {topic_id}", before, after)


def add(session: Session, viewer: Viewer, slug: str, topic_id: str, text: TopicText) -> None:
    """Add a topic after the others.

    Raises Conflict where there is one of that id, or where the board's judgments have it already: its means
    would change under the same revision.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    _check(topic_id, text)
    places = session.execute(select(Topic.topic_id, Topic.position).where(Topic.task_id == task.id)).all()
    if topic_id in {row.topic_id for row in places}:
        raise Conflict(f"There is a topic {topic_id!r} already; correct it instead.")
    _refuse_judged(session, task, topic_id)
    place = max((row.position for row in places), default=-1) + 1
    parts = {part: tidy(getattr(text, part)).strip() for part in PARTS}
    session.add(Topic(task_id=task.id, topic_id=topic_id, position=place, **parts))
    changes.note(session, viewer, task, "topics", "", f"{topic_id} added")


def replace(session: Session, viewer: Viewer, slug: str, new: tuple[trec_topics.Topic, ...]) -> None:
    """Put other topics in the place of all of a task's; a public half is drawn anew.

    Raises Conflict once there is a run, a pool, or another set of topics that lacks one of its own.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    _refuse_used(session, task, {topic.topic_id for topic in new})
    before = session.scalar(select(func.count()).where(Topic.task_id == task.id)) or 0
    session.execute(delete(Topic).where(Topic.task_id == task.id))
    insert_all(session, task, new)
    topic_sets.draw_again(session, task)
    board_measures.rebuild(session, task)
    changes.note(session, viewer, task, "topics", f"{before} topics", f"{len(new)} topics, from a new file")


def insert_all(session: Session, task: Task, new: Iterable[trec_topics.Topic]) -> None:
    """Store the topics of a task that has none, in their order."""
    rows = [_row(task.id, position, topic) for position, topic in enumerate(new)]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        # Not an object a topic: two hundred thousand of them would hold the database for minutes.
        session.execute(insert(Topic), rows[start : start + ROWS_AT_ONCE])


def _row(task_id: int, position: int, topic: trec_topics.Topic) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "topic_id": topic.topic_id,
        "position": position,
        "title": topic.title,
        "description": topic.description,
        "narrative": topic.narrative,
        "answer_limit": topic.limit,
        "subtopics": [
            {"number": subtopic.number, "text": subtopic.text, "kind": subtopic.kind}
            for subtopic in topic.subtopics
        ],
    }


def _check(topic_id: str, text: TopicText) -> None:
    problems = []
    fault = trec_topics.fault_of_id(topic_id)
    if fault is not None:
        problems.append(Problem(*fault, field="topic id", value=topic_id[:40]))
    if any(len(getattr(text, part)) > TEXT_CHARACTERS for part in PARTS):
        problems.append(Problem(f"may have at most {TEXT_CHARACTERS:,} characters.", "", field="text"))
    if problems:
        raise Invalid("The topic cannot be like this.", problems)


def _refuse_judged(session: Session, task: Task, topic_id: str) -> None:
    revision = files.newest(session, task.id)
    if task.published_at is not None and revision is not None and topic_id in revision.topics:
        raise Conflict(
            f"Qrels revision {revision.number} judges topic {topic_id}: to count it now would change the "
            "board under the same revision. Publish judgments without it first, then add it."
        )


def _refuse_used(session: Session, task: Task, new: set[str]) -> None:
    for table, what in ((Run, "a run"), (Pool, "a pool")):
        if session.scalar(select(table.id).where(table.task_id == task.id).limit(1)) is not None:
            raise Conflict(f"The topics cannot be replaced any more: there is {what} on them.")
    others = select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name != PUBLIC_TOPICS)
    for chosen in session.scalars(others):
        lost = sorted(set(chosen.topics or ()) - new)
        if lost:
            raise Conflict(f"The topics of {chosen.name!r} include {lost[0]}, which the new file lacks.")
