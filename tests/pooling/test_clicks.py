"""Preferences from clicks, rule by rule."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.pooling import clicks as module
from leaderboard.pooling.clicks import (
    READINGS,
    Counts,
    Rule,
    Sessions,
    count_preferences,
    evidence,
    preferences,
)

DOCUMENTS = ["d1", "d2", "d3", "d4", "d5"]
Shown = list[tuple[list[int], list[int], int]]
"""Documents, clicks and user of each session."""


def sessions(shown: Shown) -> Sessions:
    """Sessions as arrays: ranks from 1, the last click the lowest."""
    sizes = [len(documents) for documents, _, _ in shown]
    last = [max((rank for rank, click in enumerate(clicks, 1) if click), default=0) for _, clicks, _ in shown]
    return Sessions(
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        np.array([document for documents, _, _ in shown for document in documents], dtype=np.int64),
        np.array([rank for size in sizes for rank in range(1, size + 1)], dtype=np.int64),
        np.array([click for _, clicks, _ in shown for click in clicks], dtype=np.bool_),
        np.array(last, dtype=np.int64),
        np.array([user for _, _, user in shown], dtype=np.int64),
    )


def as_pairs(counts: Counts) -> dict[tuple[int, int], int]:
    """(better, worse) -> count."""
    by_pair = {}
    for first, second, for_first, for_second in zip(*(column.tolist() for column in counts), strict=True):
        assert first < second
        by_pair |= {(first, second): for_first, (second, first): for_second}
    return {pair: count for pair, count in by_pair.items() if count}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("click > skip above", "d2>d1 d5>d1 d5>d3 d5>d4"),
        ("last click > skip above", "d5>d1 d5>d3 d5>d4"),
        ("click > skip previous", "d2>d1 d5>d4"),
        ("click > no-click next", "d2>d3"),
        ("click > no click", "d2>d1 d2>d3 d2>d4 d5>d1 d5>d3 d5>d4"),
    ],
)
def test_each_rule_sees_its_pairs(rule: Rule, expected: str) -> None:
    """Clicks on the second and fifth of five documents."""
    pairs = preferences(DOCUMENTS, [0, 1, 0, 0, 1], [rule])
    assert " ".join(f"{better}>{worse}" for better, worse in pairs) == expected


def test_rules_add_up_without_doubles() -> None:
    """A pair that two rules see comes once."""
    rules: list[Rule] = ["click > skip above", "click > skip previous", "click > no-click next"]
    assert preferences(["a", "b", "c"], [0, 1, 0], rules) == [("b", "a"), ("b", "c")]


@pytest.mark.parametrize("clicks", [[0, 0, 0], [1, 1, 1]])
def test_all_or_nothing_clicked_tells_nothing(clicks: list[int]) -> None:
    """Where no document was passed over for another, there is no preference."""
    assert preferences(["a", "b", "c"], clicks, ["click > no click"]) == []


def test_evidence_counts_sessions_and_keeps_both_directions() -> None:
    """Two readers preferred b to a, one a to b; what fewer sessions show than asked for is left out."""
    sessions = [(["a", "b"], [0, 1]), (["a", "b"], [0, 1]), (["b", "a"], [0, 1])]
    assert evidence(sessions, ["click > skip above"]) == {("a", "b"): 1, ("b", "a"): 2}
    assert evidence(sessions, ["click > skip above"], least=2) == {("b", "a"): 2}
    assert evidence([], ["click > skip above"]) == {}


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        ("skip-above", "d2>d1 d5>d1 d5>d3 d5>d4"),
        ("last-click", "d5>d1 d5>d3 d5>d4"),
        ("skip-above-and-next", "d2>d1 d2>d3 d5>d1 d5>d3 d5>d4"),
        ("every-non-click", "d2>d1 d2>d3 d2>d4 d5>d1 d5>d3 d5>d4"),
    ],
)
def test_each_reading_on_the_same_clicks(reading: str, expected: str) -> None:
    """The ways to choose from, one session and as arrays; the first of them is skip above."""
    rules = READINGS[reading].rules
    pairs = preferences(DOCUMENTS, [0, 1, 0, 0, 1], rules)
    assert " ".join(f"{better}>{worse}" for better, worse in pairs) == expected
    counted = as_pairs(count_preferences(sessions([([1, 2, 3, 4, 5], [0, 1, 0, 0, 1], -1)]), rules))
    assert " ".join(f"d{better}>d{worse}" for better, worse in sorted(counted)) == expected
    assert next(iter(READINGS)) == "skip-above"


def test_a_click_between_two_skipped_needs_two_rules() -> None:
    """Skip above sees only that the second is better than the first; with next, also than the third."""
    shown = ["d1", "d2", "d3"]
    assert preferences(shown, [0, 1, 0], READINGS["skip-above"].rules) == [("d2", "d1")]
    both = READINGS["skip-above-and-next"].rules
    assert preferences(shown, [0, 1, 0], both) == [("d2", "d1"), ("d2", "d3")]


def test_the_last_click_may_stand_above_another() -> None:
    """Where its time is known: the third was clicked first, then the second."""
    shown = sessions([([7, 8, 9], [0, 1, 1], -1)])._replace(last=np.array([2]))
    assert as_pairs(count_preferences(shown, READINGS["last-click"].rules)) == {(8, 7): 1}


def test_next_means_the_next_rank_not_the_next_row() -> None:
    """Ranks 1 and 3 were logged: nothing is known of the one between."""
    shown = sessions([([7, 8], [1, 0], -1)])._replace(ranks=np.array([1, 3]))
    assert as_pairs(count_preferences(shown, ["click > no-click next"])) == {}


def test_a_user_counts_once_each_way() -> None:
    """One user three times, once the other way; another user once; two unknown ones each."""
    shown: Shown = [
        ([1, 2], [0, 1], 0),
        ([1, 2], [0, 1], 0),
        ([2, 1], [0, 1], 0),
        ([1, 2], [0, 1], 1),
        ([1, 2], [0, 1], -1),
        ([1, 2], [0, 1], -1),
    ]
    rules = READINGS["skip-above"].rules
    assert as_pairs(count_preferences(sessions(shown), rules)) == {(2, 1): 5, (1, 2): 1}
    assert as_pairs(count_preferences(sessions(shown), rules, by_user=True)) == {(2, 1): 4, (1, 2): 1}


def test_no_sessions_show_nothing() -> None:
    """Empty arrays in, empty arrays out."""
    assert as_pairs(count_preferences(sessions([]), READINGS["every-non-click"].rules)) == {}


@st.composite
def _session(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    documents = draw(st.lists(st.integers(0, 6), unique=True, max_size=5))
    clicks = draw(st.lists(st.integers(0, 1), min_size=len(documents), max_size=len(documents)))
    return documents, clicks, draw(st.integers(-1, 2))


@given(st.lists(_session(), max_size=8), st.sampled_from(sorted(READINGS)), st.booleans())
def test_arrays_count_what_sessions_show_one_by_one(shown: Shown, reading: str, by_user: bool) -> None:
    """The same pairs and counts as the rules applied to one session after the other, in small pieces too."""
    rules = READINGS[reading].rules
    votes = [
        (pair, user if by_user and user >= 0 else ("session", place))
        for place, (documents, clicks, user) in enumerate(shown)
        for pair in preferences(documents, clicks, rules)  # type: ignore[arg-type]
    ]
    expected = Counter(pair for pair, _ in set(votes))
    counts = count_preferences(sessions(shown), rules, by_user=by_user)
    assert as_pairs(counts) == dict(expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PAIRS_AT_ONCE", 3)
        assert as_pairs(count_preferences(sessions(shown), rules, by_user=by_user)) == dict(expected)
