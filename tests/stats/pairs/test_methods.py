"""Methods: their names, what they need, and tables of pairs by every one of them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.stats.pairs.corrections import LEVEL, holm
from leaderboard.stats.pairs.methods import (
    CORRECTIONS,
    METHODS,
    RESAMPLES,
    TESTS,
    Method,
    all_pairs,
    method,
    resamples_needed,
)
from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.pairs.randomisation import randomisation
from leaderboard.stats.pairs.randomised_tukey import randomised_tukey
from leaderboard.stats.pairs.tukey import tukey_hsd
from tests.stats.worked import TABLES, WORKED, generated

KEYS = [known.key for known in METHODS]


def test_every_method_is_found_by_its_key() -> None:
    """Six tests by four corrections, and two that are both in one."""
    assert len(set(KEYS)) == len(METHODS) == 26
    assert all(method(known.key) == known for known in METHODS)
    assert method(("wilcoxon", "bh")).key == "wilcoxon+bh"


def test_the_test_is_ignored_where_the_correction_is_one() -> None:
    """Tukey's need none."""
    for name in ("t+tukey", "tukey", ("wilcoxon", "tukey"), ("", "tukey")):
        assert method(name).key == "tukey"


@pytest.mark.parametrize("name", ["", "t", "holm", "t+", "+holm", "t+holm+bh", "T+Holm", ("t", "sidak")])
def test_what_is_no_method_is_refused_with_the_choices(name: str | tuple[str, str]) -> None:
    """In a sentence that names them all."""
    with pytest.raises(ValueError, match="there is no method") as refused:
        method(name)
    assert all(name in str(refused.value) for name in (*TESTS, *CORRECTIONS))


def test_procedures_say_what_they_are() -> None:
    """A title, a question or promise, and a source for every procedure that has one."""
    for procedure in (*TESTS.values(), *CORRECTIONS.values()):
        assert procedure.title
        assert procedure.question.endswith((".", "?"))
        assert procedure.citation or procedure.name == "none"
    assert [known.key for known in METHODS if known.random] == [
        *(
            f"{test}+{correction}"
            for test in ("randomisation", "bootstrap")
            for correction in ("holm", "bonferroni", "bh", "none")
        ),
        "randomised_tukey",
    ]


def test_resamples_grow_with_the_pairs_only_where_the_correction_needs_it() -> None:
    """20 times pairs over the level for Holm and Bonferroni."""
    assert resamples_needed(method("randomisation+bonferroni"), 3) == RESAMPLES
    assert resamples_needed(method("bootstrap+holm"), 8256) == 6_604_800
    assert resamples_needed(method("randomisation+holm"), 8256, 0.01) == 16_512_000
    assert resamples_needed(method("randomisation+bh"), 8256) == RESAMPLES
    assert resamples_needed(method("randomised_tukey"), 8256) == RESAMPLES
    assert resamples_needed(method("sign+holm"), 8256) is None


def test_the_table_of_t_and_holm() -> None:
    """Differences and intervals of the paired t, its p, and those corrected."""
    scores = generated(9, 40)
    t, table = paired_t(scores), all_pairs(scores, method("t+holm"), seed=1)
    for ours, theirs in (
        (table.difference, t.difference),
        (table.low, t.low),
        (table.high, t.high),
        (table.p, t.p),
        (table.adjusted, holm(t.p)),
    ):
        assert (ours == theirs).all()
    assert (table.runs, table.resamples, table.reachable) == (9, None, True)


def test_tukeys_p_is_adjusted_already() -> None:
    """Of both kinds, and as their modules give it."""
    scores = generated(5, 20)
    table = all_pairs(scores, method("tukey"), seed=1)
    assert (table.p == tukey_hsd(scores).p).all()
    assert (table.adjusted == table.p).all()
    drawn = all_pairs(scores, method("randomised_tukey"), seed=3, resamples=500)
    assert (drawn.adjusted == randomised_tukey(scores, seed=3, resamples=500).p).all()
    assert drawn.resamples == 500


def test_two_runs_are_a_table_too() -> None:
    """Of one pair."""
    scores = generated(2, 30)
    for known in METHODS:
        table = all_pairs(scores, known, seed=5, resamples=2_000)
        assert table.p.shape == table.adjusted.shape == (1,)
        assert table.adjusted.item() == pytest.approx(table.p.item())
    drawn = all_pairs(scores, method("randomisation+none"), seed=5, resamples=2_000)
    assert drawn.p == randomisation(scores, seed=5, resamples=2_000).p


@pytest.mark.parametrize("key", KEYS)
def test_one_run_has_no_pair(key: str) -> None:
    """Nothing is out of reach, as there is nothing to reach for."""
    table = all_pairs(WORKED[:1], method(key), seed=1, resamples=50)
    assert table.p.shape == (0,)
    assert table.reachable


@pytest.mark.parametrize("key", KEYS)
def test_one_topic_tells_nothing_apart(key: str) -> None:
    """No p is small, nor could be; it is 1 but for the normal approximation of Wilcoxon's."""
    table = all_pairs(np.array([[0.9], [0.5], [0.1]]), method(key), seed=1, resamples=50)
    assert (table.adjusted >= (0.3 if "wilcoxon" in key else 1)).all()
    assert not table.reachable


@pytest.mark.parametrize(
    ("key", "runs", "topics", "reachable"),
    [
        ("sign+none", 2, 6, False),
        ("sign+none", 2, 7, True),
        ("sign+holm", 9, 11, False),
        ("sign+holm", 9, 12, True),
        ("sign+bh", 9, 7, True),
        ("randomisation+none", 2, 6, False),
        ("randomisation+none", 2, 7, True),
        ("wilcoxon+none", 2, 4, False),
        ("wilcoxon+none", 2, 8, True),
        ("wilcoxon+bonferroni", 40, 12, False),
        ("t+holm", 40, 2, True),
        ("tukey", 40, 2, True),
        ("randomised_tukey", 2, 5, False),
        ("randomised_tukey", 5, 3, True),
    ],
)
def test_too_few_topics_put_a_finding_out_of_reach(key: str, runs: int, topics: int, reachable: bool) -> None:
    """Even for a run that wins them all."""
    assert all_pairs(generated(runs, topics), method(key), seed=1).reachable == reachable


def test_too_few_resamples_put_a_finding_out_of_reach() -> None:
    """36 pairs under Holm need 36 / 0.025 resamples; what is drawn unless told otherwise suffices."""
    scores = generated(9, 30)
    for key in ("randomisation+holm", "bootstrap+bonferroni"):
        assert not all_pairs(scores, method(key), seed=1, resamples=1439).reachable
        assert all_pairs(scores, method(key), seed=1, resamples=1440).reachable
        assert all_pairs(scores, method(key), seed=1).reachable
    assert all_pairs(scores, method("randomisation+bh"), seed=1, resamples=40).reachable
    assert not all_pairs(scores, method("randomisation+none"), seed=1, resamples=39).reachable


def test_progress_ends_at_one() -> None:
    """From block to block where it takes long, at once where it does not."""
    told: list[float] = []
    all_pairs(generated(3, 20), method("randomisation+none"), seed=1, resamples=20_000, progress=told.append)
    assert told == sorted(told)
    assert len(told) > 2
    assert told[-1] == 1.0
    told.clear()
    all_pairs(WORKED, method("t+holm"), seed=1, progress=told.append)
    assert told == [1.0]


def test_scores_that_are_missing_are_refused() -> None:
    """No p comes of them."""
    for scores in (np.array([[0.1, np.nan], [0.2, 0.3]]), np.array([[0.1, np.inf], [0.2, 0.3]]), np.ones(3)):
        with pytest.raises(ValueError, match="none missing"):
            all_pairs(scores, method("t+holm"), seed=1)
    with pytest.raises(ValueError, match="without a topic"):
        all_pairs(np.empty((3, 0)), method("t+holm"), seed=1)


def test_no_resamples_are_refused() -> None:
    """None at all is not as many as it takes."""
    for key in ("randomisation+holm", "bootstrap+bh", "randomised_tukey"):
        with pytest.raises(ValueError, match="is empty"):
            all_pairs(WORKED, method(key), seed=1, resamples=0)


@settings(max_examples=40)
@given(TABLES, st.sampled_from(METHODS), st.sampled_from([LEVEL, 0.05]))
@example(np.array([[0.0, 0.0], [0.0, 0.0], [0.1, 0.1]]), method("bootstrap+holm"), LEVEL)
def test_any_scores_by_any_method(scores: NDArray[np.float64], by: Method, level: float) -> None:
    """Numbers throughout, p from 0 to 1, above 0 where drawn, and none below the unadjusted one.

    Where no finding is in reach, none is below the level that was asked about.
    """
    table = all_pairs(scores, by, seed=1, resamples=100, level=level)
    for values in (table.difference, table.low, table.high, table.p, table.adjusted):
        assert not np.isnan(values).any()
    assert ((table.adjusted >= table.p) & (table.adjusted <= 1) & (table.p >= 0)).all()
    if table.resamples:
        assert (table.p >= 1 / (table.resamples + 1)).all()
    if not table.reachable:
        assert (table.adjusted >= level).all()
