"""Priorities of documents by what all runs together make of them, for take@N.

Each takes the candidates of a topic and gives a priority (n,), larger first.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from leaderboard.pooling.candidates import Candidates, FloatArray


def borda(pool: Candidates) -> FloatArray:
    """Points: n for a run's first of n candidates, one less each rank; a run's others share what is left.

    Source: Aslam and Montague 2001.
    """
    count = len(pool.documents)
    # The ranks a run leaves open are length + 1 to n: their points are 1 to n - length.
    rest = np.where(pool.lengths < count, (count - pool.lengths + 1) / 2.0, 0.0)
    return pool.total(count - pool.rank + 1.0 - rest[pool.run]) + float(rest.sum())


def reciprocal_rank(pool: Candidates, k: float) -> FloatArray:
    """The sum of 1 / (k + rank) over runs. Source: Cormack, Clarke and Büttcher 2009."""
    return pool.total(1.0 / (k + pool.rank))


def rank_biased(pool: Candidates, p: float) -> FloatArray:
    """The sum of (1 - p) p^(rank - 1) over runs. Source: Moffat, Webber and Zobel 2007."""
    return pool.total((1.0 - p) * p ** (pool.rank - 1.0))


def discounted(pool: Candidates) -> FloatArray:
    """The sum of 1 / log2(1 + rank) over runs."""
    return pool.total(1.0 / np.log2(1.0 + pool.rank))


def comb_mnz(pool: Candidates, scores: Sequence[FloatArray]) -> FloatArray:
    """The sum of scaled scores times the number of runs that have the document.

    scores: of every run, best first, at least as many as it has candidates. They are scaled to 0 to 1 over
    the run's candidates; all are 1 where a run gives all of them the same. Raises ValueError where a run
    has fewer scores than documents. Source: Fox and Shaw 1994.
    """
    if len(scores) != pool.runs or any(
        len(given) < length for given, length in zip(scores, pool.lengths, strict=True)
    ):
        raise ValueError("CombMNZ needs a score for every document of every run")
    scaled = [_scaled(given[:length]) for given, length in zip(scores, pool.lengths.tolist(), strict=True)]
    holders = np.bincount(pool.document, minlength=len(pool.documents))
    return pool.total(np.concatenate([*scaled, np.empty(0)])) * holders


BY_RANK: Mapping[str, Callable[[Candidates], FloatArray]] = {
    "rrf": lambda pool: reciprocal_rank(pool, 60.0),
    "borda": borda,
    "dcg": discounted,
    "rbp": lambda pool: rank_biased(pool, 0.8),
}
"""The fusions that a stratified sample may be cut by."""


def _scaled(scores: FloatArray) -> FloatArray:
    values = np.asarray(scores, dtype=np.float64)
    if not len(values):
        return values
    low, high = values.min(), values.max()
    return np.ones_like(values) if high == low else (values - low) / (high - low)
