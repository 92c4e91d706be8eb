"""Search length: ranks read down to the first relevant document."""

from dataclasses import replace

import numpy as np

from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.record import CUTOFF, JUDGED_ONLY, REL, Measure

DEPTH = 1000


def search_length(judged: Judged, *, rel: int = 1, cutoff: int = DEPTH) -> FloatArray:
    """The rank of the first relevant document, float64 (topics,), 1 or more; lower is better.

    One more than the cutoff where the top cutoff ranks hold none, however few were retrieved.

    >>> from leaderboard.measures.richer_examples import judged
    >>> search_length(judged({1: 0, 3: 1, 4: 1})), search_length(judged({3: 1}), cutoff=2)
    (array([3.]), array([3.]))
    """
    return _first(judged, rel, cutoff).astype(np.float64)


def search_length_cooper(judged: Judged, *, rel: int = 1, cutoff: int = DEPTH) -> FloatArray:
    """The number of documents above the first relevant one, float64 (topics,), 0 or more.

    Lower is better. The cutoff where the top cutoff ranks hold none, however few were retrieved.
    Source: Cooper 1968, for one document wanted and a ranking without ties.

    >>> from leaderboard.measures.richer_examples import judged
    >>> search_length_cooper(judged({1: 0, 3: 1, 4: 1}))
    array([2.])
    """
    return _first(judged, rel, cutoff) - 1.0


def _first(judged: Judged, rel: int, cutoff: int) -> FloatArray:
    hits = judged.relevant(rel, cutoff)
    first = np.full(len(judged.judgments), cutoff + 1.0)
    first[hits.topic[hits.nth == 1]] = hits.rank[hits.nth == 1]
    return first


_DEPTH = replace(CUTOFF, default=DEPTH, text="The number of top ranks evaluated before giving up.")
_COOPER = (
    "Cooper, Expected Search Length: A Single Measure of Retrieval Effectiveness Based on the Weak Ordering "
    "Action of Retrieval Systems, American Documentation 19(1), 1968"
)

SEARCH_LENGTH = Measure(
    name="SearchLength",
    title="Search length: rank of the first relevant document",
    formula="the first relevant rank i ≤ k, else k + 1",
    citation=_COOPER,
    compute=search_length,
    parameters=(REL, _DEPTH, JUDGED_ONLY),
    direction="lower",
    range=(1.0, float("inf")),
    undefined=DEPTH + 1.0,
    digits=1,
    note=(
        "One more than Cooper's, who counts the documents passed (SearchLengthCooper). Topics on which "
        "a run finds nothing count k + 1, so the mean depends on k, 1000 by default."
    ),
)

SEARCH_LENGTH_COOPER = Measure(
    name="SearchLengthCooper",
    title="Search length: documents passed before the first relevant one",
    formula="i − 1 for the first relevant rank i ≤ k, else k",
    citation=_COOPER,
    compute=search_length_cooper,
    parameters=(REL, _DEPTH, JUDGED_ONLY),
    direction="lower",
    range=(0.0, float("inf")),
    undefined=float(DEPTH),
    digits=1,
    note=(
        "Cooper takes the expectation over the orders of tied documents; a ranking here has no ties. "
        "Unjudged documents count as not relevant."
    ),
)
