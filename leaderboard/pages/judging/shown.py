"""Documents as whoever judges reads them, the words in question marked; never a run, a team or a score."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.db.tables import Collection, Task
from leaderboard.services import collections
from leaderboard.trec.documents.documents import Document
from leaderboard.trec.documents.marking import Piece, marked, terms


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
