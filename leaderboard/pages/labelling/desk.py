"""What an assessor sees of rounds of labelling: the topics, and one item at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessor, LabellingRound, LabellingTopic, Task, Topic, WrittenNugget
from leaderboard.errors import NotFound
from leaderboard.pages import judging as desk_pages
from leaderboard.pages.judging import DeskPart, DeskTopic, DocumentReading, ReadDocument
from leaderboard.services import answers, judging
from leaderboard.services.labelling import decisions, labels, rounds
from leaderboard.services.labelling.labels import (
    NUGGETS,
    SUPPORT,
    LabelItem,
    RoundDesk,
    TopicDesk,
    in_order,
    size,
)
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import scored_topics
from leaderboard.tables.record import Column, Shown, Table, columns_from
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
    """All answers to a topic in an order, run id -> place; one statement."""
    found = answers.of_topic_in(session, list(order), topic.topic_id)
    return tuple(answer for _, answer in sorted(found, key=lambda one: order[one[0]]))


@dataclass(frozen=True, slots=True)
class DeskRound(DeskPart):
    """A round in which the assessor has something to do."""

    desk: RoundDesk


@dataclass(frozen=True, slots=True)
class OwnItem:
    """An item as its assessor's list shows it; the label is None where there is none yet."""

    name: str
    number: Annotated[int, Shown("Item")]
    answer: str
    of: str
    label: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPage:
    """One item of a topic to be labelled; number counts the assessor's items of the topic from 1."""

    desk: RoundDesk
    topic: Topic
    name: str
    shown: ReadItem | None
    """None where every item has a label and none was asked for."""
    at: int
    given: int | None
    total: int
    done: int
    before: str | None
    following: str | None
    own: tuple[OwnItem, ...]
    """All items of the answer that is shown; of the topic, where none is."""


def rounds_of(session: Session, token: str) -> tuple[DeskRound, ...]:
    """All rounds of the assessor whose link it is; raises NotFound for a dead link."""
    return tuple(_round(session, desk) for desk in labels.of_link(session, token))


def round_page(session: Session, token: str, number: int) -> DeskRound:
    """One round of the assessor's; raises NotFound."""
    return _round(session, labels.round_desk(session, token, number))


def topics_table(page: DeskRound) -> Table[DeskTopic]:
    """An assessor's topics in a round."""
    return desk_pages.topics_table(page, "Done", f"Your topics of round {page.desk.here.number}")


def item_page(session: Session, token: str, number: int, topic_id: str, name: str | None = None) -> ItemPage:
    """A topic's next item without a label, or the one that is asked for.

    Raises NotFound for a dead link, a topic that is not the assessor's, or an item of others.
    """
    desk, here = labels.topic_desk(session, token, number, topic_id)
    items = here.shared
    if name is not None and name not in items:
        raise NotFound("This is not among what you are asked to label.")
    given = _given(session, here)
    chosen = name or next((each for each, item in items.items() if item not in given), None)
    names = list(items)
    at = names.index(chosen) if chosen is not None else len(names)
    shown = None
    if chosen is not None and (desk.is_open or name is not None):
        shown = read_item(session, desk.task, here.here.kind, here.topic, items[chosen])
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
        own=_own(here, given, items[chosen].run_id if chosen is not None and shown is not None else None),
    )


def own_table(page: ItemPage) -> Table[OwnItem]:
    """What the assessor said of the answer that is shown, or of all of the topic."""
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
                topic_id=here.topic.topic_id,
                title=titles.get(here.topic.topic_id, ""),
                items=1 if desk.here.kind == NUGGETS else size(desk.here, here.topic, here.share),
                done=done.get(here.topic.topic_id, 0),
            )
            for here in desk.topics
        ),
        desk,
    )


def _done(session: Session, desk: RoundDesk) -> dict[str, int]:
    """Topic -> how much of it the assessor has done."""
    if desk.here.kind == NUGGETS:
        return {here.topic.topic_id: int(here.share.done_at is not None) for here in desk.topics}
    done: dict[str, int] = {}
    for one in labels.in_force(session, desk.here.id, assessor_ids=[desk.assessor.id]):
        done[one.item.topic_id] = done.get(one.item.topic_id, 0) + 1
    return done


def _given(session: Session, here: TopicDesk) -> dict[LabelItem, int]:
    topic_id = here.topic.topic_id
    found = labels.in_force(session, here.here.id, topic_id=topic_id, assessor_ids=[here.assessor_id])
    return {one.item: one.label for one in found}


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
    """A nugget of the list, and those that were merged into it."""

    id: int
    text: str
    importance: str
    merged: tuple["NuggetRow", ...] = ()


@dataclass(frozen=True, slots=True)
class NuggetList:
    """Nuggets that count, vital ones first; out: those that were taken out."""

    rows: tuple[NuggetRow, ...]
    out: tuple[NuggetRow, ...]
    is_done: bool

    @property
    def vital(self) -> int:
        """How many are vital."""
        return sum(row.importance == decisions.VITAL for row in self.rows)


@dataclass(frozen=True, slots=True)
class ListByAssessor:
    """What one assessor wrote, for who decides."""

    assessor: str
    listed: NuggetList


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetPage:
    """A topic with the answers to it, each its segments' texts, and the list of who writes."""

    desk: RoundDesk
    topic: Topic
    answers: tuple[tuple[str, ...], ...]
    listed: NuggetList


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetDecision:
    """What assessors wrote of a topic, and the list that decides; None where it was not begun."""

    task: str
    slug: str
    number: int
    topic: Topic
    answers: tuple[tuple[str, ...], ...]
    lists: tuple[ListByAssessor, ...]
    listed: NuggetList | None


def nugget_page(session: Session, token: str, number: int, topic_id: str) -> NuggetPage:
    """A topic for its assessor; raises NotFound for a dead link or a topic of others."""
    desk, here = labels.topic_desk(session, token, number, topic_id)
    return NuggetPage(
        desk=desk,
        topic=scored_topics.find_topic(session, desk.task, topic_id),
        answers=_answers(session, here),
        listed=_list(session, here),
    )


def decision_page(session: Session, viewer: Viewer, slug: str, number: int, topic_id: str) -> NuggetDecision:
    """A topic for who decides; raises NotFound where no nuggets of it are made, and as `seen_round`."""
    task, here = rounds.seen_round(session, viewer, slug, number)
    own = decisions.decision_desk(session, here, topic_id)
    written = _desks(session, here, topic_id)
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
    """Those who were asked to write nuggets of a topic, by name."""
    topic = next((one for one in rounds.topics_of(session, here.id) if one.topic_id == topic_id), None)
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
    rows = [_row(one, written) for one in written if decisions.stands(one)]
    return NuggetList(
        rows=tuple(sorted(rows, key=lambda row: (row.importance != decisions.VITAL, row.id))),
        out=tuple(_row(one, written) for one in written if one.is_out),
        is_done=desk.share.done_at is not None,
    )


def _row(nugget: WrittenNugget, written: Sequence[WrittenNugget]) -> NuggetRow:
    merged = tuple(_row(one, written) for one in written if one.into_id == nugget.id)
    return NuggetRow(nugget.id, nugget.text, nugget.importance, merged)
