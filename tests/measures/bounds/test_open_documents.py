"""Bounds with some open documents, against every way to grade them."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from leaderboard.measures.bounds.open_documents import filled, open_ends, regraded, stack
from leaderboard.measures.bounds.pairs import most_ahead
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import UNJUDGED, IntArray, Judged, Judgments

RUNS, TOPICS, TRIALS, OPEN = 3, 2, 25, 4


def _runs(chance: np.random.Generator, documents: int) -> list[Judged]:
    """Runs with holes between judged documents, on two topics with so many documents each."""
    starts = np.arange(TOPICS + 1) * documents
    judgments = Judgments(("1", "2"), np.zeros(TOPICS * documents, dtype=np.int64), starts)
    runs = []
    for _ in range(RUNS):
        counts = chance.integers(1, documents + 1, TOPICS)
        ranks = [np.sort(chance.choice(np.arange(1, 9), count, replace=False)) for count in counts]
        found = [
            chance.permutation(documents)[:count] + topic * documents for topic, count in enumerate(counts)
        ]
        topic = np.repeat(np.arange(TOPICS), counts)
        length = np.full(TOPICS, 9, dtype=np.int64)
        runs.append(Judged(judgments, topic, np.concatenate(ranks), np.concatenate(found), length))
    return runs


def _cases(highest: int) -> Iterator[tuple[Judged, list[IntArray]]]:
    """Stacked runs with open documents, and all grades there may be."""
    chance = np.random.default_rng(17)
    for _ in range(TRIALS):
        documents = int(chance.integers(3, 7))
        stacked = stack(_runs(chance, documents))
        grades = chance.integers(0, highest + 1, TOPICS * documents)
        opened = chance.choice(len(grades), OPEN, replace=False)
        every = []
        for given in product(range(highest + 1), repeat=OPEN):
            every.append(grades.copy())
            every[-1][opened] = given
        grades[opened] = UNJUDGED
        yield regraded(stacked, np.tile(grades, RUNS)), [np.tile(each, RUNS) for each in every]


@pytest.mark.parametrize("highest", [1, 2])
@pytest.mark.parametrize(
    "key", ["nDCG@5", "nDCG", "nDCG(dcg=exp-log2)@4", "AP", "AP@4", "P@3", "RR", "RBP(p=0.5)"]
)
def test_scores_lie_between_their_ends_and_reach_them(key: str, highest: int) -> None:
    """The lowest and highest of all ways to grade, by topic; no two runs are further apart than is said."""
    bound = parse(key)
    cutoff = bound.params.get("cutoff")
    for judged, every in _cases(highest):
        scores = np.stack([bound.compute(regraded(judged, grades)) for grades in every])
        full = filled(judged, cutoff if isinstance(cutoff, int) else None)
        low, high = open_ends(bound, judged, full, highest)
        np.testing.assert_allclose(low, scores.min(axis=0), atol=1e-12)
        np.testing.assert_allclose(high, scores.max(axis=0), atol=1e-12)
        ahead = most_ahead(bound, judged, RUNS, highest)
        if key.startswith(("AP", "RR")):
            assert ahead is None
            continue
        by_run = scores.reshape(-1, RUNS, TOPICS)
        found = (by_run[:, :, None] - by_run[:, None]).max(axis=0)
        assert ahead is not None
        assert (ahead >= found - 1e-12).all()
        # Tighter than what both scores by themselves would allow.
        alone = (high.reshape(RUNS, 1, TOPICS) - low.reshape(1, RUNS, TOPICS))[~np.eye(RUNS, dtype=bool)]
        assert (ahead[~np.eye(RUNS, dtype=bool)] <= alone + 1e-12).all()


def test_precision_differs_by_just_as_much_as_is_said() -> None:
    """Where weights are added up the largest difference is reached."""
    for judged, every in _cases(1):
        bound = parse("P@3")
        scores = np.stack([bound.compute(regraded(judged, grades)) for grades in every])
        by_run = scores.reshape(-1, RUNS, TOPICS)
        found = (by_run[:, :, None] - by_run[:, None]).max(axis=0)
        ahead = most_ahead(bound, judged, RUNS, 1)
        assert ahead is not None
        np.testing.assert_allclose(ahead, found, atol=1e-12)


def test_too_many_pairs_are_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores alone bound them then."""
    monkeypatch.setattr("leaderboard.measures.bounds.pairs.MOST_PLACES", 10)
    judged, _ = next(_cases(1))
    assert most_ahead(parse("P@3"), judged, RUNS, 1) is None
    with pytest.raises(ValueError, match="nothing to stack"):
        stack([])
