"""Two runs compared on shared topics by every test there is, and what is said of them as plain values.

Effect sizes: Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd edition, 1988; for runs
Sakai, Statistical Reform in Information Retrieval?, SIGIR Forum 48(1), 2014. What the scores make likely of
the mean difference, for those who would rather not test: Carterette, Bayesian Inference for Information
Retrieval Evaluation, ICTIR 2015; Benavoli, Corani, Demšar and Zaffalon, Time for a Change: a Tutorial for
Comparing Multiple Classifiers Through Bayesian Analysis, Journal of Machine Learning Research 18(77), 2017.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from leaderboard.stats.orders.two_rankings import RankingComparison
from leaderboard.stats.pairs.bootstrap import bootstrap_intervals
from leaderboard.stats.pairs.condensed import differences, pairs
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import RESAMPLES, TESTS, all_pairs, method
from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.standing.standing import topics_at

FloatArray = NDArray[np.float64]

RECOMMENDED = "t"
ROPE = 0.01
"""The largest difference of means of no practical matter, for the probabilities."""
SKEWED = 0.02
"""Where the p of the t test and of Fisher's differ by more, the differences are skewed."""

DRAWS = 10_000_000
"""Topics times resamples that a comparison may take, so that many topics do not take seconds."""
FEWEST_RESAMPLES = 8_000
"""Enough for one pair: a p of .05 has a standard error of .0024. They are drawn as one block."""
FEWEST_FOR_INTERVAL = 2_000
"""Resamples for the ends of an interval, which are less fine than a small p."""


@dataclass(frozen=True, slots=True)
class TwoRuns:
    """The first run less the second, as the measure prints them; what is undefined is None.

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
    """How many topics would tell the two apart by the t test of this pair alone, with 80 % power; None where
    these do, or more would not help."""
    wins: int
    ties: int
    losses: int
    effects: Mapping[str, float | None]
    tests: Mapping[str, float | None]
    """Test -> p; None with one topic."""
    resamples: Mapping[str, int | None]
    """Test -> how many were drawn; None where nothing was left to chance."""
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
    """How often two runs on n topics are resampled: less often over 100 topics, as each takes longer.

    >>> [resamples_of(topics) for topics in (50, 250, 6980)]
    [100000, 40000, 8000]
    """
    return max(FEWEST_RESAMPLES, min(RESAMPLES, DRAWS // max(topics, 1)))


def facts(comparison: TwoRuns, rankings: RankingComparison | None, measure: str) -> dict[str, Any]:
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


IntArray = NDArray[np.int64]

TIE = 1e-9
"""A smaller difference on a topic is none."""


class EffectSizes(NamedTuple):
    """One value a pair, first run less second, each (pairs,)."""

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

    Differences are taken for normal and nothing is presumed of their mean and spread: then the mean is
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
    """The probability of more than a bound that lies so far below the observed mean, (pairs,)."""
    error = sd / np.sqrt(topics)
    t = np.copysign(np.inf, excess)
    t[excess == 0] = -np.inf
    np.divide(excess, error, out=t, where=error > 0)
    tail: FloatArray = stdtr(topics - 1, t)
    return tail
