"""Relevance plus dissimilarity of the top k."""

import dataclasses

import numpy as np
import pytest

from leaderboard.errors import MissingInput, UnknownMeasure
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged
from leaderboard.measures.richer_examples import judged

MATRIX = np.array([[0.0, 0.2, 0.9], [0.2, 0.0, 0.7], [0.9, 0.7, 0.0]])


def run_of(hits: dict[int, int], matrix: np.ndarray = MATRIX, retrieved: int = 3) -> Judged:
    """A ranking of one topic whose top documents have these dissimilarities."""
    return dataclasses.replace(judged(hits, retrieved=retrieved), dissimilarity=(matrix,))


def score(name: str, run: Judged) -> float:
    """The measure's score of the topic."""
    return float(parse(name).compute(run)[0])


def test_pairs_count_once_or_twice() -> None:
    """Relevance 1.5 and pairs of 1.8: 0.9 + 0.72, or twice that for both orders."""
    run = run_of({1: 2, 2: 1, 3: 0})
    assert score("Div(max_rel=2,lam=0.6)@3", run) == pytest.approx(1.62, abs=1e-12)
    assert score("Div(max_rel=2,lam=0.6,pairs='ordered')@3", run) == pytest.approx(2.34, abs=1e-12)


def test_only_the_top_counts() -> None:
    """At 2 the third document and its pairs are left out; a ranking of two has no more at 3."""
    run = run_of({1: 2, 2: 1, 3: 2})
    assert score("Div(max_rel=2,lam=0.6)@2", run) == pytest.approx(0.6 * 1.5 + 0.4 * 0.2, abs=1e-12)
    short = run_of({1: 2, 2: 1}, retrieved=2)
    assert score("Div(max_rel=2,lam=0.6)@3", short) == pytest.approx(0.6 * 1.5 + 0.4 * 0.2, abs=1e-12)


def test_relevance_is_the_share_of_the_highest_grade() -> None:
    """Unjudged and negative documents have none, a grade above the scale has all."""
    assert score("Div(max_rel=4,lam=1)@3", run_of({1: 9, 2: -2, 3: 3})) == 1.75
    assert score("Div(max_rel=4,lam=1)@3", run_of({3: 1})) == 0.25


def test_where_directions_differ_the_upper_row_counts_once() -> None:
    """A pair that counts once is the value from the upper document to the lower; no document is a pair."""
    run = run_of({}, np.array([[9.0, 0.25], [0.75, 9.0]]), retrieved=2)
    assert score("Div(max_rel=1,lam=0)@2", run) == 0.25
    assert score("Div(max_rel=1,lam=0,pairs='ordered')@2", run) == 1.0


def test_an_empty_ranking_scores_zero() -> None:
    """Nothing retrieved, nothing gained."""
    assert score("Div(max_rel=1)@5", run_of({}, np.empty((0, 0)), retrieved=0)) == 0.0


def test_dissimilarities_are_asked_for() -> None:
    """Without any, or for too few documents, there is an error that says so."""
    with pytest.raises(MissingInput, match="documents' text"):
        score("Div(max_rel=1)@3", judged({1: 1}))
    with pytest.raises(MissingInput, match="top 4 documents of topic 1 .* those of 3"):
        score("Div(max_rel=1)@5", run_of({}, retrieved=4))


def test_the_scale_must_be_said() -> None:
    """A grade has no share of an unknown highest one."""
    with pytest.raises(UnknownMeasure, match="max_rel"):
        parse("Div@3")
