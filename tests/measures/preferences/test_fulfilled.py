"""Measures of preferences: trec_eval's numbers, definitions once more, and what sets them apart."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.errors import MissingInput
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged, Judgments, Preferences
from leaderboard.measures.richer_examples import judged, preferred
from tests.make.loops import for_every

FORMS = ("any", "either", "both")
NAMES = (
    *(f"{name}(retrieved='{form}')" for name in ("PrefsSimp", "PrefsPair", "PrefsAvgJG") for form in FORMS),
    "NumPrefs", "NumPrefsFul", "NumPrefsFul(retrieved='both')", "PPref", "PPref@2", "RPref", "RPref@2",
    "WPref", "WPref@3", "APPref",
)  # fmt: skip

CLICKS = preferred("xbyac", ["ba", "bd", "ca"], ["ca"], ["ed", "fg"])
"""Three judges; d to g were not retrieved, x and y are in no preference."""
FOUR = preferred("bacd", ["ba", "bc", "da", "ec", "gf"], ["da"])
THREE = preferred("xcbe", ["ab", "ac", "bc", "cd", "ad", "bd"], ["ba", "be", "ae"], [])
"""With all that follows from a judge's preferences; the third has none."""
TOP = preferred("abc", ["ab", "ac", "cb", "ad", "cd"])

Judge = list[str]


def score(name: str, run: Judged) -> float:
    """The measure's score of one topic."""
    return float(parse(name).compute(run)[0])


@pytest.mark.parametrize(
    ("name", "of_four", "of_three"),
    [
        ("PrefsSimp", (0.3333333333333333, 0.4, 0.5), (0.4444444444444444, 0.5, 0.5)),
        ("PrefsPair", (0.4, 0.5, 0.6666666666666666), (0.4375, 0.5, 0.5)),
        ("PrefsAvgJG", (0.2, 0.25, 0.3333333333333333), (0.3333333333333333, 0.35555555555555557, 1 / 3)),
        ("NumPrefsFul", (2.0, 2.0, 2.0), (4.0, 4.0, 1.0)),
    ],
)
def test_scores_are_those_of_trec_eval(
    name: str, of_four: tuple[float, ...], of_three: tuple[float, ...]
) -> None:
    """trec_eval 9 with -R prefs, its measure, its _imp and its _ret, to the last bit."""
    assert tuple(score(f"{name}(retrieved='{form}')", FOUR) for form in FORMS) == of_four
    assert tuple(score(f"{name}(retrieved='{form}')", THREE) for form in FORMS) == of_three


def test_preferences_are_counted() -> None:
    """trec_eval's prefs_num_prefs_poss, summed over topics."""
    assert score("NumPrefs", FOUR) == 6.0
    assert score("NumPrefs", THREE) == 9.0
    assert parse("NumPrefs").aggregate(np.array([6.0, 9.0])) == 15.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PPref@1", 1.0),
        ("PPref@2", 0.75),
        ("PPref@5", 0.8),
        ("RPref@1", 0.6),
        ("RPref@2", 0.6),
        ("RPref@3", 0.8),
        ("APPref", 0.9),
        ("WPref@1", 1.0),
        ("WPref", 3.5 / (3.5 + 1 / math.log2(3))),
    ],
)
def test_precision_and_recall_of_preferences(name: str, value: float) -> None:
    """a > b, a > c, c > b and both a and c > d, which was not retrieved: only c > b is failed."""
    assert score(name, TOP) == pytest.approx(value, abs=1e-15)


def _place(ranking: str, letter: str) -> float:
    return ranking.index(letter) if letter in ranking else math.inf


def _counts(ranking: str, pair: str, form: str) -> bool:
    count = sum(letter in ranking for letter in pair)
    return count >= FORMS.index(form)


def _share(ranking: str, pairs: list[str], form: str) -> float:
    counted = [pair for pair in pairs if _counts(ranking, pair, form)]
    right = [pair for pair in counted if _place(ranking, pair[0]) < _place(ranking, pair[1])]
    return len(right) / len(counted) if counted else 0.0


PAIRS = st.lists(
    st.sampled_from([x + y for x in "abcdef" for y in "abcdef" if x != y]), max_size=8, unique=True
)
RANKINGS = st.permutations("abcdefxyz").flatmap(
    lambda order: st.integers(0, 9).map(lambda length: "".join(order[:length]))
)


@given(RANKINGS, st.lists(PAIRS, max_size=3), st.sampled_from(FORMS))
def test_shares_are_the_definition(ranking: str, judges: list[Judge], form: str) -> None:
    """Preference by preference; by pair of documents; by judge."""
    run, given_pairs = preferred(ranking, *judges), [pair for judge in judges for pair in judge]
    assert score(f"PrefsSimp(retrieved='{form}')", run) == _share(ranking, given_pairs, form)
    by_judge = [_share(ranking, judge, form) for judge in judges]
    mean = sum(by_judge) / len(judges) if judges else 0.0
    assert score(f"PrefsAvgJG(retrieved='{form}')", run) == pytest.approx(mean, abs=1e-15)
    together: dict[frozenset[str], list[str]] = {}
    for pair in given_pairs:
        if _counts(ranking, pair, form):
            together.setdefault(frozenset(pair), []).append(pair)
    by_pair = [_share(ranking, same, form) for same in together.values()]
    mean = sum(by_pair) / len(by_pair) if by_pair else 0.0
    assert score(f"PrefsPair(retrieved='{form}')", run) == pytest.approx(mean, abs=1e-15)


@given(RANKINGS, PAIRS, st.integers(1, 10))
def test_precision_and_recall_are_the_definition(ranking: str, pairs: Judge, cutoff: int) -> None:
    """Rank by rank."""
    run, top = preferred(ranking, pairs), ranking[:cutoff]

    def right(head: str) -> list[str]:
        decided = [pair for pair in pairs if set(pair) & set(head)]
        return [pair for pair in decided if _place(ranking, pair[0]) < _place(ranking, pair[1])]

    def precision(head: str) -> float:
        decided = [pair for pair in pairs if set(pair) & set(head)]
        return len(right(head)) / len(decided) if decided else 0.0

    def weight(some: list[str]) -> float:
        return sum(1 / math.log2(min(_place(ranking, letter) for letter in pair) + 2) for pair in some)

    decided = [pair for pair in pairs if set(pair) & set(top)]
    assert score(f"PPref@{cutoff}", run) == precision(top)
    assert score(f"RPref@{cutoff}", run) == (len(right(top)) / len(pairs) if pairs else 0.0)
    expected = weight(right(top)) / weight(decided) if decided else 0.0
    assert score(f"WPref@{cutoff}", run) == pytest.approx(expected, abs=1e-15)
    heads = [ranking[: place + 1] for place in range(len(ranking))]
    rising = [precision(head) for head in heads if len(right(head)) > len(right(head[:-1]))]
    average = sum(rising) / len(rising) if rising else 0.0
    assert score("APPref", run) == pytest.approx(average, abs=1e-15)


def test_without_a_cut_off_they_are_trec_evals_shares() -> None:
    """Recall is of all preferences, precision of those with a document retrieved."""
    assert score("RPref", FOUR) == score("PrefsSimp", FOUR)
    assert score("PPref", FOUR) == score("PrefsSimp(retrieved='either')", FOUR)


def several(*runs: Judged) -> Judged:
    """Runs of one topic each as one run of all."""
    all_given = [run.judgments.preferences for run in runs]
    assert all(isinstance(preferences, Preferences) for preferences in all_given)
    starts = np.cumsum([0, *(len(run.judgments.grades) for run in runs)])

    def joined(name: str, shift: bool = False) -> NDArray[Any]:
        parts = [getattr(part, name) + shift * start for part, start in zip(all_given, starts, strict=False)]
        return np.concatenate(parts)

    given_pairs = Preferences(
        joined("better", True), joined("worse", True), joined("weight"), joined("judge"), joined("judges")
    )
    grades = np.concatenate([run.judgments.grades for run in runs])
    judgments = Judgments(tuple(map(str, range(len(runs)))), grades, starts, preferences=given_pairs)
    return Judged(
        judgments,
        np.repeat(np.arange(len(runs)), [len(run.rank) for run in runs]),
        np.concatenate([run.rank for run in runs]),
        np.concatenate([run.document + start for run, start in zip(runs, starts, strict=False)]),
        np.concatenate([run.retrieved for run in runs]),
    )


@given(topics=st.lists(st.builds(preferred, RANKINGS, PAIRS, PAIRS), min_size=1, max_size=4))
@settings(max_examples=20)
@for_every("name", NAMES)
def test_a_topic_scores_alike_alone_and_among_others(name: str, topics: list[Judged]) -> None:
    """The same double, within the measure's range."""
    bound = parse(name)
    together = bound.compute(several(*topics)).tolist()
    assert together == [bound.compute(topic).tolist()[0] for topic in topics]
    low, high = bound.measure.range
    assert all(low <= value <= high for value in together)


@for_every("name", NAMES)
def test_a_topic_without_preferences_scores_0(name: str) -> None:
    """Also if there are judges who preferred nothing."""
    assert parse(name).compute(several(preferred("ab"), preferred("ab", []))).tolist() == [0.0, 0.0]


def test_preferences_without_a_judge_are_one_judges() -> None:
    """With one judge for all the mean over judges is that of the one there is."""
    known = CLICKS.judgments.preferences
    assert known is not None
    plain = replace(known, judge=np.zeros_like(known.judge), judges=np.minimum(known.judges, 1))
    run = replace(CLICKS, judgments=replace(CLICKS.judgments, preferences=plain))
    assert score("PrefsAvgJG", run) == score("PrefsSimp", run)
    assert score("PrefsAvgJG", CLICKS) != score("PrefsSimp", CLICKS)


@given(RANKINGS, PAIRS)
def test_a_weight_is_as_good_as_so_many_preferences(ranking: str, pairs: Judge) -> None:
    """A pair of weight 2 scores like the pair twice."""
    twice, once = preferred(ranking, pairs, pairs[:2]), preferred(ranking, pairs)
    known = once.judgments.preferences
    assert known is not None
    weight = np.array([float(count) for count in (Counter(pairs) + Counter(pairs[:2])).values()])
    heavy = replace(once, judgments=replace(once.judgments, preferences=replace(known, weight=weight)))
    for name in ("PrefsSimp", "PrefsPair", "NumPrefsFul", "PPref@3", "RPref@3", "WPref@3", "APPref"):
        assert score(name, heavy) == pytest.approx(score(name, twice), abs=1e-15), name


def test_judgments_of_documents_alone_are_not_enough() -> None:
    """The error names what is missing."""
    with pytest.raises(MissingInput, match="PPref@10 needs preference judgments"):
        parse("PPref@10").compute(judged({1: 1}))
