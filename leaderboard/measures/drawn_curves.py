"""Curves of a few runs, and the data they are drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.measures import judged, roc
from leaderboard.measures.interpolated import ELEVEN, interpolated_precision
from leaderboard.measures.judged import FloatArray, IntArray, Judged

DEPTHS = (10, 20, 50, 100, 1000)
DEPTH = 100
STEPS = 100
"""Steps of fallout from 0 to where the axis ends."""
NEARLY_WHOLE = 0.5
"""An axis that would end beyond this is extended to 1."""
JUDGED_ONLY = "share of the judged non-relevant documents"
"""Substitute for fallout where the collection's size is unknown."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of curve: what its axes are, and the measures shown with it."""

    key: str
    title: str
    across: str
    upwards: str
    measures: tuple[str, ...]


KINDS = {
    kind.key: kind
    for kind in (
        Kind("rp", "Recall and precision", "recall", "interpolated precision", ("AP", "Rprec")),
        Kind("precision", "Precision by rank", "rank", "precision", ("P@10", "AP", "RR")),
        Kind("gain", "Gain by rank", "rank", "cumulated gain", ("CG@10", "nDCG@10", "nDCG")),
        Kind("roc", "ROC", "fallout", "recall", ("ROCAUC", "EER")),
    )
}


@dataclass(frozen=True, eq=False)
class Drawn:
    """Curves over the same topics.

    points: (points,) ascending, where the curves have values; values: (points,) of each run; places:
    (topics,) of the judgments, over which the values are means; across: what points are; ideal: (points,)
    of the best possible rankings, where that is a curve of this kind; measures: keys of those that can
    be had, at no relevance level yet.
    """

    points: FloatArray
    values: tuple[FloatArray, ...]
    places: IntArray
    across: str
    measures: tuple[str, ...]
    ideal: FloatArray | None = None


def draw(
    kind: Kind, runs: Sequence[Judged], places: IntArray, level: int, *, depth: int, whole: bool
) -> Drawn:
    """The curves of runs, at least one, over the topics at these places of their judgments.

    level: the lowest relevant grade; depth: the last rank of curves by rank; whole: fallout to 1, also
    where no ranking reaches half of it.
    """
    if kind.key == "roc":
        return _roc(kind, runs, places, level, whole)
    if kind.key == "rp":
        values = tuple(_at_recall(run, places, level) for run in runs)
        return Drawn(np.array(ELEVEN), values, places, kind.across, kind.measures)
    ranks = np.arange(1, depth + 1, dtype=np.float64)
    if kind.key == "precision":
        values = tuple(judged.mean_precision(run, places, depth, rel=level) for run in runs)
        return Drawn(ranks, values, places, kind.across, kind.measures)
    values = tuple(judged.mean_gain(run, places, depth) for run in runs)
    ideal = judged.ideal_gain(runs[0].judgments, places, depth)
    return Drawn(ranks, values, places, kind.across, kind.measures, ideal)


def _at_recall(judged: Judged, places: IntArray, level: int) -> FloatArray:
    """Mean interpolated precision at recall 0, 0.1, .., 1, (11,)."""
    by_topic = [interpolated_precision(judged, recall=recall, rel=level)[places] for recall in ELEVEN]
    return np.array([precisions.mean() if len(precisions) else 0.0 for precisions in by_topic])


def _roc(kind: Kind, runs: Sequence[Judged], places: IntArray, level: int, whole: bool) -> Drawn:
    judgments = runs[0].judgments
    judged_only = judgments.collection_size is None
    chosen = roc.usable(judgments, places, level, judged_only=judged_only)
    reached = max(roc.reach(run, chosen, level, judged_only=judged_only) for run in runs)
    fallout = np.linspace(0.0, 1.0 if whole else end_of_axis(reached), STEPS + 1)
    values = tuple(
        roc.mean_recall(run, chosen, fallout, level=level, judged_only=judged_only) for run in runs
    )
    # The measures are defined over the whole collection only.
    measures = () if judged_only else kind.measures
    return Drawn(fallout, values, chosen, JUDGED_ONLY if judged_only else kind.across, measures)


def end_of_axis(reached: float) -> float:
    """The round number, 1, 2 or 5 of some power of ten, that holds all fallout reached; 1 beyond a half.

    >>> end_of_axis(0.0017), end_of_axis(0.2), end_of_axis(0.51), end_of_axis(0.0)
    (0.002, 0.2, 1.0, 1.0)
    """
    if not 0 < reached <= NEARLY_WHOLE:
        return 1.0
    exponent = int(np.floor(np.log10(reached)))
    ends = (float(f"{digit}e{power}") for power in (exponent, exponent + 1) for digit in (1, 2, 5))
    return next(end for end in ends if end >= reached)
