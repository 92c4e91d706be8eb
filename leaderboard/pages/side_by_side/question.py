"""What an assessor compares: the list, and two rankings or answers of one topic; never a run or a score."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Collection, SideBySide, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.services import collections
from leaderboard.services.answers import store
from leaderboard.services.rankings.stored import ordered
from leaderboard.services.side_by_side import questions
from leaderboard.services.side_by_side.pairs import Answer
from leaderboard.services.side_by_side.questions import AskedQuestion
from leaderboard.tables.record import Column, Table
from leaderboard.trec.documents.documents import Document
from leaderboard.trec.documents.marking import Piece, marked, snippet, terms

SIDES = ("left", "right")
SHOWN = 10
"""Documents of either ranking."""
SNIPPET = 240
OPENED = 4000
"""Characters of a document that open in place; a longer one is on a page of its own as well."""


@dataclass(frozen=True, slots=True)
class Question:
    """Two rankings to be compared, as the assessor's list shows them."""

    item: str
    topic_id: str
    title: str
    answered: bool


@dataclass(frozen=True, slots=True)
class QuestionList:
    """All that an assessor is asked to compare."""

    assessor_id: int
    name: str
    task: str
    questions: tuple[Question, ...]

    @property
    def answered(self) -> int:
        """How many have an answer."""
        return sum(question.answered for question in self.questions)

    @property
    def following(self) -> Question | None:
        """The first without an answer."""
        return next((question for question in self.questions if not question.answered), None)


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document of a ranking; text is its beginning, and length the characters of all of it."""

    place: int
    docno: str
    heading: tuple[Piece, ...]
    snippet: tuple[Piece, ...]
    text: tuple[Piece, ...]
    length: int
    link: str


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
class QuestionPage:
    """Two rankings of one topic, or two answers, without any name.

    left, right: the documents ranked first, or those that are cited; said_left, said_right: what an answer
    says, of the kind of task that takes them.
    """

    assessor_id: int
    task: str
    item: str
    number: int
    total: int
    answered: int
    topic_id: str
    title: str
    description: str
    narrative: str
    left: tuple[ListedDocument, ...]
    right: tuple[ListedDocument, ...]
    given: Answer | None
    """The answer in force."""
    key: str
    """Of the next answer: what is sent twice under it is stored once."""
    later: str | None
    """The next one without an answer."""
    kind: str
    """rankings or answers."""
    said_left: tuple[SaidSegment, ...]
    said_right: tuple[SaidSegment, ...]


@dataclass(frozen=True, slots=True)
class TextPage:
    """The whole text of a document."""

    assessor_id: int
    task: str
    item: str
    topic_id: str
    title: str
    docno: str
    heading: tuple[Piece, ...]
    text: tuple[Piece, ...]
    link: str


def question_list(session: Session, token: str) -> QuestionList:
    """All questions of the assessor whose link it is; raises NotFound for a dead link."""
    mine = questions.of_link(session, token)
    return QuestionList(
        assessor_id=mine.assessor.id,
        name=mine.assessor.name,
        task=mine.task.name,
        questions=tuple(
            Question(
                item=asked.item,
                topic_id=asked.topic.topic_id,
                title=asked.topic.title,
                answered=asked.place in mine.answers,
            )
            for asked in mine.asked
        ),
    )


def list_table(page: QuestionList) -> Table[Question]:
    """All that an assessor is asked to compare."""
    columns: list[Column[Question]] = [
        Column("topic", lambda row: row.topic_id, "Topic"),
        Column("answer", lambda row: "given" if row.answered else None, "Answer"),
    ]
    caption = "Your comparisons in the order they are asked in"
    return Table("comparisons", caption, columns, page.questions)


def question_page(session: Session, token: str, item: str) -> QuestionPage:
    """One question; raises NotFound for a dead link or what the assessor is not asked."""
    mine = questions.of_link(session, token)
    asked = mine.find(item)
    left, right = (_side(session, mine.task, run_id, asked.topic) for run_id in asked.runs)
    reading = _Reading.of(session, mine.task, asked.topic, [*left.docnos, *right.docnos])
    later = mine.following(asked)
    return QuestionPage(
        assessor_id=mine.assessor.id,
        task=mine.task.name,
        item=item,
        number=mine.asked.index(asked) + 1,
        total=len(mine.asked),
        answered=mine.answered,
        topic_id=asked.topic.topic_id,
        title=asked.topic.title,
        description=asked.topic.description,
        narrative=asked.topic.narrative,
        left=reading.listed(left.docnos),
        right=reading.listed(right.docnos),
        given=mine.answer(asked),
        key=f"{item}-{_times(session, asked)}",
        later=later.item if later else None,
        kind=mine.task.kind,
        said_left=left.said,
        said_right=right.said,
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
    reading = _Reading.of(session, mine.task, asked.topic, [docno])
    document = reading.texts.get(docno)
    return TextPage(
        assessor_id=mine.assessor.id,
        task=mine.task.name,
        item=item,
        topic_id=asked.topic.topic_id,
        title=asked.topic.title,
        docno=docno,
        heading=marked(document.title, reading.words) if document else (),
        text=marked(document.text, reading.words) if document else (),
        link=collections.link(reading.link_template, docno),
    )


@dataclass(frozen=True, eq=False)
class _Reading:
    """Stored documents, and the topic's words to mark in them."""

    texts: dict[str, Document]
    words: frozenset[str]
    link_template: str

    @classmethod
    def of(cls, session: Session, task: Task, topic: Topic, docnos: Sequence[str]) -> "_Reading":
        collection = session.get_one(Collection, task.collection_id)
        texts = collections.texts(session, collection.id, docnos)
        return cls(texts, terms(topic.title, topic.description), collection.link_template)

    def listed(self, docnos: Sequence[str]) -> tuple[ListedDocument, ...]:
        return tuple(self._one(place, docno) for place, docno in enumerate(docnos, start=1))

    def _one(self, place: int, docno: str) -> ListedDocument:
        link, document = collections.link(self.link_template, docno), self.texts.get(docno)
        if document is None:
            return ListedDocument(place, docno, (), (), (), 0, link)
        return ListedDocument(
            place=place,
            docno=docno,
            heading=marked(document.title, self.words),
            snippet=snippet(document.text, self.words, SNIPPET),
            text=marked(document.text[:OPENED], self.words),
            length=len(document.text),
            link=link,
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
