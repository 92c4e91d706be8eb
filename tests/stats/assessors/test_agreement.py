"""Agreement of assessors: worked numbers, and three other programs where they are installed."""

import math
from itertools import product

import numpy as np
import pytest

from leaderboard.stats import assessors as assessors_stats
from leaderboard.stats.assessors import Confusion, Ratings, alpha, cohen, confusion, fleiss, ratings

ONE = np.array([int(grade) for grade in "2100210100"])
OTHER = np.array([int(grade) for grade in "2000110201"])


def table(*rows: str) -> Ratings:
    """Ratings of assessors whose grades stand one after the other, `-` for none."""
    return ratings(
        ("1", f"d{place:02}", f"assessor {number}", int(letter))
        for number, row in enumerate(rows)
        for place, letter in enumerate(row)
        if letter != "-"
    )


def generated(assessors: int, documents: int, grades: int, gaps: float) -> Ratings:
    """Assessors who often follow one truth, with gaps."""
    chance = np.random.default_rng(7)
    truth = chance.integers(0, grades, documents)
    own = chance.integers(0, grades, (assessors, documents))
    labels = np.where(chance.random((assessors, documents)) < 0.6, truth, own)
    given = chance.random((assessors, documents)) >= gaps
    names = tuple(str(number) for number in range(assessors))
    columns = tuple(("1", str(number)) for number in range(documents))
    return Ratings(names, columns, np.where(given, labels, 0), given)


def test_kappa_of_two_who_judged_four_hundred() -> None:
    """Both relevant 300, only the first 20, only the second 10, neither 70."""
    counts = Confusion((0, 1), np.array([[70, 10], [20, 300]]))
    kappa = cohen(counts)
    assert assessors_stats.raw(counts) == (0.925, 400, "")
    assert kappa.observed == pytest.approx(0.925)
    assert kappa.expected == pytest.approx(0.665)
    assert kappa.value == pytest.approx(0.776119, abs=5e-7)


@pytest.mark.parametrize(
    ("weights", "expected"), [("plain", 0.354839), ("linear", 0.512195), ("quadratic", 0.672131)]
)
def test_kappa_of_three_grades(weights: assessors_stats.Weights, expected: float) -> None:
    """Ten documents, grades 0 to 2, differences weighted in three ways."""
    assert cohen(confusion(ONE, OTHER), weights).value == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("scale", "expected"), [("nominal", 0.387097), ("ordinal", 0.698036), ("interval", 0.688525)]
)
def test_alpha_of_three_grades(scale: assessors_stats.Scale, expected: float) -> None:
    """The same ten documents on three scales."""
    coefficient = alpha(table("2100210100", "2000110201"), scale)
    assert coefficient.value == pytest.approx(expected, abs=5e-7)
    assert (coefficient.documents, coefficient.grades) == (10, 20)


def test_overlap() -> None:
    """Four documents both found relevant, six that either did; two at grade 2, of which one is shared."""
    assert assessors_stats.overlap(ONE, OTHER).value == pytest.approx(2 / 3)
    assert assessors_stats.overlap(ONE, OTHER).of == 6
    assert assessors_stats.overlap(ONE, OTHER, 2).value == pytest.approx(1 / 3)
    assert assessors_stats.overlap(ONE, OTHER, 3) == (None, 0, assessors_stats.NOTHING_RELEVANT)


def test_fleiss() -> None:
    """Five documents, three assessors, two grades."""
    kappa = fleiss(table("00110", "00100", "01110"))
    assert kappa.value == pytest.approx(0.444444, abs=5e-7)
    assert (kappa.documents, kappa.assessors) == (5, 3)


def test_the_standard_error_of_fleiss_is_near_the_jackknife() -> None:
    """Leaving out each of two hundred documents in turn spreads the value nearly as much."""
    made = generated(4, 200, 3, 0.0)
    kappa = fleiss(made)
    kept = np.arange(200)
    _, names, grades, given = vars(made).values()
    values = []
    for left_out in kept:
        part = kept != left_out
        values.append(fleiss(Ratings(made.assessors, names[:-1], grades[:, part], given[:, part])).value)
    spread = np.var(np.array(values)) * 199
    assert kappa.error == pytest.approx(math.sqrt(spread), rel=0.01)
    assert kappa.low == pytest.approx(kappa.value - 1.959964 * kappa.error, abs=1e-6)


def test_one_document_has_no_standard_error() -> None:
    """Three labels of one document: a value, and nothing to say how far it may be off."""
    kappa = assessors_stats.fleiss_of_counts(np.array([[2, 1]]))
    assert kappa.value == pytest.approx(-0.5)
    assert (kappa.error, kappa.low, kappa.high, kappa.why) == (None, None, None, "")


def test_alpha_with_gaps() -> None:
    """Three assessors, each of whom missed something or nothing."""
    assert alpha(table("11-001", "100011", "-10001"), "nominal").value == pytest.approx(0.53125)


def test_fleiss_takes_the_documents_most_assessors_agree_in_number_on() -> None:
    """Three documents with two grades each, one with three, one with one: the three are used."""
    kappa = fleiss(table("0101-", "0111-", "---01"))
    assert (kappa.documents, kappa.assessors) == (3, 2)
    assert kappa.observed == pytest.approx(2 / 3)


def test_the_standard_error_by_hand() -> None:
    """Two grades given 50 times each, agreed on in 80 cases of 100: kappa 0.6, error 0.08."""
    kappa = cohen(Confusion((0, 1), np.array([[40, 10], [10, 40]])))
    assert kappa.value == pytest.approx(0.6)
    # With even margins the formula comes to sqrt(po (1 - po) / (n (1 - pe)^2)).
    assert kappa.error == pytest.approx(math.sqrt(0.8 * 0.2 / (100 * 0.25)))
    assert (kappa.low, kappa.high) == (pytest.approx(0.6 - 1.959964 * 0.08), pytest.approx(0.756797))


def test_the_interval_stays_within_what_kappa_can_be() -> None:
    """Three documents of four: the normal interval would pass 1."""
    kappa = cohen(confusion(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])))
    assert kappa.high == 1.0


@pytest.mark.parametrize("weights", ["plain", "linear", "quadratic"])
def test_what_cannot_be_said_is_none_with_a_sentence(weights: assessors_stats.Weights) -> None:
    """Nothing shared, or one grade only, has no kappa; total disagreement has one."""
    none = np.array([], dtype=np.int64)
    assert cohen(confusion(none, none), weights)[-1] == assessors_stats.NOTHING_SHARED
    assert assessors_stats.raw(confusion(none, none)) == (None, 0, assessors_stats.NOTHING_SHARED)
    assert assessors_stats.overlap(none, none) == (None, 0, assessors_stats.NOTHING_SHARED)
    same = cohen(confusion(np.array([1, 1]), np.array([1, 1]), (0, 1, 2)), weights)
    assert (same.value, same.error, same.documents, same.why) == (None, None, 2, assessors_stats.ONE_GRADE)
    assert cohen(confusion(np.array([0, 0]), np.array([1, 1])), weights).value == 0.0


def test_alpha_and_fleiss_say_why_they_are_undefined() -> None:
    """One label a document, or one grade for all."""
    assert alpha(table("01-", "--1")) == (None, 0, 0, assessors_stats.NOTHING_DOUBLE)
    assert fleiss(table("01-", "--1")).why == assessors_stats.NOTHING_DOUBLE
    assert alpha(table("11", "11")) == (None, 2, 4, assessors_stats.ONE_GRADE)
    assert fleiss(table("11", "11")).why == assessors_stats.ONE_GRADE
    assert alpha(ratings([])).why == assessors_stats.NOTHING_DOUBLE


def test_ratings_keep_the_last_label_and_pairs_what_both_judged() -> None:
    """A label that comes again replaces the first; a pair has the documents of both."""
    rated = ratings([("2", "b", "x", 1), ("1", "a", "x", 0), ("1", "a", "x", 2), ("1", "a", "y", 1)])
    assert rated.assessors == ("x", "y")
    assert rated.documents == (("1", "a"), ("2", "b"))
    one, other = assessors_stats.pair(rated, 0, 1)
    assert (one.tolist(), other.tolist()) == ([2], [1])


def test_grades_of_a_scale_show_in_the_table_although_no_one_gave_them() -> None:
    """Grade 3 of the task has a row and a column of zeros."""
    counted = confusion(np.array([0]), np.array([1]), (0, 1, 2, 3))
    assert counted.grades == (0, 1, 2, 3)
    assert counted.counts.sum() == counted.counts[0, 1] == 1


@pytest.mark.parametrize(("documents", "grades"), [(30, 2), (200, 4)])
def test_cohen_agrees_with_statsmodels(documents: int, grades: int) -> None:
    """Value, standard error and interval of the three weightings."""
    oracle = pytest.importorskip("statsmodels.stats.inter_rater")
    made = generated(2, documents, grades, 0.0)
    counts = confusion(*assessors_stats.pair(made, 0, 1), range(grades))
    for weights, name in (("plain", None), ("linear", "linear"), ("quadratic", "quadratic")):
        expected = oracle.cohens_kappa(counts.counts, wt=name)
        kappa = cohen(counts, weights)  # type: ignore[arg-type]
        assert kappa.value == pytest.approx(expected.kappa, rel=1e-12)
        assert kappa.error == pytest.approx(expected.std_kappa, rel=1e-9)
        assert kappa.low == pytest.approx(expected.kappa_low, rel=1e-9)


def test_fleiss_agrees_with_statsmodels() -> None:
    """Five assessors, sixty documents, four grades."""
    oracle = pytest.importorskip("statsmodels.stats.inter_rater")
    made = generated(5, 60, 4, 0.0)
    expected = oracle.fleiss_kappa(oracle.aggregate_raters(made.grades.T)[0])
    assert fleiss(made).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_agrees_with_its_definition(scale: assessors_stats.Scale) -> None:
    """Observed and expected disagreement summed pair by pair over all labels."""
    made = generated(4, 25, 3, 0.3)
    expected = alpha_by_pairs(made, scale)
    assert alpha(made, scale).value == pytest.approx(expected, rel=1e-12)


def alpha_by_pairs(made: Ratings, scale: assessors_stats.Scale) -> float:
    """Krippendorff's alpha without a coincidence table."""
    units = [made.grades[given, place].tolist() for place, given in enumerate(made.given.T)]
    units = [unit for unit in units if len(unit) > 1]
    labels = [grade for unit in units for grade in unit]

    def apart(one: int, other: int) -> float:
        if scale == "nominal":
            return float(one != other)
        if scale == "interval":
            return float((one - other) ** 2)
        low, high = sorted((one, other))
        between = sum(low <= label <= high for label in labels)
        return float((between - (labels.count(low) + labels.count(high)) / 2) ** 2)

    met = sum(
        apart(one, other) / (len(unit) - 1) for unit in units for one, other in product(unit, repeat=2)
    ) / len(labels)
    chance = sum(apart(one, other) for one, other in product(labels, repeat=2))
    return 1 - met / (chance / (len(labels) * (len(labels) - 1)))


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_agrees_with_krippendorff(scale: assessors_stats.Scale) -> None:
    """The package of that name, gaps and all."""
    oracle = pytest.importorskip("krippendorff")
    made = generated(4, 60, 4, 0.3)
    data = np.where(made.given, made.grades.astype(float), np.nan)
    expected = oracle.alpha(reliability_data=data, level_of_measurement=scale)
    assert alpha(made, scale).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weights", ["plain", "linear", "quadratic"])
def test_cohen_agrees_with_scikit_learn(weights: assessors_stats.Weights) -> None:
    """cohen_kappa_score."""
    oracle = pytest.importorskip("sklearn.metrics")
    one, other = assessors_stats.pair(generated(2, 100, 4, 0.2), 0, 1)
    expected = oracle.cohen_kappa_score(one, other, weights=None if weights == "plain" else weights)
    assert cohen(confusion(one, other), weights).value == pytest.approx(expected, rel=1e-12)
