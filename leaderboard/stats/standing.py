"""Statements about each run from a table of all pairs.

The compact letter display of Piepho, An Algorithm for a Letter-Based Representation of All-Pairwise
Comparisons, Journal of Computational and Graphical Statistics 13(2), 2004: insert, absorb, sweep.

Rank r of a run means that r - 1 runs are better; its interval is for the rank that infinitely many such
topics would give it.

One rule for all, with one error. Half of alpha goes to the pairs, by a correction that keeps it over all;
half to the question which run is best, shared among the n - 1 runs that could be better: Edwards and Hsu,
Multiple comparisons with the best treatment, Journal of the American Statistical Association 78(384), 1983,
with Bonferroni's bound for the paired design. Unless one errs, with a probability of at most alpha, all
statements on all runs are true at once. The proof is in docs/statistics.md.

Effect sizes: Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd edition, 1988; for runs
Sakai, Statistical Reform in Information Retrieval?, SIGIR Forum 48(1), 2014. What the scores make likely of
the mean difference, for those who would rather not test: Carterette, Bayesian Inference for Information
Retrieval Evaluation, ICTIR 2015; Benavoli, Corani, Demšar and Zaffalon, Time for a Change: a Tutorial for
Comparing Multiple Classifiers Through Bayesian Analysis, Journal of Machine Learning Research 18(77), 2017.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.orders.two_rankings import RankingComparison
from leaderboard.stats.pairs.baseline import AgainstBaseline
from leaderboard.stats.pairs.bootstrap import bootstrap_intervals, topic_counts
from leaderboard.stats.pairs.condensed import differences, pairs, square
from leaderboard.stats.pairs.corrections import LEVEL, holm
from leaderboard.stats.pairs.methods import BOTH_IN_ONE, RESAMPLES, TESTS, PairTable, all_pairs, method
from leaderboard.stats.pairs.paired_t import ROUNDING, paired_t
from leaderboard.stats.reliability import fewest_topics, half_width
from leaderboard.stats.seeds import stream

MOST_RUNS = 15


def letters(undecided: NDArray[np.bool_]) -> tuple[str, ...]:
    """The letters of n runs; undecided (n, n) says whether two do not differ significantly.

    The first run has an a; give the runs in the board's order. After z come a', b' and so on. No letter can
    be left out, though another choice may do with fewer. The diagonal is not read.

    Raises ValueError where the relation is not symmetric or there are more than 15 runs, whose letters
    no one reads.

    The second run differs from neither of its neighbours, the first from the third:

    >>> letters(np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool))
    ('a', 'ab', 'b')
    """
    runs = len(undecided)
    if undecided.shape != (runs, runs) or (undecided != undecided.T).any():
        raise ValueError("whether two runs can be told apart is a square, symmetric relation")
    if runs > MOST_RUNS:
        raise ValueError(f"letters are for at most {MOST_RUNS} runs")
    columns = _swept(_columns(undecided), runs)
    ordered = sorted(columns, key=sorted)
    return tuple(
        "".join(_letter(place) for place, column in enumerate(ordered) if run in column)
        for run in range(runs)
    )


def _columns(undecided: NDArray[np.bool_]) -> list[frozenset[int]]:
    """Every maximal set of runs of which no two differ significantly."""
    columns = {frozenset(range(len(undecided)))}
    for pair in np.argwhere(np.triu(~undecided, 1)).tolist():
        split = {column for column in columns if column.issuperset(pair)}
        columns -= split
        halves = {column - {run} for column in split for run in pair}
        columns |= {half for half in halves if not any(half < column for column in columns | halves)}
    return sorted(columns, key=sorted)


def _swept(columns: list[frozenset[int]], runs: int) -> list[frozenset[int]]:
    """The columns less those, and then the places in them, whose pairs of runs all share another column."""
    shared = np.zeros((runs, runs), dtype=int)
    for column in columns:
        shared[np.ix_(list(column), list(column))] += 1
    left = []
    for column in sorted(columns, key=len):
        members = list(column)
        among = np.ix_(members, members)
        if (shared[among] > 1).all():
            shared[among] -= 1
        else:
            left.append(column)
    return [_thinned(column, shared) for column in left]


def _thinned(column: frozenset[int], shared: NDArray[np.int_]) -> frozenset[int]:
    members = sorted(column)
    for run in sorted(column, reverse=True):
        if (shared[run, members] > 1).all():
            shared[run, members] -= 1
            shared[members, run] = shared[run, members]
            members.remove(run)
    return frozenset(members)


def _letter(place: int) -> str:
    return ascii_lowercase[place % 26] + "'" * (place // 26)


FloatArray = NDArray[np.float64]
RankIntervalsIntArray = NDArray[np.intp]
_BLOCK = 1 << 20  # draws of a block, which has its own stream: another size draws other topics
_SAME = 1e-10  # means nearer than this share of the largest one are equal up to rounding


@dataclass(frozen=True, slots=True)
class RankIntervals:
    """Lowest and highest rank of every run, arrays (n,) from 1 to n.

    `low` and `high` hold the true rank of a run chosen beforehand with at least the confidence;
    `all_low` and `all_high` hold those of all runs at once. Both where differences are nearly normal:
    docs/statistics.md says how far skewed scores on few topics fall short.
    """

    low: RankIntervalsIntArray
    high: RankIntervalsIntArray
    all_low: RankIntervalsIntArray
    all_high: RankIntervalsIntArray
    confidence: float


@dataclass(frozen=True, slots=True)
class FirstPlaces:
    """Ranks of runs on resampled topics, arrays (n,).

    `first` is the share of resamples where a run is first; runs that tie share it. `mean_rank` is its mean
    rank, ties sharing the smallest; `low` and `high` are percentiles of its rank. These describe the
    resamples. They are not an interval for the true rank: where runs are close they hold it far less often.
    """

    first: FloatArray
    mean_rank: FloatArray
    low: RankIntervalsIntArray
    high: RankIntervalsIntArray
    confidence: float
    resamples: int


def rank_intervals(scores: FloatArray, *, confidence: float = 0.95) -> RankIntervals:
    """Marginal and simultaneous intervals for the ranks of scores (n runs, T topics).

    A run's rank starts above the runs that are better in a paired t test and ends below those that are
    worse, at the level that is left of 1 - confidence for each of the comparisons: those with the n - 1
    other runs for its own interval, all n (n - 1) / 2 for the intervals of all runs (Bonferroni). Where
    differences are normal this holds at least the confidence, however the runs hang together. Ranks from
    intervals of differences: Mogstad, Romano, Shaikh and Wilhelm, Inference for ranks with applications to
    mobility across neighbourhoods and academic achievement across countries, Review of Economic Studies
    91(1), 2024; their bootstrap is not used. With one topic nothing is known: 1 to n.

    >>> intervals = rank_intervals(np.array([[9, 8, 9, 7.5], [1, 2, 3, 4], [1, 3, 2, 4]]))
    >>> intervals.low.tolist(), intervals.high.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    runs, topics = scores.shape
    if runs < 2 or topics < 2:
        whole = np.ones(runs, dtype=np.int64), np.full(runs, runs)
        return RankIntervals(*whole, *whole, confidence)
    t = square(paired_t(scores).t, runs, mirrored=-1)
    own = _critical_t(runs - 1, topics - 1, confidence)
    everyone = _critical_t(runs * (runs - 1) // 2, topics - 1, confidence)
    return RankIntervals(
        low=1 + np.count_nonzero(t < -own, axis=1),
        high=runs - np.count_nonzero(t > own, axis=1),
        all_low=1 + np.count_nonzero(t < -everyone, axis=1),
        all_high=runs - np.count_nonzero(t > everyone, axis=1),
        confidence=confidence,
    )


def first_places(
    scores: FloatArray, *, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> FirstPlaces:
    """Frequency of first places and the range of ranks of each run when topics are resampled.

    The percentile bootstrap over topics of scores (n runs, T topics): Efron and Tibshirani, An Introduction
    to the Bootstrap, 1993. The same seed always gives the same numbers.

    >>> shares = first_places(np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]), seed=1)
    >>> shares.first.tolist(), shares.mean_rank.tolist(), shares.high.tolist()
    ([1.0, 0.0, 0.0], [1.0, 2.0, 2.0], [1, 2, 2])
    """
    return places(np.concatenate(list(resampled_means(scores, seed, resamples))), confidence=confidence)


def places(means: FloatArray, *, confidence: float = 0.95) -> FirstPlaces:
    """Ranks by given resampled means (B resamples, n runs), see FirstPlaces."""
    resamples, runs = means.shape
    order = np.argsort(-means, axis=1, kind="stable")
    falling = np.take_along_axis(means, order, axis=1)
    drops = np.ones(means.shape, dtype=bool)
    drops[:, 1:] = falling[:, :-1] - falling[:, 1:] > _SAME * np.abs(means).max()
    rank = np.maximum.accumulate(np.where(drops, np.arange(runs), 0), axis=1)
    leads = np.where(rank == 0, 1 / np.count_nonzero(rank == 0, axis=1)[:, None], 0.0)
    counts = np.bincount((order * runs + rank).ravel(), minlength=runs * runs).reshape(runs, runs)
    below = counts.cumsum(axis=1) / resamples
    tail = (1 - confidence) / 2
    return FirstPlaces(
        first=np.bincount(order.ravel(), leads.ravel(), minlength=runs) / resamples,
        mean_rank=counts @ np.arange(1.0, runs + 1) / resamples,
        low=1 + (below >= tail - 1e-12).argmax(axis=1),
        high=1 + (below >= 1 - tail - 1e-12).argmax(axis=1),
        confidence=confidence,
        resamples=resamples,
    )


def resampled_means(scores: FloatArray, seed: int, resamples: int) -> Iterator[FloatArray]:
    """The means of n runs over topics drawn with replacement, in blocks (b, n) that make up B resamples."""
    topics = scores.shape[1]
    rows = max(1, _BLOCK // topics)
    for block, start in enumerate(range(0, resamples, rows)):
        counts = topic_counts(stream(seed, block), min(rows, resamples - start), topics)
        yield counts @ scores.T / topics


def _critical_t(comparisons: int, freedom: int, confidence: float) -> float:
    """The critical |t|, exceeded in any of this number of comparisons in at most 1 - confidence of cases."""
    return float(-special.stdtrit(freedom, (1 - confidence) / (2 * comparisons)))


SOURCE = (
    "Edwards and Hsu, Multiple Comparisons with the Best Treatment, Journal of the American Statistical "
    "Association 78(384), 1983"
)
"""For the question which runs may be best."""
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
POWER = 0.8
MOST_TIMES = 100
"""This many times the topics of a board: beyond that, more topics do not decide a pair."""
SignArray = NDArray[np.int8]


@dataclass(frozen=True, eq=False, slots=True)
class Verdicts:
    """Statements on n runs that hold at once with 1 - alpha; arrays but signs are (n,), by run."""

    signs: SignArray
    """(n, n): 1 where the row's run beats the column's, -1 where it is beaten, 0 where that is undecided."""
    too_few: bool
    """Whether not even the first and the last differ significantly: then no run is called one of the best."""
    may_be_best: BoolArray
    """Runs that may be the best on topics like these; at least one unless the topics are too few."""
    beats: IntArray
    named: IntArray
    """Number of runs named that beat it: a run that cannot be the best may have none."""
    undecided: IntArray
    """The other runs that it neither beats nor is beaten by."""
    rank_low: IntArray
    """The lower end less 1 is how many runs are better at least; 1 for those that may be the best, and no
    others unless the topics are too few."""
    rank_high: IntArray


def verdicts(table: PairTable, level: float = LEVEL) -> Verdicts:
    """Significant wins, possible winners and rank ranges of the n runs of a table.

    level is half of alpha. A run is out where some run of a higher mean is better by a one-sided test at
    level/(n - 1); it may be the best where it is neither out nor beaten. A run that alone may be the best is
    the best, and beats all others. Where the runs of the highest and the lowest mean do not differ
    significantly, none is called one of the best, or out. Where the table's correction keeps no error over
    all pairs, Holm's replaces it here.

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


def topics_to_decide(table: PairTable, verdicts: Verdicts, topics: int, pair: int) -> int | None:
    """Number of topics like a board's that would decide a pair of its table, as topics_at has it."""
    return topics_at(next_level(table, verdicts), table, topics, [pair])[0]


def topics_of_undecided(
    table: PairTable, verdicts: Verdicts, topics: int, signs: SignArray
) -> tuple[int | None, ...]:
    """As topics_to_decide, of all pairs of a table in its order; None where signs, (n, n), decide a pair."""
    undecided = np.flatnonzero(signs[pairs(table.runs)] == 0).tolist()
    needed = topics_at(next_level(table, verdicts), table, topics, undecided)
    by_pair = dict(zip(undecided, needed, strict=True))
    return tuple(by_pair.get(pair) for pair in range(len(table.difference)))


def topics_against(table: PairTable, against: AgainstBaseline, topics: int) -> tuple[int | None, ...]:
    """Topics that would decide each run (n,) against the baseline; None where they do, as topics_at.

    At LEVEL over the n - 1 pairs, or over those not yet decided, unless they stay corrected for all pairs.
    """
    run = np.flatnonzero(against.verdicts == 0)
    run = run[run != against.baseline]
    place = square(np.arange(len(table.difference)), table.runs, mirrored=1)[run, against.baseline]
    decided = 0 if table.method.correction.name == "bonferroni" else int(np.count_nonzero(against.verdicts))
    level = LEVEL / max(1, table.runs - 1 - decided)
    if table.method.correction.name in BOTH_IN_ONE:
        level = next_level(table, verdicts(table))
    by_run = dict(zip(run.tolist(), topics_at(level, table, topics, place.tolist()), strict=True))
    return tuple(by_run.get(at) for at in range(table.runs))


def topics_at(alpha: float, table: PairTable, topics: int, chosen: Sequence[int]) -> list[int | None]:
    """Number of topics like these that would decide each chosen pair of a table, at a two-sided level.

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
        numbers = fewest_topics(effects, topics + 1, power=POWER, alpha=alpha).tolist()
        for at, number in zip(np.flatnonzero(is_told).tolist(), numbers, strict=True):
            needed[at] = None if number > MOST_TIMES * topics else number
    return needed


def next_level(table: PairTable, verdicts: Verdicts) -> float:
    """The level that a table's correction leaves for the next pair.

    LEVEL over all pairs, or over those not yet decided; of two runs alone, twice LEVEL.
    """
    if table.runs == 2:
        return 2 * LEVEL
    decided = 0 if table.method.correction.name == "bonferroni" else int(np.count_nonzero(verdicts.signs > 0))
    return LEVEL / max(1, len(table.difference) - decided)


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
    """Runs (n,) that cannot be the best: the best is among them with a probability of at most the level."""
    out = np.zeros(table.runs, dtype=bool)
    first, second = pairs(table.runs)
    is_decided = table.single / 2 < level / max(1, table.runs - 1)
    out[second[is_decided & (table.difference > 0)]] = True
    out[first[is_decided & (table.difference < 0)]] = True
    return out


def _signs(difference: FloatArray, is_decided: BoolArray) -> SignArray:
    return np.where(is_decided, np.sign(difference), 0).astype(np.int8)


def decided(table: PairTable, level: float = LEVEL) -> SignArray:
    """Pairs that differ significantly by the table's own correction, (n, n), as in Verdicts.signs.

    A pair is decided where its adjusted p is below the level; the better run is that of the higher mean, so
    that of equal means neither is. A correction that keeps its error over all pairs has the same verdicts.
    """
    if table.method.correction.is_over_all_pairs:
        return verdicts(table, level).signs
    return square(_signs(table.difference, table.adjusted < level), table.runs, mirrored=-1)


RECOMMENDED = "t"
ROPE = 0.01
"""The largest difference of means of no practical matter, for the probabilities."""
SKEWED = 0.02
"""Difference between the p of the t test and of Fisher's above which the differences count as skewed."""

DRAWS = 10_000_000
"""Topics times resamples that a comparison may take, so that many topics do not take seconds."""
FEWEST_RESAMPLES = 8_000
"""Enough for one pair: a p of .05 has a standard error of .0024. They are drawn as one block."""
FEWEST_FOR_INTERVAL = 2_000
"""Resamples for the ends of an interval, which are less fine than a small p."""


@dataclass(frozen=True, slots=True)
class TwoRuns:
    """The first run less the second, as the measure prints them; undefined values are None.

    Wins are the topics on which the first is better. Effect sizes and tests are named as in
    `effect_sizes` and stats.methods, effect sizes positive where the first is better.
    """

    topics: int
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    """The paired 95% interval of the difference; None with one topic, and where it never varies."""
    needed: int | None
    """Number of topics for 80 % power of the t test of this pair alone; None where
    these do, or more would not help."""
    wins: int
    ties: int
    losses: int
    effects: Mapping[str, float | None]
    tests: Mapping[str, float | None]
    """Test -> p; None with one topic."""
    resamples: Mapping[str, int | None]
    """Test -> how many were drawn; None without random draws."""
    bootstrap: tuple[float, float] | None
    """The bias-corrected and accelerated bootstrap interval of the difference; None with one topic."""
    likely: tuple[float, float, float] | None
    """The probabilities that the first run is worse, that the two differ by no more than ROPE, and that the
    first is better, by a flat prior and normal differences; None with one topic."""

    @property
    def constant(self) -> bool:
        """Whether the difference is the same on every topic, so that no test of its spread means anything."""
        return self.low is None and self.topics > 1

    @property
    def skewed(self) -> bool:
        """Whether the t test and Fisher's disagree by more than a little."""
        t, fisher = self.tests["t"], self.tests["randomisation"]
        return t is not None and fisher is not None and abs(t - fisher) > SKEWED


def compare_scores(
    first: FloatArray, second: FloatArray, *, seed: int, lower_is_better: bool = False
) -> TwoRuns:
    """Compare the scores (topics,) of two runs on the same topics, as the measure prints them.

    Resampling draws by the seed as often as resamples_of says; Fisher's test enumerates where the topics
    are few. Raises ValueError without a topic.

    >>> first, second = np.array([0.5, 0.4, 0.7, 0.2, 0.6]), np.array([0.4, 0.4, 0.5, 0.1, 0.5])
    >>> both = compare_scores(first, second, seed=1)
    >>> both.wins, both.ties, both.losses, round(both.tests["t"], 6), both.tests["randomisation"]
    (4, 1, 0, 0.034109, 0.125)
    """
    scores = np.array([first, second], dtype=np.float64)
    topics = scores.shape[1]
    sign = -1.0 if lower_is_better else 1.0
    better = sign * scores
    drawn = resamples_of(topics)
    tables = {name: all_pairs(better, method((name, "none")), seed=seed, resamples=drawn) for name in TESTS}
    effects = effect_sizes(better)
    low, high = sorted(sign * float(bound[0]) for bound in (tables["t"].low, tables["t"].high))
    alone = topics == 1
    constant = alone or tables["t"].low[0] == tables["t"].high[0]
    is_decided = float(tables["t"].p[0]) < LEVEL
    named = {name: float(getattr(effects, name)[0]) for name in ("d_z", "g_z", "d_av", "superiority")}
    chances = None if alone else posterior(better, rope=ROPE)
    return TwoRuns(
        topics=topics,
        first=float(scores[0].mean()),
        second=float(scores[1].mean()),
        difference=sign * float(tables["t"].difference[0]),
        low=None if constant else low,
        high=None if constant else high,
        needed=None if is_decided else topics_at(LEVEL, tables["t"], topics, [0])[0],
        wins=int(effects.wins[0]),
        ties=int(effects.ties[0]),
        losses=int(effects.losses[0]),
        effects={name: value if math.isfinite(value) else None for name, value in named.items()},
        tests={name: None if alone else float(table.p[0]) for name, table in tables.items()},
        resamples={name: table.resamples for name, table in tables.items()},
        bootstrap=None if alone else _bootstrap(better, seed, sign),
        likely=chances and (float(chances.worse[0]), float(chances.equal[0]), float(chances.better[0])),
    )


def _bootstrap(better: FloatArray, seed: int, sign: float) -> tuple[float, float]:
    resamples = max(FEWEST_FOR_INTERVAL, resamples_of(better.shape[1]) // 10)
    intervals = bootstrap_intervals(better, seed=seed, resamples=resamples)
    low, high = sorted(
        sign * float(bound[0]) for bound in (intervals.corrected_low, intervals.corrected_high)
    )
    return low, high


def resamples_of(topics: int) -> int:
    """Number of resamples for two runs on n topics: fewer over 100 topics, as each takes longer.

    >>> [resamples_of(topics) for topics in (50, 250, 6980)]
    [100000, 40000, 8000]
    """
    return max(FEWEST_RESAMPLES, min(RESAMPLES, DRAWS // max(topics, 1)))


def two_runs_facts(comparison: TwoRuns, rankings: RankingComparison | None, measure: str) -> dict[str, Any]:
    """The comparison as plain values: the object that the site and the command line give as JSON.

    effect_size is d_z; rankings are means over the topics for which either run has a ranking.
    """
    return {
        "measure": measure,
        "topics": comparison.topics,
        "mean_a": comparison.first,
        "mean_b": comparison.second,
        "difference": comparison.difference,
        "interval": [comparison.low, comparison.high],
        "topics_needed": comparison.needed,
        "wins": comparison.wins,
        "ties": comparison.ties,
        "losses": comparison.losses,
        "effect_size": comparison.effects["d_z"],
        "tests": dict(comparison.tests),
        "rankings": {} if rankings is None else rankings.means,
    }


TIE = 1e-9
"""A smaller difference on a topic counts as 0."""


class EffectSizes(NamedTuple):
    """One value per pair, first run less second, each (pairs,)."""

    d_z: FloatArray
    """The mean difference over the standard deviation of the differences: of the paired design."""
    g_z: FloatArray
    """d_z times 1 - 3 / (4 df - 1), which makes up for its bias with few topics (Hedges)."""
    d_av: FloatArray
    """The mean difference over the root of the mean variance of the two runs' scores."""
    wins: IntArray
    """Topics on which the first run is better."""
    ties: IntArray
    losses: IntArray
    superiority: FloatArray
    """The share of topics won, ties counted half, from 0 to 1."""


def effect_sizes(scores: FloatArray) -> EffectSizes:
    """The effect sizes of all pairs of runs: scores (runs, topics), pairs as pairs() has them.

    Without any spread an effect size is infinite, or 0 where there is no difference either.

    >>> effects = effect_sizes(np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]]))
    >>> round(float(effects.d_z[0]), 6), round(float(effects.d_av[0]), 6), float(effects.superiority[0])
    (1.414214, 0.559017, 0.9)
    """
    n, topics = scores.shape
    t = paired_t(scores)
    d_z = t.t / np.sqrt(topics)
    g_z = np.multiply(d_z, 1 - 3 / (4 * (topics - 1) - 1), out=d_z.copy(), where=np.isfinite(d_z))
    first, second = pairs(n)
    variance = scores.var(axis=1, ddof=1) if topics > 1 else np.zeros(n)
    spread = np.sqrt((variance[first] + variance[second]) / 2)
    d_av = np.where(t.t == 0, 0.0, np.copysign(np.inf, t.difference))
    np.divide(t.difference, spread, out=d_av, where=spread > 0)
    wins, losses = np.empty((2, len(first)), dtype=np.int64)
    for block, difference in differences(scores):
        wins[block] = np.count_nonzero(difference >= TIE, axis=1)
        losses[block] = np.count_nonzero(difference <= -TIE, axis=1)
    ties = topics - wins - losses
    return EffectSizes(d_z, g_z, d_av, wins, ties, losses, (wins + ties / 2) / topics)


class Posterior(NamedTuple):
    """Probabilities of the mean difference, first run less second, each (pairs,); they sum to 1."""

    worse: FloatArray
    """That it is below -rope."""
    equal: FloatArray
    """That it is from -rope to rope."""
    better: FloatArray
    """That it is above rope."""


def posterior(scores: FloatArray, *, rope: float) -> Posterior:
    """The probabilities of all pairs of runs: scores (runs, topics), pairs as pairs() has them.

    Differences are treated as normal, with a noninformative prior on mean and spread: then the mean is
    distributed as t around the observed one. rope is the largest difference of no practical matter, in
    units of the scores. Differences that are the same on every topic leave no doubt. Raises ValueError
    where there are fewer than two topics or rope is negative.

    >>> probabilities = posterior(np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5]]), rope=0.01)
    >>> [round(float(probability[0]), 6) for probability in probabilities]
    [0.012693, 0.010598, 0.976709]
    """
    topics = scores.shape[1]
    if topics < 2:
        raise ValueError("one topic says nothing of how differences vary, so nothing is likely or unlikely")
    if rope < 0:
        raise ValueError(f"a difference of {rope} is not a size")
    t = paired_t(scores)
    worse, better = (_tail(-sign * t.difference - rope, t.sd, topics) for sign in (1, -1))
    return Posterior(worse, np.maximum(0.0, 1 - worse - better), better)


def _tail(excess: FloatArray, sd: FloatArray, topics: int) -> FloatArray:
    """The probability of exceeding a bound this far below the observed mean, (pairs,)."""
    error = sd / np.sqrt(topics)
    t = np.copysign(np.inf, excess)
    t[excess == 0] = -np.inf
    np.divide(excess, error, out=t, where=error > 0)
    tail: FloatArray = special.stdtr(topics - 1, t)
    return tail
