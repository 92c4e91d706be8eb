"""Relevance plus dissimilarity of the top documents."""

from dataclasses import replace

import numpy as np

from leaderboard.errors import MissingInput
from leaderboard.measures.coverage import COUNT_RANGE
from leaderboard.measures.graded_gain import MAX_REL, scaled_gains
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.record import CUTOFF_REQUIRED, Measure, Parameter

LARGEST_CUTOFF = 1000
"""Dissimilarities of the top k are k² numbers per topic."""


def diversity(
    judged: Judged, *, max_rel: int, lam: float = 0.5, pairs: str = "unordered", cutoff: int
) -> FloatArray:
    """Weighed sum of the relevance and the dissimilarities in the top cutoff, float64 (topics,), 0 or more.

    lam weighs relevance, a document's grade over max_rel, against dissimilarity. pairs: whether each pair
    counts once (from the upper document to the lower, where the two directions differ) or in both orders.
    Neither sum is divided by anything. Computed topic by topic, as the matrices differ in size. Source:
    Gollapudi and Sharma 2009, max-sum diversification, with other weights.

    Relevance 1 and 1/2, dissimilarity 0.2: 0.6 · 1.5 + 0.4 · 0.2.

    >>> import dataclasses
    >>> from leaderboard.measures.richer_examples import judged
    >>> known = (np.array([[0.0, 0.2], [0.2, 0.0]]),)
    >>> both = dataclasses.replace(judged({1: 2, 2: 1}), dissimilarity=known)
    >>> diversity(both, max_rel=2, lam=0.6, cutoff=2)
    array([0.98])
    """
    hits = scaled_gains(judged, 0, max_rel, cutoff)
    relevance = judged.totals(hits.topic, hits.gain)
    return lam * relevance + (1.0 - lam) * _dissimilarity(judged, pairs == "ordered", cutoff)


def _dissimilarity(judged: Judged, ordered: bool, cutoff: int) -> FloatArray:
    totals = np.zeros(len(judged.judgments))
    lengths = np.minimum(judged.retrieved, cutoff).tolist()
    for place, (matrix, length) in enumerate(zip(judged.dissimilarity or (), lengths, strict=True)):
        if len(matrix) < length:
            topic = judged.judgments.topics[place]
            raise MissingInput(
                f"Dissimilarities of the top {length} documents of topic {topic} are needed; "
                f"there are those of {len(matrix)}."
            )
        top = matrix[:length, :length]
        between = top[~np.eye(length, dtype=bool)] if ordered else top[np.triu_indices(length, 1)]
        if len(between):
            # cumsum adds in order: the same bits on every processor.
            totals[place] = np.cumsum(between)[-1]
    return totals


LAMBDA = Parameter(
    "lam", "number", "λ, the weight of relevance; the pairs have 1 − λ.", 0.0, 1.0, default=0.5
)
PAIRS = Parameter(
    "pairs",
    "choice",
    "Whether a pair of documents counts once or in both orders.",
    default="unordered",
    choices=("unordered", "ordered"),
)

DIVERSITY = Measure(
    name="Div",
    title="Relevance and dissimilarity of the top k",
    formula=(
        "λ · Σ over documents d in the top k of relevance(d) + (1 − λ) · Σ over pairs d, d′ of them of "
        "dissimilarity(d, d′), relevance = grade / max_rel"
    ),
    citation="Gollapudi and Sharma, An Axiomatic Approach for Result Diversification, WWW 2009",
    compute=diversity,
    parameters=(MAX_REL, LAMBDA, PAIRS, replace(CUTOFF_REQUIRED, high=LARGEST_CUTOFF)),
    range=COUNT_RANGE,
    needs=frozenset({"graded", "documents"}),
    note=(
        "Texts leave open whether Σ over d, d′ takes a pair once or twice: pairs says which. Of k documents "
        "there are k(k − 1)/2 pairs, so dissimilarity outweighs relevance as k grows; Gollapudi and Sharma "
        "multiply relevance by k − 1 for that reason."
    ),
)
