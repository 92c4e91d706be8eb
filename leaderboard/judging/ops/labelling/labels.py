"""Labels by assessors: a log that stores each once; the last one of a place is in force."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import AnswerLabel, Assessor, LabellingRound, LabellingShare, LabellingTopic, Task
from leaderboard.errors import Closed, Invalid, NotFound, Problem
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.judging import keyed
from leaderboard.trec.nuggets.packing import Part

NUGGETS: Part = "nuggets"
ASSIGNMENTS: Part = "assignments"
SUPPORT: Part = "support"
OPEN, CLOSED = "open", "closed"
"""States of a round."""
UNSURE = -1
"""Label for `cannot say`."""


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """A label that an assessor can give: its number, name, meaning and key."""

    value: int
    name: str
    meaning: str
    key: str


@dataclass(frozen=True, slots=True)
class RoundKind:
    """A kind of round: its title, the question, and the labels; none if nuggets are written."""

    part: Part
    title: str
    asked: str
    labels: tuple[LabelChoice, ...] = ()

    @property
    def values(self) -> frozenset[int]:
        """The labels by number."""
        return frozenset(label.value for label in self.labels)


KINDS: dict[str, RoundKind] = {
    kind.part: kind
    for kind in (
        RoundKind(
            SUPPORT,
            "Support labels",
            "Does the cited document support the segment?",
            (
                LabelChoice(2, "full support", "the document supports everything in the segment", "2"),
                LabelChoice(1, "partial support", "the document supports part of the segment", "1"),
                LabelChoice(0, "no support", "the document supports nothing in the segment", "0"),
                LabelChoice(UNSURE, "cannot say", "the text is missing or cannot be judged", "c"),
            ),
        ),
        RoundKind(
            ASSIGNMENTS,
            "Assignments",
            "Does the answer contain the nugget?",
            (
                LabelChoice(2, "support", "the answer contains all of the nugget", "2"),
                LabelChoice(1, "partial support", "the answer contains part of the nugget", "1"),
                LabelChoice(
                    0, "not support", "the answer does not contain the nugget, or contradicts it", "0"
                ),
            ),
        ),
        RoundKind(NUGGETS, "Nuggets", "Which facts does a good answer contain?"),
    )
}
"""Kind of a round -> its description, in the order of the form."""


class LabelItem(NamedTuple):
    """An item to label: a nugget of an answer, or a citation of a segment; positions count from 0."""

    topic_id: str
    run_id: int
    place: int
    citation: int

    @property
    def name(self) -> str:
        """Its stored name among the items of its topic; it identifies the run."""
        return " ".join(map(str, self[1:]))


def of_answer(topic_id: str, answer: Mapping[str, Any]) -> Iterator[LabelItem]:
    """The items of one stored answer, in reading order.

    >>> [item[2:] for item in of_answer("t", {"run": 7, "labels": [2, 0, 1]})]
    [(0, 0), (0, 1), (2, 0)]
    """
    for place, labels in enumerate(answer["labels"]):
        for citation in range(labels):
            yield LabelItem(topic_id, answer["run"], place, citation)


def name_of(secret: bytes, item: LabelItem) -> str:
    """The name of an item in addresses.

    >>> item = LabelItem("t", 7, 0, 0)
    >>> name_of(b"k", item) == name_of(b"k", item) != name_of(b"l", item)
    True
    """
    return keyed(secret, "item", *item).hex()


def shared(here: LabellingRound, topic: LabellingTopic, share: LabellingShare) -> dict[str, LabelItem]:
    """An assessor's items of a topic, by name: all answers, or the twice-labelled ones as second assessor.

    Answers come in random order, each as a whole.
    """
    mine = _answers(here, topic, share)
    place = {run: at for at, run in enumerate(in_order(here, topic, share.assessor_id))}
    ordered = sorted(mine, key=lambda answer: place[answer["run"]])
    items = (item for answer in ordered for item in of_answer(topic.topic_id, answer))
    return {name_of(here.secret, item): item for item in items}


def size(here: LabellingRound, topic: LabellingTopic, share: LabellingShare) -> int:
    """Number of items of an assessor on a topic."""
    return sum(sum(answer["labels"]) for answer in _answers(here, topic, share))


def in_order(here: LabellingRound, topic: LabellingTopic, assessor_id: int) -> list[int]:
    """The runs that answer a topic, in the assessor's order."""
    # Each assessor has a different order, so that fatigue does not affect the same answers.
    runs = [answer["run"] for answer in topic.answers]
    return sorted(runs, key=lambda run: keyed(here.secret, "order", assessor_id, topic.topic_id, run))


def _answers(here: LabellingRound, topic: LabellingTopic, share: LabellingShare) -> Sequence[dict[str, Any]]:
    return labelled_twice(here, topic) if share.is_second else topic.answers


def labelled_twice(here: LabellingRound, topic: LabellingTopic) -> list[dict[str, Any]]:
    """The randomly drawn answers of a topic that two assessors label."""
    drawn = by_chance(here.secret, topic.topic_id, topic.answers)
    return drawn[: ceil(round(here.twice * len(drawn), 9))]


def by_chance(secret: bytes, topic_id: str, answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers in a deterministic random order."""
    return sorted(answers, key=lambda answer: keyed(secret, "draw", topic_id, answer["run"]))


def topics_by_chance(secret: bytes, topics: Sequence[str]) -> list[str]:
    """Topics in a deterministic random order."""
    return sorted(topics, key=lambda topic: keyed(secret, "topic", topic))


@dataclass(frozen=True, eq=False)
class TopicDesk:
    """An assessor on one topic of a round."""

    here: LabellingRound
    topic: LabellingTopic
    share: LabellingShare
    decides: bool = False
    """Whether this is an adjudicator, who may also decide in closed rounds."""

    @property
    def assessor_id(self) -> int:
        """Name of the assessor."""
        return self.share.assessor_id

    @cached_property
    def shared(self) -> dict[str, LabelItem]:
        """The assessor's items by name, in order."""
        return shared(self.here, self.topic, self.share)


@dataclass(frozen=True, eq=False)
class RoundDesk:
    """An assessor in a round, with topics in byte order."""

    assessor: Assessor
    task: Task
    here: LabellingRound
    topics: tuple[TopicDesk, ...]

    @property
    def kind(self) -> RoundKind:
        """The kind of the round."""
        return KINDS[self.here.kind]

    @property
    def is_open(self) -> bool:
        """Whether the round accepts labels."""
        return self.here.state == OPEN


def of_link(
    session: Session, token: str, number: int | None = None, topic_id: str | None = None
) -> tuple[RoundDesk, ...]:
    """The rounds (or the one with a number) in which a link's assessor has anything, or has the topic.

    Raises NotFound for an invalid link.
    """
    assessor = judging.by_token(session, token)
    task = session.get_one(Task, assessor.task_id)
    query = (
        select(LabellingRound, LabellingTopic, LabellingShare)
        .join(LabellingTopic, LabellingTopic.round_id == LabellingRound.id)
        .join(
            LabellingShare,
            (LabellingShare.round_id == LabellingRound.id)
            & (LabellingShare.topic_id == LabellingTopic.topic_id),
        )
        .where(LabellingRound.task_id == task.id, LabellingShare.assessor_id == assessor.id)
        .order_by(LabellingRound.number, LabellingTopic.topic_id)
    )
    if number is not None:
        query = query.where(LabellingRound.number == number)
    if topic_id is not None:
        query = query.where(LabellingTopic.topic_id == topic_id)
    rounds: dict[LabellingRound, list[TopicDesk]] = {}
    for labelling_round, topic, share in session.execute(query):
        rounds.setdefault(labelling_round, []).append(TopicDesk(labelling_round, topic, share))
    return tuple(RoundDesk(assessor, task, here, tuple(topics)) for here, topics in rounds.items())


def round_desk(session: Session, token: str, number: int) -> RoundDesk:
    """The assessor's desk in one round; raises NotFound if nothing is assigned to them."""
    for desk in of_link(session, token, number):
        return desk
    raise NotFound(f"No items are assigned to you in round {number}.")


def topic_desk(session: Session, token: str, number: int, topic_id: str) -> tuple[RoundDesk, TopicDesk]:
    """The assessor's desk on one topic; raises NotFound for any other assessor's."""
    for desk in of_link(session, token, number, topic_id):
        return desk, desk.topics[0]
    round_desk(session, token, number)
    raise NotFound(f"Topic {topic_id} is not assigned to you.")


LABELS_A_MINUTE = 240
"""Limit per assessor, far above human pace."""
ANOTHER = (
    "A different label was already submitted from this page, perhaps in another tab. Reload the page: a "
    "label submitted there replaces the earlier one."
)


class SentItemLabel(NamedTuple):
    """A submitted label: the item's name, the label, and the form's key."""

    item: str
    label: int | None
    key: str


class GivenItemLabel(NamedTuple):
    """A label in force; topic_id to citation identify the item."""

    topic_id: str
    run_id: int
    place: int
    citation: int
    assessor_id: int
    label: int
    saved_at: datetime

    @property
    def item(self) -> LabelItem:
        """The item labelled."""
        return LabelItem(*self[:4])


def save(session: Session, desk: TopicDesk, sent: SentItemLabel) -> None:
    """Store an assessor's label; repeated requests are stored once, later ones replace it.

    Raises NotFound for an item of another assessor, Closed if the round is closed, Invalid
    for an invalid label or key, OverQuota, and Conflict if another label has the key.
    """
    if sent.item not in desk.shared:
        raise NotFound("This item is not assigned to you.")
    require_open(desk.here)
    store(session, desk.here, desk.assessor_id, desk.shared[sent.item], sent)


def store(
    session: Session, here: LabellingRound, assessor_id: int, item: LabelItem, sent: SentItemLabel
) -> None:
    """Store a label of an assessor or, also in a closed round, of an adjudicator; raises as `save`."""
    _check(here, sent)
    judging.spend(session, "label", assessor_id, LABELS_A_MINUTE)
    row = AnswerLabel(
        round_id=here.id,
        assessor_id=assessor_id,
        label=sent.label,
        saved_at=now(session),
        key=sent.key,
        **item._asdict(),
    )
    judging.store_lines(session, row, ("round_id", *LabelItem._fields, "label"), ANOTHER)


def require_open(here: LabellingRound) -> None:
    """Raise Closed unless the round accepts labels."""
    if here.state != OPEN:
        raise Closed("The organisers have closed this round; it accepts no more labels.")


def undo_last(session: Session, here: LabellingRound, assessor_id: int, topic_id: str) -> str | None:
    """Withdraw the assessor's last label on a topic; return the item's name, None if absent."""
    require_open(here)
    last = judging.undo_last(
        session,
        AnswerLabel,
        AnswerLabel.round_id == here.id,
        AnswerLabel.topic_id == topic_id,
        AnswerLabel.assessor_id == assessor_id,
    )
    if last is None:
        return None
    return name_of(here.secret, LabelItem(last.topic_id, last.run_id, last.place, last.citation))


def in_force(
    session: Session,
    round_id: int,
    *,
    topic_id: str | None = None,
    assessor_ids: Collection[int] | None = None,
) -> tuple[GivenItemLabel, ...]:
    """For each item and assessor, the last label that was not withdrawn."""
    where = [AnswerLabel.round_id == round_id]
    if topic_id is not None:
        where.append(AnswerLabel.topic_id == topic_id)
    if assessor_ids is not None:
        where.append(AnswerLabel.assessor_id.in_(assessor_ids))
    return judging.in_force(session, AnswerLabel, GivenItemLabel, lambda given: given[:5], *where)


def count(session: Session, round_id: int) -> int:
    """Number of assessors' labels in force, without decisions; one statement, which reads no label."""
    places = (
        select(
            AnswerLabel.assessor_id,
            AnswerLabel.topic_id,
            AnswerLabel.run_id,
            AnswerLabel.place,
            AnswerLabel.citation,
        )
        .join(Assessor, Assessor.id == AnswerLabel.assessor_id)
        .where(
            AnswerLabel.round_id == round_id, AnswerLabel.undone.is_(False), Assessor.role == judging.ASSESSOR
        )
        .distinct()
        .subquery()
    )
    return session.scalar(select(func.count()).select_from(places)) or 0


def _check(here: LabellingRound, sent: SentItemLabel) -> None:
    problems = []
    if sent.label not in KINDS[here.kind].values:
        problems.append(Problem("must be one of the buttons.", "Press one of the buttons.", field="label"))
    problems += judging.key_problems(sent.key, "Reload the page.")
    if problems:
        raise Invalid("This label cannot be stored.", problems)
