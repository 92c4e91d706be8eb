"""The TREC-8 ad hoc runs: p-values and counts known for them. The scores are not part of the project."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from leaderboard.stats.pairs.methods import all_pairs, method
from leaderboard.stats.pairs.sign import sign_test
from leaderboard.stats.pairs.signed_rank import signed_rank
from tests.stats.worked import trec_8

FloatArray = NDArray[np.float64]
MILLION = 1_000_000


@pytest.fixture(scope="module")
def scores(shared_data: Path) -> FloatArray:
    """AP of 129 runs on 50 topics."""
    return trec_8(shared_data)


@pytest.mark.trial
def test_published_p_of_two_runs(scores: FloatArray) -> None:
    """Those of runs 125 and 126 in the README published with the scores."""
    pair = scores[124:126]
    assert all_pairs(pair, method("t+none"), seed=1).p.item() == pytest.approx(0.0013193972, abs=5e-11)
    assert signed_rank(pair, correction=True).p.item() == pytest.approx(0.003445188, abs=5e-10)
    assert sign_test(pair, tie=0.01).p.item() == pytest.approx(0.009559879, abs=5e-10)
    for key, published in (("randomisation+none", 0.001188), ("bootstrap+none", 0.000586)):
        table = all_pairs(pair, method(key), seed=1, resamples=MILLION).p.item()
        # Both are drawn: four standard errors of the difference.
        assert table == pytest.approx(published, abs=4 * np.sqrt(2 * published / MILLION))


@pytest.mark.trial
@pytest.mark.parametrize(
    ("key", "known", "within"),
    [
        ("t+none", 5981, 0),
        ("wilcoxon+none", 6055, 0),
        ("t+holm", 3084, 0),
        ("t+bh", 5801, 0),
        ("wilcoxon+bh", 5909, 0),
        ("tukey", 3423, 0),
        ("randomisation+none", 5999, 20),
        ("randomised_tukey", 2669, 60),
    ],
)
def test_pairs_told_apart(scores: FloatArray, key: str, known: int, within: int) -> None:
    """How many of the 8,256 pairs each method tells apart at 5 %, random ones but for chance."""
    table = all_pairs(scores, method(key), seed=1)
    assert np.count_nonzero(table.adjusted < 0.05) == pytest.approx(known, abs=within)
