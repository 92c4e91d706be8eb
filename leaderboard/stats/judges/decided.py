"""Which pairs of runs the reference and a judge can tell apart, and in which direction.

The six counts are the active, mixed and passive agreements and disagreements of Moffat, Scholer and Thomas,
Models and Metrics: IR Evaluation as a User Process, ADCS 2012.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.orders.pair_signs import signs
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.corrections import LEVEL, holm
from leaderboard.stats.pairs.methods import Method, all_pairs
from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.standing.standing import SignArray, decided

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DecidedPairs:
    """Pairs of runs by who decides them, and whether both go the same way.

    both_same, both_opposite: decided on either board; one_same, one_opposite: on one of them, by the
    direction of the means on the other; none_same, none_opposite: on neither. Equal means on one side alone
    are not the same way. against: of one_opposite, those that the judge decides against the reference's
    means.
    """

    both_same: int
    both_opposite: int
    one_same: int
    one_opposite: int
    none_same: int
    none_opposite: int
    by_reference: int
    by_judge: int
    against: int

    @property
    def recall(self) -> float | None:
        """The share of the pairs that the reference decides that the judge decides alike; None of none."""
        return self.both_same / self.by_reference if self.by_reference else None

    @property
    def false_verdicts(self) -> float | None:
        """The share of the judge's verdicts that go against the reference; None of none."""
        return (self.both_opposite + self.against) / self.by_judge if self.by_judge else None


@dataclass(frozen=True, slots=True)
class GuaranteedRange:
    """Where τ of the boards over infinitely many topics lies with at least 95 %, from -1 to 1."""

    low: float
    high: float


def decided_pairs(reference: FloatArray, judge: FloatArray, method: Method, *, seed: int) -> DecidedPairs:
    """How the pairs of the same runs are decided on both boards by the task's method.

    Scores (runs, topics), each over its own topics, of which one is enough; higher is better. seed matters
    where the method is random.
    """
    tables = [all_pairs(scores, method, seed=seed) for scores in (reference, judge)]
    first, second = pairs(len(reference))
    one, two = (decided(table)[first, second] for table in tables)
    peaks = (float(np.abs(scores).max(initial=0.0)) for scores in (reference, judge))
    ways = (signs(table.difference, peak) for table, peak in zip(tables, peaks, strict=True))
    return counts(one, two, *ways)


def counts(one: SignArray, two: SignArray, means_one: SignArray, means_two: SignArray) -> DecidedPairs:
    """The counts from signs of the pairs, (pairs,): decided by reference and judge, then of their means.

    >>> decided, means = np.array([1, 1, 0, 0]), np.array([1, 1, 1, 1])
    >>> found = counts(decided, np.array([1, 0, -1, 0]), means, np.array([1, -1, -1, 1]))
    >>> found.both_same, found.one_opposite, found.none_same, found.recall, found.false_verdicts
    (1, 2, 1, 0.5, 0.5)
    """
    number = (one != 0).astype(int) + (two != 0)
    same = means_one == means_two
    return DecidedPairs(
        both_same=int(((number == 2) & (one == two)).sum()),
        both_opposite=int(((number == 2) & (one != two)).sum()),
        one_same=int(((number == 1) & same).sum()),
        one_opposite=int(((number == 1) & ~same).sum()),
        none_same=int(((number == 0) & same).sum()),
        none_opposite=int(((number == 0) & ~same).sum()),
        by_reference=int(np.count_nonzero(one)),
        by_judge=int(np.count_nonzero(two)),
        against=int(((one == 0) & (two * means_one < 0)).sum()),
    )


def guaranteed_range(reference: FloatArray, judge: FloatArray) -> GuaranteedRange:
    """The range of τ that is proved: all pairs by paired t and Holm at half of 5 % on either board.

    Scores (runs, topics) of the same runs. With C of N pairs decided alike and D oppositely at least C are
    in the same order and at least D in the opposite one, unless a board errs; so τ is from 2C/N - 1 to
    1 - 2D/N if no two runs are exactly equal.

    >>> apart = np.array([[9.0, 8.0, 9.5, 8.2], [5.0, 5.2, 4.9, 5.1], [1.0, 1.4, 0.7, 1.2]])
    >>> guaranteed_range(apart, apart)
    GuaranteedRange(low=1.0, high=1.0)
    """
    one, two = (_by_holm(scores) for scores in (reference, judge))
    number = len(one)
    same, opposite = int((one * two > 0).sum()), int((one * two < 0).sum())
    return GuaranteedRange(2 * same / number - 1, 1 - 2 * opposite / number)


def _by_holm(scores: FloatArray) -> SignArray:
    # Not by the verdicts of a board: their other half of the error is spent on who may be the best.
    tested = paired_t(scores)
    return np.where(holm(tested.p) < LEVEL, np.sign(tested.difference), 0).astype(np.int8)
