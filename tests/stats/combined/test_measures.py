"""Rectified values and scores: a worked example, exhaustive draws, and everything judged."""

from itertools import product

import numpy as np
import pytest

from leaderboard.stats.combined import measures
from leaderboard.stats.combined.labels import Labels, gain_of, predicted, rectified, relevant_from
from tests.stats.combined.example import LABELS, RANKINGS

EXACT = {"rel": 0.0, "abs": 5e-11}


def test_predicted_and_rectified_values() -> None:
    """Of gains, and of being relevant; the topic's own judgments are left out."""
    expected = [1.5, 1, 1, 0, 0, 2, 2, 0.4, 0.5, 0.4, 1 / 3, 2 / 3, 4 / 3, 1 / 3, 2 / 3]
    assert predicted(LABELS, gain_of) == pytest.approx(expected, **EXACT)
    gains = [2, 1, -1, 0, 4, 0, 2, -0.4, 1, 0.4, 5 / 3, -2 / 3, 8 / 3, 1 / 3, -2]
    assert rectified(LABELS, gain_of) == pytest.approx(gains, **EXACT)
    relevant = [1, 1, -1, 0, 4, 1, 1, -0.4, 1, 0.4, 5 / 3, -2 / 3, 1, 1 / 3, -2]
    assert rectified(LABELS, relevant_from(1)) == pytest.approx(relevant, **EXACT)


def test_nothing_to_predict_from_but_the_machine() -> None:
    """Where no other topic has a judgment of that grade, all grades count; without any, the machine's own."""
    topic, machine = np.array([0, 0, 1]), np.array([2, 1, 2])
    none = Labels(topic, machine, np.array([-1, -1, -1]), np.ones(3), 2)
    assert predicted(none, gain_of).tolist() == [2, 1, 2]
    one = Labels(topic, machine, np.array([-1, -1, 3]), np.ones(3), 2)
    assert predicted(one, gain_of).tolist() == [3, 3, 2]


def test_scores_of_the_example() -> None:
    """Each measure on each topic, to the last digit given."""
    assert measures.ideal_dcg(LABELS, 3) == pytest.approx([3.1309297536, 2.1309297536, 2.8412396714], **EXACT)
    scores = {
        "P@3": measures.precision(LABELS, RANKINGS, cutoff=3),
        "DCG@3": measures.dcg(LABELS, RANKINGS, cutoff=3),
        "nDCG@3": measures.ndcg(LABELS, RANKINGS, cutoff=3),
        "RR": measures.reciprocal_rank(LABELS, RANKINGS),
        "AP": measures.average_precision(LABELS, RANKINGS),
    }
    worked = {
        "P@3": ([0.6666666667, 0.8, 0.6666666667], [1.3333333333, 0.5333333333, -0.1111111111]),
        "DCG@3": ([2.6309297536, 2.2, 3.3848829226], [2.2618595071, 0.7476280986, -0.0872865024]),
        "nDCG@3": ([0.8403030284, 1.0324131973, 1.1913401592], [0.7224242270, 0.3508459616, -0.0307212740]),
        "RR": ([1, 1, 1], [0, 1, 0.1111111111]),
        "AP": ([0.4, 0.8, 0.9259259259], [0.0666666667, 0.3777777778, -0.0555555556]),
    }
    for name, expected in worked.items():
        assert scores[name] == pytest.approx(np.array(expected), rel=0, abs=6e-11), name


def test_the_first_relevant_document_is_estimated_without_bias() -> None:
    """The mean over all 32 samples by their probability is the value by people, whatever was predicted."""
    grades, prediction = np.array([0, 1, 0, 1, 1]), np.array([0.3, 0.6, 0.2, 0.5, 0.9])
    probability = np.array([1, 0.5, 0.5, 0.3, 0.2])
    means = np.zeros(2)
    for drawn in product((False, True), repeat=5):
        chosen = np.array(drawn)
        chance = np.where(chosen, probability, 1 - probability).prod()
        values = prediction + np.where(chosen, (grades - prediction) / probability, 0)
        found = measures.in_rankings(values, np.arange(5)[None, None, :])
        above = np.cumsum(found) - found[0, 0]
        summed = (found[0, 0] * (1 + above) / np.arange(1, 6)).sum()
        means += chance * np.array([measures._cascade(found)[0, 0], summed])
    assert means == pytest.approx([0.5, 1.6])


def test_precision_and_gain_are_estimated_without_bias() -> None:
    """Over all draws of two topics of three documents each: predictions come of the other topic's draw."""
    topic, machine = np.repeat([0, 1], 3), np.array([1, 1, 0, 0, 2, 1])
    grades, probability = np.array([2, 0, 1, 1, 0, 2]), np.array([0.5, 0.25, 0.5, 0.25, 0.5, 0.75])
    rankings = np.array([[[0, 1], [5, 3]]])
    sums = np.zeros((2, 2))
    for drawn in product((False, True), repeat=6):
        chosen = np.array(drawn)
        labels = Labels(topic, machine, np.where(chosen, grades, -1), probability, 2)
        chance = np.where(chosen, probability, 1 - probability).prod()
        sums[0] += chance * measures.precision(labels, rankings, cutoff=2)[0]
        sums[1] += chance * measures.dcg(labels, rankings)[0]
    assert sums[0] == pytest.approx([0.5, 1.0])
    assert sums[1] == pytest.approx([2.0, 2 + 1 / np.log2(3)])


def test_everything_judged_is_the_plain_measure() -> None:
    """With all documents judged for certain, the machine plays no part."""
    rng = np.random.default_rng(5)
    topic, people = np.repeat(np.arange(4), 6), rng.integers(0, 4, 24)
    labels = Labels(topic, rng.integers(0, 4, 24), people, np.ones(24), 4)
    rankings = np.array([[rng.permutation(6) + 6 * at for at in range(4)] for _ in range(3)])
    gains = people[rankings]
    ideal = np.sort(people.reshape(4, 6), axis=1)[:, ::-1]
    ndcg = (gains @ measures.discounts(6)) / (ideal @ measures.discounts(6))
    assert measures.ndcg(labels, rankings) == pytest.approx(ndcg)
    hits = gains >= 1
    ranks = np.arange(1, 7)
    ap = (hits * np.cumsum(hits, axis=-1) / ranks).sum(axis=-1) / (people.reshape(4, 6) >= 1).sum(axis=1)
    assert measures.average_precision(labels, rankings) == pytest.approx(ap)
    first = np.where(hits.any(axis=-1), 1 / (1 + hits.argmax(axis=-1)), 0)
    assert measures.reciprocal_rank(labels, rankings) == pytest.approx(first)
    assert measures.rank_biased(labels, rankings, p=0.5) == pytest.approx(0.5 * hits @ 0.5 ** np.arange(6))
    stops = (2.0**gains - 1) / 8
    err = (
        stops * np.concatenate((np.ones((3, 4, 1)), np.cumprod(1 - stops, axis=-1)[..., :-1]), -1) / ranks
    ).sum(-1)
    assert measures.expected_reciprocal_rank(labels, rankings, max_rel=3) == pytest.approx(err)


def test_labels_that_do_not_fit_are_refused() -> None:
    """Another length, and a probability of 0."""
    ones = np.ones(2, dtype=np.int64)
    with pytest.raises(ValueError, match="as many"):
        Labels(ones, ones, ones, np.ones(3), 2)
    with pytest.raises(ValueError, match="above 0"):
        Labels(ones, ones, ones, np.array([0.0, 1.0]), 2)
