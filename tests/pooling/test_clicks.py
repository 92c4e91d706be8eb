"""Preferences from clicks, rule by rule."""

import pytest

from leaderboard.pooling.clicks import Rule, evidence, preferences

DOCUMENTS = ["d1", "d2", "d3", "d4", "d5"]


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
