"""Measures at every rank against the registry's at every cut-off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import ideal_gain, mean_gain, mean_precision, running
from tests.measures.rankings import Topic, drawn, scored


@given(drawn(longest=15, most_missed=6), st.integers(1, 3))
def test_every_rank_has_the_registrys_score_at_that_cut_off(topic: Topic, level: int) -> None:
    """To the last bit; what is not judged counts as not relevant."""
    judged = scored(topic)
    grades = np.array([-1 if grade is None else grade for grade in topic.ranking], dtype=np.int64)
    curve = running(grades, judged.judgments.grades, level)
    for place, rank in enumerate(range(1, len(grades) + 1)):
        for name, values in (
            (f"P(rel={level})", curve.precision),
            (f"R(rel={level})", curve.recall),
            (f"AP(rel={level})", curve.average_precision),
            ("nDCG", curve.ndcg),
            ("DCG", curve.dcg),
        ):
            assert values[place] == parse(f"{name}@{rank}").compute(judged)[0], (name, rank)


def test_the_last_average_precision_is_that_of_the_ranking() -> None:
    """Without a cut-off too; of four relevant documents three are found at ranks 1, 3 and 4."""
    curve = running(np.array([1, 0, 2, 1]), np.array([1, 0, 2, 1, 3]), 1)
    assert curve.average_precision[-1] == pytest.approx((1 + 2 / 3 + 3 / 4) / 4)
    assert curve.recall.tolist() == [0.25, 0.25, 0.5, 0.75]


def test_a_ranking_without_anything_has_no_numbers_that_are_none() -> None:
    """An empty one has no rank; one without relevant documents scores 0 everywhere."""
    assert running(np.array([], dtype=np.int64), np.array([1]), 1).precision.tolist() == []
    curve = running(np.array([0, -1]), np.array([0]), 1)
    for values in (curve.precision, curve.recall, curve.average_precision, curve.ndcg, curve.dcg):
        assert values.tolist() == [0.0, 0.0]


@given(st.lists(drawn(longest=12), min_size=1, max_size=4), st.data())
def test_means_are_those_of_the_registry(topics: list[Topic], data: st.DataObject) -> None:
    """Over any choice of topics, also beyond the end of a ranking."""
    judged = scored(*topics)
    places = np.array(data.draw(st.lists(st.sampled_from(range(len(topics))), min_size=1, unique=True)))
    precision = mean_precision(judged, places, 14, rel=2)
    gain = mean_gain(judged, places, 14)
    discounted = mean_gain(judged, places, 14, discounted=True)
    ideal = ideal_gain(judged.judgments, places, 14, discounted=True)
    for rank in (1, 2, 5, 14):
        for key, values in (("P(rel=2)", precision), ("CG", gain), ("DCG", discounted), ("IDCG", ideal)):
            expected = parse(f"{key}@{rank}").compute(judged)[places].mean()
            assert values[rank - 1] == pytest.approx(expected, abs=1e-12), (key, rank)


def test_without_topics_every_mean_is_0() -> None:
    """No division by their number."""
    judged = scored(Topic((1, 2)))
    nowhere = np.array([], dtype=np.int64)
    assert mean_precision(judged, nowhere, 3).tolist() == [0.0] * 3
    assert mean_gain(judged, nowhere, 3).tolist() == [0.0] * 3
    assert ideal_gain(judged.judgments, nowhere, 3).tolist() == [0.0] * 3
