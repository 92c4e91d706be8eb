"""How much a document counts in a score is what the score moves by where the document's label does."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from leaderboard.stats.combined import measures, planning
from leaderboard.stats.combined.labels import FloatArray, Labels, ValueOf, chance_of, gain_of, relevant_from
from tests.stats.combined.example import LABELS, RANKINGS

EVERYTHING = replace(LABELS, people=LABELS.machine, probability=np.ones(15))
RANKED = np.where(np.arange(3) < 2, RANKINGS, np.where(RANKINGS[[1, 0]] % 5 == 4, -1, RANKINGS))


@pytest.mark.parametrize(
    ("score", "weigh", "value_of"),
    [
        (partial(measures.precision, cutoff=2), partial(planning.precision, cutoff=2), relevant_from(1)),
        (
            partial(measures.rank_biased, p=0.8, rel=2),
            partial(planning.rank_biased, p=0.8, rel=2),
            relevant_from(2),
        ),
        (partial(measures.dcg, cutoff=3), partial(planning.dcg, cutoff=3), gain_of),
        (measures.reciprocal_rank, planning.reciprocal_rank, relevant_from(1)),
        (
            partial(measures.expected_reciprocal_rank, max_rel=2),
            partial(planning.expected_reciprocal_rank, max_rel=2),
            chance_of(2),
        ),
    ],
)
def test_a_score_moves_by_the_weight_of_what_moves(
    score: Callable[..., FloatArray], weigh: Callable[..., FloatArray], value_of: ValueOf
) -> None:
    """Every document to every grade, one at a time: the score by the machine rises by weight times worth."""
    counts = planning.on_judged(EVERYTHING, RANKED, weigh(EVERYTHING, RANKED))
    before = score(EVERYTHING, RANKED)
    for place, grade in np.ndindex(15, 3):
        moved = _moved(place, grade)
        more = value_of(moved.machine)[place] - value_of(EVERYTHING.machine)[place]
        risen = (score(moved, RANKED) - before).sum(axis=1)
        assert risen == pytest.approx(counts[:, place] * more, rel=0, abs=1e-12)


def test_what_counts_in_average_precision_and_in_ndcg() -> None:
    """The same of their numerators, over the relevant documents and over the ideal DCG by the machine."""
    relevant = np.array([3.0, 3.0, 3.0])
    weight = planning.average_precision(LABELS, RANKED)
    counts = planning.on_judged(EVERYTHING, RANKED, weight * relevant[:, None])
    before = measures.average_precision(EVERYTHING, RANKED) * relevant
    for place in range(15):
        now = EVERYTHING.machine[place] > 0
        moved = _moved(place, 0 if now else 1)
        changed = relevant + np.where(np.arange(3) == place // 5, -1 if now else 1, 0)
        risen = (measures.average_precision(moved, RANKED) * changed - before).sum(axis=1)
        assert risen == pytest.approx(counts[:, place] * (-1 if now else 1), rel=0, abs=1e-12)
    shares = planning.ndcg(LABELS, RANKED, cutoff=2)
    scores = (shares * measures.in_rankings(gain_of(LABELS.machine), RANKED[..., :2])).sum(axis=-1)
    assert scores == pytest.approx(measures.ndcg(EVERYTHING, RANKED, cutoff=2), rel=1e-12)


def test_what_counts_of_the_documents_that_people_judged() -> None:
    """In the order of the labels; what was not judged, or stands nowhere, counts nothing."""
    counts = planning.on_judged(LABELS, RANKINGS, planning.dcg(LABELS, RANKINGS))
    assert counts.shape == (2, 10)
    third = measures.discounts(3)
    # On the first topic A, C and E were judged: the first run has A, B, D, the second C, A, E.
    assert counts[0, :3].tolist() == [third[0], 0, 0]
    assert counts[1, :3].tolist() == [third[1], third[0], third[2]]
    assert (counts > 0).sum(axis=1).tolist() == [5, 7]


def _moved(place: int, grade: int) -> Labels:
    grades = EVERYTHING.machine.copy()
    grades[place] = grade
    return replace(EVERYTHING, machine=grades, people=grades)
