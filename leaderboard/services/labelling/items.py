"""What is labelled: kinds with their labels, and items whose names and order tell nothing of runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

from leaderboard.db.tables import LabellingRound, LabellingShare, LabellingTopic
from leaderboard.services.judging.shares import keyed
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
