"""Operations of assessors, authorised by the personal link instead of a token."""

from dataclasses import dataclass

from leaderboard.judging.ops import side_by_side as compared
from leaderboard.judging.ops.assessors import log
from leaderboard.judging.page import side_by_side as questions
from leaderboard.judging.page.assessors import judging
from leaderboard.judging.page.assessors.judging import JudgingPage, JudgingPool, ShownDocument
from leaderboard.judging.page.judging import ReadDocument
from leaderboard.judging.page.side_by_side import ListedDocument
from leaderboard.web.api import actions
from leaderboard.web.api.operations import operation
from leaderboard.web.rules import PUBLIC, Rule
from leaderboard.web.session import reading

BY_LINK = Rule(PUBLIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTopic:
    """A topic assigned to the assessor, with progress."""

    topic: str
    title: str
    documents: int
    judged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPool:
    """A pool in which the assessor has topics."""

    pool: int
    state: str
    topics: tuple[OwnTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnComparison:
    """Two rankings that the assessor compares."""

    item: str
    topic: str
    answered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskAnswer:
    """Everything assigned to an assessor."""

    assessor: str
    task: str
    pools: tuple[OwnPool, ...]
    comparisons: tuple[OwnComparison, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeName:
    """A grade and its name."""

    grade: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAnswer:
    """A document to judge; title and text are empty if the site does not store them."""

    docno: str
    title: str
    text: str
    link: str
    grade: int | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAnswer:
    """The next document of a topic; null when none is left."""

    topic: str
    title: str
    description: str
    narrative: str
    grades: tuple[GradeName, ...]
    document: DocumentAnswer | None
    judged: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedAnswer:
    """A document of a ranking to compare."""

    place: int
    docno: str
    title: str
    text: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonAnswer:
    """Two unlabelled rankings for a topic; key: of the answer to come."""

    item: str
    topic: str
    title: str
    description: str
    narrative: str
    left: tuple[RankedAnswer, ...]
    right: tuple[RankedAnswer, ...]
    key: str


@operation("GET", "/judge/<token>", DeskAnswer, rule=BY_LINK, scopes=())
def desk(token: str) -> DeskAnswer:
    """List an assessor's assignments

    The last part of the personal link identifies the assessor.
    """
    page = judging.desk(reading(), token)
    mine = compared.of_link(reading(), token)
    return DeskAnswer(
        assessor=page.assessor.name,
        task=page.task.name,
        pools=tuple(map(_pool, page.pools)),
        comparisons=tuple(
            OwnComparison(
                item=comparison.item,
                topic=comparison.topic.topic_id,
                answered=comparison.place in mine.answers,
            )
            for comparison in mine.asked
        ),
    )


@operation(
    "GET", "/judge/<token>/pools/<id:number>/topics/<topic:topic_id>", NextAnswer, rule=BY_LINK, scopes=()
)
def next_document(token: str, number: int, topic_id: str) -> NextAnswer:
    """Get the next document of a topic"""
    return _next(judging.judging_page(reading(), token, number, topic_id))


@operation("GET", "/judge/<token>/comparisons/<item>", ComparisonAnswer, rule=BY_LINK, scopes=())
def comparison_to_judge(token: str, item: str) -> ComparisonAnswer:
    """Get two rankings to compare"""
    page = questions.question_page(reading(), token, item)
    topic = page.asked.topic
    return ComparisonAnswer(
        item=page.asked.item,
        topic=topic.topic_id,
        title=topic.title,
        description=topic.description,
        narrative=topic.narrative,
        left=tuple(map(_ranked, page.left.documents)),
        right=tuple(map(_ranked, page.right.documents)),
        key=page.key,
    )


OPERATIONS = (desk, next_document, comparison_to_judge, *actions.operations((*log.ACTIONS, compared.ANSWER)))


def _pool(pool: JudgingPool) -> OwnPool:
    return OwnPool(
        pool=pool.pool.number,
        state=pool.pool.state,
        topics=tuple(
            OwnTopic(topic=row.topic_id, title=row.title, documents=row.items, judged=row.done)
            for row in pool.topics
        ),
    )


def _next(page: JudgingPage) -> NextAnswer:
    topic = page.queue.topic
    return NextAnswer(
        topic=topic.topic_id,
        title=topic.title,
        description=topic.description,
        narrative=topic.narrative,
        grades=tuple(GradeName(grade=grade.value, name=grade.name) for grade in page.grades),
        document=_document(page.shown) if page.shown else None,
        judged=page.queue.judged,
        total=page.queue.total,
    )


def _document(shown: ShownDocument) -> DocumentAnswer:
    return DocumentAnswer(
        **_read(shown),
        grade=shown.label.grade if shown.label else None,
        note=shown.label.note if shown.label else "",
    )


def _ranked(listed: ListedDocument) -> RankedAnswer:
    return RankedAnswer(**_read(listed), place=listed.place)


def _read(document: ReadDocument) -> dict[str, str]:
    """Arguments shared by every document that is read."""
    title, text = ("".join(piece.text for piece in each) for each in (document.heading, document.text))
    return {"docno": document.docno, "title": title, "text": text, "link": document.link}
