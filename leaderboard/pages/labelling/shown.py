"""One thing to be labelled, as whoever labels or decides reads it: never a run, a team or a score."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import LabellingTopic, Task
from leaderboard.pages.judging.shown import DocumentReading, ReadDocument
from leaderboard.services.answers import store
from leaderboard.services.labelling.items import SUPPORT, LabelItem
from leaderboard.trec.answers.record import Answer


@dataclass(frozen=True, slots=True)
class ReadSegment:
    """A segment of the answer; is_asked: it is the one that is labelled."""

    text: str
    is_asked: bool


@dataclass(frozen=True, slots=True)
class ReadItem:
    """An answer with the segment or nugget that is asked about; document: the cited one, of support."""

    segments: tuple[ReadSegment, ...]
    nugget: str
    document: ReadDocument | None
    place: int
    citation: int

    @property
    def segment(self) -> str:
        """The text of the segment that is asked about; empty where it is a nugget."""
        return next((segment.text for segment in self.segments if segment.is_asked), "")


def read_item(session: Session, task: Task, kind: str, topic: LabellingTopic, item: LabelItem) -> ReadItem:
    """An item with all that is needed to label it; two statements, three where a document is cited."""
    answer = store.of_topic(session, item.run_id, item.topic_id)
    segments = answer.segments if answer else ()
    asked = item.place if kind == SUPPORT else None
    return ReadItem(
        segments=tuple(ReadSegment(segment.text, at == asked) for at, segment in enumerate(segments)),
        nugget="" if kind == SUPPORT else str(topic.nuggets[item.place]["text"]),
        document=_document(session, task, answer, item) if kind == SUPPORT else None,
        place=item.place,
        citation=item.citation,
    )


def _document(session: Session, task: Task, answer: Answer | None, item: LabelItem) -> ReadDocument | None:
    if answer is None:
        return None
    segment = answer.segments[item.place]
    docno = segment.citations[item.citation].docno
    return DocumentReading.of(session, task, [docno], segment.text).document(docno)


def answers_of(session: Session, topic: LabellingTopic, order: Mapping[int, int]) -> tuple[Answer, ...]:
    """All answers to a topic in an order, run id -> place; one statement."""
    found = store.of_topic_in(session, list(order), topic.topic_id)
    return tuple(answer for _, answer in sorted(found, key=lambda one: order[one[0]]))
