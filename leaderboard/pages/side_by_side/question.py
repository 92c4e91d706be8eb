"""What an assessor compares: the list, and two rankings or answers of one topic; never a run or a score."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import SideBySide, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.pages.judging.shown import DocumentReading, ReadDocument
from leaderboard.services.answers import store
from leaderboard.services.rankings.stored import ordered
from leaderboard.services.side_by_side import questions
from leaderboard.services.side_by_side.pairs import Answer
from leaderboard.services.side_by_side.questions import AskedQuestion, Questions
from leaderboard.tables.record import Column, Table
from leaderboard.trec.documents.marking import Piece, snippet

SIDES = ("left", "right")
SHOWN = 10
"""Documents of either ranking."""
SNIPPET = 240
OPENED = 4000
"""Characters of a document that open in place; a longer one is on a page of its own as well."""


@dataclass(frozen=True, slots=True)
class ListedDocument(ReadDocument):
    """A document of a ranking; text is its beginning, and length the characters of all of it."""

    place: int
    snippet: tuple[Piece, ...]
    length: int


@dataclass(frozen=True, slots=True)
class SaidSegment:
    """A segment of an answer, and the places of the documents it cites in the list of its side."""

    text: str
    cited: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """What a run has for the topic: documents and, of an answer, segments that cite them."""

    docnos: tuple[str, ...]
    said: tuple[SaidSegment, ...] = ()


@dataclass(frozen=True, slots=True)
class RankingSide:
    """The documents that a run ranks first; of an answer what it says, and those that it cites."""

    documents: tuple[ListedDocument, ...]
    said: tuple[SaidSegment, ...]


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """Two rankings of one topic, or two answers, without any name."""

    mine: Questions
    asked: AskedQuestion
    left: RankingSide
    right: RankingSide
    key: str
    """Of the next answer: what is sent twice under it is stored once."""

    @property
    def number(self) -> int:
        """Which of the assessor's questions it is, from 1."""
        return self.mine.asked.index(self.asked) + 1

    @property
    def given(self) -> Answer | None:
        """The answer in force."""
        return self.mine.answer(self.asked)

    @property
    def later(self) -> AskedQuestion | None:
        """The next one without an answer."""
        return self.mine.following(self.asked)


@dataclass(frozen=True, slots=True)
class TextPage:
    """The whole text of a document."""

    mine: Questions
    asked: AskedQuestion
    document: ReadDocument


def list_table(mine: Questions) -> Table[AskedQuestion]:
    """All that an assessor is asked to compare."""
    columns: list[Column[AskedQuestion]] = [
        Column("topic", lambda row: row.topic.topic_id, "Topic"),
        Column("answer", lambda row: "given" if mine.answer(row) else None, "Answer"),
    ]
    caption = "Your comparisons in the order they are asked in"
    return Table("comparisons", caption, columns, mine.asked)


def question_page(session: Session, token: str, item: str) -> QuestionPage:
    """One question; raises NotFound for a dead link or what the assessor is not asked."""
    mine = questions.of_link(session, token)
    asked = mine.find(item)
    left, right = (_side(session, mine.task, run_id, asked.topic) for run_id in asked.runs)
    reading = _reading(session, mine, asked, (*left.docnos, *right.docnos))
    return QuestionPage(
        mine=mine,
        asked=asked,
        left=RankingSide(_listed(reading, left.docnos), left.said),
        right=RankingSide(_listed(reading, right.docnos), right.said),
        key=f"{item}-{_times(session, asked)}",
    )


def text_page(session: Session, token: str, item: str, side: str, place: int) -> TextPage:
    """A document of one of the rankings; raises NotFound where there is none at that place."""
    mine = questions.of_link(session, token)
    asked = mine.find(item)
    docnos = (
        _side(session, mine.task, asked.runs[SIDES.index(side)], asked.topic).docnos if side in SIDES else ()
    )
    if not 1 <= place <= len(docnos):
        raise NotFound("There is no document at this place.")
    docno = docnos[place - 1]
    return TextPage(mine, asked, _reading(session, mine, asked, [docno]).document(docno))


def _reading(
    session: Session, mine: Questions, asked: AskedQuestion, docnos: Sequence[str]
) -> DocumentReading:
    return DocumentReading.of(session, mine.task, docnos, asked.topic.title, asked.topic.description)


def _listed(reading: DocumentReading, docnos: Sequence[str]) -> tuple[ListedDocument, ...]:
    found = ((place, docno, reading.texts.get(docno)) for place, docno in enumerate(docnos, start=1))
    return tuple(
        ListedDocument(
            **reading.fields(docno, OPENED),
            place=place,
            snippet=snippet(document.text, reading.words, SNIPPET) if document else (),
            length=len(document.text) if document else 0,
        )
        for place, docno, document in found
    )


def _side(session: Session, task: Task, run_id: int, topic: Topic) -> _Side:
    """The first documents of a ranking; of an answer what it says, and all that it cites in that order."""
    if task.kind != "answers":
        return _Side(ordered(session, run_id, topic.topic_id, task.dialect).docnos[:SHOWN])
    answer = store.of_topic(session, run_id, topic.topic_id)
    segments = answer.segments if answer else ()
    docnos = tuple(dict.fromkeys(each.docno for segment in segments for each in segment.citations))
    place = {docno: at for at, docno in enumerate(docnos, start=1)}
    said = (
        SaidSegment(segment.text, tuple(place[each.docno] for each in segment.citations))
        for segment in segments
    )
    return _Side(docnos, tuple(said))


def _times(session: Session, asked: AskedQuestion) -> int:
    """How often the question was answered."""
    return session.scalars(
        select(func.count())
        .select_from(SideBySide)
        .where(
            SideBySide.assessor_id == asked.assessor_id,
            SideBySide.topic_id == asked.topic.topic_id,
            SideBySide.left_run_id.in_(asked.pair),
            SideBySide.right_run_id.in_(asked.pair),
        )
    ).one()
