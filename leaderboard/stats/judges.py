"""Agreement of a judge with the order of runs of a reference, and the claims it supports.

Of each topic the coefficient over the runs within it: a table of judges by topics, treated like one of runs
by topics.

No two-sided interval: resampling topics adds noise to both boards, which lowers τ, so that percentile
intervals are too low and fail upwards. The lower end alone errs on the safe side (docs/judges.md).

The six counts are the active, mixed and passive agreements and disagreements of Moffat, Scholer and Thomas,
Models and Metrics: IR Evaluation as a User Process, ADCS 2012.

Of what assessors' agreement has (leaderboard.stats.assessors), and what holds one side for true:
precision, recall and F1 of the relevant documents, mean absolute error and bias.

Both boards are standardised within each topic, so that a judge that is lenient, or uses another scale, rates
no run higher for that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.assessors import Confusion, Ratings, alpha, cohen, confusion, overlap
from leaderboard.stats.orders import rank_correlation
from leaderboard.stats.orders.rank_correlation import pair_signs, pair_signs_alone, signs, taus
from leaderboard.stats.orders.rbo import rbo_within
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.corrections import LEVEL, holm
from leaderboard.stats.pairs.methods import Method, all_pairs
from leaderboard.stats.pairs.paired_t import ROUNDING, paired_t
from leaderboard.stats.reliability import half_width, split_half
from leaderboard.stats.standing import SignArray, decided, resampled_means
from leaderboard.tables.record import Shown

FloatArray = NDArray[np.float64]
P = 0.9
"""RBO's weight of a depth is this times that of the one above."""


@dataclass(frozen=True, slots=True)
class BoardAgreement:
    """Coefficients of two boards of the same runs, None where one is undefined.

    tau_b, tau_ap_b, rho and r from -1 to 1; rbo and accuracy from 0 to 1. r is Pearson's, of the means
    themselves: it is shown, and nothing is ranked by it. top_tau is tau_b among the best top runs of the
    reference, None if not requested.
    """

    runs: int
    tau_b: float | None
    tau_ap_b: float | None
    rho: float | None
    r: float | None
    rbo: float
    accuracy: float | None
    top: int
    top_tau: float | None


def board_agreement(
    reference: FloatArray, judge: FloatArray, names: Sequence[str], *, k: int = 0, cut_ties: bool = False
) -> BoardAgreement:
    """The agreement of the means by reference and judge, (runs,) each, of the runs of these names.

    RBO orders tied runs by name. k: the number of top runs compared separately, 0 for none;
    with those that tie with the last of them, or, where ties are cut, in the order given. Raises ValueError
    for fewer than two runs.

    >>> reference = np.array([0.8, 0.7, 0.6, 0.6, 0.3])
    >>> found = board_agreement(reference, np.array([0.9, 0.6, 0.75, 0.6, 0.2]), "ABCDE")
    >>> round(found.tau_b, 6), found.tau_ap_b, round(found.accuracy, 6), round(found.rbo, 6)
    (0.666667, 0.5, 0.833333, 0.890113)
    """
    if len(reference) < 2:
        raise ValueError("a board of fewer than two runs has no order")
    top = _top(reference, k, cut_ties) if k else np.zeros(0, dtype=np.intp)
    return BoardAgreement(
        runs=len(reference),
        tau_b=rank_correlation.tau_b(reference, judge),
        tau_ap_b=rank_correlation.tau_ap_b(reference, judge),
        rho=rank_correlation.rho(reference, judge),
        r=pearson(reference, judge),
        rbo=rbo_within(_order(reference, names), _order(judge, names), P),
        accuracy=float(value) if np.isfinite(value := accuracies(reference[None], judge[None])[0]) else None,
        top=len(top),
        top_tau=rank_correlation.tau_b(reference[top], judge[top]) if k else None,
    )


def pearson(first: FloatArray, second: FloatArray) -> float | None:
    """Pearson's correlation of two scorings; None where a scoring does not vary.

    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 6)
    0.5
    """
    if len(first) < 2 or not (np.ptp(first) and np.ptp(second)):
        return None
    return float(np.corrcoef(first, second)[0, 1])


def accuracies(reference: FloatArray, judge: FloatArray) -> FloatArray:
    """Of the pairs that the reference does not tie, the share that the judge orders alike, a tie half.

    reference, judge: (orders, runs); one share each, (orders,), NaN where the reference ties all runs.

    >>> accuracies(np.array([[3.0, 2.0, 1.0]]), np.array([[3.0, 3.0, 1.0]]))
    array([0.83333333])
    """
    true, judged = pair_signs(reference), pair_signs(judge)
    untied = np.count_nonzero(true, axis=1)
    right = (
        np.count_nonzero(true * judged > 0, axis=1)
        + np.count_nonzero((true != 0) & (judged == 0), axis=1) / 2
    )
    return np.where(untied > 0, right / np.maximum(untied, 1), np.nan)


def _order(means: FloatArray, names: Sequence[str]) -> list[str]:
    return [names[run] for run in sorted(range(len(names)), key=lambda run: (-means[run], names[run]))]


def _top(means: FloatArray, k: int, cut_ties: bool) -> NDArray[np.intp]:
    best = np.argsort(-means, kind="stable")[:k]
    return np.sort(best) if cut_ties else np.flatnonzero(means >= means[best[-1]])


Coefficient = Literal["tau_b", "accuracy"]
"""Pairwise accuracy counts a judge's ties as half right: for measures that tie many runs on a topic."""


def topic_agreement(reference: FloatArray, judge: FloatArray, by: Coefficient = "tau_b") -> FloatArray:
    """One coefficient a topic, (topics,): scores of the same runs and topics, (runs, topics) each.

    NaN where it is undefined: where the reference ties all runs, and τ also where the judge does.

    >>> reference, judge = np.array([[3.0, 1], [2, 1], [1, 1]]), np.array([[3.0, 3], [1, 2], [2, 1]])
    >>> topic_agreement(reference, judge)
    array([0.33333333,        nan])
    """
    if by == "accuracy":
        return accuracies(reference.T, judge.T)
    reference_signs, judge_signs = (pair_signs_alone(scores.T) for scores in (reference, judge))
    return np.where(
        reference_signs.any(axis=1) & judge_signs.any(axis=1), taus(reference_signs, judge_signs), np.nan
    )


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
    judge. The same seed always gives the same number.

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
    """τ_b of both boards over topics drawn with replacement, (resamples,): arguments as for at_least.

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
    """The median τ_b between halves of the reference's topics, scores (runs, topics); None with one topic.

    So well the reference agrees with itself on other topics. A judge shares the topics and their difficulty,
    so it may agree better: then it says more of these topics than of topics like these.

    >>> ceiling(np.array([[3.0, 6, 9, 12], [2, 5, 8, 11], [1, 4, 7, 10]]), seed=1)
    1.0
    """
    return split_half(reference, seed=seed).median if min(reference.shape) > 1 else None


@dataclass(frozen=True, slots=True)
class DecidedPairs:
    """Counts of pairs of runs, by the board that decides them and whether both agree.

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
    """Range of τ of the boards over infinitely many topics with at least 95 % confidence, from -1 to 1."""

    low: float
    high: float


def decided_pairs(reference: FloatArray, judge: FloatArray, method: Method, *, seed: int) -> DecidedPairs:
    """Decisions on the pairs of the same runs on both boards by the task's method.

    Scores (runs, topics), each over its own topics, of which one is enough; higher is better. seed matters
    where the method is random.
    """
    tables = [all_pairs(scores, method, seed=seed) for scores in (reference, judge)]
    first, second = pairs(len(reference))
    reference_decided, judge_decided = (decided(table)[first, second] for table in tables)
    peaks = (float(np.abs(scores).max(initial=0.0)) for scores in (reference, judge))
    ways = (signs(table.difference, peak) for table, peak in zip(tables, peaks, strict=True))
    return counts(reference_decided, judge_decided, *ways)


def counts(
    reference: SignArray, judge: SignArray, reference_means: SignArray, judge_means: SignArray
) -> DecidedPairs:
    """The counts from signs of the pairs, (pairs,): decided by reference and judge, then of their means.

    >>> decided, means = np.array([1, 1, 0, 0]), np.array([1, 1, 1, 1])
    >>> found = counts(decided, np.array([1, 0, -1, 0]), means, np.array([1, -1, -1, 1]))
    >>> found.both_same, found.one_opposite, found.none_same, found.recall, found.false_verdicts
    (1, 2, 1, 0.5, 0.5)
    """
    number = (reference != 0).astype(int) + (judge != 0)
    same = reference_means == judge_means
    return DecidedPairs(
        both_same=int(((number == 2) & (reference == judge)).sum()),
        both_opposite=int(((number == 2) & (reference != judge)).sum()),
        one_same=int(((number == 1) & same).sum()),
        one_opposite=int(((number == 1) & ~same).sum()),
        none_same=int(((number == 0) & same).sum()),
        none_opposite=int(((number == 0) & ~same).sum()),
        by_reference=int(np.count_nonzero(reference)),
        by_judge=int(np.count_nonzero(judge)),
        against=int(((reference == 0) & (judge * reference_means < 0)).sum()),
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
    reference_signs, judge_signs = (_by_holm(scores) for scores in (reference, judge))
    number = len(reference_signs)
    same, opposite = (
        int((reference_signs * judge_signs > 0).sum()),
        int((reference_signs * judge_signs < 0).sum()),
    )
    return GuaranteedRange(2 * same / number - 1, 1 - 2 * opposite / number)


def _by_holm(scores: FloatArray) -> SignArray:
    # Not by the verdicts of a board: the other half of the error is for the possibly best runs.
    tested = paired_t(scores)
    return np.where(holm(tested.p) < LEVEL, np.sign(tested.difference), 0).astype(np.int8)


IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """Agreement on what is relevant: from grade truth on by the reference, from grade judge on by the judge.

    None where a coefficient is undefined: jaccard where nothing is relevant, precision and recall where the
    judge or the reference finds nothing, kappa where both find all or nothing.
    """

    truth: Annotated[int, Shown("Relevant from grade", key="grade")]
    judge: Annotated[int, Shown("From label", key="label")]
    kappa: Annotated[float | None, Shown("κ")]
    jaccard: float | None
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True, slots=True, eq=False)
class LabelAgreement:
    """Agreement on grades, kappa, linear, quadratic and alpha at most 1; None where one is undefined.

    mae is the mean of |judge - reference|, bias that of judge - reference, in grades. Where the scales
    differ, all that counts distances between grades is undefined.
    """

    documents: int
    kappa: float | None
    linear: float | None
    quadratic: float | None
    alpha: float | None
    mae: float | None
    bias: float | None
    levels: tuple[LevelAgreement, ...]
    confusion: Confusion


def label_agreement(
    reference: IntArray, judge: IntArray, levels: Sequence[tuple[int, int]] = (), *, same_scale: bool = True
) -> LabelAgreement:
    """The agreement of the grades of the same documents, (documents,) each.

    levels: from which grade on a document is relevant, by reference and by judge; without any, each grade
    given above 0, the same for both.

    >>> found = label_agreement(np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2]))
    >>> round(found.kappa, 6), found.mae, found.bias, found.levels[0].jaccard
    (0.636364, 0.25, 0.25, 1.0)
    """
    table = confusion(reference, judge)
    chosen = levels or [(grade, grade) for grade in table.grades if grade > 0]
    apart = (judge - reference).astype(np.float64)
    is_measured = same_scale and len(apart) > 0
    return LabelAgreement(
        documents=len(reference),
        kappa=cohen(table).value,
        linear=cohen(table, "linear").value if same_scale else None,
        quadratic=cohen(table, "quadratic").value if same_scale else None,
        alpha=_alpha(reference, judge) if same_scale else None,
        mae=float(np.abs(apart).mean()) if is_measured else None,
        bias=float(apart.mean()) if is_measured else None,
        levels=tuple(level_agreement(reference, judge, *level) for level in chosen),
        confusion=table,
    )


def level_agreement(reference: IntArray, judge: IntArray, truth: int, level: int) -> LevelAgreement:
    """The agreement on what is relevant: reference >= truth against judge >= level.

    >>> found = level_agreement(np.array([0, 1, 2]), np.array([1, 1, 0]), 1, 1)
    >>> found.precision, found.recall, found.f1
    (0.5, 0.5, 0.5)
    """
    is_relevant, is_predicted = (reference >= truth).astype(np.int64), (judge >= level).astype(np.int64)
    both, predicted, relevant = (
        int((is_relevant & is_predicted).sum()),
        int(is_predicted.sum()),
        int(is_relevant.sum()),
    )
    return LevelAgreement(
        truth=truth,
        judge=level,
        kappa=cohen(confusion(is_relevant, is_predicted)).value,
        jaccard=overlap(is_relevant, is_predicted).value,
        precision=both / predicted if predicted else None,
        recall=both / relevant if relevant else None,
        f1=2 * both / (predicted + relevant) if predicted + relevant else None,
    )


def united(
    reference: Mapping[bytes, int], judge: Mapping[bytes, int], highest: int
) -> tuple[IntArray, IntArray]:
    """The grades of all documents of either, 0 where one has none, cut to 0 to highest, by docno.

    >>> united({b"a": 3, b"b": -1}, {b"c": 1}, 2)
    (array([2, 0, 0]), array([0, 0, 1]))
    """
    docnos = sorted({*reference, *judge})
    reference_grades, judge_grades = (
        np.array([grades.get(docno, 0) for docno in docnos], dtype=np.int64) for grades in (reference, judge)
    )
    return np.clip(reference_grades, 0, highest), np.clip(judge_grades, 0, highest)


def shared(reference: Mapping[bytes, int], judge: Mapping[bytes, int]) -> tuple[IntArray, IntArray]:
    """The grades of the documents that both judged, by docno.

    >>> shared({b"a": 3, b"b": 1}, {b"b": 2})
    (array([1]), array([2]))
    """
    docnos = sorted(reference.keys() & judge.keys())
    reference_grades, judge_grades = (
        np.array([grades[docno] for docno in docnos], dtype=np.int64) for grades in (reference, judge)
    )
    return reference_grades, judge_grades


def mean_of_topics(values: Sequence[float | None]) -> tuple[float | None, int]:
    """The mean over the topics on which a coefficient is defined, and how many those are.

    >>> mean_of_topics([0.5, None, 1.0]), mean_of_topics([None])
    ((0.75, 2), (None, 0))
    """
    defined = [value for value in values if value is not None]
    return (sum(defined) / len(defined) if defined else None), len(defined)


def _alpha(reference: IntArray, judge: IntArray) -> float | None:
    grades = np.vstack((reference, judge))
    documents = tuple(("", str(place)) for place in range(grades.shape[1]))
    return alpha(Ratings(("reference", "judge"), documents, grades, np.ones(grades.shape, dtype=bool))).value


@dataclass(frozen=True, slots=True)
class OverRating:
    """By how many standard deviations a group of runs is rated higher, with the ends of its t interval.

    low and high are None with a single topic.
    """

    mean: Annotated[float, Shown("Over-rated (sd)", key="over_rated")]
    low: Annotated[float | None, Shown("95% from")]
    high: Annotated[float | None, Shown("to")]
    topics: int


def over_rated(reference: FloatArray, judge: FloatArray) -> FloatArray:
    """Standardised scores by the judge less those by the reference, (runs, topics kept).

    Scores (runs, topics); standardised within a topic over the runs, mean 0 and population sd 1. A topic on
    which a side does not vary is left out. Each column sums to 0: it is relative to the other runs.

    >>> over_rated(np.array([[1.0, 1], [0, 1]]), np.array([[0.0, 1], [1, 0]]))
    array([[-2.],
           [ 2.]])
    """
    kept = np.ones(reference.shape[1], dtype=bool)
    for scores in (reference, judge):
        kept &= scores.std(axis=0) > ROUNDING * np.abs(scores).max(axis=0, initial=0.0)
    reference_scores, judge_scores = (_standard(scores[:, kept]) for scores in (reference, judge))
    return judge_scores - reference_scores


def group_over_rating(over: FloatArray, runs: Sequence[int]) -> OverRating | None:
    """The over-rating of a group: the mean over its runs by topic, then over topics; None without a topic.

    over: as over_rated gives it.

    >>> group_over_rating(np.array([[0.1, 0.3], [-0.1, -0.3]]), [0]).mean
    0.2
    """
    topics = over.shape[1]
    if not topics:
        return None
    by_topic = over[list(runs)].mean(axis=0)
    mean = float(by_topic.mean())
    if topics < 2:
        return OverRating(mean, None, None, topics)
    reach = half_width(float(by_topic.std(ddof=1)), topics)
    return OverRating(mean, mean - reach, mean + reach, topics)


def _standard(scores: FloatArray) -> FloatArray:
    standard: FloatArray = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    return standard
