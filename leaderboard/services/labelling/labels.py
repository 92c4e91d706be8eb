"""Labels that assessors give: a log, each stored once, of which the last of a place is in force."""

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
from leaderboard.services import judging
from leaderboard.services.judging import keyed
from leaderboard.trec.nuggets.packing import Part

NUGGETS: Part = "nuggets"
ASSIGNMENTS: Part = "assignments"
SUPPORT: Part = "support"
OPEN, CLOSED = "open", "closed"
"""States of a round."""
UNSURE = -1
"""The label of who could not say."""


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """One label that an assessor can give: its number, its name, what it means and the key that gives it."""

    value: int
    name: str
    meaning: str
    key: str


@dataclass(frozen=True, slots=True)
class RoundKind:
    """One thing that people make: what it is called, what is asked, and the labels; none where they write."""

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
            "Does the cited document bear the segment out?",
            (
                LabelChoice(2, "full support", "the document bears out all that the segment says", "2"),
                LabelChoice(1, "partial support", "it bears out some of it", "1"),
                LabelChoice(0, "no support", "it bears out nothing of it", "0"),
                LabelChoice(UNSURE, "cannot say", "the text is missing or cannot be judged", "c"),
            ),
        ),
        RoundKind(
            ASSIGNMENTS,
            "Assignments",
            "Does the answer hold the nugget?",
            (
                LabelChoice(2, "support", "the answer says all of it", "2"),
                LabelChoice(1, "partial support", "it says some of it", "1"),
                LabelChoice(0, "not support", "it says nothing of it, or the contrary", "0"),
            ),
        ),
        RoundKind(NUGGETS, "Nuggets", "Which facts does a good answer hold?"),
    )
}
"""Kind of a round -> what it makes, in the order of the form."""


class LabelItem(NamedTuple):
    """One thing to be labelled: a nugget of an answer, or a citation of a segment; places count from 0."""

    topic_id: str
    run_id: int
    place: int
    citation: int

    @property
    def name(self) -> str:
        """What it is called among the items of its topic; it tells the run."""
        return " ".join(map(str, self[1:]))


def of_answer(topic_id: str, answer: Mapping[str, Any]) -> Iterator[LabelItem]:
    """The items of one answer as it is stored, in reading order.

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
    """What an assessor has of a topic, by name: all answers, or as the second one those labelled twice.

    Answers come at random, each in one piece.
    """
    mine = _answers(here, topic, share)
    place = {run: at for at, run in enumerate(in_order(here, topic, share.assessor_id))}
    ordered = sorted(mine, key=lambda answer: place[answer["run"]])
    items = (item for answer in ordered for item in of_answer(topic.topic_id, answer))
    return {name_of(here.secret, item): item for item in items}


def size(here: LabellingRound, topic: LabellingTopic, share: LabellingShare) -> int:
    """How many items an assessor has of a topic."""
    return sum(sum(answer["labels"]) for answer in _answers(here, topic, share))


def in_order(here: LabellingRound, topic: LabellingTopic, assessor_id: int) -> list[int]:
    """The runs that answer a topic as an assessor meets their answers."""
    # Another order for each assessor: what one gets tired of is not what the other does.
    runs = [answer["run"] for answer in topic.answers]
    return sorted(runs, key=lambda run: keyed(here.secret, "order", assessor_id, topic.topic_id, run))


def _answers(here: LabellingRound, topic: LabellingTopic, share: LabellingShare) -> Sequence[dict[str, Any]]:
    return labelled_twice(here, topic) if share.is_second else topic.answers


def labelled_twice(here: LabellingRound, topic: LabellingTopic) -> list[dict[str, Any]]:
    """The answers of a topic that two assessors have, drawn by chance."""
    drawn = by_chance(here.secret, topic.topic_id, topic.answers)
    return drawn[: ceil(round(here.twice * len(drawn), 9))]


def by_chance(secret: bytes, topic_id: str, answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers in a random order that is always the same."""
    return sorted(answers, key=lambda answer: keyed(secret, "draw", topic_id, answer["run"]))


def topics_by_chance(secret: bytes, topics: Sequence[str]) -> list[str]:
    """Topics in a random order that is always the same."""
    return sorted(topics, key=lambda topic: keyed(secret, "topic", topic))


@dataclass(frozen=True, eq=False)
class TopicDesk:
    """An assessor at one topic of a round."""

    here: LabellingRound
    topic: LabellingTopic
    share: LabellingShare
    decides: bool = False
    """Whether it is an adjudicator's, who decides in closed rounds too."""

    @property
    def assessor_id(self) -> int:
        """Whose desk it is."""
        return self.share.assessor_id

    @cached_property
    def shared(self) -> dict[str, LabelItem]:
        """What the assessor labels by name, in order."""
        return shared(self.here, self.topic, self.share)


@dataclass(frozen=True, eq=False)
class RoundDesk:
    """An assessor in a round: the topics in byte order."""

    assessor: Assessor
    task: Task
    here: LabellingRound
    topics: tuple[TopicDesk, ...]

    @property
    def kind(self) -> RoundKind:
        """What is made."""
        return KINDS[self.here.kind]

    @property
    def is_open(self) -> bool:
        """Whether the round takes labels."""
        return self.here.state == OPEN


def of_link(
    session: Session, token: str, number: int | None = None, topic_id: str | None = None
) -> tuple[RoundDesk, ...]:
    """The rounds, or those of a number, in which the assessor of a link has something, or has the topic.

    Raises NotFound for a dead link.
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
    for here, topic, share in session.execute(query):
        rounds.setdefault(here, []).append(TopicDesk(here, topic, share))
    return tuple(RoundDesk(assessor, task, here, tuple(topics)) for here, topics in rounds.items())


def round_desk(session: Session, token: str, number: int) -> RoundDesk:
    """The assessor's desk in one round; raises NotFound where there is nothing of theirs in it."""
    for found in of_link(session, token, number):
        return found
    raise NotFound(f"There is nothing for you to label in round {number}.")


def topic_desk(session: Session, token: str, number: int, topic_id: str) -> tuple[RoundDesk, TopicDesk]:
    """The assessor's desk at one topic; raises NotFound for any that is not the assessor's."""
    for found in of_link(session, token, number, topic_id):
        return found, found.topics[0]
    round_desk(session, token, number)
    raise NotFound(f"Topic {topic_id} is not among the topics you are asked to label.")


LABELS_A_MINUTE = 240
"""Of one assessor: more than any person gives."""
ANOTHER = (
    "Another label was sent from this page before, perhaps in another tab. Open the page again: a label sent "
    "from there replaces the earlier one."
)


class SentItemLabel(NamedTuple):
    """A label as the form sends it: the name of what is labelled, the label, and the form's key."""

    item: str
    label: int | None
    key: str


class GivenItemLabel(NamedTuple):
    """A label in force; topic_id to citation: of which item."""

    topic_id: str
    run_id: int
    place: int
    citation: int
    assessor_id: int
    label: int
    saved_at: datetime

    @property
    def item(self) -> LabelItem:
        """What is labelled."""
        return LabelItem(*self[:4])


def save(session: Session, desk: TopicDesk, sent: SentItemLabel) -> None:
    """Store an assessor's label, once however often it is sent; a later one of the same item replaces it.

    Raises NotFound for an item that the assessor does not have, Closed where the round is closed, Invalid
    for a bad label or key, OverQuota, and Conflict where another label came under the key.
    """
    if sent.item not in desk.shared:
        raise NotFound("This is not among what you are asked to label.")
    require_open(desk.here)
    store(session, desk.here, desk.assessor_id, desk.shared[sent.item], sent)


def store(
    session: Session, here: LabellingRound, assessor_id: int, item: LabelItem, sent: SentItemLabel
) -> None:
    """Store one label of an assessor or, also in a closed round, of an adjudicator; raises as `save`."""
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
    """Raise Closed unless the round takes labels."""
    if here.state != OPEN:
        raise Closed("Labelling is over: the organisers have closed this round.")


def undo_last(session: Session, here: LabellingRound, assessor_id: int, topic_id: str) -> str | None:
    """Take back what the assessor labelled last of a topic; the item's name, None where there is nothing."""
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
    """Of each item and assessor the label that was given last and not taken back."""
    where = [AnswerLabel.round_id == round_id]
    if topic_id is not None:
        where.append(AnswerLabel.topic_id == topic_id)
    if assessor_ids is not None:
        where.append(AnswerLabel.assessor_id.in_(assessor_ids))
    return judging.in_force(session, AnswerLabel, GivenItemLabel, lambda given: given[:5], *where)


def count(session: Session, round_id: int) -> int:
    """How many labels of assessors are in force, decisions apart; one statement that reads none of them."""
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
        problems.append(Problem("must be one of the buttons.", "Press one of them.", field="label"))
    problems += judging.key_problems(sent.key, "Open the page again.")
    if problems:
        raise Invalid("This label cannot be stored.", problems)
