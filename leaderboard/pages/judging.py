"""What pages of all judging share: agreement, what is read at a desk, what is left to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.db.tables import Collection, Task
from leaderboard.services import collections
from leaderboard.services.judging import GivenLabel, Judge, PersonalLink
from leaderboard.stats import assessors as stats
from leaderboard.stats.assessors import Confusion, Kappa, Ratings, Share
from leaderboard.tables.record import Column, Shown, Table, columns_from
from leaderboard.trec.documents.documents import Document
from leaderboard.trec.documents.marking import Piece, marked, terms


@dataclass(frozen=True, slots=True, eq=False)
class PairAgreement:
    """Two assessors on the documents or items both graded."""

    first: Judge
    second: Judge
    documents: int
    raw: Share
    plain: Kappa
    linear: Kappa
    quadratic: Kappa
    overlap: Share
    confusion: Confusion


def ratings(labels: Iterable[GivenLabel]) -> Ratings:
    """The grades of labels as a table; skipped ones have none."""
    return stats.ratings(
        (label.topic_id, label.docno, label.assessor, label.grade)
        for label in labels
        if label.grade is not None
    )


def pairs(
    table: Ratings, judges: Iterable[Judge], *, level: int = 1, grades: Sequence[int] = ()
) -> tuple[PairAgreement, ...]:
    """Each two assessors of a table who share something, most documents first.

    level: from which grade on a document is relevant; grades: all there are, else those given.
    """
    by_name = {judge.name: judge for judge in judges}
    given = table.given.astype(np.int64)
    shared = given @ given.T
    first, second = np.nonzero(np.triu(shared, 1))
    found = []
    for place in np.argsort(-shared[first, second], kind="stable").tolist():
        one, other = int(first[place]), int(second[place])
        both = stats.pair(table, one, other)
        confusion = stats.confusion(*both, grades)
        found.append(
            PairAgreement(
                first=by_name[table.assessors[one]],
                second=by_name[table.assessors[other]],
                documents=len(both[0]),
                raw=stats.raw(confusion),
                plain=stats.cohen(confusion),
                linear=stats.cohen(confusion, "linear"),
                quadratic=stats.cohen(confusion, "quadratic"),
                overlap=stats.overlap(*both, level),
                confusion=confusion,
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class DeskTopic:
    """A topic as its assessor's list shows it; items: labels asked for, or 1 where nuggets are written."""

    number: int
    """Of the pool or round."""
    topic_id: Annotated[str, Shown(key="topic")]
    title: str
    items: Annotated[int, Shown("Of")]
    done: int

    @property
    def left(self) -> int:
        """What is still to be done."""
        return max(self.items - self.done, 0)


@dataclass(frozen=True, slots=True)
class DeskPart:
    """A pool or a round in which an assessor has something to do."""

    topics: tuple[DeskTopic, ...]

    @property
    def items(self) -> int:
        """All that is asked for."""
        return sum(topic.items for topic in self.topics)

    @property
    def done(self) -> int:
        """How much of it is done."""
        return sum(min(topic.done, topic.items) for topic in self.topics)

    @property
    def next_topic(self) -> DeskTopic | None:
        """The first topic with something left."""
        return next((topic for topic in self.topics if topic.left), None)


def topics_table(part: DeskPart, done: str, caption: str) -> Table[DeskTopic]:
    """An assessor's topics; done: what is counted, as its head says it."""
    columns = columns_from(
        DeskTopic,
        "topic_id",
        Column("done", lambda row: row.done, done, digits=0),
        "items",
        Column("progress", lambda row: row.done, "Progress"),
    )
    return Table("topics", caption, columns, part.topics)


def links_table(links: Sequence[PersonalLink]) -> Table[PersonalLink]:
    """New personal links, for the one page that shows them."""
    caption = "One link an assessor; it works until it is revoked"
    return Table("links", caption, columns_from(PersonalLink, "name token"), links)


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document; heading and text are empty where it is not stored."""

    docno: str
    heading: tuple[Piece, ...]
    text: tuple[Piece, ...]
    link: str


@dataclass(frozen=True, eq=False)
class DocumentReading:
    """Stored documents, and the words to mark in them."""

    texts: dict[str, Document]
    words: frozenset[str]
    link_template: str

    @classmethod
    def of(cls, session: Session, task: Task, docnos: Sequence[str], *about: str) -> "DocumentReading":
        """Documents of the task's collection; the words of texts that say what they are about are marked."""
        collection = session.get_one(Collection, task.collection_id)
        return cls(collections.texts(session, collection.id, docnos), terms(*about), collection.link_template)

    def document(self, docno: str) -> ReadDocument:
        """One of them."""
        return ReadDocument(**self.fields(docno))

    def fields(self, docno: str, longest: int | None = None) -> dict[str, Any]:
        """The fields of a record of one of them; longest: characters of its text."""
        found = self.texts.get(docno)
        return {
            "docno": docno,
            "heading": marked(found.title, self.words) if found else (),
            "text": marked(found.text[:longest], self.words) if found else (),
            "link": collections.link(self.link_template, docno),
        }
