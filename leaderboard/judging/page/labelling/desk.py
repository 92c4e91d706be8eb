"""Labelling pages of assessors: their rounds and topics, and one item at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.answers.ops import answers
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Assessor, LabellingRound, LabellingTopic, Task, Topic, WrittenNugget
from leaderboard.errors import NotFound
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.labelling import decisions, labels, rounds
from leaderboard.judging.ops.labelling.labels import (
    NUGGETS,
    SUPPORT,
    LabelItem,
    RoundDesk,
    TopicDesk,
    in_order,
    size,
)
from leaderboard.judging.page import judging as desk_pages
from leaderboard.judging.page.judging import DeskPart, DeskTopic, DocumentReading, ReadDocument
from leaderboard.scoring.ops import scored_topics
from leaderboard.tables.record import Column, Shown, Table, columns_from
from leaderboard.trec.answers.record import Answer


@dataclass(frozen=True, slots=True)
class ReadSegment:
    """A segment of the answer; is_asked: whether it is the one to label."""

    text: str
    is_asked: bool


@dataclass(frozen=True, slots=True)
class ReadItem:
    """An answer with the segment or nugget to label; document: the cited one, for support."""

    segments: tuple[ReadSegment, ...]
    nugget: str
    document: ReadDocument | None
    place: int
    citation: int

    @property
    def segment(self) -> str:
        """The text of the segment to label; empty for a nugget."""
        return next((segment.text for segment in self.segments if segment.is_asked), "")


def read_item(session: Session, task: Task, kind: str, topic: LabellingTopic, item: LabelItem) -> ReadItem:
    """An item with everything needed to label it; two statements, three if a document is cited."""
    answer = answers.of_topic(session, item.run_id, item.topic_id)
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
    """All answers to a topic in order, run id -> position; one statement."""
    given = answers.of_topic_in(session, list(order), topic.topic_id)
    return tuple(answer for _, answer in sorted(given, key=lambda row: order[row[0]]))


@dataclass(frozen=True, slots=True)
class DeskRound(DeskPart):
    """A round with an assignment of the assessor."""

    desk: RoundDesk


@dataclass(frozen=True, slots=True)
class OwnItem:
    """An item in its assessor's list; the label is None if not given yet."""

    name: str
    number: Annotated[int, Shown("Item")]
    answer: str
    of: str
    label: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPage:
    """An item of a topic to label; number counts the assessor's items of the topic from 1."""

    desk: RoundDesk
    topic: Topic
    name: str
    shown: ReadItem | None
    """None if every item has a label and none was requested."""
    at: int
    given: int | None
    total: int
    done: int
    before: str | None
    following: str | None
    own: tuple[OwnItem, ...]
    """All items of the answer shown; of the topic if none is."""


def rounds_of(session: Session, token: str) -> tuple[DeskRound, ...]:
    """All rounds of the assessor with a link; raises NotFound for an invalid link."""
    return tuple(_round(session, desk) for desk in labels.of_link(session, token))


def round_page(session: Session, token: str, number: int) -> DeskRound:
    """One round of the assessor; raises NotFound."""
    return _round(session, labels.round_desk(session, token, number))


def topics_table(page: DeskRound) -> Table[DeskTopic]:
    """An assessor's topics in a round."""
    return desk_pages.topics_table(page, "Done", f"Your topics of round {page.desk.here.number}")


def item_page(session: Session, token: str, number: int, topic_id: str, name: str | None = None) -> ItemPage:
    """A topic's next unlabelled item, or the requested one.

    Raises NotFound for an invalid link, a topic or an item that is not assigned to the assessor.
    """
    desk, topic_desk = labels.topic_desk(session, token, number, topic_id)
    items = topic_desk.shared
    if name is not None and name not in items:
        raise NotFound("This item is not assigned to you.")
    given = _given(session, topic_desk)
    chosen = name or next((each for each, item in items.items() if item not in given), None)
    names = list(items)
    at = names.index(chosen) if chosen is not None else len(names)
    shown = None
    if chosen is not None and (desk.is_open or name is not None):
        shown = read_item(session, desk.task, topic_desk.here.kind, topic_desk.topic, items[chosen])
    return ItemPage(
        desk=desk,
        topic=scored_topics.find_topic(session, desk.task, topic_id),
        name=chosen or "",
        shown=shown,
        at=at + 1,
        given=given.get(items[chosen]) if chosen is not None else None,
        total=len(names),
        done=len(given),
        before=names[at - 1] if 0 < at < len(names) else None,
        following=names[at + 1] if at + 1 < len(names) else None,
        own=_own(
            topic_desk, given, items[chosen].run_id if chosen is not None and shown is not None else None
        ),
    )


def own_table(page: ItemPage) -> Table[OwnItem]:
    """The assessor's labels of the answer shown, or of the whole topic."""
    words = {label.value: label.name for label in page.desk.kind.labels}
    columns = columns_from(
        OwnItem,
        "number answer of",
        Column(
            "label",
            lambda row: row.label,
            "Your label",
            words=lambda row: None if row.label is None else words[row.label],
        ),
    )
    what = "this answer" if page.shown else f"topic {page.topic.topic_id}"
    return Table("labels", f"Your labels of {what}", columns, page.own)


def _round(session: Session, desk: RoundDesk) -> DeskRound:
    of_task = Topic.task_id == desk.task.id
    titles = {
        row.topic_id: row.title for row in session.execute(select(Topic.topic_id, Topic.title).where(of_task))
    }
    done = _done(session, desk)
    return DeskRound(
        tuple(
            DeskTopic(
                number=desk.here.number,
                topic_id=topic_desk.topic.topic_id,
                title=titles.get(topic_desk.topic.topic_id, ""),
                items=1 if desk.here.kind == NUGGETS else size(desk.here, topic_desk.topic, topic_desk.share),
                done=done.get(topic_desk.topic.topic_id, 0),
            )
            for topic_desk in desk.topics
        ),
        desk,
    )


def _done(session: Session, desk: RoundDesk) -> dict[str, int]:
    """Topic -> number of items the assessor has done."""
    if desk.here.kind == NUGGETS:
        return {
            topic_desk.topic.topic_id: int(topic_desk.share.done_at is not None) for topic_desk in desk.topics
        }
    done: dict[str, int] = {}
    for label in labels.in_force(session, desk.here.id, assessor_ids=[desk.assessor.id]):
        done[label.item.topic_id] = done.get(label.item.topic_id, 0) + 1
    return done


def _given(session: Session, here: TopicDesk) -> dict[LabelItem, int]:
    topic_id = here.topic.topic_id
    own = labels.in_force(session, here.here.id, topic_id=topic_id, assessor_ids=[here.assessor_id])
    return {label.item: label.label for label in own}


def _own(here: TopicDesk, given: dict[LabelItem, int], run_id: int | None) -> tuple[OwnItem, ...]:
    runs = list(dict.fromkeys(item.run_id for item in here.shared.values()))
    return tuple(
        OwnItem(name, number, f"answer {runs.index(item.run_id) + 1}", _words(here, item), given.get(item))
        for number, (name, item) in enumerate(here.shared.items(), start=1)
        if run_id in (None, item.run_id)
    )


def _words(here: TopicDesk, item: LabelItem) -> str:
    nuggets: Sequence[dict[str, str]] = here.topic.nuggets
    if nuggets:
        return nuggets[item.place]["text"]
    return f"segment {item.place + 1}, citation {item.citation + 1}"


@dataclass(frozen=True, slots=True)
class NuggetRow:
    """A nugget of the list, and the nuggets merged into it."""

    id: int
    text: str
    importance: str
    merged: tuple["NuggetRow", ...] = ()


@dataclass(frozen=True, slots=True)
class NuggetList:
    """Nuggets that count, vital ones first; out: removed nuggets."""

    rows: tuple[NuggetRow, ...]
    out: tuple[NuggetRow, ...]
    is_done: bool

    @property
    def vital(self) -> int:
        """Number of vital nuggets."""
        return sum(row.importance == decisions.VITAL for row in self.rows)


@dataclass(frozen=True, slots=True)
class ListByAssessor:
    """One assessor's list, for the adjudicator."""

    assessor: str
    listed: NuggetList


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetPage:
    """A topic with its answers, each as its segments' texts, and the assessor's list."""

    desk: RoundDesk
    topic: Topic
    answers: tuple[tuple[str, ...], ...]
    listed: NuggetList


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetDecision:
    """The assessors' lists on a topic, and the adjudicated list; None if not started."""

    task: str
    slug: str
    number: int
    topic: Topic
    answers: tuple[tuple[str, ...], ...]
    lists: tuple[ListByAssessor, ...]
    listed: NuggetList | None


def nugget_page(session: Session, token: str, number: int, topic_id: str) -> NuggetPage:
    """A topic for its assessor; raises NotFound for an invalid link or a topic not assigned."""
    desk, topic_desk = labels.topic_desk(session, token, number, topic_id)
    return NuggetPage(
        desk=desk,
        topic=scored_topics.find_topic(session, desk.task, topic_id),
        answers=_answers(session, topic_desk),
        listed=_list(session, topic_desk),
    )


def decision_page(session: Session, viewer: Viewer, slug: str, number: int, topic_id: str) -> NuggetDecision:
    """A topic for the adjudicator; raises NotFound if it has no nuggets to write, and as `seen_round`."""
    task, labelling_round = rounds.seen_round(session, viewer, slug, number)
    own = decisions.decision_desk(session, labelling_round, topic_id)
    written = _desks(session, labelling_round, topic_id)
    return NuggetDecision(
        task=task.name,
        slug=task.slug,
        number=number,
        topic=scored_topics.find_topic(session, task, topic_id),
        answers=_answers(session, written[0][1]),
        lists=tuple(ListByAssessor(name, _list(session, desk)) for name, desk in written),
        listed=_list(session, own) if own is not None else None,
    )


def _desks(session: Session, here: LabellingRound, topic_id: str) -> list[tuple[str, TopicDesk]]:
    """The assessors of a topic's nuggets, by name."""
    topic = next((topic for topic in rounds.topics_of(session, here.id) if topic.topic_id == topic_id), None)
    if topic is None:
        raise NotFound(f"Round {here.number} has no topic {topic_id}.")
    shares = [share for share in rounds.shares_of(session, here.id) if share.topic_id == topic_id]
    people = [(session.get_one(Assessor, share.assessor_id), share) for share in shares]
    return [
        (person.name, TopicDesk(here, topic, share))
        for person, share in people
        if person.role == judging.ASSESSOR
    ]


def _answers(session: Session, desk: TopicDesk) -> tuple[tuple[str, ...], ...]:
    order = {run_id: at for at, run_id in enumerate(in_order(desk.here, desk.topic, desk.assessor_id))}
    return tuple(answer.texts for answer in answers_of(session, desk.topic, order))


def _list(session: Session, desk: TopicDesk) -> NuggetList:
    written = decisions.written_nuggets(session, desk.here.id, desk.topic.topic_id, desk.assessor_id)
    rows = [_row(nugget, written) for nugget in written if decisions.stands(nugget)]
    return NuggetList(
        rows=tuple(sorted(rows, key=lambda row: (row.importance != decisions.VITAL, row.id))),
        out=tuple(_row(nugget, written) for nugget in written if nugget.is_out),
        is_done=desk.share.done_at is not None,
    )


def _row(nugget: WrittenNugget, written: Sequence[WrittenNugget]) -> NuggetRow:
    merged = tuple(_row(part, written) for part in written if part.into_id == nugget.id)
    return NuggetRow(nugget.id, nugget.text, nugget.importance, merged)
