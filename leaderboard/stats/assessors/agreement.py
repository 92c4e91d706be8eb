"""How far assessors agree on the grades of the same documents.

Cohen, A Coefficient of Agreement for Nominal Scales, Educational and Psychological Measurement 20, 1960,
and Weighted Kappa, Psychological Bulletin 70, 1968; its standard error: Fleiss, Cohen and Everitt, Large
Sample Standard Errors of Kappa and Weighted Kappa, Psychological Bulletin 72, 1969. Fleiss, Measuring
Nominal Scale Agreement Among Many Raters, Psychological Bulletin 76, 1971. Krippendorff, Content Analysis,
2004, chapter 11. Overlap: Voorhees, Variations in Relevance Judgments and the Measurement of Retrieval
Effectiveness, Information Processing & Management 36, 2000.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from leaderboard.tables.record import Shown

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Weights = Literal["plain", "linear", "quadratic"]
"""How much two different grades count as agreeing: not at all, or the more the closer they are."""

Scale = Literal["nominal", "ordinal", "interval"]
"""Whether grades are names, an order, or numbers whose differences mean something."""

NOTHING_SHARED = "No document was judged by both."
NOTHING_DOUBLE = "No document was judged twice."
ONE_GRADE = "Only one grade was given: agreement by chance is certain, and nothing is left to measure."
NOTHING_RELEVANT = "No document was found relevant by any of them."


@dataclass(frozen=True, eq=False)
class Ratings:
    """Who gave which grade to what: one row an assessor, one column a document."""

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
    """How often one assessor's grade met the other's."""

    grades: tuple[int, ...]
    counts: IntArray
    """(grades, grades): rows are the first assessor's grades."""


class Kappa(NamedTuple):
    """Agreement beyond chance: at most 1, 0 by chance; None where it is undefined, with a sentence why."""

    value: Annotated[float | None, Shown("κ", key="kappa", digits=3)]
    observed: float | None
    """Agreement that was met, weighted, from 0 to 1."""
    expected: float | None
    """Agreement by chance alone."""
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
    """Documents with at least two grades; others say nothing of agreement."""
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


def confusion(one: IntArray, other: IntArray, grades: Sequence[int] = ()) -> Confusion:
    """The table of two assessors' grades of the same documents, (documents,) each.

    It has the grades that were given, and those of `grades`, ascending.

    >>> confusion(np.array([0, 1, 1]), np.array([0, 0, 1])).counts.tolist()
    [[1, 0], [1, 1]]
    """
    kinds = np.unique(np.concatenate([one, other, np.asarray(grades, dtype=np.int64)]))
    counts = np.zeros((kinds.size, kinds.size), dtype=np.int64)
    np.add.at(counts, (np.searchsorted(kinds, one), np.searchsorted(kinds, other)), 1)
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

    It needs the same number of grades for each: where numbers differ, that at least two which most
    documents have is taken, the larger of two equals. Assessors may differ from document to document.
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

    Its standard error is Gwet's, Computing Inter-Rater Reliability and Its Variance in the Presence of
    High Agreement, British Journal of Mathematical and Statistical Psychology 61, 2008: it holds whatever
    the agreement is; None for a single document.

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
    """How much two grades agree, 1 for the same, 0 for the farthest: (grades, grades)."""
    if weights == "plain" or grades.size < 2:
        return np.eye(grades.size)
    apart = np.abs(grades[:, None] - grades[None, :]) / (grades[-1] - grades[0])
    agreeing: FloatArray = 1 - (apart if weights == "linear" else apart**2)
    return agreeing


def _one_kind(counts: IntArray) -> bool:
    """Whether both assessors gave one and the same grade to everything."""
    return bool(np.count_nonzero(counts) == 1 and counts.trace() > 0)


def _interval(value: float, error: float, level: float) -> tuple[float, float]:
    reach = float(ndtri((1 + level) / 2)) * error
    return max(-1.0, value - reach), min(1.0, value + reach)


def _no_kappa(documents: int, assessors: int, why: str) -> Kappa:
    return Kappa(None, None, None, None, None, None, documents, assessors, why)


def _nominal(_: FloatArray, totals: FloatArray) -> FloatArray:
    return 1 - np.eye(totals.size)


def _ordinal(_: FloatArray, totals: FloatArray) -> FloatArray:
    # Grades lie as far apart as labels between them, each end counted half.
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
"""How far apart two grades are, squared, from the grades and how often each was given."""
