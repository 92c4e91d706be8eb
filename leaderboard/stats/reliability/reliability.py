"""How far a board's order would be the same on other topics.

Generalizability theory of runs crossed with topics: Bodoff and Li, Test theory for assessing IR test
collections, SIGIR 2007; Urbano, Marrero and Martín, On the measurement of test collection reliability,
SIGIR 2013.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.orders.pair_signs import pair_signs, taus
from leaderboard.stats.pairs.anova import anova
from leaderboard.stats.seeds import orders, stream

FloatArray = NDArray[np.float64]
_BLOCK = 1 << 20  # numbers in a temporary array


@dataclass(frozen=True, slots=True)
class Reliability:
    """Variance components and what follows from them.

    `runs`, `topics` and `residual` are the variances, 0 or more, between runs, between topics, and what is
    left. `order` is E ρ², the share of variance between observed means that is due to the runs, for the
    order of the runs; `absolute` is Φ, the same for the means themselves, which the difficulty of the
    topics moves too. Both lie between 0 and 1 and are 0 where runs do not differ.
    """

    runs: float
    topics: float
    residual: float
    order: float
    absolute: float

    def topics_for_order(self, share: float = 0.95) -> int | None:
        """The fewest topics that give E ρ² of at least share, above 0 and below 1; None where none do."""
        if self.runs == 0:
            return None
        return max(1, ceil(share / (1 - share) * self.residual / self.runs - 1e-9))


@dataclass(frozen=True, slots=True)
class SplitHalf:
    """Kendall's τ_b between the orders by two random halves of the topics, over many splits.

    `low` and `high` are the 5th and the 95th percentile.
    """

    median: float
    low: float
    high: float
    splits: int


def reliability(scores: FloatArray) -> Reliability:
    """Variance components, E ρ² and Φ of scores (n runs, T topics).

    Components come from the mean squares of the two-way analysis of variance; one that comes out negative
    is 0. Raises ValueError for fewer than two runs or two topics.

    >>> components = reliability(np.array([[5, 4, 7, 2, 6], [4, 4, 5, 1, 5], [3, 5, 4, 2, 3]]) / 10)
    >>> round(components.order, 6), round(components.absolute, 6), components.topics_for_order()
    (0.641026, 0.393701, 54)
    """
    runs, topics = _shape(scores)
    table = anova(scores)
    # F tells a difference between runs from rounding.
    between_runs = (table.runs_mean_square - table.residual_mean_square) / topics if table.f > 1 else 0.0
    between_topics = max((table.topics_mean_square - table.residual_mean_square) / runs, 0.0)
    residual = table.residual_mean_square
    return Reliability(
        runs=between_runs,
        topics=between_topics,
        residual=residual,
        order=_share(between_runs, residual / topics),
        absolute=_share(between_runs, (between_topics + residual) / topics),
    )


def split_half(scores: FloatArray, *, seed: int, splits: int = 1000) -> SplitHalf:
    """How alike the orders of runs by two halves of the topics are, scores (n runs, T topics).

    The whole set of topics is twice as large, so that two whole sets would agree better. Of an odd number of
    topics each split leaves one out. A half on which all runs score alike has τ 0. The same seed gives
    the same splits for ever. Raises ValueError for fewer than two runs or two topics.

    Three runs that all topics order alike:

    >>> split_half(np.array([[3.0, 6, 9, 12], [2, 5, 8, 11], [1, 4, 7, 10]]), seed=1, splits=10)
    SplitHalf(median=1.0, low=1.0, high=1.0, splits=10)
    """
    runs, topics = _shape(scores)
    source = stream(seed)
    block = max(1, _BLOCK // max(topics, runs * (runs - 1) // 2))
    found = []
    for start in range(0, splits, block):
        shape = (min(block, splits - start), topics)
        order = orders(source, *shape)
        halves = []
        for chosen in (order[:, : topics // 2], order[:, topics // 2 : topics // 2 * 2]):
            member = np.zeros(shape)
            np.put_along_axis(member, chosen, 1.0, axis=1)
            halves.append(pair_signs(member @ scores.T))
        found.append(taus(*halves))
    low, median, high = np.quantile(np.concatenate(found), [0.05, 0.5, 0.95])
    return SplitHalf(median=float(median), low=float(low), high=float(high), splits=splits)


def _shape(scores: FloatArray) -> tuple[int, int]:
    runs, topics = scores.shape
    if runs < 2 or topics < 2:
        raise ValueError("a board's reliability needs at least two runs and two topics")
    return runs, topics


def _share(signal: float, noise: float) -> float:
    return signal / (signal + noise) if signal > 0 else 0.0
