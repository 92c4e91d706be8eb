"""Topics and documents that a search of the site finds; both are as visible as their task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import Session, aliased

from leaderboard.db.tables import Topic, TopicWord
from leaderboard.db.words import begins
from leaderboard.scoring.ops import collections

READ = 5
"""Rows read for each topic to be shown: a topic has one for each of its words that begin like the longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTopic:
    """A topic whose id or title has the words."""

    topic_id: str
    title: str
    task: str
    slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A document stored on the site whose id is the query."""

    docno: str
    title: str
    task: str
    slug: str


def topics(session: Session, tasks: Mapping[int, Any], words: Sequence[str], most: int) -> list[FoundTopic]:
    """Topics of the tasks that have every word, newest task first, then in task order; one statement.

    They are read in the order of an index, by the longest word.
    """
    driver, *others = sorted(words, key=len, reverse=True)
    selected = (
        select(Topic.task_id, Topic.position, Topic.topic_id, Topic.title)
        .join(TopicWord, TopicWord.topic_id == Topic.id)
        .where(begins(TopicWord.word, driver), Topic.task_id.in_(tasks))
        .order_by(TopicWord.word, TopicWord.topic_id.desc())
        .limit(READ * most)
    )
    for word in others:
        beside = aliased(TopicWord)
        of_topic = exists().where(beside.topic_id == Topic.id, begins(beside.word, word))
        selected = selected.where(of_topic.correlate(Topic))
    rows = sorted(set(session.execute(selected)), key=lambda row: (-row.task_id, row.position))
    return [
        FoundTopic(
            topic_id=row.topic_id, title=row.title, task=tasks[row.task_id].name, slug=tasks[row.task_id].slug
        )
        for row in rows[:most]
    ]


def documents(session: Session, tasks: Mapping[int, Any], docno: str) -> Iterator[FoundDocument]:
    """The document of that id in the collection of each of the tasks, newest task first; one statement."""
    titles = collections.titles_of(session, {task.collection_id for task in tasks.values()}, docno)
    for task in tasks.values():
        if (title := titles.get(task.collection_id)) is not None:
            yield FoundDocument(docno=docno, title=title, task=task.name, slug=task.slug)
