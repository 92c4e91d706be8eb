"""Rank-biased precision and its residual."""

import pytest
from hypothesis import given

from leaderboard.measures.grammar import parse
from tests.measures.rankings import Topic, drawn, scored


def one(name: str, *ranking: int | None) -> float:
    """The score of one ranking."""
    return float(parse(name).compute(scored(Topic(ranking)))[0])


def test_the_default_persistence_is_that_of_ir_measures() -> None:
    """RBP, RBP(rel=1) and RBP(rel=1,p=0.8) are one measure."""
    assert parse("RBP(rel=1,p=0.8)").key == "RBP"
    assert parse("RBP(rel=2,p=0.95)@10").key == "RBP(rel=2,p=0.95)@10"
    assert one("RBP", 1, 0, 1) == pytest.approx(0.2 + 0.2 * 0.64, abs=1e-15)


def test_a_level_makes_grades_binary_and_the_graded_form_does_not() -> None:
    """Grades 1 and 2 at ranks 1 and 2, p = 1/2."""
    assert one("RBP(p=0.5)", 1, 2) == 0.75
    assert one("RBP(rel=2,p=0.5)", 1, 2) == 0.25
    assert one("gRBP(max_rel=2,p=0.5)", 1, 2) == 0.5
    assert one("gRBP(max_rel=1,p=0.5)", 1, 2) == 0.75
    assert one("gRBP(max_rel=2,min_rel=1,p=0.5)", 1, 2) == 0.25


def test_a_cutoff_leaves_out_what_is_below_without_rescaling() -> None:
    """The weights stay those of the endless ranking."""
    assert one("RBP(p=0.5)@2", 1, 0, 1) == 0.5


def test_known_base_and_residual() -> None:
    """Relevant, unjudged, not, relevant, unjudged, not, with p = 0.8: base 0.3024, residual 0.504064."""
    ranking = (1, None, 0, 1, None, 0)
    assert one("RBP", *ranking) == pytest.approx(0.3024, abs=1e-15)
    assert one("RBPResid", *ranking) == pytest.approx(0.504064, abs=1e-15)


def test_what_the_residual_takes_as_judged() -> None:
    """Grade -1 is pooled only, -2 is judged junk; beyond the cut-off nothing is."""
    assert one("RBPResid(p=0.5)", -1) == 1.0
    assert one("RBPResid(p=0.5)", -2) == 0.5
    assert one("RBPResid(p=0.5)@1", 0, 0) == 0.5
    assert one("RBPResid(p=0.5)") == 1.0


@given(drawn())
def test_the_residual_is_the_gain_of_everything_unjudged(topic: Topic) -> None:
    """With unjudged documents relevant, and so all that would follow, RBP rises by the residual."""
    p, rest = 0.8, 1000
    best = [1 if grade in (None, -1) else grade for grade in topic.ranking] + [1] * rest
    low, high = one(f"RBP(p={p})", *topic.ranking), one(f"RBP(p={p})", *best)
    assert one(f"RBPResid(p={p})", *topic.ranking) == pytest.approx(high - low, abs=1e-12)
