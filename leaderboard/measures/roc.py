"""Measures of the ROC curve: recall by fallout, and how often a relevant document comes first."""

from typing import NamedTuple

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged, Judgments, positions, ratio
from leaderboard.measures.record import CUTOFF, JUDGED_ONLY, REL, Measure
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

    >>> from leaderboard.measures.richer_examples import judged
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
    # All that was retrieved may rank above what was not: there the line is upright, at fallout 1.
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


class Counts(NamedTuple):
    """A topic's collection divided into relevant and other documents, retrieved and not; (topics,)."""

    relevant: IntArray
    other: IntArray
    hit_count: IntArray
    wrong: IntArray


def counts_of(judged: Judged, rel: int) -> Counts:
    """The counts of every topic; every document of the collection without a relevant grade is other.

    A collection is never taken to be smaller than what was retrieved or is relevant.
    """
    relevant, hit_count = judged.judgments.relevant(rel), judged.relevant_count(rel)
    wrong = judged.retrieved - hit_count
    size = judged.judgments.collection_size or 0
    return Counts(relevant, np.maximum(size - relevant, wrong), hit_count, wrong)


def roc_area(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The area under the ROC curve, float64 (topics,), between 0 and 1.

    The share of pairs of a relevant and another document of the collection that stand in the right
    order; all documents not retrieved are tied behind the ranking, and a tie counts one half. 0 where
    there is no such pair. Source: Fawcett 2006.

    Of 4 documents, a relevant one at rank 2, one not retrieved: of the pairs with the two others,
    the first relevant one has 1 right; the second 0 right and 1 tied. 1.5 / 4.

    >>> from leaderboard.measures.richer_examples import judged
    >>> roc_area(judged({2: 1}, missed=[1], collection_size=4))
    array([0.375])
    """
    hits, counts = judged.relevant(rel), counts_of(judged, rel)
    above = np.bincount(hits.topic, weights=hits.rank - hits.nth, minlength=len(counts.other))
    tied = (counts.relevant - counts.hit_count) * (counts.other - counts.wrong)
    return ratio(counts.hit_count * counts.other - above + tied / 2.0, counts.relevant * counts.other)


def equal_error_rate(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The error where the ROC curve misses as large a share as it lets through, float64 (topics,), 0 to 1.

    That is where 1 - recall equals fallout, between two ranks if need be. All documents not retrieved
    are tied behind the ranking, a straight line to (1, 1). 1 where no document, or every one, is
    relevant. Source: Fawcett 2006 for the curve.

    Of 5 documents, ranks 1 and 4 are relevant and 3 are not: at rank 3 recall is 1/2 and fallout 2/3,
    so the curve meets the line at recall 1/2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> equal_error_rate(judged({1: 1, 4: 1}, collection_size=5))
    array([0.5])
    """
    hits, counts = judged.relevant(rel), counts_of(judged, rel)
    relevant, other = counts.relevant[hits.topic], counts.other[hits.topic]
    # recall + fallout, times relevant · other: the curve crosses where this reaches relevant · other.
    reached = hits.nth * other + (hits.rank - hits.nth) * relevant
    crossed = reached >= relevant * other
    rises = reached - other < relevant * other
    at_hit = np.where(rises, (hits.rank - hits.nth) / other.clip(1), (relevant - hits.nth + 1) / relevant)
    rates = _after_last_hit(counts)
    # Written backwards, so that the first crossing of a topic stays.
    rates[hits.topic[crossed][::-1]] = at_hit[crossed][::-1]
    rates[(counts.relevant == 0) | (counts.other == 0)] = 1.0
    return rates


def _after_last_hit(counts: Counts) -> FloatArray:
    """The equal error rate where the curve crosses below the last relevant document retrieved."""
    recall, fallout = ratio(counts.hit_count, counts.relevant), ratio(counts.wrong, counts.other)
    to_go = np.maximum(1.0 - recall - fallout, 0.0)
    on_the_line = fallout + ratio(to_go, 2.0 - fallout - recall) * (1.0 - fallout)
    return np.where(recall + fallout >= 1.0, 1.0 - recall, on_the_line)


def pairwise_accuracy(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """The share of retrieved pairs in the right order, relevant above other, float64 (topics,), 0 to 1.

    Looks only at the top cutoff documents retrieved; unjudged ones are other. 0 where they hold no
    such pair. Source: ir_measures, Accuracy.

    Relevant at rank 2 of 3: of its two pairs one is right.

    >>> from leaderboard.measures.richer_examples import judged
    >>> pairwise_accuracy(judged({2: 1}, missed=[1], retrieved=3))
    array([0.5])
    """
    hits, hit_count = judged.relevant(rel, cutoff), judged.relevant_count(rel, cutoff)
    length = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    above = np.bincount(hits.topic, weights=hits.rank - hits.nth, minlength=len(hit_count))
    pairs = hit_count * (length - hit_count)
    return ratio(pairs - above, pairs)


_PAPER = "Fawcett, An Introduction to ROC Analysis, Pattern Recognition Letters 27(8), 2006"
_SIZE = (
    "Every document of the collection counts, so the number of documents must be known; those not "
    "retrieved are tied last. "
)

ROC_AREA = Measure(
    name="ROCAUC",
    title="Area under the ROC curve (recall by fallout)",
    formula=(
        "(pairs of a relevant document above another + ½ · pairs tied) / (R · (N − R)), "
        "N = documents in the collection"
    ),
    citation=_PAPER,
    compute=roc_area,
    parameters=(REL,),
    needs=frozenset({"collection size"}),
    note=_SIZE + "In a large collection it is near 1 for any run that finds most relevant documents.",
)

EQUAL_ERROR_RATE = Measure(
    name="EER",
    title="Equal error rate of the ROC curve",
    formula="fallout where fallout = 1 − recall, on straight lines between the points of the curve",
    citation=_PAPER,
    compute=equal_error_rate,
    parameters=(REL,),
    direction="lower",
    needs=frozenset({"collection size"}),
    undefined=1.0,
    note=_SIZE + "A topic without relevant documents, or with nothing else, scores 1, the worst.",
)

PAIRWISE_ACCURACY = Measure(
    name="Accuracy",
    title="Pairwise accuracy of the documents retrieved",
    formula=(
        "pairs of a relevant document above another in the top k / pairs of a relevant and another document "
        "in the top k"
    ),
    citation="MacAvaney, Macdonald and Ounis, Streamlining Evaluation with ir-measures, ECIR 2022",
    compute=pairwise_accuracy,
    parameters=(REL, CUTOFF, JUDGED_ONLY),
    note=(
        "ir_measures stops with an error where all documents retrieved are relevant, and leaves topics "
        "without a relevant one out of its mean. The share of documents classed rightly is SetAccuracy."
    ),
)
