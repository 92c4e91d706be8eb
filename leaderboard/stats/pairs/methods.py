"""The tests and corrections for comparing all pairs of runs, and their result.

A method is a test and a correction for there being many pairs, or one of Tukey's, which are both in one.
A table of pairs is always of one method.

The paired t test with a guard against skew: the larger of its p and that of Johnson's t.

Johnson, Modified t Tests and Confidence Intervals for Asymmetrical Populations, Journal of the American
Statistical Association 73(363), 1978, equation 2.1 with the mean under test 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.bootstrap import bootstrap
from leaderboard.stats.pairs.condensed import differences, pairs, square
from leaderboard.stats.pairs.corrections import LEVEL, benjamini_hochberg, bonferroni, holm
from leaderboard.stats.pairs.paired_t import PairedT, paired_t
from leaderboard.stats.pairs.randomisation import randomisation
from leaderboard.stats.pairs.randomised_tukey import randomised_tukey
from leaderboard.stats.pairs.sign import sign_test
from leaderboard.stats.pairs.signed_rank import Progress, signed_rank
from leaderboard.stats.pairs.tukey import tukey_hsd

FloatArray = NDArray[np.float64]


class GuardedT(NamedTuple):
    """One value per pair, each (pairs,)."""

    t: FloatArray
    """Johnson's: (m + m3 / (6 s^2 T) + m3 m^2 / (3 s^4)) sqrt(T) / s, of mean m, variance s^2 and m3."""
    p: FloatArray
    """The larger of the two tests', two-sided, from 0 to 1."""


def guarded_t(scores: FloatArray, t: PairedT) -> GuardedT:
    """The guarded test of all pairs of runs: scores (runs, topics), and their paired t.

    The third moment m3 is the mean of the cubed deviations. A difference that is the same on every topic has
    no skew: there the paired t is used, as with one topic.

    >>> from leaderboard.stats.pairs.paired_t import paired_t
    >>> scores = np.array([[0.5, 0.4, 0.6, 0.4, 0.35], [0.2, 0.2, 0.3, 0.1, 0.3]])
    >>> plain = paired_t(scores)
    >>> guarded = guarded_t(scores, plain)
    >>> plain.p.round(4).tolist(), guarded.t.round(4).tolist(), guarded.p.round(4).tolist()
    ([0.0093], [2.2255], [0.0901])
    """
    topics = scores.shape[1]
    third = np.empty_like(t.difference)
    for block, difference in differences(scores):
        difference -= t.difference[block, None]
        third[block] = (difference**3).mean(axis=1)
    varies = t.sd > 0
    mean, sd = t.difference[varies], t.sd[varies]
    skew = third[varies] * (1 / (6 * sd**2 * topics) + mean**2 / (3 * sd**4))
    johnson = t.t.copy()
    johnson[varies] = (mean + skew) * np.sqrt(topics) / sd
    p = t.p.copy()
    p[varies] = np.maximum(p[varies], 2 * special.stdtr(topics - 1, -np.abs(johnson[varies])))
    return GuardedT(johnson, p)


RESAMPLES = 100_000
"""Of a test that draws at random, unless the correction needs more."""
RESOLUTION = 20
"""Resamples, times pairs over the level, for Holm and Bonferroni: the expected number that is
as extreme as the smallest p they look for."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A test or a correction, as a reader needs to know it."""

    name: str
    title: str
    question: str
    """Question that its p answers, or its guarantee."""
    citation: str
    version: int = 1
    """Grows when the same scores give other numbers."""
    random: bool = False
    is_over_all_pairs: bool = False
    """Of a correction: whether it keeps the chance of any false finding among all pairs."""


TESTS: Mapping[str, Procedure] = {
    test.name: test
    for test in (
        Procedure(
            "t",
            "paired t",
            "Is the mean difference over topics like these different from 0?",
            "Student, The Probable Error of a Mean, Biometrika 6(1), 1908",
        ),
        Procedure(
            "guarded_t",
            "guarded paired t",
            "Is the mean difference different from 0, by the paired t and by Johnson's t, which allows "
            "for skew?",
            "Johnson, Modified t Tests and Confidence Intervals for Asymmetrical Populations, Journal of the "
            "American Statistical Association 73(363), 1978",
        ),
        Procedure(
            "wilcoxon",
            "Wilcoxon signed rank",
            "Are the differences centred on a value other than 0, weighted by rank?",
            "Wilcoxon, Individual Comparisons by Ranking Methods, Biometrics Bulletin 1(6), 1945",
        ),
        Procedure(
            "sign",
            "sign",
            "Does one run win on more topics than a coin toss would give?",
            "Dixon and Mood, The Statistical Sign Test, Journal of the American Statistical Association 41, "
            "1946",
        ),
        Procedure(
            "randomisation",
            "Fisher randomisation",
            "Would the means differ as much if the two scores of each topic were swapped at random?",
            "Fisher, The Design of Experiments, 1935",
            random=True,
        ),
        Procedure(
            "bootstrap",
            "bootstrap",
            "Would other topics like these shift the mean difference by as much as its distance from 0?",
            "Sakai, Evaluating Evaluation Metrics Based on the Bootstrap, SIGIR 2006",
            random=True,
        ),
    )
}

CORRECTIONS: Mapping[str, Procedure] = {
    correction.name: correction
    for correction in (
        Procedure(
            "holm",
            "Holm",
            "The chance of any false finding among all pairs is at most alpha, for any scores.",
            "Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of "
            "Statistics 6(2), 1979",
            is_over_all_pairs=True,
            version=2,
        ),
        Procedure(
            "bonferroni",
            "Bonferroni",
            "The chance of any false finding among all pairs is at most alpha, with each pair tested "
            "separately.",
            "Dunn, Multiple Comparisons among Means, Journal of the American Statistical Association 56, "
            "1961",
            is_over_all_pairs=True,
            version=2,
        ),
        Procedure(
            "bh",
            "Benjamini-Hochberg",
            "The expected share of false findings among all findings is at most alpha.",
            "Benjamini and Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical "
            "Society B 57(1), 1995",
            version=2,
        ),
        Procedure(
            "none",
            "uncorrected",
            "Each pair has a chance of alpha of a false finding, so many pairs give many false findings.",
            "",
            version=2,
        ),
        Procedure(
            "tukey",
            "Tukey HSD",
            "Is the difference larger than the largest expected if all runs were equal? Assumes equal "
            "variances of all differences.",
            "Carterette, Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval "
            "Experiments, ACM Transactions on Information Systems 30(1), 2012",
            is_over_all_pairs=True,
            version=2,
        ),
        Procedure(
            "randomised_tukey",
            "randomised Tukey HSD",
            "Is the difference larger than the largest found when each topic's scores are shuffled? "
            "Assumes equal variances of all runs' scores.",
            "Carterette, Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval "
            "Experiments, ACM Transactions on Information Systems 30(1), 2012",
            random=True,
            is_over_all_pairs=True,
            version=2,
        ),
    )
}

BOTH_IN_ONE = ("tukey", "randomised_tukey")
"""Corrections that are their own test."""


@dataclass(frozen=True)
class Method:
    """A test and a correction; the test is None where the correction is both in one."""

    test: Procedure | None
    correction: Procedure

    @cached_property
    def key(self) -> str:
        """Its name in addresses and stored settings, such as t+holm or tukey; method() takes it."""
        return "+".join(part.name for part in self._parts)

    @cached_property
    def title(self) -> str:
        """Its name in a sentence, such as paired t, Holm."""
        return ", ".join(part.title for part in self._parts)

    @property
    def version(self) -> str:
        """Changes when the same scores give other numbers."""
        return ".".join(str(part.version) for part in self._parts)

    @property
    def random(self) -> bool:
        """Whether it draws at random, by a seed."""
        return any(part.random for part in self._parts)

    @property
    def _parts(self) -> tuple[Procedure, ...]:
        return (self.correction,) if self.test is None else (self.test, self.correction)


METHODS: tuple[Method, ...] = (
    *(
        Method(test, correction)
        for test in TESTS.values()
        for correction in CORRECTIONS.values()
        if correction.name not in BOTH_IN_ONE
    ),
    *(Method(None, CORRECTIONS[name]) for name in BOTH_IN_ONE),
)
"""All there are."""


@dataclass(frozen=True, eq=False, slots=True)
class PairTable:
    """All pairs of runs compared by one method; arrays are (pairs,), in the order of pairs()."""

    method: Method
    runs: int
    difference: FloatArray
    """Of the means, first run less second."""
    low: FloatArray
    """The 95% interval of the difference by the paired t, of this pair alone."""
    high: FloatArray
    p: FloatArray
    """Of the test; where test and correction are one, the adjusted p."""
    single: FloatArray
    """Of this pair alone: p, or the paired t's where test and correction are one."""
    adjusted: FloatArray
    resamples: int | None
    """Number of resamples drawn; None where the result is exact."""
    reachable: bool
    """Whether any pair could have differed significantly, had one of its runs been better on every topic."""


class _Tested(NamedTuple):
    p: FloatArray
    smallest: FloatArray
    resamples: int | None = None


@cache
def method(name: str | tuple[str, str]) -> Method:
    """The method of a key, such as t+holm or tukey, or of the names of test and correction.

    Where the correction is test in one, the test is ignored. Raises ValueError, naming the choices, for an
    unknown method.

    >>> method("t+holm").title, method(("t", "tukey")).key
    ('paired t, Holm', 'tukey')
    """
    test, correction = name if isinstance(name, tuple) else name.rpartition("+")[::2]
    if correction in BOTH_IN_ONE:
        return Method(None, CORRECTIONS[correction])
    if test in TESTS and correction in CORRECTIONS:
        return Method(TESTS[test], CORRECTIONS[correction])
    corrections = ", ".join(name for name in CORRECTIONS if name not in BOTH_IN_ONE)
    raise ValueError(
        f"there is no method {'+'.join(name) if isinstance(name, tuple) else name}: choose "
        f"{' or '.join(BOTH_IN_ONE)}, or join a test ({', '.join(TESTS)}) and a correction ({corrections}) "
        "by a plus sign, such as t+holm"
    )


def resamples_needed(by: Method, pairs: int, level: float = LEVEL) -> int | None:
    """Number of resamples that a method draws for n pairs of runs; None where it draws none.

    Holm and Bonferroni need a p of level / pairs, which takes 20 pairs / level resamples.

    >>> resamples_needed(method("randomisation+holm"), 8256), resamples_needed(method("t+holm"), 8256)
    (6604800, None)
    """
    if not by.random:
        return None
    if by.correction.name in ("holm", "bonferroni"):
        return max(RESAMPLES, ceil(RESOLUTION * pairs / level))
    return RESAMPLES


def all_pairs(
    scores: FloatArray,
    method: Method,
    *,
    seed: int,
    resamples: int | None = None,
    level: float = LEVEL,
    progress: Progress | None = None,
) -> PairTable:
    """All pairs of runs compared by one method: scores (runs, topics), higher is better.

    seed and resamples matter where the method is random; without resamples it is what the correction
    needs at this level. progress is called with the share done. Raises ValueError where scores are not a
    table of numbers of at least one topic.

    >>> scores = np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5], [0.3, 0.5, 0.4, 0.2, 0.3]])
    >>> all_pairs(scores, METHODS[0], seed=1).adjusted.round(6)
    array([0.102328, 0.31987 , 0.54147 ])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if scores.ndim != 2 or not np.isfinite(scores).all():
        raise ValueError("runs are compared by a table with one score per run and topic, none missing")
    t = paired_t(scores)
    tell = progress or _tell_no_one
    if resamples is None:
        resamples = resamples_needed(method, len(t.p), level) or 0
    tested = _tested(scores, method, t, seed, resamples, tell)
    tell(1.0)
    correct = _CORRECT[method.correction.name]
    return PairTable(
        method=method,
        runs=len(scores),
        difference=t.difference,
        low=t.low,
        high=t.high,
        p=tested.p,
        single=t.p if method.test is None else tested.p,
        adjusted=correct(tested.p),
        resamples=tested.resamples,
        reachable=bool(len(t.p) == 0 or (correct(tested.smallest) < level).any()),
    )


def _tested(
    scores: FloatArray, method: Method, t: PairedT, seed: int, resamples: int, progress: Progress
) -> _Tested:
    """The p of every pair, and the smallest that this number of topics and resamples could have given it."""
    topics = scores.shape[1]
    match (method.test or method.correction).name:
        case "t":
            return _Tested(t.p, np.full_like(t.p, float(topics == 1)))
        case "guarded_t":
            return _Tested(guarded_t(scores, t).p, np.full_like(t.p, float(topics == 1)))
        case "wilcoxon":
            ranks = signed_rank(scores)
            return _Tested(ranks.p, ranks.smallest)
        case "sign":
            signs = sign_test(scores)
            return _Tested(signs.p, signs.smallest)
        case "randomisation":
            return _Tested(*randomisation(scores, seed=seed, resamples=resamples, progress=progress))
        case "bootstrap":
            return _Tested(*bootstrap(scores, seed=seed, resamples=resamples, progress=progress))
        case "tukey":
            return _Tested(tukey_hsd(scores).p, np.full_like(t.p, float(topics == 1)))
        case _:
            dealt = randomised_tukey(scores, seed=seed, resamples=resamples, progress=progress)
            return _Tested(dealt.p, dealt.smallest, dealt.resamples)


def _as_it_is(p: FloatArray) -> FloatArray:
    return p


def _tell_no_one(share: float) -> None:
    """A progress callback that does nothing."""


_CORRECT: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": benjamini_hochberg,
    **dict.fromkeys(("none", *BOTH_IN_ONE), _as_it_is),
}


def in_order(table: PairTable, order: Sequence[int]) -> PairTable:
    """The same comparison with the runs in this order, which names each by its place in the table once.

    A pair that comes the other way round changes the sign of its difference and the ends of its interval.
    Raises ValueError where some run is missing or named twice.

    >>> from leaderboard.stats.pairs.methods import all_pairs, method
    >>> scores = np.array([[0.5, 0.4, 0.7], [0.4, 0.4, 0.5], [0.3, 0.5, 0.4]])
    >>> in_order(all_pairs(scores, method("t+holm"), seed=1), [2, 0, 1]).difference.round(4)
    array([-0.1333, -0.0333,  0.1   ])
    """
    if sorted(order) != list(range(table.runs)):
        raise ValueError(f"{table.runs} runs cannot be put into the order {list(order)}")
    places = np.asarray(order, dtype=np.intp)
    first, second = (places[side] for side in pairs(table.runs))
    turned = first > second

    def same(values: FloatArray) -> FloatArray:
        return square(values, table.runs, mirrored=1)[first, second]

    low, high = same(table.low), same(table.high)
    return replace(
        table,
        difference=square(table.difference, table.runs, mirrored=-1)[first, second] + 0.0,
        low=np.where(turned, 0.0 - high, low),
        high=np.where(turned, 0.0 - low, high),
        p=same(table.p),
        single=same(table.single),
        adjusted=same(table.adjusted),
    )
