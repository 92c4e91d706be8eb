"""What is labelled, one by one: under names and in an order that tell nothing of runs, and stay the same."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil
from typing import Any, NamedTuple

from leaderboard.db.tables import LabellingRound, LabellingShare, LabellingTopic


class LabelItem(NamedTuple):
    """One thing to be labelled: a nugget of an answer, or a citation of a segment; places count from 0."""

    topic_id: str
    run_id: int
    place: int
    citation: int


@dataclass(frozen=True, eq=False)
class SharedItems:
    """What one assessor labels of a topic, in order, by name; answers are at random, each in one piece."""

    items: Mapping[str, LabelItem]

    def after(self, name: str) -> str | None:
        """The name of the item behind this one; None at the end."""
        names = list(self.items)
        at = names.index(name) + 1
        return names[at] if at < len(names) else None


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
    # Keyed, so that nobody finds out the run by trying all.
    return _digest(secret, "item", *item).hex()


def shared(here: LabellingRound, topic: LabellingTopic, share: LabellingShare) -> SharedItems:
    """What an assessor has of a topic: all answers, or as the second one those that are labelled twice."""
    mine = _answers(here, topic, share)
    place = {run: at for at, run in enumerate(in_order(here, topic, share.assessor_id))}
    ordered = sorted(mine, key=lambda answer: place[answer["run"]])
    items = (item for answer in ordered for item in of_answer(topic.topic_id, answer))
    return SharedItems({name_of(here.secret, item): item for item in items})


def size(here: LabellingRound, topic: LabellingTopic, share: LabellingShare) -> int:
    """How many items an assessor has of a topic."""
    return sum(sum(answer["labels"]) for answer in _answers(here, topic, share))


def in_order(here: LabellingRound, topic: LabellingTopic, assessor_id: int) -> list[int]:
    """The runs that answer a topic as an assessor meets their answers."""
    # Another order for each assessor: what one gets tired of is not what the other does.
    runs = [answer["run"] for answer in topic.answers]
    return sorted(runs, key=lambda run: _digest(here.secret, "order", assessor_id, topic.topic_id, run))


def _answers(here: LabellingRound, topic: LabellingTopic, share: LabellingShare) -> Sequence[dict[str, Any]]:
    return labelled_twice(here, topic) if share.is_second else topic.answers


def labelled_twice(here: LabellingRound, topic: LabellingTopic) -> list[dict[str, Any]]:
    """The answers of a topic that two assessors have, drawn by chance."""
    drawn = by_chance(here.secret, topic.topic_id, topic.answers)
    return drawn[: ceil(round(here.twice * len(drawn), 9))]


def by_chance(secret: bytes, topic_id: str, answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers in a random order that is always the same."""
    return sorted(answers, key=lambda answer: _digest(secret, "draw", topic_id, answer["run"]))


def topics_by_chance(secret: bytes, topics: Sequence[str]) -> list[str]:
    """Topics in a random order that is always the same."""
    return sorted(topics, key=lambda topic: _digest(secret, "topic", topic))


def _digest(secret: bytes, *facts: object) -> bytes:
    return blake2b("\n".join(map(str, facts)).encode(), key=secret, digest_size=8).digest()
