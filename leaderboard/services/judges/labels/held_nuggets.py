"""A judge's nugget set beside the reference's: which nuggets both have, in the same words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from leaderboard.measures.answers.judged import Importance
from leaderboard.tables.record import Shown
from leaderboard.trec.nuggets.sets import Nugget

Nuggets = Mapping[str, Sequence[Nugget]]
"""Topic -> its nuggets."""


@dataclass(frozen=True, slots=True)
class HeldNugget:
    """A nugget with its importance in either set; None where the set does not have it."""

    topic: str
    text: Annotated[str, Shown(key="nugget")]
    reference: Annotated[Importance | None, Shown("In the judgments", key="judgments")]
    judge: Annotated[Importance | None, Shown("By the judge")]


@dataclass(frozen=True, slots=True)
class NuggetsOfTopic:
    """The nuggets of a topic, those of the reference first, each set in its own order."""

    topic: str
    nuggets: tuple[HeldNugget, ...]

    @property
    def same(self) -> int:
        """How many both sets have in the same words."""
        return sum(None not in (one.reference, one.judge) for one in self.nuggets)

    @property
    def reference(self) -> int:
        """How many the reference has."""
        return sum(one.reference is not None for one in self.nuggets)

    @property
    def judge(self) -> int:
        """How many the judge has."""
        return sum(one.judge is not None for one in self.nuggets)

    @property
    def reference_vital(self) -> int:
        """How many of the reference are vital."""
        return sum(one.reference == "vital" for one in self.nuggets)

    @property
    def judge_vital(self) -> int:
        """How many of the judge are vital."""
        return sum(one.judge == "vital" for one in self.nuggets)


def hold_nuggets(topics: Iterable[str], one: Nuggets, two: Nuggets) -> tuple[NuggetsOfTopic, ...]:
    """The nuggets of the reference and of a judge on these topics, in their order, where either has any.

    Nothing where one of the two has none on any of them: then there are no two sets.
    """
    topics = list(topics)
    if not all(any(side.get(topic) for topic in topics) for side in (one, two)):
        return ()
    found = (NuggetsOfTopic(topic, _held(topic, one.get(topic, ()), two.get(topic, ()))) for topic in topics)
    return tuple(each for each in found if each.nuggets)


def _held(topic: str, one: Sequence[Nugget], two: Sequence[Nugget]) -> tuple[HeldNugget, ...]:
    sides = [{nugget.text: nugget.importance for nugget in side} for side in (one, two)]
    texts = dict.fromkeys((*sides[0], *sides[1]))
    return tuple(HeldNugget(topic, text, sides[0].get(text), sides[1].get(text)) for text in texts)
