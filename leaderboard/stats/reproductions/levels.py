"""A reproduction level by level, each called the same, close or off by thresholds that go with it.

Similarity of a reproduction's scores to the original's, topic by topic.

Scores are float64 (topics,), of the original's topics in one order; a topic that a run misses has the score
of an empty ranking. Breuer et al., How to Measure the Reproducibility of System-oriented IR Experiments,
SIGIR 2020; repro_eval 0.5.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.orders.top_lists import Ranking
from leaderboard.stats.reproductions.documents import DocumentOrder, document_order
from leaderboard.stats.reproductions.effects import Effect
from leaderboard.stats.reproductions.two_samples import Difference, paired, unpaired

FloatArray = NDArray[np.float64]

IntArray = NDArray[np.int64]


def rmse(original: FloatArray, reproduced: FloatArray) -> float:
    """The root of the mean squared difference, in units of the measure; raises ValueError without a topic.

    >>> round(rmse(np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.38, 0.25, 0.55, 0.3])), 6)
    0.036742
    """
    if not len(original) or original.shape != reproduced.shape:
        raise ValueError("an original and its reproduction have scores on the same topics, at least one")
    return float(np.sqrt(np.mean((original - reproduced) ** 2)))


def nrmse(original: FloatArray, reproduced: FloatArray) -> float | None:
    """RMSE as a share of the largest it could be, from 0 to 1; None for scores outside 0 to 1.

    >>> round(nrmse(np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.38, 0.25, 0.55, 0.3])), 6)
    0.054027
    """
    error = rmse(original, reproduced)
    if min(original.min(), reproduced.min()) < 0 or max(original.max(), reproduced.max()) > 1:
        return None
    return error / float(np.sqrt(np.mean(np.maximum(original, 1 - original) ** 2)))


def largest_differences(original: FloatArray, reproduced: FloatArray, most: int) -> IntArray:
    """The places of up to `most` topics whose scores differ most, without those that do not differ.

    >>> largest_differences(np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.38, 0.25, 0.2, 0.3]), 2)
    array([2, 1])
    """
    distance = np.abs(original - reproduced)
    order = np.argsort(-distance, kind="stable")
    return order[distance[order] > 0][:most].astype(np.int64)


Word = Literal["same", "close", "off"]
WORDS: tuple[Word, ...] = ("same", "close", "off")
"""From the nearest to the farthest."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Distances from a perfect copy up to which a number is called the same, and close."""

    same: float
    close: float

    def word(self, distance: float | None) -> Word | None:
        """The word for a distance; None where the number is undefined.

        >>> [Threshold(0.05, 0.5).word(distance) for distance in (0.05, 0.4, 0.6, None)]
        ['same', 'close', 'off', None]
        """
        if distance is None:
            return None
        return "same" if distance <= self.same else "close" if distance <= self.close else "off"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits of the words: distances of KTU and ER from 1, of nRMSE and DRI from 0; and those of the test.

    The test says the same where the difference is within the margin (TOST at alpha) or is 0 throughout,
    off where p is below alpha, close where it cannot decide.
    """

    ktu: Threshold = Threshold(0.05, 0.5)
    nrmse: Threshold = Threshold(0.02, 0.1)
    dri: Threshold = Threshold(0.02, 0.1)
    er: Threshold = Threshold(0.1, 0.5)
    alpha: float = 0.05
    margin: float | None = None

    def test_word(self, change: Difference) -> Word | None:
        """The word of the test; None where p is not defined."""
        if change.is_same:
            return "same"
        within = change.p_within(self.margin) if self.margin is not None else None
        if within is not None and within < self.alpha:
            return "same"
        if change.p is None:
            return None
        return "off" if change.p < self.alpha else "close"


@dataclass(frozen=True, slots=True)
class RunLevels:
    """One run compared with its original; values that need the same topics are None on another collection."""

    documents: DocumentOrder | None
    rmse: float | None
    nrmse: float | None
    mean_original: float
    mean_other: float
    change: Difference


@dataclass(frozen=True, slots=True)
class Levels:
    """An advanced run, and a baseline if given, compared with their originals by thresholds."""

    baseline: RunLevels | None
    advanced: RunLevels
    thresholds: Thresholds

    @property
    def effect(self) -> Effect | None:
        """The change of the gain over the baseline; None without one."""
        if self.baseline is None:
            return None
        means = (self.baseline.mean_original, self.advanced.mean_original)
        return Effect(*means, self.baseline.mean_other, self.advanced.mean_other)

    @property
    def documents_word(self) -> Word | None:
        """Of the order of documents, the worse of both runs."""
        return worst([self._ktu_word(run.documents) for run in self._runs])

    @property
    def topics_word(self) -> Word | None:
        """Of the scores by topic, the worse of both runs."""
        return worst([self.thresholds.nrmse.word(run.nrmse) for run in self._runs])

    @property
    def effects_word(self) -> Word | None:
        """Of the gain, the worse by DRI and ER."""
        if self.effect is None:
            return None
        dri, er = self.effect.dri, self.effect.er
        words = [
            self.thresholds.dri.word(None if dri is None else abs(dri)),
            self.thresholds.er.word(None if er is None else abs(er - 1)),
        ]
        return worst(words)

    @property
    def test_word(self) -> Word | None:
        """Of the test, the worse of both runs."""
        return worst([self.thresholds.test_word(run.change) for run in self._runs])

    @property
    def _runs(self) -> tuple[RunLevels, ...]:
        return (self.advanced,) if self.baseline is None else (self.baseline, self.advanced)

    def _ktu_word(self, documents: DocumentOrder | None) -> Word | None:
        if documents is None or documents.ktu is None:
            return None
        return self.thresholds.ktu.word(1 - documents.ktu)


def worst(words: Sequence[Word | None]) -> Word | None:
    """The farthest of the given words; None without any.

    >>> worst(["same", None, "close"]), worst([None])
    ('close', None)
    """
    present = [word for word in words if word is not None]
    return max(present, key=WORDS.index) if present else None


def reproduced(
    original: FloatArray, other: FloatArray, originals: Sequence[Ranking], others: Sequence[Ranking]
) -> RunLevels:
    """A reproduction on the same topics: scores (topics,) in one order, and one ranking per topic.

    Rankings are of all topics that either run has, judged or not. Raises ValueError where numbers of topics
    differ.
    """
    return same_topics(original, other, document_order(originals, others))


def same_topics(original: FloatArray, other: FloatArray, documents: DocumentOrder | None) -> RunLevels:
    """As `reproduced`, with the known order of documents; None where that is not known yet."""
    return RunLevels(
        documents=documents,
        rmse=rmse(original, other),
        nrmse=nrmse(original, other),
        mean_original=float(original.mean()),
        mean_other=float(other.mean()),
        change=paired(original, other),
    )


def replicated(original: FloatArray, other: FloatArray) -> RunLevels:
    """A run on another collection: scores (topics,) and (other topics,); only means and test are compared."""
    return RunLevels(
        documents=None,
        rmse=None,
        nrmse=None,
        mean_original=float(original.mean()),
        mean_other=float(other.mean()),
        change=unpaired(original, other),
    )
