"""What a table of all pairs says about each run: whom it beats, its range of ranks, who may be the best.

One rule for all, with one error. Half of alpha goes to the pairs, by a correction that keeps it over all;
half to the question of who is the best, shared among the n - 1 runs that could be better: Edwards and Hsu,
Multiple comparisons with the best treatment, Journal of the American Statistical Association 78(384), 1983,
with Bonferroni's bound for the paired design. Unless one errs, with a probability of at most alpha,
all that is said of all runs is right at once. The proof is in docs/statistics.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.pairs.baseline import AgainstBaseline
from leaderboard.stats.pairs.condensed import pairs, square
from leaderboard.stats.pairs.corrections import LEVEL, holm
from leaderboard.stats.pairs.methods import BOTH_IN_ONE, PairTable
from leaderboard.stats.pairs.paired_t import ROUNDING
from leaderboard.stats.reliability.power import fewest_topics, half_width

SOURCE = (
    "Edwards and Hsu, Multiple Comparisons with the Best Treatment, Journal of the American Statistical "
    "Association 78(384), 1983"
)
"""Of the question of who may be the best."""
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
POWER = 0.8
MOST_TIMES = 100
"""So many times the topics of a board: beyond that more topics are no way to decide a pair."""
SignArray = NDArray[np.int8]


@dataclass(frozen=True, eq=False, slots=True)
class Verdicts:
    """What holds of n runs all at once with 1 - alpha; arrays but signs are (n,), in order of the runs."""

    signs: SignArray
    """(n, n): 1 where the row's run beats the column's, -1 where it is beaten, 0 where that is undecided."""
    too_few: bool
    """Whether not even the first and the last can be told apart: then no run is said to be among the best."""
    may_be_best: BoolArray
    """Which runs may be the best on topics like these; at least one unless the topics are too few."""
    beats: IntArray
    named: IntArray
    """How many runs are named that beat it: a run that cannot be the best may have none."""
    undecided: IntArray
    """The other runs that it neither beats nor is beaten by."""
    rank_low: IntArray
    """The lower end less 1 is how many runs are better at least; 1 for those that may be the best, and no
    others unless the topics are too few."""
    rank_high: IntArray


def verdicts(table: PairTable, level: float = LEVEL) -> Verdicts:
    """Whom each of the n runs of a table beats, which may be the best, and their ranges of ranks.

    level is half of alpha. A run is out where some run of a higher mean is better by a one-sided test at
    level/(n - 1); it may be the best where it is neither out nor beaten. A run that alone may be the best is
    the best, and beats all others. Where the runs of the highest and the lowest mean cannot be told apart,
    none is said to be among the best, or to be out. Where the table's correction keeps no error over all
    pairs, Holm's takes its place here.

    >>> from leaderboard.stats.pairs.methods import all_pairs, method
    >>> scores = np.array([[9, 8, 9, 7, 8], [5, 6, 4, 4, 3], [5, 4, 6, 2, 5]]) / 10
    >>> board = verdicts(all_pairs(scores, method("t+holm"), seed=1))
    >>> board.may_be_best.tolist(), board.rank_low.tolist(), board.rank_high.tolist()
    ([True, False, False], [1, 2, 2], [1, 3, 3])
    """
    signs = square(_signs(table.difference, _over_all_pairs(table) < level), table.runs, mirrored=-1)
    may_be_best = ~_out(table, level) & ~(signs < 0).any(axis=1)
    if np.count_nonzero(may_be_best) == 1:
        best = int(np.flatnonzero(may_be_best)[0])
        signs[best], signs[:, best] = 1, -1
        signs[best, best] = 0
    too_few = not _ends_told_apart(table, signs)
    beats, named = np.count_nonzero(signs > 0, axis=1), np.count_nonzero(signs < 0, axis=1)
    return Verdicts(
        signs=signs,
        too_few=too_few,
        may_be_best=may_be_best & (not too_few),
        beats=beats,
        named=named,
        undecided=table.runs - 1 - beats - named,
        rank_low=np.where(may_be_best | too_few, 1 + named, np.maximum(2, 1 + named)),
        rank_high=table.runs - beats,
    )


def topics_to_decide(table: PairTable, said: Verdicts, topics: int, pair: int) -> int | None:
    """How many topics like a board's would decide a pair of its table, as topics_at has it."""
    return topics_at(next_level(table, said), table, topics, [pair])[0]


def topics_of_undecided(
    table: PairTable, said: Verdicts, topics: int, signs: SignArray
) -> tuple[int | None, ...]:
    """As topics_to_decide, of all pairs of a table in its order; None where signs, (n, n), decide a pair."""
    undecided = np.flatnonzero(signs[pairs(table.runs)] == 0).tolist()
    needed = topics_at(next_level(table, said), table, topics, undecided)
    by_pair = dict(zip(undecided, needed, strict=True))
    return tuple(by_pair.get(pair) for pair in range(len(table.difference)))


def topics_against(table: PairTable, against: AgainstBaseline, topics: int) -> tuple[int | None, ...]:
    """How many topics would decide each run (n,) against the baseline; None where they do, as topics_at.

    At LEVEL over the n - 1 pairs, or over those not yet told apart, unless they stay corrected for all pairs.
    """
    run = np.flatnonzero(against.verdicts == 0)
    run = run[run != against.baseline]
    place = square(np.arange(len(table.difference)), table.runs, mirrored=1)[run, against.baseline]
    found = 0 if table.method.correction.name == "bonferroni" else int(np.count_nonzero(against.verdicts))
    level = LEVEL / max(1, table.runs - 1 - found)
    if table.method.correction.name in BOTH_IN_ONE:
        level = next_level(table, verdicts(table))
    by_run = dict(zip(run.tolist(), topics_at(level, table, topics, place.tolist()), strict=True))
    return tuple(by_run.get(at) for at in range(table.runs))


def topics_at(alpha: float, table: PairTable, topics: int, chosen: Sequence[int]) -> list[int | None]:
    """How many topics like these would decide each chosen pair of a table, at a two-sided level.

    With 80 % power of the paired t test, with the difference and spread that were seen. None where the means
    are equal, and where a hundred times the topics are not enough. At least one more than there are.
    """
    half = (table.high[chosen] - table.low[chosen]) / 2
    is_told = (table.difference[chosen] != 0) & np.isfinite(half) & (topics > 1)
    needed: list[int | None] = [None] * len(chosen)
    if is_told.any():
        # A difference without spread is shown by any topics.
        with np.errstate(divide="ignore"):
            effects = np.abs(table.difference[chosen][is_told]) / (half[is_told] / half_width(1.0, topics))
        found = fewest_topics(effects, topics + 1, power=POWER, alpha=alpha).tolist()
        for at, number in zip(np.flatnonzero(is_told).tolist(), found, strict=True):
            needed[at] = None if number > MOST_TIMES * topics else number
    return needed


def next_level(table: PairTable, said: Verdicts) -> float:
    """The level that a table's correction leaves for the next pair.

    LEVEL over all pairs, or over those not yet told apart; of two runs alone, twice LEVEL.
    """
    if table.runs == 2:
        return 2 * LEVEL
    found = 0 if table.method.correction.name == "bonferroni" else int(np.count_nonzero(said.signs > 0))
    return LEVEL / max(1, len(table.difference) - found)


def widest_pair(table: PairTable) -> int:
    """The place of the pair of the first and the last run, by their means."""
    return int(np.argmax(np.abs(table.difference)))


def _ends_told_apart(table: PairTable, signs: SignArray) -> bool:
    """Whether any run of the highest mean beats any of the lowest."""
    apart = np.abs(table.difference)
    if not len(apart) or not apart.max():
        return False
    are_ends = apart >= apart.max() * (1 - ROUNDING)
    return bool((signs[pairs(table.runs)][are_ends] != 0).any())


def _over_all_pairs(table: PairTable) -> FloatArray:
    """The adjusted p of a correction that keeps its error over all pairs."""
    return table.adjusted if table.method.correction.is_over_all_pairs else holm(table.p)


def _out(table: PairTable, level: float) -> BoolArray:
    """Which runs (n,) cannot be the best: the best is among them with a probability of at most the level."""
    out = np.zeros(table.runs, dtype=bool)
    first, second = pairs(table.runs)
    is_decided = table.single / 2 < level / max(1, table.runs - 1)
    out[second[is_decided & (table.difference > 0)]] = True
    out[first[is_decided & (table.difference < 0)]] = True
    return out


def _signs(difference: FloatArray, is_decided: BoolArray) -> SignArray:
    return np.where(is_decided, np.sign(difference), 0).astype(np.int8)


def decided(table: PairTable, level: float = LEVEL) -> SignArray:
    """Which pairs can be told apart by the table's own correction, (n, n), as in Verdicts.signs.

    A pair is decided where its adjusted p is below the level; the better run is that of the higher mean, so
    that of equal means neither is. A correction that keeps its error over all pairs has the same verdicts.
    """
    if table.method.correction.is_over_all_pairs:
        return verdicts(table, level).signs
    return square(_signs(table.difference, table.adjusted < level), table.runs, mirrored=-1)


def decided_neighbours(signs: SignArray, order: Sequence[int]) -> BoolArray:
    """Which of the n - 1 neighbouring pairs of runs in the board's order can be told apart, by such signs."""
    places = np.asarray(order, dtype=np.int64)
    is_decided: BoolArray = signs[places[:-1], places[1:]] != 0
    return is_decided
