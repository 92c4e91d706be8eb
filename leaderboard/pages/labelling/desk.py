"""What an assessor sees of rounds of labelling: the topics, and one item at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic
from leaderboard.errors import NotFound
from leaderboard.pages.judging import desk as desk_pages
from leaderboard.pages.judging.desk import DeskPart, DeskTopic
from leaderboard.pages.labelling.shown import ReadItem, read_item
from leaderboard.services.labelling import desks, labels
from leaderboard.services.labelling.desks import RoundDesk, TopicDesk
from leaderboard.services.labelling.items import NUGGETS, LabelItem, size
from leaderboard.services.tasks import topics
from leaderboard.tables.record import Column, Shown, Table, columns_from


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
    return tuple(_round(session, desk) for desk in desks.of_link(session, token))


def round_page(session: Session, token: str, number: int) -> DeskRound:
    """One round of the assessor's; raises NotFound."""
    return _round(session, desks.round_desk(session, token, number))


def topics_table(page: DeskRound) -> Table[DeskTopic]:
    """An assessor's topics in a round."""
    return desk_pages.topics_table(page, "Done", f"Your topics of round {page.desk.here.number}")


def item_page(session: Session, token: str, number: int, topic_id: str, name: str | None = None) -> ItemPage:
    """A topic's next item without a label, or the one that is asked for.

    Raises NotFound for a dead link, a topic that is not the assessor's, or an item of others.
    """
    desk, here = desks.topic_desk(session, token, number, topic_id)
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
        topic=topics.find(session, desk.task, topic_id),
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
