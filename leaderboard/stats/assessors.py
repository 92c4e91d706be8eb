"""Agreement of assessors, settling of labels, judging times, votes.

Cohen, A Coefficient of Agreement for Nominal Scales, Educational and Psychological Measurement 20, 1960,
and Weighted Kappa, Psychological Bulletin 70, 1968; its standard error: Fleiss, Cohen and Everitt, Large
Sample Standard Errors of Kappa and Weighted Kappa, Psychological Bulletin 72, 1969. Fleiss, Measuring
Nominal Scale Agreement Among Many Raters, Psychological Bulletin 76, 1971. Krippendorff, Content Analysis,
2004, chapter 11. Overlap: Voorhees, Variations in Relevance Judgments and the Measurement of Retrieval
Effectiveness, Information Processing & Management 36, 2000.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Annotated, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.paired_t import PairedT, paired_t
from leaderboard.stats.pairs.sign import sign_test
from leaderboard.tables.record import Place, Shown

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Weights = Literal["plain", "linear", "quadratic"]
"""Weight of two different grades as agreement: none, or more the closer they are."""

Scale = Literal["nominal", "ordinal", "interval"]
"""Whether grades are names, an order, or numbers whose differences mean something."""

NOTHING_SHARED = "No document was judged by both."
NOTHING_DOUBLE = "No document was judged twice."
ONE_GRADE = "Only one grade was given: agreement by chance is certain, and nothing is left to measure."
NOTHING_RELEVANT = "No document was found relevant by any of them."


@dataclass(frozen=True, eq=False)
class Ratings:
    """The grades by assessor and document: one row per assessor, one column per document."""

    assessors: tuple[str, ...]
    documents: tuple[tuple[str, str], ...]
    """(topic, docno) of each column."""
    grades: IntArray
    """(assessors, documents); 0 where none was given."""
    given: BoolArray
    """(assessors, documents)."""


class Share(NamedTuple):
    """A part of a whole from 0 to 1; None where the whole is empty, with a sentence why."""

    value: Annotated[float | None, Shown(key="same", digits=3)]
    of: int
    """Documents it is a share of."""
    why: str = ""


class Confusion(NamedTuple):
    """Counts of one assessor's grades against the other's."""

    grades: tuple[int, ...]
    counts: IntArray
    """(grades, grades): rows are the first assessor's grades."""


class Kappa(NamedTuple):
    """Agreement beyond chance: at most 1, 0 by chance; None where it is undefined, with a sentence why."""

    value: Annotated[float | None, Shown("κ", key="kappa", digits=3)]
    observed: float | None
    """Agreement that was met, weighted, from 0 to 1."""
    expected: float | None
    """Agreement expected by chance."""
    error: float | None
    """Standard error of the value; None also where one document alone was judged."""
    low: Annotated[float | None, Shown("from", key="kappa_low", digits=3)]
    high: Annotated[float | None, Shown("to", key="kappa_high", digits=3)]
    """The interval of the value: normal, cut at -1 and 1."""
    documents: int
    assessors: int
    why: str = ""


class Alpha(NamedTuple):
    """Krippendorff's alpha: at most 1, 0 by chance; None where it is undefined, with a sentence why."""

    value: float | None
    documents: int
    """Documents with at least two grades; others say nothing about agreement."""
    grades: int
    """Grades given to them."""
    why: str = ""


def ratings(labels: Iterable[tuple[str, str, str, int]]) -> Ratings:
    """The current grades as a table, from (topic, docno, assessor, grade); the last of several counts.

    Assessors and documents are sorted.
    """
    grade_of = {(assessor, (topic, docno)): grade for topic, docno, assessor, grade in labels}
    assessors = sorted({assessor for assessor, _ in grade_of})
    documents = sorted({document for _, document in grade_of})
    row = {assessor: place for place, assessor in enumerate(assessors)}
    column = {document: place for place, document in enumerate(documents)}
    grades = np.zeros((len(assessors), len(documents)), dtype=np.int64)
    given = np.zeros(grades.shape, dtype=np.bool_)
    for (assessor, document), grade in grade_of.items():
        place = row[assessor], column[document]
        grades[place], given[place] = grade, True
    return Ratings(tuple(assessors), tuple(documents), grades, given)


def pair(table: Ratings, first: int, second: int) -> tuple[IntArray, IntArray]:
    """The grades of two assessors, by row, of the documents both judged."""
    both = table.given[first] & table.given[second]
    return table.grades[first, both], table.grades[second, both]


def confusion(first: IntArray, second: IntArray, grades: Sequence[int] = ()) -> Confusion:
    """The table of two assessors' grades of the same documents, (documents,) each.

    It has the grades that were given, and those of `grades`, ascending.

    >>> confusion(np.array([0, 1, 1]), np.array([0, 0, 1])).counts.tolist()
    [[1, 0], [1, 1]]
    """
    kinds = np.unique(np.concatenate([first, second, np.asarray(grades, dtype=np.int64)]))
    counts = np.zeros((kinds.size, kinds.size), dtype=np.int64)
    np.add.at(counts, (np.searchsorted(kinds, first), np.searchsorted(kinds, second)), 1)
    return Confusion(tuple(kinds.tolist()), counts)


def raw(table: Confusion) -> Share:
    """The share of documents that both gave the same grade."""
    of = int(table.counts.sum())
    if not of:
        return Share(None, 0, NOTHING_SHARED)
    return Share(int(np.trace(table.counts)) / of, of)


def overlap(first: IntArray, second: IntArray, level: int = 1) -> Share:
    """Documents both found relevant (a grade of at least level) of those either did.

    >>> overlap(np.array([2, 1, 0]), np.array([1, 0, 0])).value
    0.5
    """
    both = int(np.count_nonzero((first >= level) & (second >= level)))
    either = int(np.count_nonzero((first >= level) | (second >= level)))
    if not first.size:
        return Share(None, 0, NOTHING_SHARED)
    return Share(both / either, either) if either else Share(None, 0, NOTHING_RELEVANT)


def cohen(table: Confusion, weights: Weights = "plain", level: float = 0.95) -> Kappa:
    """Cohen's kappa of two assessors, with its large-sample standard error and interval.

    Grades count by their distance as numbers where they are weighted.

    >>> round(cohen(Confusion((0, 1), np.array([[300, 20], [10, 70]]))).value, 6)
    0.776119
    """
    count = int(table.counts.sum())
    if not count:
        return _no_kappa(0, 2, NOTHING_SHARED)
    share = table.counts / count
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    agreeing = _agreeing(np.array(table.grades, dtype=np.float64), weights)
    observed, expected = float((share * agreeing).sum()), float(rows @ agreeing @ columns)
    if _one_kind(table.counts):
        return _no_kappa(count, 2, ONE_GRADE)
    value = (observed - expected) / (1 - expected)
    # Fleiss, Cohen and Everitt (1969), formula 13: what each cell says, less what its margins say.
    margins = (agreeing @ columns)[:, None] + (rows @ agreeing)[None, :]
    spread = float((share * (agreeing - margins * (1 - value)) ** 2).sum())
    variance = (spread - (value - expected * (1 - value)) ** 2) / (count * (1 - expected) ** 2)
    error = math.sqrt(max(0.0, variance))
    return Kappa(value, observed, expected, error, *_interval(value, error, level), count, 2)


def fleiss(table: Ratings, level: float = 0.95) -> Kappa:
    """Fleiss' kappa of many assessors, of the documents that as many of them judged as most others.

    It needs the same number of grades for each: where numbers differ, the most common one of at least two is
    used, the larger of two equals. Assessors may differ from document to document.
    """
    number = table.given.sum(axis=0)
    several = number[number > 1]
    if not several.size:
        return _no_kappa(0, 0, NOTHING_DOUBLE)
    sizes, documents = np.unique(several, return_counts=True)
    assessors = int(sizes[documents.size - 1 - int(np.argmax(documents[::-1]))])
    chosen = number == assessors
    _, counts = _by_grade(table.grades[:, chosen], table.given[:, chosen])
    return fleiss_of_counts(counts, level)


def fleiss_of_counts(counts: IntArray, level: float = 0.95) -> Kappa:
    """Fleiss' kappa from how many assessors gave each grade: (documents, grades), equal sums of 2 or more.

    Its standard error is Gwet's, Computing Inter-Rater Reliability and Its Variance in the Presence of High
    Agreement, British Journal of Mathematical and Statistical Psychology 61, 2008: it holds for any
    agreement; None for a single document.

    >>> counts = np.array([[3, 0], [2, 1], [0, 3], [1, 2], [3, 0]])
    >>> round(fleiss_of_counts(counts).value, 6)
    0.444444
    """
    documents, assessors = len(counts), int(counts[0].sum())
    share = counts.sum(axis=0) / counts.sum()
    if np.count_nonzero(share) < 2:
        return _no_kappa(documents, assessors, ONE_GRADE)
    alone = (counts * (counts - 1)).sum(axis=1) / (assessors * (assessors - 1))
    observed, expected = float(alone.mean()), float(share @ share)
    value = (observed - expected) / (1 - expected)
    # What each document says of the value, the grades' shares being estimated too.
    by_chance = counts @ share / assessors
    influence = (alone - expected - 2 * (1 - value) * (by_chance - expected)) / (1 - expected)
    if documents < 2:
        return Kappa(value, observed, expected, None, None, None, documents, assessors)
    error = math.sqrt(float(((influence - value) ** 2).sum()) / (documents * (documents - 1)))
    return Kappa(value, observed, expected, error, *_interval(value, error, level), documents, assessors)


def alpha(table: Ratings, scale: Scale = "ordinal") -> Alpha:
    """Krippendorff's alpha of any number of assessors; documents may lack grades.

    >>> labels = [("1", "a", "x", 0), ("1", "a", "y", 0), ("1", "b", "x", 1), ("1", "b", "y", 2)]
    >>> round(alpha(ratings(labels), "interval").value, 6)
    0.727273
    """
    kinds, counts = _by_grade(table.grades, table.given)
    counts = counts[counts.sum(axis=1) > 1]
    documents, number = len(counts), int(counts.sum())
    if not documents:
        return Alpha(None, 0, 0, NOTHING_DOUBLE)
    weighted = counts / (counts.sum(axis=1, keepdims=True) - 1)
    together = weighted.T @ counts - np.diag(weighted.sum(axis=0))
    totals = counts.sum(axis=0).astype(np.float64)
    apart = _DISTANCES[scale](kinds.astype(np.float64), totals)
    by_chance = float(totals @ apart @ totals)
    if np.count_nonzero(totals) < 2:
        return Alpha(None, documents, number, ONE_GRADE)
    return Alpha(1 - (number - 1) * float((together * apart).sum()) / by_chance, documents, number)


def _by_grade(grades: IntArray, given: BoolArray) -> tuple[IntArray, IntArray]:
    """The grades given, ascending, and how often each document got each: (documents, grades)."""
    kinds = np.unique(grades[given])
    counts = [((grades == kind) & given).sum(axis=0) for kind in kinds]
    return kinds, np.array(counts, dtype=np.int64).reshape(kinds.size, grades.shape[1]).T


def _agreeing(grades: FloatArray, weights: Weights) -> FloatArray:
    """Agreement of two grades, 1 for the same, 0 for the farthest: (grades, grades)."""
    if weights == "plain" or grades.size < 2:
        return np.eye(grades.size)
    apart = np.abs(grades[:, None] - grades[None, :]) / (grades[-1] - grades[0])
    agreeing: FloatArray = 1 - (apart if weights == "linear" else apart**2)
    return agreeing


def _one_kind(counts: IntArray) -> bool:
    """Whether both assessors gave one and the same grade to everything."""
    return bool(np.count_nonzero(counts) == 1 and counts.trace() > 0)


def _interval(value: float, error: float, level: float) -> tuple[float, float]:
    reach = float(special.ndtri((1 + level) / 2)) * error
    return max(-1.0, value - reach), min(1.0, value + reach)


def _no_kappa(documents: int, assessors: int, why: str) -> Kappa:
    return Kappa(None, None, None, None, None, None, documents, assessors, why)


def _nominal(_: FloatArray, totals: FloatArray) -> FloatArray:
    return 1 - np.eye(totals.size)


def _ordinal(_: FloatArray, totals: FloatArray) -> FloatArray:
    # The distance of grades is the number of labels between them, each end counted half.
    middle = np.cumsum(totals) - totals / 2
    apart: FloatArray = (middle[:, None] - middle[None, :]) ** 2
    return apart


def _interval_distance(grades: FloatArray, _: FloatArray) -> FloatArray:
    apart: FloatArray = (grades[:, None] - grades[None, :]) ** 2
    return apart


_DISTANCES: dict[Scale, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval_distance,
}
"""Squared distance of two grades, from the grades and their frequencies."""


AWAY_S = 300.0
"""A document that was open for longer than this was left alone: its time says nothing."""
TRIMMED = 0.9
"""Share of the times, the middle ones, used for the trimmed mean."""


@dataclass(frozen=True, slots=True)
class JudgingTimes:
    """Seconds per judgment of one assessor; None where no time is known."""

    judgments: int
    """That a time is known of and counts."""
    away: Annotated[int, Shown("Pauses")]
    """That are left out because the assessor was away."""
    median: Annotated[float | None, Shown("Median", key="median_seconds", digits=1, unit="s")]
    trimmed_mean: Annotated[
        float | None, Shown("Trimmed mean", key="trimmed_mean_seconds", digits=1, unit="s")
    ]
    """Mean of the middle nine tenths."""
    total: float
    """Working time in seconds."""

    @property
    def an_hour(self) -> Annotated[float | None, Shown(digits=0)]:
        """Judgments per working hour."""
        return 3600 * self.judgments / self.total if self.total > 0 else None


def judging_times(seconds: Collection[float]) -> JudgingTimes:
    """Statistics of the seconds of one assessor's judgments, each at least 0.

    Times over five minutes are left out. The trimmed mean leaves out a twentieth, rounded down, of the
    others at each end.

    >>> judging_times([2.0, 4.0, 9.0, 4000.0]).median, judging_times([2.0, 4.0, 9.0, 4000.0]).away
    (4.0, 1)
    """
    kept = np.sort([second for second in seconds if second <= AWAY_S])
    away = len(seconds) - kept.size
    if not kept.size:
        return JudgingTimes(0, away, None, None, 0.0)
    cut = int(kept.size * (1 - TRIMMED) / 2 + 1e-9)
    middle = kept[cut : kept.size - cut]
    return JudgingTimes(kept.size, away, float(np.median(kept)), float(middle.mean()), float(kept.sum()))


RuleKey = Literal["single", "majority", "last", "mean", "max", "adjudicated"]
Ties = Literal["lower", "higher", "open"]
"""Majority of grades with equal counts: the lower, the higher, or none yet."""


class Label(Protocol):
    """One event: an assessor's grade of one document."""

    @property
    def topic_id(self) -> str:
        """The topic."""

    @property
    def docno(self) -> str:
        """The document."""

    @property
    def assessor(self) -> str:
        """The assessor."""

    @property
    def grade(self) -> int | None:
        """None where the document was skipped."""

    @property
    def saved_at(self) -> datetime:
        """Of equal moments the later in the log is the later."""


AnyLabel = TypeVar("AnyLabel", bound=Label)


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to settle on one grade."""

    key: RuleKey
    title: str
    question: str
    """Its treatment of documents that several assessors judged."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The outcome of a rule, by (topic, docno), sorted."""

    grades: dict[tuple[str, str], int]
    open: tuple[tuple[str, str], ...]
    """Judged documents that the rule leaves without a grade: an adjudicator must decide."""
    disagreed: tuple[tuple[str, str], ...]
    """Documents whose assessors, adjudicators apart, gave different grades, settled or not."""
    skipped: tuple[tuple[str, str], ...]
    """Documents shown to assessors but not graded by any."""


RULES: dict[RuleKey, Rule] = {
    rule.key: rule
    for rule in (
        Rule("single", "first assessor", "The label of the first assessor; the others only show agreement."),
        Rule("majority", "majority", "The most frequent grade; the lower one in a tie."),
        Rule("last", "last label", "The most recent label by any assessor."),
        Rule("mean", "mean, rounded", "The mean of all labels, rounded to the nearest grade, halves up."),
        Rule("max", "highest", "The highest grade given by any assessor."),
        Rule(
            "adjudicated",
            "adjudicated",
            "The adjudicator's grade; without one, the grade all assessors agree on, otherwise none yet.",
        ),
    )
}


def in_force(events: Iterable[AnyLabel]) -> list[AnyLabel]:
    """The last label of each assessor of each document, oldest first; none where that was a skip.

    Of labels that were undone the caller has left out the events.
    """
    last = {(label.topic_id, label.docno, label.assessor): label for label in _by_time(events)}
    return _by_time(label for label in last.values() if label.grade is not None)


def settle(
    events: Iterable[Label], rule: RuleKey, *, adjudicators: Collection[str] = (), ties: Ties = "lower"
) -> Settled:
    """One grade a document by a rule of RULES.

    adjudicators: assessors whose label decides where the rule is adjudicated; by the other rules they
    count like all others. ties is for majority alone. A document whose only assessor skipped it has
    no grade and is not open. mean rounds halves up: 0 and 1 make 1.
    """
    log = _by_time(events)
    began: dict[tuple[str, str, str], int] = {}
    for place, label in enumerate(log):
        if label.grade is not None:
            began.setdefault((label.topic_id, label.docno, label.assessor), place)
    labels: dict[tuple[str, str], list[tuple[str, int]]] = {}
    in_order = in_force(log)
    if rule == "single":
        in_order.sort(key=lambda label: began[label.topic_id, label.docno, label.assessor])
    for label in in_order:
        if label.grade is not None:
            labels.setdefault((label.topic_id, label.docno), []).append((label.assessor, label.grade))
    grades: dict[tuple[str, str], int] = {}
    still_open, disagreed = [], []
    for document, given in sorted(labels.items()):
        if len({grade for assessor, grade in given if assessor not in adjudicators}) > 1:
            disagreed.append(document)
        grade = _settled(rule, given, adjudicators, ties)
        if grade is None:
            still_open.append(document)
        else:
            grades[document] = grade
    skipped = {(label.topic_id, label.docno) for label in log} - labels.keys()
    return Settled(grades, tuple(still_open), tuple(disagreed), tuple(sorted(skipped)))


def _by_time(events: Iterable[AnyLabel]) -> list[AnyLabel]:
    return sorted(events, key=lambda label: label.saved_at)


def _settled(
    rule: RuleKey, given: Sequence[tuple[str, int]], adjudicators: Collection[str], ties: Ties
) -> int | None:
    """The grade of labels (assessor, grade), the oldest first."""
    if rule == "adjudicated":
        decided = [grade for assessor, grade in given if assessor in adjudicators]
        return decided[-1] if decided else _agreed([grade for _, grade in given])
    labels = [grade for _, grade in given]
    return majority_grade(labels, ties) if rule == "majority" else _SIMPLE[rule](labels)


def majority_grade(grades: Sequence[int], ties: Ties = "lower") -> int | None:
    """The grade given most often; None for a tie that stays open.

    >>> majority_grade([0, 2, 2]), majority_grade([0, 2])
    (2, 0)
    >>> majority_grade([0, 2], "higher"), majority_grade([0, 2], "open")
    (2, None)
    """
    counts = Counter(grades)
    most = max(counts.values())
    best = sorted(grade for grade, count in counts.items() if count == most)
    if len(best) > 1 and ties == "open":
        return None
    return best[-1] if ties == "higher" else best[0]


def rounded_mean(grades: Sequence[int]) -> int:
    """The mean as a whole number, halves up.

    >>> rounded_mean([0, 1]), rounded_mean([0, 0, 1]), rounded_mean([0, 3])
    (1, 0, 2)
    """
    return (2 * sum(grades) + len(grades)) // (2 * len(grades))


def _agreed(grades: Sequence[int]) -> int | None:
    return grades[0] if len(set(grades)) == 1 else None


_SIMPLE: dict[str, Callable[[Sequence[int]], int]] = {
    "single": lambda grades: grades[0],
    "last": lambda grades: grades[-1],
    "mean": rounded_mean,
    "max": max,
}
"""Rules that need only the grades, the oldest first."""


LEAST, SIDE_BY_SIDE_MOST = 0, 4
"""Ends of the scale of satisfaction."""
_DIFFERENCE, _FIRST, _SECOND = range(3)
"""Places of the pairs of three rows: first and second, first and nothing, second and nothing."""


class Votes(NamedTuple):
    """Counts of preferences for the first, for neither, and for the second."""

    wins: Annotated[int, Shown("Wins", key="topics_first")]
    ties: Annotated[int, Shown("Ties", key="topics_equal")]
    losses: Annotated[int, Shown("Losses", key="topics_second")]
    p: float
    """Of the exact sign test, two-sided; ties are left out, and 1 if there are only ties."""


class Mean(NamedTuple):
    """A mean with its 95% interval, whose ends are None for a single topic, which has no spread."""

    value: Annotated[float, Shown(key="mean", digits=2)]
    low: Annotated[float | None, Shown("95% interval", key="interval", digits=2, shown=Place.PAGE)]
    high: Annotated[float | None, Shown("To", digits=2, shown=~Place.PAGE)]


class Satisfaction(NamedTuple):
    """Means over topics of two rankings, and of the difference, first less second."""

    first: Mean
    second: Mean
    difference: Mean


def votes(signs: Sequence[int]) -> Votes:
    """Votes of 1 for the first, -1 for the second and 0 for neither, with the sign test.

    Dixon and Mood, The Statistical Sign Test, Journal of the American Statistical Association 41, 1946.

    >>> result = votes([1, 1, 1, 0, -1, 1])
    >>> result.wins, result.ties, result.losses, round(result.p, 6)
    (4, 1, 1, 0.375)
    """
    if not signs:
        return Votes(0, 0, 0, 1.0)
    sign = sign_test(np.array([signs, [0] * len(signs)], dtype=np.float64))
    wins, losses = int(sign.wins[0]), int(sign.losses[0])
    return Votes(wins, len(signs) - wins - losses, losses, float(sign.p[0]))


def majority_sign(signs: Sequence[int]) -> int:
    """The majority vote of one topic: 1, -1, or 0 for a tie.

    >>> majority_sign([1, 0, 1]), majority_sign([1, -1]), majority_sign([0, 0, -1])
    (1, 0, -1)
    """
    total = sum(signs)
    return (total > 0) - (total < 0)


def satisfaction(first: Sequence[float], second: Sequence[float]) -> Satisfaction:
    """Means over topics with t intervals: first and second have one value, from 0 to 4, a topic.

    The interval of either mean is cut at the ends of the scale. Raises ValueError without a topic.

    >>> satisfaction([3, 4, 2], [1, 2, 3]).difference.value
    1.0
    """
    first_values, second_values = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    t = paired_t(np.stack([first_values, second_values, np.zeros_like(first_values)]))
    difference, *alone = (_mean(t, pair) for pair in (_DIFFERENCE, _FIRST, _SECOND))
    return Satisfaction(_cut(alone[0]), _cut(alone[1]), difference)


def _mean(t: PairedT, pair: int) -> Mean:
    value, low, high = (float(values[pair]) for values in (t.difference, t.low, t.high))
    return Mean(value, low, high) if isfinite(low) else Mean(value, None, None)


def _cut(mean: Mean) -> Mean:
    if mean.low is None or mean.high is None:
        return mean
    return Mean(mean.value, max(mean.low, float(LEAST)), min(mean.high, float(SIDE_BY_SIDE_MOST)))
