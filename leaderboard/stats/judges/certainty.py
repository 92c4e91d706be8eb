"""What may be said of τ between a judge's board and the reference beyond these topics, and what limits it.

No two-sided interval: resampling topics adds noise to both boards, which lowers τ, so that percentile
intervals lie too low and fail upwards. The lower end alone errs on the safe side (docs/judges.md).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.orders.pair_signs import pair_signs, taus
from leaderboard.stats.reliability.reliability import split_half
from leaderboard.stats.standing.rank_intervals import resampled_means

FloatArray = NDArray[np.float64]
Topics = Sequence[int] | NDArray[np.intp]
RESAMPLES = 2000
LOWER = 0.05
_PAIRS_AT_ONCE = 1 << 20  # differences of pairs in a temporary array: 8 MB


def at_least(
    reference: FloatArray,
    judge: FloatArray,
    topics: Topics | None = None,
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> float:
    """The 5th percentile of τ_b over resamples of topics, both boards on the same ones; from -1 to 1.

    reference (runs, T topics), judge (runs, its topics), whose places among the reference's topics are
    given, all without. A resample in which a side ties all runs has τ 0, as has one without a topic of the
    judge. The same seed gives the same number for ever.

    >>> scores = np.array([[0.9, 0.8, 0.9, 0.7], [0.5, 0.6, 0.4, 0.4], [0.1, 0.2, 0.1, 0.3]])
    >>> at_least(scores, scores, seed=1, resamples=100)
    1.0
    """
    drawn = resampled_taus(reference, judge, topics, seed=seed, resamples=resamples)
    return float(np.quantile(drawn, LOWER))


def resampled_taus(
    reference: FloatArray,
    judge: FloatArray,
    topics: Topics | None = None,
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> FloatArray:
    """τ_b of both boards over topics drawn with replacement, (resamples,): arguments as at_least takes them.

    >>> scores = np.array([[0.9, 0.8], [0.5, 0.6]])
    >>> resampled_taus(scores, -scores, seed=1, resamples=3)
    array([-1., -1., -1.])
    """
    runs = len(reference)
    judged = judge
    if topics is not None:
        judged = np.zeros(reference.shape)
        judged[:, topics] = judge
    at_once = max(1, _PAIRS_AT_ONCE // (runs * runs))
    means = np.concatenate(list(resampled_means(np.vstack((reference, judged)), seed, resamples)))
    return np.concatenate(
        [
            taus(pair_signs(part[:, :runs]), pair_signs(part[:, runs:]))
            for part in (means[start : start + at_once] for start in range(0, resamples, at_once))
        ]
    )


def ceiling(reference: FloatArray, *, seed: int) -> float | None:
    """The median τ_b between halves of the reference's topics, scores (runs, topics); None of one topic.

    So well the reference agrees with itself on other topics. A judge shares the topics and what is hard
    about them, so it may agree better: then it says more of these topics than of topics like these.

    >>> ceiling(np.array([[3.0, 6, 9, 12], [2, 5, 8, 11], [1, 4, 7, 10]]), seed=1)
    1.0
    """
    return split_half(reference, seed=seed).median if min(reference.shape) > 1 else None
