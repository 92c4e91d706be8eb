"""The numbers of reproductions, held against repro_eval where it is installed."""

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from leaderboard.stats.reproductions.documents import document_order
from leaderboard.stats.reproductions.effects import Effect
from leaderboard.stats.reproductions.levels import nrmse, rmse
from leaderboard.stats.reproductions.two_samples import paired, unpaired

MEASURE = "map"
TOPICS, DOCUMENTS = 12, 40


@pytest.fixture(scope="module")
def oracle() -> Any:
    """repro_eval's measures; it imports from a place that scipy will remove, which warns."""
    pytest.importorskip("repro_eval", reason="repro_eval is not installed (extra test)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = ("document_order", "effectiveness", "overall_effects", "statistics")
        return {name: import_module(f"repro_eval.measure.{name}") for name in names}


def _scores(column: Any) -> dict[str, dict[str, float]]:
    return {f"{topic:02}": {MEASURE: float(score)} for topic, score in enumerate(column)}


def _runs(orders: Any) -> dict[str, dict[str, float]]:
    return {
        f"{topic:02}": {f"d{document}": float(-rank) for rank, document in enumerate(order)}
        for topic, order in enumerate(orders)
    }


@pytest.mark.parametrize("seed", range(3))
def test_scores_agree(oracle: Any, seed: int) -> None:
    """RMSE, nRMSE, ER, DRI, and p of both tests."""
    draw = np.random.default_rng(seed)
    b, a, b_again, a_again = draw.random((4, TOPICS))
    scores = [_scores(column) for column in (b, a, b_again, a_again)]
    effectiveness, effects = oracle["effectiveness"], oracle["overall_effects"]
    assert rmse(b, b_again) == pytest.approx(effectiveness.RMSE(scores[0], scores[2])[MEASURE], rel=1e-12)
    assert nrmse(a, a_again) == pytest.approx(effectiveness.nRMSE(scores[1], scores[3])[MEASURE], rel=1e-12)
    effect = Effect(*(float(column.mean()) for column in (b, a, b_again, a_again)))
    order = (scores[1], scores[0], scores[3], scores[2])
    assert effect.er == pytest.approx(effects.ER(*order)[MEASURE], rel=1e-9)
    assert effect.dri == pytest.approx(effects.DRI(*order)[MEASURE], rel=1e-9)
    test = oracle["statistics"].ttest
    assert paired(b, b_again).p == pytest.approx(test(scores[0], scores[2])[MEASURE], rel=1e-9)
    fewer = _scores(b_again[:7])
    assert unpaired(b, b_again[:7]).p == pytest.approx(test(scores[0], fewer, rpd=False)[MEASURE], rel=1e-9)
    with np.errstate(all="ignore"):  # scipy divides by no degree of freedom
        of_one = test(_scores(b[:1]), _scores(b[:1]))[MEASURE]
    assert paired(b[:1], b[:1]).p == of_one == 1


@pytest.mark.parametrize("seed", range(3))
def test_orders_of_documents_agree(oracle: Any, seed: int) -> None:
    """KTU by spelling and RBO to depth 1,000, of rankings that share some of their documents."""
    draw = np.random.default_rng(seed)
    orders = [[draw.permutation(DOCUMENTS)[:25].tolist() for _ in range(TOPICS)] for _ in range(2)]
    ours = document_order(*([[f"d{one}" for one in order] for order in side] for side in orders))
    original, again = (_runs(side) for side in orders)
    documents = oracle["document_order"]
    assert ours.ktu_by_spelling == pytest.approx(documents.KTU(original, again), abs=1e-12)
    rbo = documents.RBO(original, again, p=0.95, depth=1000, pbar=False, per_topic=False)
    assert ours.rbo_repro_eval == pytest.approx(rbo, rel=1e-12)
