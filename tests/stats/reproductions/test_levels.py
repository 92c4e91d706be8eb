"""Reproductions level by level: the worked example, what a perfect copy has, what is not defined."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.stats.reproductions.documents import (
    bounded_rbo,
    document_order,
    ktu,
    ktu_by_spelling,
    seen_rbo,
    truncated_rbo,
)
from leaderboard.stats.reproductions.effects import Effect
from leaderboard.stats.reproductions.levels import (
    Levels,
    RunLevels,
    Threshold,
    Thresholds,
    nrmse,
    replicated,
    reproduced,
    rmse,
    worst,
)

FloatArray = NDArray[np.float64]
B, A = np.array([0.4, 0.2, 0.6, 0.3]), np.array([0.5, 0.3, 0.6, 0.4])
B_AGAIN, A_AGAIN = np.array([0.38, 0.25, 0.55, 0.30]), np.array([0.45, 0.30, 0.65, 0.32])
ORIGINAL, AGAIN = ["d1", "d2", "d3", "d4", "d5"], ["d1", "d3", "d2", "d6", "d4"]
RANKINGS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=9).map(np.array)


def levels(thresholds: Thresholds | None = None) -> Levels:
    """The worked example."""
    rankings = [ORIGINAL], [AGAIN]
    return Levels(
        reproduced(B, B_AGAIN, *rankings), reproduced(A, A_AGAIN, *rankings), thresholds or Thresholds()
    )


def test_worked_example() -> None:
    """Every number of it, to six digits."""
    made = levels()
    assert (made.baseline.rmse, made.advanced.rmse) == pytest.approx((0.036742, 0.053385), abs=5e-7)
    assert (made.baseline.nrmse, made.advanced.nrmse) == pytest.approx((0.054027, 0.088364), abs=5e-7)
    effect = made.effect
    assert effect.er == pytest.approx(0.06 / 0.075, rel=1e-12)
    assert (effect.ri_original, effect.ri_other) == pytest.approx((0.2, 0.162162), abs=5e-7)
    assert effect.dri == pytest.approx(0.037838, abs=5e-7)
    assert (made.baseline.change.p, made.advanced.change.p) == pytest.approx((0.827270, 0.534406), abs=5e-7)


def test_worked_rankings() -> None:
    """Order of documents, both ways of numbering and of truncating."""
    assert ktu(ORIGINAL, AGAIN) == pytest.approx(0.6)
    assert ktu_by_spelling(ORIGINAL, AGAIN) == 0.6
    assert truncated_rbo(AGAIN, ORIGINAL, 5, 0.8) == pytest.approx(0.818563, abs=5e-7)
    assert truncated_rbo(AGAIN, ORIGINAL, 5) == pytest.approx(0.811633, abs=5e-7)
    assert truncated_rbo(AGAIN, ORIGINAL) == pytest.approx(0.383672, abs=5e-7)
    assert seen_rbo(AGAIN, ORIGINAL) == truncated_rbo(AGAIN, ORIGINAL, 5)
    assert truncated_rbo(ORIGINAL, ORIGINAL) == pytest.approx(0.476300, abs=5e-7)


def test_rbo_of_the_reference_and_judges_orders() -> None:
    """The two orders of runs ABCDE and ACBDE."""
    assert truncated_rbo("ACBDE", "ABCDE", 5, 0.9) == pytest.approx(0.890113, abs=5e-7)
    assert truncated_rbo("ACBDE", "ABCDE", 5, 0.8) == pytest.approx(0.881009, abs=5e-7)


def test_spelling_moves_repro_evals_tau_and_not_ours() -> None:
    """The same rankings with a and b exchanged."""
    assert ktu_by_spelling("abc", "acb") == pytest.approx(1 / 3)
    assert ktu_by_spelling("bac", "bca") == -1
    assert ktu("abc", "acb") == ktu("bac", "bca") == pytest.approx(1 / 3)


@given(RANKINGS, RANKINGS, st.permutations("abcdefgh"))
def test_tau_does_not_depend_on_the_names_of_documents(one: list[str], two: list[str], names: str) -> None:
    """Renaming documents changes nothing."""
    renamed = dict(zip("abcdefgh", names, strict=True))
    assert ktu(one, two) == ktu([renamed[name] for name in one], [renamed[name] for name in two])


@given(RANKINGS, RANKINGS)
def test_lists_of_unequal_length_are_cut_to_the_shorter_one(one: list[str], two: list[str]) -> None:
    """Less than two documents have no order; RBO lies within what is possible below."""
    shorter = min(len(one), len(two))
    assert ktu(one, two) == ktu(one[:shorter], two[:shorter])
    assert (ktu(one, two) is None) == (shorter < 2)
    bounds = bounded_rbo(two, one)
    assert 0 <= bounds.min <= bounds.ext + 1e-12
    assert bounds.ext <= bounds.max + 1e-12 <= 1 + 2e-12


@given(RANKINGS)
def test_a_copy_has_the_same_order(ranking: list[str]) -> None:
    """KTU 1 where it is defined, RBO 1 where there is a document."""
    assert ktu(ranking, ranking) in (None, pytest.approx(1.0))
    assert seen_rbo(ranking, ranking) == (pytest.approx(1.0) if ranking else None)


def test_a_missing_topic_counts_as_empty() -> None:
    """No overlap and no KTU there; a topic that neither run has is left out."""
    order = document_order([ORIGINAL, ["d1", "d2"], []], [ORIGINAL, [], []])
    assert (order.topics, order.with_ktu, order.rbo) == (2, 1, 0.5)
    assert order.ktu == pytest.approx(1.0)
    nothing = document_order([[]], [[]])
    assert (nothing.topics, nothing.ktu, nothing.rbo_repro_eval, nothing.rbo_ext) == (0, None, None, None)


@given(SCORES, st.data())
def test_a_copy_keeps_all_of_the_gain(baseline: FloatArray, data: st.DataObject) -> None:
    """DRI 0 and ER 1 where they are defined, no distance by topic, p 1."""
    advanced = np.array([data.draw(st.floats(0, 1)) for _ in baseline])
    made = Levels(
        reproduced(baseline, baseline, [], []), reproduced(advanced, advanced, [], []), Thresholds()
    )
    assert made.effect.dri in (None, 0)
    assert made.effect.er in (None, 1)
    assert (made.baseline.rmse, made.baseline.change.p, made.advanced.change.p) == (0, 1, 1)
    assert made.topics_word == "same"
    assert made.test_word == "same"


def test_what_has_no_denominator_is_not_defined() -> None:
    """A baseline of 0 has no RI, a gain of 0 no ER, whatever came out again."""
    assert Effect(0.0, 0.1, 0.2, 0.3).dri is None
    assert Effect(0.2, 0.3, 0.0, 0.3).ri_other is None
    assert Effect(0.2, 0.2, 0.1, 0.3).er is None
    # The same mean by other roundings is no gain.
    assert Effect(0.3, 0.1 + 0.2, 0.1, 0.3).er is None
    made = Levels(*(replicated(np.zeros(2), np.ones(3)) for _ in range(2)), Thresholds())
    assert made.effects_word is None


def test_scores_outside_0_to_1_have_no_share_of_the_largest_error() -> None:
    """RMSE in units of the measure, no nRMSE, and so no word; other topics are refused."""
    assert rmse(np.array([1.0, 3.0]), np.array([1.0, 5.0])) == pytest.approx(np.sqrt(2))
    assert nrmse(np.array([1.0, 3.0]), np.array([1.0, 5.0])) is None
    assert nrmse(np.array([1.0]), np.array([-0.5])) is None
    for original, again in ((B, B[:2]), (B[:0], B[:0])):
        with pytest.raises(ValueError, match="same topics"):
            rmse(original, again)


def test_words_begin_at_the_thresholds() -> None:
    """The worse run and the worse number decide; looser thresholds, other words."""
    made = levels()
    words = (made.documents_word, made.topics_word, made.effects_word, made.test_word)
    assert words == ("close", "close", "close", "close")
    loose = Thresholds(*[Threshold(0.5, 0.6)] * 4, margin=0.2)
    made = levels(loose)
    words = (made.documents_word, made.topics_word, made.effects_word, made.test_word)
    assert words == ("same", "same", "same", "same")
    strict = Thresholds(*[Threshold(0.0, 0.001)] * 4, alpha=0.9)
    made = levels(strict)
    words = (made.documents_word, made.topics_word, made.effects_word, made.test_word)
    assert words == ("off", "off", "off", "off")
    assert worst(["close", "off", None, "same"]) == "off"


def test_one_topic_has_no_word_of_the_test() -> None:
    """Unless its score is the same."""
    one = reproduced(B[:1], B_AGAIN[:1], [], [])
    assert Levels(one, one, Thresholds(margin=0.1)).test_word is None
    assert Levels(one, one, Thresholds()).documents_word is None


def test_other_collections_compare_means_only() -> None:
    """No order of documents, no distance by topic; the unpaired test."""
    made = Levels(replicated(B, np.array([0.3, 0.1, 0.5, 0.2, 0.4])), replicated(A, A_AGAIN), Thresholds())
    assert made.baseline.change.p == pytest.approx(0.516490, abs=5e-7)
    assert made.documents_word is None
    assert made.topics_word is None
    assert isinstance(made.baseline, RunLevels)
    assert replace(made, thresholds=Thresholds(alpha=0.6)).test_word == "off"
