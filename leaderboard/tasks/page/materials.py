"""Topics and documents that a search of the site finds; both are as visible as their task."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic
from leaderboard.db.words import beginnings
from leaderboard.scoring.ops import collections

READ = 5
"""Candidates read for each topic to be shown: those that only contain the words are then left out."""


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


def topics(session: Session, tasks: Mapping[int, Any], query: str, most: int) -> Iterator[FoundTopic]:
    """Topics of the tasks, newest task first, then in task order; one statement.

    The database reads the topics of these tasks alone, by an index, and chooses by the words without letters
    whose case it may not know; `strasse` therefore misses a title that has `Straße`.
    """
    typed, words = query.split(), query.casefold().split()
    text = func.lower(Topic.topic_id + " " + Topic.title)
    rows = session.execute(
        select(Topic.task_id, Topic.topic_id, Topic.title)
        .where(Topic.task_id.in_(tasks))
        .where(*(text.contains(word.lower(), autoescape=True) for word in typed if word.isascii()))
        .order_by(Topic.task_id.desc(), Topic.position)
        .limit(READ * most)
    )
    for row in rows:
        parts = beginnings(row.topic_id, row.title)
        if all(any(part.startswith(word) for part in parts) for word in words):
            task = tasks[row.task_id]
            yield FoundTopic(topic_id=row.topic_id, title=row.title, task=task.name, slug=task.slug)


def documents(session: Session, tasks: Mapping[int, Any], docno: str) -> Iterator[FoundDocument]:
    """The document of that id in the collection of each of the tasks, newest task first; one statement."""
    titles = collections.titles_of(session, {task.collection_id for task in tasks.values()}, docno)
    for task in tasks.values():
        if (title := titles.get(task.collection_id)) is not None:
            yield FoundDocument(docno=docno, title=title, task=task.name, slug=task.slug)
