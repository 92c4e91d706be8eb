"""Rank-biased overlap of all pairs of runs: each pair's mean is that of the two alone."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.stats.orders.rbo import rbo
from leaderboard.stats.orders.rbo_all_pairs import rbo_of_all_pairs

Topic = NDArray[np.int64]


@st.composite
def boards(draw: st.DrawFn) -> list[Topic]:
    """Rankings of two to five runs for one to four topics, at most six documents deep."""
    runs = draw(st.integers(2, 5))
    even = draw(st.booleans())
    topics = []
    for _ in range(draw(st.integers(1, 4))):
        rows = [draw(st.permutations(range(9)))[:6] for _ in range(runs)]
        lengths = [6 if even else draw(st.integers(0, 6)) for _ in range(runs)]
        rows = [row[:length] + [-1] * (6 - length) for row, length in zip(rows, lengths, strict=True)]
        topics.append(np.array(rows, dtype=np.int64))
    return topics


def known(row: Topic) -> list[int]:
    """The documents a run has."""
    return [document for document in row.tolist() if document >= 0]


def one_by_one(topics: list[Topic], p: float) -> list[float]:
    """The mean overlap of each pair over the topics for which either has documents."""
    means = []
    for first, second in combinations(range(len(topics[0])), 2):
        lists = [(known(topic[first]), known(topic[second])) for topic in topics]
        overlaps = [rbo(one, two, p).ext for one, two in lists if one or two]
        means.append(sum(overlaps) / len(overlaps) if overlaps else 0.0)
    return means


@given(boards(), st.floats(0.05, 0.98))
def test_each_pair_gets_what_it_gets_alone(topics: list[Topic], p: float) -> None:
    """All at once or two by two, be the rankings of one length or not."""
    assert rbo_of_all_pairs(topics, p) == pytest.approx(one_by_one(topics, p), abs=1e-12)


def test_deep_rankings_at_a_low_p_keep_their_documents() -> None:
    """A rank whose weight is too small for a float still has its document."""
    topic = np.array([np.arange(600), np.arange(600)[::-1], np.r_[0, np.arange(600, 1199)]])
    assert rbo_of_all_pairs([topic], 0.05) == pytest.approx(one_by_one([topic], 0.05), abs=1e-12)


def test_documents_may_have_any_numbers() -> None:
    """Only equality counts, and one topic's numbers mean nothing on another."""
    small = [np.array([[0, 1, 2], [2, 0, 3]]), np.array([[5, 4, -1], [4, 6, 7]])]
    large = [np.where(topic < 0, -1, topic * 1_000_003 + 17).astype(np.int32) for topic in small]
    assert rbo_of_all_pairs(large).tolist() == rbo_of_all_pairs(small).tolist()


def test_progress_ends_at_one() -> None:
    """Every topic done is told."""
    told: list[float] = []
    rbo_of_all_pairs([np.array([[0], [1]])] * 4, progress=told.append)
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_one_run_has_no_pairs() -> None:
    """A board of one run has nothing to compare."""
    assert rbo_of_all_pairs([np.array([[0, 1]])]).shape == (0,)


@pytest.mark.parametrize(
    ("topics", "p", "reason"),
    [
        ([np.array([[0, 0], [0, 1]])], 0.9, "twice"),
        ([np.array([[-1, 0], [0, 1]])], 0.9, "behind the end"),
        ([np.array([[1, 0], [0, 1]])], 1.0, "below 1"),
        ([], 0.9, "no topic"),
    ],
)
def test_refusals(topics: list[Topic], p: float, reason: str) -> None:
    """Rankings that are none, and no rankings."""
    with pytest.raises(ValueError, match=reason):
        rbo_of_all_pairs(topics, p)
