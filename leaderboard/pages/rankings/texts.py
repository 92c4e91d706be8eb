"""Several documents on one page, to be read for one topic: what a reader of judgments wants side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import Collection
from leaderboard.pages.scores import fields
from leaderboard.pages.topics.judgments import DocumentFinders, judged_topic
from leaderboard.services import collections, policy
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.shown import shown_edition
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import topics
from leaderboard.services.tasks.topics import TopicHead
from leaderboard.trec.documents.marking import Piece, marked, terms


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """A document with the words of the topic marked; title and text are empty where they are not stored."""

    docno: str
    heading: tuple[Piece, ...]
    text: tuple[Piece, ...]
    link: str
    grade: int | None
    """None where it is not judged for the topic, or judgments are held back."""
    finders: DocumentFinders | None
    is_left_out: bool
    """Whether it is taken out of every ranking of the topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsPage(TopicHead):
    """Documents of a task's collection as read for a topic, the highest grade first."""

    collection: str
    is_judged: bool
    """Whether grades for the topic are shown."""
    documents: tuple[ReadDocument, ...]
    grade_names: dict[int, str]


def texts_page(
    session: Session, viewer: Viewer, slug: str, docnos: Sequence[str], topic_id: str
) -> TextsPage:
    """The documents with these ids, as read for a topic; ids that nobody knows have no text and no grade.

    Raises NotFound for an unknown task or topic.
    """
    task, sight = policy.visible_task(session, viewer, slug)
    topic = topics.find(session, task, topic_id)
    collection = session.get_one(Collection, task.collection_id)
    shown = shown_edition(session, task, sight)
    field = fields.field(session, viewer, task, sight, shown)
    judged = judged_topic(session, field.source, field.runs, topic_id, task.level) if field else None
    gone = alignments.left_out_of(judged.compiled, topic_id) if judged else frozenset()
    finders = dict(zip(judged.docnos, judged.finders, strict=True)) if judged else {}
    grades = judged.grades_in(docnos) if judged else [None] * len(docnos)
    stored = collections.texts(session, collection.id, docnos)
    words = terms(topic.title, topic.description)
    documents = [
        ReadDocument(
            docno=docno,
            heading=marked(stored[docno].title, words) if docno in stored else (),
            text=marked(stored[docno].text, words) if docno in stored else (),
            link=collections.link(collection.link_template, docno),
            grade=grade,
            finders=finders.get(docno),
            is_left_out=docno.encode() in gone,
        )
        for docno, grade in zip(docnos, grades, strict=True)
    ]
    return TextsPage(
        of=task,
        topic=topic,
        collection=collection.name,
        is_judged=judged is not None,
        documents=tuple(sorted(documents, key=_highest_first)),
        basis=shown.basis,
        grade_names=topics.grade_names(task),
        sight=sight,
    )


def _highest_first(document: ReadDocument) -> tuple[bool, int]:
    return document.grade is None, -(document.grade or 0)
