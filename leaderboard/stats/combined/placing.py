"""The weight of a document in a run's score: the slope of the score by the document's value.

Of P, DCG, nDCG and RBP that is the weight of its rank. Of RR, ERR and AP it depends on what the machine says
of the run's other documents on the topic, never of the document itself, as these measures are linear in each.
Each function takes rankings as the measure does and gives (runs, topics, ranks) down to the cutoff.
"""

import numpy as np

from leaderboard.stats.combined.labels import FloatArray, IntArray, Labels, ValueOf, chance_of, relevant_from
from leaderboard.stats.combined.measures import discounts, ideal_dcg, in_rankings


def on_judged(labels: Labels, rankings: IntArray, weight: FloatArray) -> FloatArray:
    """The weights of ranks as those of the documents that people judged, (runs, judged documents).

    0 where a run does not have a document; rankings may be longer than the weights.
    """
    number = int(np.count_nonzero(labels.is_judged))
    # What is not judged goes to a column of its own, as NOWHERE does, the place of what comes last.
    column = np.full(len(labels.people) + 1, number)
    column[:-1][labels.is_judged] = np.arange(number)
    placed = np.zeros((len(rankings), number + 1))
    columns = column[rankings[..., : weight.shape[-1]]].reshape(len(rankings), -1)
    np.put_along_axis(placed, columns, weight.reshape(len(rankings), -1), axis=1)
    return placed[:, :-1]


def precision(_labels: Labels, rankings: IntArray, *, cutoff: int, rel: int = 1) -> FloatArray:
    """Of P: each of the first ranks counts alike."""
    return np.full(rankings[..., :cutoff].shape, 1 / cutoff)


def rank_biased(
    _labels: Labels, rankings: IntArray, *, p: float, rel: int = 1, cutoff: int | None = None
) -> FloatArray:
    """Of RBP."""
    shape = rankings[..., :cutoff].shape
    return np.broadcast_to((1 - p) * p ** np.arange(shape[-1]), shape)


def dcg(_labels: Labels, rankings: IntArray, *, cutoff: int | None = None) -> FloatArray:
    """Of DCG: the discount."""
    shape = rankings[..., :cutoff].shape
    return np.broadcast_to(discounts(shape[-1]), shape)


def ndcg(labels: Labels, rankings: IntArray, *, cutoff: int | None = None) -> FloatArray:
    """Of nDCG: the discount over the ideal DCG by the machine's labels."""
    machine = Labels(labels.topic, labels.machine, labels.machine, np.ones(len(labels.topic)), labels.topics)
    weight: FloatArray = dcg(labels, rankings, cutoff=cutoff) / ideal_dcg(machine, cutoff)[None, :, None]
    return weight


def reciprocal_rank(
    labels: Labels, rankings: IntArray, *, rel: int = 1, cutoff: int | None = None
) -> FloatArray:
    """Of RR: 0 below the first document that the machine calls relevant."""
    return _cascade(labels, rankings[..., :cutoff], relevant_from(rel))


def expected_reciprocal_rank(
    labels: Labels, rankings: IntArray, *, max_rel: int, cutoff: int | None = None
) -> FloatArray:
    """Of ERR."""
    return _cascade(labels, rankings[..., :cutoff], chance_of(max_rel))


def average_precision(
    labels: Labels, rankings: IntArray, *, rel: int = 1, cutoff: int | None = None
) -> FloatArray:
    """Of AP, over the number of documents that the machine calls relevant."""
    worth = relevant_from(rel)(labels.machine)
    ranked = in_rankings(worth, rankings[..., :cutoff])
    rank = np.arange(1, ranked.shape[-1] + 1)
    above = np.cumsum(ranked, axis=-1) - ranked
    shared = ranked / rank
    below = shared.sum(axis=-1, keepdims=True) - np.cumsum(shared, axis=-1)
    relevant = np.bincount(labels.topic, weights=worth, minlength=labels.topics)
    weight: FloatArray = ((1 + above) / rank + below) / np.maximum(relevant, 1.0)[:, None]
    return weight


def _cascade(labels: Labels, rankings: IntArray, value_of: ValueOf) -> FloatArray:
    """Of the reciprocal rank of the stop: what is lost at a rank is what later ranks would have given."""
    stops = in_rankings(value_of(labels.machine), rankings)
    weight, later = np.empty_like(stops), np.zeros(stops.shape[:-1])
    for rank in range(stops.shape[-1], 0, -1):
        weight[..., rank - 1] = 1 / rank - later
        later = stops[..., rank - 1] / rank + (1 - stops[..., rank - 1]) * later
    weight[..., 1:] *= np.cumprod(1 - stops[..., :-1], axis=-1)
    return weight
