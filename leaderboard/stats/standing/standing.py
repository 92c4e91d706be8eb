"""What a table of all pairs says about each run: whom it beats, its range of ranks, who may be the best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.pairs.condensed import pairs, square
from leaderboard.stats.pairs.methods import PairTable
from leaderboard.stats.pairs.paired_t import paired_t

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Standing:
    """How every run stands to the others, arrays (n,) in the order of the runs.

    `beats` and `beaten_by` count the runs told apart from it, `undecided` the rest without itself. Its
    range of ranks is `rank_low` to `rank_high`: 1 + beaten by, and n - beats. Where the table keeps its
    error rate over all pairs, the ranges of all runs at once hold the true ranks with 1 - alpha.
    """

    beats: IntArray
    beaten_by: IntArray
    undecided: IntArray
    rank_low: IntArray
    rank_high: IntArray


def decided(table: PairTable, alpha: float = 0.05) -> NDArray[np.int8]:
    """Which pairs can be told apart, (n, n): 1 where the row's run beats the column's, -1 where it is beaten.

    0 is undecided, as is the diagonal. A pair is decided where its adjusted p is below alpha; the better
    run is that of the higher mean, so that of equal means neither is.
    """
    signs = np.where(table.adjusted < alpha, np.sign(table.difference), 0).astype(np.int8)
    return square(signs, table.runs, mirrored=-1)


def standing(table: PairTable, alpha: float = 0.05) -> Standing:
    """Counts and rank ranges of the n runs of a table of all pairs.

    >>> from leaderboard.stats.pairs.methods import all_pairs, method
    >>> scores = np.array([[0.9, 0.8, 0.9, 0.7], [0.1, 0.3, 0.2, 0.1], [0.2, 0.2, 0.3, 0.1]])
    >>> standings = standing(all_pairs(scores, method("t+holm"), seed=1))
    >>> standings.beats.tolist(), standings.rank_low.tolist(), standings.rank_high.tolist()
    ([2, 0, 0], [1, 2, 2], [1, 3, 3])
    """
    signs = decided(table, alpha)
    beats = np.count_nonzero(signs > 0, axis=1)
    beaten_by = np.count_nonzero(signs < 0, axis=1)
    return Standing(
        beats=beats,
        beaten_by=beaten_by,
        undecided=table.runs - 1 - beats - beaten_by,
        rank_low=1 + beaten_by,
        rank_high=table.runs - beats,
    )


def decided_pairs(table: PairTable, alpha: float = 0.05) -> int:
    """How many of the n(n - 1)/2 pairs can be told apart."""
    return int(np.count_nonzero((table.adjusted < alpha) & (table.difference != 0)))


def tied_with(table: PairTable, run: int, alpha: float = 0.05) -> BoolArray:
    """Which runs (n,) one run cannot be told apart from; not itself.

    The relation is not transitive: a run may be undecided with two of which one beats the other.
    """
    tied: BoolArray = decided(table, alpha)[run] == 0
    tied[run] = False
    return tied


def decided_neighbours(table: PairTable, order: Sequence[int], alpha: float = 0.05) -> BoolArray:
    """Which of the n - 1 neighbouring pairs of runs in the board's order can be told apart."""
    signs = decided(table, alpha)
    places = np.asarray(order, dtype=np.int64)
    is_decided: BoolArray = signs[places[:-1], places[1:]] != 0
    return is_decided


def best_set(scores: NDArray[np.float64], alpha: float = 0.05) -> BoolArray:
    """Which of n runs may be the best on topics like these T, scores (n, T): a 1 - alpha set, never empty.

    A run leaves when some other run beats it with p below alpha/(n - 1) in the one-sided paired t test. The
    truly best run leaves with a probability of at most alpha, as it has n - 1 chances of alpha/(n - 1):
    Edwards and Hsu, Multiple comparisons with the best treatment, Journal of the American Statistical
    Association 78(384), 1983, with Bonferroni's bound for the paired design.

    >>> best_set(np.array([[0.9, 0.8, 0.9, 0.7], [0.8, 0.9, 0.7, 0.8], [0.1, 0.3, 0.2, 0.1]])).tolist()
    [True, True, False]
    """
    runs = len(scores)
    stays = np.ones(runs, dtype=bool)
    if runs < 2:
        return stays
    first, second = pairs(runs)
    pair = paired_t(scores)
    beaten = pair.p / 2 < alpha / (runs - 1)
    stays[second[beaten & (pair.difference > 0)]] = False
    stays[first[beaten & (pair.difference < 0)]] = False
    return stays
