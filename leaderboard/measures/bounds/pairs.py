"""By how much one run's score can at most be above another's while some documents are open.

Two runs that have an open document at the same rank gain the same by it: their difference is known far better
than either score. Measures that add up weights of ranks, divided or not by what an ideal ranking would have,
are bounded here; others by their scores alone (`open_documents`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.bounds.open_documents import regraded
from leaderboard.measures.discounted_gain import discounted_gain, discounts, gained, ideal_of_judged
from leaderboard.measures.judged import UNJUDGED, FloatArray, IntArray, Judged
from leaderboard.measures.series import powers

Weights = Callable[[IntArray], FloatArray]
MOST_PLACES = 1_000_000
"""Pairs of runs times open documents that are gone through: about a tenth of a second."""


def most_ahead(bound: BoundMeasure, judged: Judged, runs: int, highest: int) -> FloatArray | None:
    """By how much the score of each run can at most be above that of each other, (runs, runs, topics).

    judged: the runs stacked; documents of grade -1 may have any grade of 0 to highest, everything else stays.
    None for measures of which this is not known, and where it would take long.

    The first run has an open document at rank 1, the second at rank 2: 1 - 1/log2(3) if it is relevant.

    >>> from leaderboard.measures.bounds.open_documents import stack
    >>> from leaderboard.measures.example import judged
    >>> from leaderboard.measures.grammar import parse
    >>> run, other = judged({1: -1}), judged({2: -1})
    >>> most_ahead(parse("nDCG@10"), stack([run, other]), 2, 1)[:, :, 0].round(6)
    array([[0.     , 0.36907],
           [0.     , 0.     ]])
    """
    weights = _weights(bound)
    opened = int(np.count_nonzero(judged.judgments.grades == UNJUDGED))
    if weights is None or runs * opened > MOST_PLACES:
        return None
    topics = len(judged.judgments) // runs
    own = bound.compute(judged).reshape(runs, topics)
    ahead: FloatArray = own[:, None, :] - own[None, :, :]
    largest = _Ratios(bound, judged, runs, highest) if bound.measure.name == "nDCG" else None
    for topic in range(topics):
        differences = _differences(judged, weights, runs, topic)
        if not differences.shape[2]:
            continue
        if largest is None:
            ahead[:, :, topic] += np.maximum(differences, 0.0).sum(axis=2)
        else:
            ahead[:, :, topic] = largest.of(topic, differences)
    return ahead


def _cutoff(bound: BoundMeasure) -> int | None:
    cutoff = bound.params.get("cutoff")
    return cutoff if isinstance(cutoff, int) else None


def _weights(bound: BoundMeasure) -> Weights | None:
    """What a document of gain 1 adds at a rank; None for measures that do not add up weights."""
    last, params = _cutoff(bound) or np.inf, bound.params
    if bound.measure.name == "P":
        return lambda rank: (rank <= last) / last
    if bound.measure.name == "RBP":
        p = float(str(params["p"]))
        return lambda rank: (1.0 - p) * powers(p, rank - 1) * (rank <= last)
    if bound.measure.name == "nDCG":
        return lambda rank: (rank <= last) / discounts(rank, str(params["dcg"]))
    return None


def _differences(judged: Judged, weights: Weights, runs: int, topic: int) -> FloatArray:
    """How much more each open document of a topic weighs in one run than another, (runs, runs, open)."""
    topics = len(judged.judgments) // runs
    begin, end = judged.judgments.starts[topic : topic + 2].tolist()
    column = np.cumsum(judged.judgments.grades[begin:end] == UNJUDGED) - 1
    table = np.zeros((runs, int(column[-1]) + 1 if end > begin else 0))
    documents = len(judged.judgments.grades) // runs
    hits = np.flatnonzero((judged.topic % topics == topic) & (judged.grade == UNJUDGED))
    place = judged.document[hits] % documents - begin
    table[judged.topic[hits] // topics, column[place]] = weights(judged.rank[hits])
    return table[:, None, :] - table[None, :, :]


class _Ratios:
    """The largest differences of nDCG: gain above the other's, divided by what the ideal ranking gains."""

    def __init__(self, bound: BoundMeasure, judged: Judged, runs: int, highest: int) -> None:
        self._dcg, self._cutoff = str(bound.params["dcg"]), _cutoff(bound)
        settled = regraded(judged, np.maximum(judged.judgments.grades, 0))
        self._judgments = settled.judgments
        gain = discounted_gain(settled, dcg=self._dcg, cutoff=self._cutoff)
        self._gain = gain.reshape(runs, -1)
        self._ideal = ideal_of_judged(settled.judgments, None, self._dcg, self._cutoff)
        self._steps = np.diff(gained(np.arange(highest + 1.0), self._dcg)).tolist()

    def of(self, topic: int, differences: FloatArray) -> FloatArray:
        """Of each two runs on a topic, (runs, runs), by what its open documents weigh more in one of them.

        Gain is a sum of layers, one a grade. Of equally many documents in a layer those of the largest
        difference are worst for the other run; how many these are is found as in `highest_ndcg`.
        """
        ordered = np.sort(differences, axis=2)[:, :, ::-1]
        most = np.concatenate([np.zeros_like(ordered[:, :, :1]), np.cumsum(ordered, axis=2)], axis=2)
        base, ideal = self._gain[:, None, topic] - self._gain[None, :, topic], float(self._ideal[topic])
        layers = self._layers(topic, differences.shape[2])
        ratio = base / ideal if ideal else np.zeros_like(base)
        while True:
            better = _ratio_of_best(base, ideal, most, ratio, self._steps, layers)
            if not bool(np.any(better > ratio)):
                return ratio
            ratio = np.maximum(ratio, better)

    def _layers(self, topic: int, opened: int) -> list[FloatArray]:
        """What the ideal gains by 0, 1, ... more documents of at least each grade, (opened + 1,) each."""
        grades = self._judgments.grades[slice(*self._judgments.starts[topic : topic + 2].tolist())]
        rank = np.arange(1, len(grades) + opened + 1)
        weight = (rank <= (self._cutoff or np.inf)) / discounts(rank, self._dcg)
        best = np.concatenate(([0.0], np.cumsum(weight)))
        known = [int(np.count_nonzero(grades >= grade)) for grade in range(1, len(self._steps) + 1)]
        return [best[count : count + opened + 1] - best[count] for count in known]


def _ratio_of_best(
    base: FloatArray,
    ideal: float,
    most: FloatArray,
    ratio: FloatArray,
    steps: Sequence[float],
    layers: Sequence[FloatArray],
) -> FloatArray:
    """The ratio of the grades that are best for gain - ratio · ideal, (runs, runs)."""
    gain, divisor = base.copy(), np.full_like(base, ideal)
    for step, grown in zip(steps, layers, strict=True):
        at = np.argmax(most - ratio[:, :, None] * grown, axis=2)
        gain += step * np.take_along_axis(most, at[:, :, None], axis=2)[:, :, 0]
        divisor += step * grown[at]
    return np.divide(gain, divisor, out=np.zeros_like(gain), where=divisor > 0)
