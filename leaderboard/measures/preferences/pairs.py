"""Preferences against a ranking: which of the two documents it has above the other."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.judged import FloatArray, IntArray, Judged, Preferences, sums

NOWHERE = np.iinfo(np.int64).max
"""The rank of a document that was not retrieved."""


class Pairs(NamedTuple):
    """Every preference as a ranking has it, each (pairs,).

    better, worse: ranks of the two documents, NOWHERE for one not retrieved; weight: how often or how
    strongly it was given.
    """

    topic: IntArray
    better: IntArray
    worse: IntArray
    weight: FloatArray

    @property
    def fulfilled(self) -> NDArray[np.bool_]:
        """Whether the better document was retrieved above the worse one, or it alone."""
        return self.better < self.worse

    @property
    def upper(self) -> IntArray:
        """The rank of the document retrieved higher, NOWHERE if neither was."""
        return np.minimum(self.better, self.worse)

    @property
    def lower(self) -> IntArray:
        """The rank of the document retrieved lower, NOWHERE unless both were."""
        return np.maximum(self.better, self.worse)


def pairs_of(judged: Judged) -> Pairs:
    """All preferences of the judgments and where the run has their documents."""
    judgments = judged.judgments
    given = preferences_of(judged)
    rank = np.full(len(judgments.grades), NOWHERE)
    rank[judged.document] = judged.rank
    return Pairs(judgments.topic[given.better], rank[given.better], rank[given.worse], given.weight)


def preferences_of(judged: Judged) -> Preferences:
    """The preferences of the judgments, which a measure that needs them is bound to have."""
    given = judged.judgments.preferences
    assert given is not None, "a measure of preferences is bound to judgments with them"
    return given


def totals(judged: Judged, pairs: Pairs, mask: NDArray[Any]) -> FloatArray:
    """The weight of the wanted preferences of every topic, (topics,)."""
    return sums(pairs.topic[mask], pairs.weight[mask], len(judged.judgments))
