"""Measures of the curve of precision by recall, held against the curve itself, rank by rank."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.measures import curves
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged, Judgments
from leaderboard.measures.richer_examples import judged

RANKINGS = st.lists(st.booleans(), max_size=30)
MISSED = st.integers(0, 10)


def run_of(relevant: list[bool], missed: int = 0) -> Judged:
    """A ranking with a relevant document at each true place, and this number missed."""
    hits = {rank: int(is_relevant) for rank, is_relevant in enumerate(relevant, start=1)}
    return judged(hits, missed=[1] * missed)


def score(name: str, relevant: list[bool], missed: int = 0) -> float:
    """The measure's score of one ranking."""
    return float(parse(name).compute(run_of(relevant, missed))[0])


def marks(text: str) -> list[bool]:
    """A ranking written with R for relevant."""
    return [mark == "R" for mark in text]


@given(RANKINGS, MISSED)
def test_areas_are_those_under_the_curve(relevant: list[bool], missed: int) -> None:
    """Trapezoids and the envelope give the area that integrating the curve point by point gives."""
    total = sum(relevant) + missed
    if not total:
        return
    recall = np.concatenate(([0.0], curves.recall_by_rank(np.array(relevant, dtype=bool), total)))
    precision = np.concatenate(([1.0], curves.precision_by_rank(np.array(relevant, dtype=bool))))
    width = np.diff(recall)
    every_rank = float((width * (precision[1:] + precision[:-1]) / 2).sum())
    assert score("APTrapezoid", relevant, missed) == pytest.approx(every_rank, abs=1e-12)
    envelope = np.maximum.accumulate(precision[:0:-1])[::-1]
    assert score("APEnvelope", relevant, missed) == pytest.approx(float((width * envelope).sum()), abs=1e-12)
    drawn = curves.points(np.array(relevant, dtype=bool), total)
    if len(drawn):
        drawn = np.vstack(([0.0, drawn[0, 1]], drawn))
        between = np.diff(drawn[:, 0]) * (drawn[1:, 1] + drawn[:-1, 1]) / 2
        assert score("APTrapezoidPoints", relevant, missed) == pytest.approx(between.sum(), abs=1e-12)


@given(RANKINGS, MISSED)
def test_what_was_missed_only_lowers_the_other_forms(relevant: list[bool], missed: int) -> None:
    """APRetrieved is AP where nothing was missed and does not change where something was."""
    assert score("APRetrieved", relevant, missed) == score("AP", relevant)
    assert score("AP", relevant, missed) <= score("APEnvelope", relevant, missed) + 1e-12


@pytest.mark.parametrize("name", ["APRetrieved", "APTrapezoid", "APTrapezoidPoints", "APEnvelope"])
@given(relevant=RANKINGS, missed=MISSED, cutoff=st.integers(1, 12))
def test_a_cutoff_is_the_end_of_the_ranking(
    name: str, relevant: list[bool], missed: int, cutoff: int
) -> None:
    """An area down to a cut-off is that of the ranking cut there, with what it then misses."""
    below = sum(relevant[cutoff:])
    assert score(f"{name}@{cutoff}", relevant, missed) == score(name, relevant[:cutoff], missed + below)


@given(RANKINGS, MISSED, st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.6, 0.7, 0.9, 1.0]))
def test_interpolated_precision_is_that_of_the_curve(relevant: list[bool], missed: int, level: float) -> None:
    """Measure and curve agree at any level, and with the definition in whole numbers."""
    total = sum(relevant) + missed
    curve = curves.interpolated(np.array(relevant, dtype=bool), total, [level])
    ours = score(f"IPrecExact@{level}", relevant, missed)
    assert ours == curve[0]
    tenths = round(level * 100)
    ranks = range(1, len(relevant) + 1)
    reaching = [rank for rank in ranks if 100 * sum(relevant[:rank]) >= tenths * total]
    best = max((sum(relevant[:rank]) / rank for rank in reaching), default=0.0)
    assert ours == (best if total else 0.0)


@pytest.mark.parametrize("step", ["0.1", "0.2", "0.25", "0.3", "0.01", "1"])
@given(relevant=RANKINGS, missed=MISSED)
def test_the_interpolated_average_is_the_mean_over_its_levels(
    step: str, relevant: list[bool], missed: int
) -> None:
    """IAP adds up by documents what its definition adds up by levels."""
    levels = [float(Fraction(step) * place) for place in range(1, int(1 / Fraction(step)) + 1)]
    curve = curves.interpolated(np.array(relevant, dtype=bool), sum(relevant) + missed, levels)
    assert score(f"IAP(step={step})", relevant, missed) == pytest.approx(float(curve.mean()), abs=1e-12)


@given(RANKINGS, MISSED)
def test_eleven_points_add_level_zero(relevant: list[bool], missed: int) -> None:
    """The 11-point average is the mean of the interpolated curve at 0, 0.1, ... 1."""
    curve = curves.interpolated(np.array(relevant, dtype=bool), sum(relevant) + missed)
    assert len(curve) == 11
    assert score("IAP11Exact", relevant, missed) == pytest.approx(float(curve.mean()), abs=1e-12)


def test_levels_are_fractions() -> None:
    """Recall 0.6 of 5 is 3 documents although 3 · 0.2 > 0.6, and 0.7 of 3 takes all 3."""
    assert score("IPrecExact@0.6", marks("RRRNR"), 1) == 1.0
    assert score("IPrecExact@0.7", marks("RRNNNR")) == 0.5
    assert parse("IPrec@0.7").compute(run_of(marks("RRNNNR"))).tolist() == [1.0]
    assert score("IPrecExact@0.33333333", marks("RNNR"), 1) == 1.0


def test_the_interpolated_average_of_several_topics_is_each_ones_own() -> None:
    """Topics do not see each other's precision: a bad one before a good one stays bad."""
    judgments = Judgments(("1", "2"), np.array([1, 1]), np.array([0, 1, 2]))
    both = Judged(judgments, np.array([0, 1]), np.array([4, 1]), np.array([0, 1]), np.array([4, 1]))
    for name in ("IAP", "IAP11Exact", "IPrecExact@1", "APEnvelope", "APTrapezoidPoints", "PAtRecall@1"):
        assert parse(name).compute(both).tolist() == [0.25, 1.0], name


@given(RANKINGS, MISSED, st.sampled_from([0.1, 0.2, 0.375, 0.5, 0.6, 1.0]))
def test_precision_at_recall_is_the_first_of_the_curve(
    relevant: list[bool], missed: int, recall: float
) -> None:
    """The measure takes the highest of the precisions the curve has while recall stays."""
    precisions = curves.precisions_at_recall(np.array(relevant, dtype=bool), sum(relevant) + missed, recall)
    assert score(f"PAtRecall@{recall}", relevant, missed) == (precisions[0] if len(precisions) else 0.0)


@given(RANKINGS, MISSED)
def test_break_even_is_where_precision_is_recall(relevant: list[bool], missed: int) -> None:
    """Where the point exists, precision and recall are equal there; else the measure is 0."""
    flags, total = np.array(relevant, dtype=bool), sum(relevant) + missed
    point = curves.break_even(flags, total)
    assert score("BreakEven", relevant, missed) == (point or 0.0)
    if point is not None:
        assert curves.precision_by_rank(flags)[total - 1] == point
        assert curves.recall_by_rank(flags, total)[total - 1] == point
        assert score("Rprec", relevant, missed) == point


def test_break_even_needs_a_ranking_as_long_as_the_relevant_documents() -> None:
    """One of two relevant documents returned and nothing else: R-precision 1/2, no break-even point."""
    assert score("Rprec", [True], 1) == 0.5
    assert score("BreakEven", [True], 1) == 0.0
    assert curves.break_even(np.array([True]), 2) is None
    assert curves.break_even(np.array([True]), 0) is None


@given(RANKINGS, MISSED, st.integers(1, 20))
def test_no_ranking_exceeds_the_highest_precision(relevant: list[bool], missed: int, cutoff: int) -> None:
    """P@k stays at or below PCeiling@k, which the best ranking reaches."""
    ceiling = score(f"PCeiling@{cutoff}", relevant, missed)
    assert score(f"P@{cutoff}", relevant, missed) <= ceiling
    assert score(f"P@{cutoff}", [True] * (sum(relevant) + missed)) == ceiling


def test_a_topic_without_relevant_documents_has_no_curve() -> None:
    """There is no recall to reach: precision at it is of no rank, interpolated it is 0."""
    ranks = np.array([False, False])
    assert curves.precisions_at_recall(ranks, 0, 0.5).tolist() == []
    assert curves.interpolated(ranks, 0, [0.0, 1.0]).tolist() == [0.0, 0.0]
    assert curves.recall_by_rank(ranks, 0).tolist() == [0.0, 0.0]


def test_a_curve_of_a_graded_run_takes_the_level_asked_for() -> None:
    """Ranks without a judged document and those below the level are not relevant."""
    run = judged({1: 1, 3: 2, 4: -1}, retrieved=5)
    assert curves.relevance(run, 0).tolist() == [True, False, True, False, False]
    assert curves.relevance(run, 0, rel=2).tolist() == [False, False, True, False, False]


def test_condensed_rankings_close_up() -> None:
    """judged_only applies to the forms as to AP."""
    run = judged({1: -1, 3: 1}, missed=[1])
    for name in ("APRetrieved", "APTrapezoidPoints", "IPrecExact@0.5", "PAtRecall@0.5", "BestF"):
        head, _, at = name.partition("@")
        condensed = f"{head}(judged_only=True){'@' + at if at else ''}"
        assert parse(condensed).compute(run)[0] > parse(name).compute(run)[0], name
