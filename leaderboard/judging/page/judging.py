"""Shared by the pages of all judging: agreement, documents to read, progress."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.db.tables import Collection, Task
from leaderboard.judging.ops.judging import GivenLabel, Judge, PersonalLink
from leaderboard.scoring.ops import collections
from leaderboard.stats import assessors as stats
from leaderboard.stats.assessors import Confusion, Kappa, Ratings, Share
from leaderboard.tables.record import Column, Shown, Table, columns_from
from leaderboard.trec.documents.documents import Document
from leaderboard.trec.documents.marking import Piece, marked, terms


@dataclass(frozen=True, slots=True, eq=False)
class PairAgreement:
    """Agreement of two assessors on the documents or items that both graded."""

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
    """The grades of labels as a table, without skipped ones."""
    return stats.ratings(
        (label.topic_id, label.docno, label.assessor, label.grade)
        for label in labels
        if label.grade is not None
    )


def pairs(
    table: Ratings, judges: Iterable[Judge], *, level: int = 1, grades: Sequence[int] = ()
) -> tuple[PairAgreement, ...]:
    """All pairs of assessors of a table that share a document, most documents first.

    level: lowest relevant grade; grades: the scale, default all that occur.
    """
    by_name = {judge.name: judge for judge in judges}
    given = table.given.astype(np.int64)
    shared = given @ given.T
    first, second = np.nonzero(np.triu(shared, 1))
    agreements = []
    for place in np.argsort(-shared[first, second], kind="stable").tolist():
        left, right = int(first[place]), int(second[place])
        both = stats.pair(table, left, right)
        confusion = stats.confusion(*both, grades)
        agreements.append(
            PairAgreement(
                first=by_name[table.assessors[left]],
                second=by_name[table.assessors[right]],
                documents=len(both[0]),
                raw=stats.raw(confusion),
                plain=stats.cohen(confusion),
                linear=stats.cohen(confusion, "linear"),
                quadratic=stats.cohen(confusion, "quadratic"),
                overlap=stats.overlap(*both, level),
                confusion=confusion,
            )
        )
    return tuple(agreements)


@dataclass(frozen=True, slots=True)
class DeskTopic:
    """A topic in its assessor's list; items: labels requested, or 1 for a nugget list."""

    number: int
    """Number of the pool or round."""
    topic_id: Annotated[str, Shown(key="topic")]
    title: str
    items: Annotated[int, Shown("Of")]
    done: int

    @property
    def left(self) -> int:
        """Items still to do."""
        return max(self.items - self.done, 0)


@dataclass(frozen=True, slots=True)
class DeskPart:
    """A pool or a round with an assignment of an assessor."""

    topics: tuple[DeskTopic, ...]

    @property
    def items(self) -> int:
        """Number of items requested."""
        return sum(topic.items for topic in self.topics)

    @property
    def done(self) -> int:
        """Number of items done."""
        return sum(min(topic.done, topic.items) for topic in self.topics)

    @property
    def next_topic(self) -> DeskTopic | None:
        """The first unfinished topic."""
        return next((topic for topic in self.topics if topic.left), None)


def topics_table(part: DeskPart, done: str, caption: str) -> Table[DeskTopic]:
    """An assessor's topics; done: head of the progress column."""
    columns = columns_from(
        DeskTopic,
        "topic_id",
        Column("done", lambda row: row.done, done, digits=0),
        "items",
        Column("progress", lambda row: row.done, "Progress"),
    )
    return Table("topics", caption, columns, part.topics)


def links_table(links: Sequence[PersonalLink]) -> Table[PersonalLink]:
    """New personal links, for the only page that shows them."""
    caption = "One link per assessor, valid until revoked"
    return Table("links", caption, columns_from(PersonalLink, "name token"), links)


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document; heading and text are empty if it is not stored."""

    docno: str
    heading: tuple[Piece, ...]
    text: tuple[Piece, ...]
    link: str


@dataclass(frozen=True, eq=False)
class DocumentReading:
    """Stored documents, and the words to highlight in them."""

    texts: dict[str, Document]
    words: frozenset[str]
    link_template: str

    @classmethod
    def of(cls, session: Session, task: Task, docnos: Sequence[str], *about: str) -> "DocumentReading":
        """Documents of the task's collection; the words of the texts are highlighted."""
        collection = session.get_one(Collection, task.collection_id)
        return cls(collections.texts(session, collection.id, docnos), terms(*about), collection.link_template)

    def document(self, docno: str) -> ReadDocument:
        """One of them."""
        return ReadDocument(**self.fields(docno))

    def fields(self, docno: str, longest: int | None = None) -> dict[str, Any]:
        """The fields of a document's record; longest: maximum characters of its text."""
        document = self.texts.get(docno)
        return {
            "docno": docno,
            "heading": marked(document.title, self.words) if document else (),
            "text": marked(document.text[:longest], self.words) if document else (),
            "link": collections.link(self.link_template, docno),
        }
