"""The mean ROC curve of a run: recall by fallout, averaged over topics at each fallout."""

from typing import NamedTuple

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged, Judgments, positions, ratio
from leaderboard.measures.running import bounds_of


class _Hits(NamedTuple):
    """The relevant hits of a run: topic, others ranked above each; and by topic what was retrieved."""

    topic: IntArray
    wrong_above: IntArray
    hit_count: IntArray
    wrong: IntArray


def others(judgments: Judgments, level: int, *, judged_only: bool) -> IntArray:
    """Number of documents of each topic that are not relevant, (topics,).

    All of the collection without a relevant grade, or, judged_only, those that were judged not relevant.
    Raises ValueError for all of a collection whose size is not known.
    """
    if judged_only:
        return judgments.nonrelevant(level)
    if judgments.collection_size is None:
        raise ValueError("the collection's size is not known")
    return np.maximum(judgments.collection_size - judgments.relevant(level), 0)


def usable(judgments: Judgments, places: IntArray, level: int, *, judged_only: bool) -> IntArray:
    """Those of the topics at these places that have a curve: some document is relevant and some is not."""
    both = (judgments.relevant(level) > 0) & (others(judgments, level, judged_only=judged_only) > 0)
    return places[both[places]]


def reach(judged: Judged, places: IntArray, level: int, *, judged_only: bool) -> float:
    """The largest fallout at which a ranking of these topics ends, 0 to 1; 0 without topics."""
    total = others(judged.judgments, level, judged_only=judged_only)
    ends = ratio(_hits(judged, level, judged_only).wrong, total)[places]
    return min(float(ends.max(initial=0.0)), 1.0)


def mean_recall(
    judged: Judged, places: IntArray, fallout: FloatArray, *, level: int, judged_only: bool = False
) -> FloatArray:
    """The mean over topics of recall at each fallout, in the shape of fallout; 0 without topics.

    places: (topics,) of the judgments, each with relevant and other documents, as `usable` gives them;
    fallout: ascending, 0 to 1. At a fallout that is between two ranks recall is that of the upper one.
    The documents not retrieved are tied behind the ranking: a straight line to recall 1 at fallout 1.
    judged_only counts documents judged not relevant instead of all that are not relevant.
    Source: Fawcett, An Introduction to ROC Analysis, Pattern Recognition Letters 27(8), 2006: vertical
    averaging.

    Ranks 1 and 3 of 3 are relevant, of 2 such and 2 others: recall is 1/2, and 1 from fallout 1/2 on.

    >>> from leaderboard.measures.example import judged
    >>> run = judged({1: 1, 2: 0, 3: 1}, collection_size=4)
    >>> mean_recall(run, np.array([0]), np.array([0.0, 0.49, 0.5, 1.0]), level=1)
    array([0.5, 0.5, 1. , 1. ])
    """
    hits = _hits(judged, level, judged_only)
    total = np.maximum(others(judged.judgments, level, judged_only=judged_only), hits.wrong)
    relevant = judged.judgments.relevant(level)
    chosen = np.zeros(len(relevant), np.bool_)
    chosen[places] = True
    mine = chosen[hits.topic]
    # Each relevant document adds its share of recall from the fallout on that it is found at.
    at = np.searchsorted(fallout, ratio(hits.wrong_above, total[hits.topic])[mine], side="left")
    steps = np.bincount(at, weights=1.0 / relevant[hits.topic][mine], minlength=len(fallout) + 1)
    recall = np.cumsum(steps[: len(fallout)], dtype=np.float64)
    end, left = ratio(hits.wrong, total)[places], 1.0 - ratio(hits.hit_count, relevant)[places]
    beyond = np.clip(fallout[None, :] - end[:, None], 0.0, None)
    recall += (left[:, None] * beyond / np.where(end < 1.0, 1.0 - end, 1.0)[:, None]).sum(axis=0)
    # All that was retrieved may stand above what was not: there the line is upright, at fallout 1.
    recall[fallout >= 1.0] = len(places)
    mean: FloatArray = np.minimum(recall / max(len(places), 1), 1.0)
    return mean


def _hits(judged: Judged, level: int, judged_only: bool) -> _Hits:
    topics = len(judged.judgments)
    hit_count = judged.relevant_count(level)
    if not judged_only:
        hits = judged.relevant(level)
        return _Hits(hits.topic, hits.rank - hits.nth, hit_count, judged.retrieved - hit_count)
    condensed = judged.condensed
    relevant = condensed.grade >= level
    topic = condensed.topic[relevant]
    nth = positions(bounds_of(topic, topics), topic)
    return _Hits(topic, condensed.rank[relevant] - nth, hit_count, condensed.retrieved - hit_count)
