"""How alike a judge's board and the reference are: coefficients of the means of the runs both have."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.orders import rank_correlation
from leaderboard.stats.orders.pair_signs import pair_signs
from leaderboard.stats.orders.rbo import rbo_within

FloatArray = NDArray[np.float64]
P = 0.9
"""RBO's weight of a depth is this times that of the one above."""


@dataclass(frozen=True, slots=True)
class BoardAgreement:
    """Coefficients of two boards of the same runs, None where one is undefined.

    tau_b, tau_ap_b, rho and r from -1 to 1; rbo and accuracy from 0 to 1. r is Pearson's, of the means
    themselves: it is shown, and nothing is ranked by it. top_tau is tau_b among the best top runs of the
    reference, None where that was not asked for.
    """

    runs: int
    tau_b: float | None
    tau_ap_b: float | None
    rho: float | None
    r: float | None
    rbo: float
    accuracy: float | None
    top: int
    top_tau: float | None


def board_agreement(
    reference: FloatArray, judge: FloatArray, names: Sequence[str], *, k: int = 0, cut_ties: bool = False
) -> BoardAgreement:
    """The agreement of the means by reference and judge, (runs,) each, of the runs of these names.

    RBO takes tied runs in order of their names. k: how many runs of the top are looked at alone, 0 for none;
    with those that tie with the last of them, or, where ties are cut, in the order given. Raises ValueError
    for fewer than two runs.

    >>> reference = np.array([0.8, 0.7, 0.6, 0.6, 0.3])
    >>> found = board_agreement(reference, np.array([0.9, 0.6, 0.75, 0.6, 0.2]), "ABCDE")
    >>> round(found.tau_b, 6), found.tau_ap_b, round(found.accuracy, 6), round(found.rbo, 6)
    (0.666667, 0.5, 0.833333, 0.890113)
    """
    if len(reference) < 2:
        raise ValueError("a board of fewer than two runs has no order")
    top = _top(reference, k, cut_ties) if k else np.zeros(0, dtype=np.intp)
    return BoardAgreement(
        runs=len(reference),
        tau_b=rank_correlation.tau_b(reference, judge),
        tau_ap_b=rank_correlation.tau_ap_b(reference, judge),
        rho=rank_correlation.rho(reference, judge),
        r=pearson(reference, judge),
        rbo=rbo_within(_order(reference, names), _order(judge, names), P),
        accuracy=float(value) if np.isfinite(value := accuracies(reference[None], judge[None])[0]) else None,
        top=len(top),
        top_tau=rank_correlation.tau_b(reference[top], judge[top]) if k else None,
    )


def pearson(first: FloatArray, second: FloatArray) -> float | None:
    """Pearson's correlation of two scorings; None where a scoring does not vary.

    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 6)
    0.5
    """
    if len(first) < 2 or not (np.ptp(first) and np.ptp(second)):
        return None
    return float(np.corrcoef(first, second)[0, 1])


def accuracies(reference: FloatArray, judge: FloatArray) -> FloatArray:
    """Of the pairs that the reference does not tie, the share that the judge orders alike, a tie half.

    reference, judge: (orders, runs); one share each, (orders,), NaN where the reference ties all runs.

    >>> accuracies(np.array([[3.0, 2.0, 1.0]]), np.array([[3.0, 3.0, 1.0]]))
    array([0.83333333])
    """
    true, said = pair_signs(reference), pair_signs(judge)
    untied = np.count_nonzero(true, axis=1)
    right = (
        np.count_nonzero(true * said > 0, axis=1) + np.count_nonzero((true != 0) & (said == 0), axis=1) / 2
    )
    return np.where(untied > 0, right / np.maximum(untied, 1), np.nan)


def _order(means: FloatArray, names: Sequence[str]) -> list[str]:
    return [names[run] for run in sorted(range(len(names)), key=lambda run: (-means[run], names[run]))]


def _top(means: FloatArray, k: int, cut_ties: bool) -> NDArray[np.intp]:
    best = np.argsort(-means, kind="stable")[:k]
    return np.sort(best) if cut_ties else np.flatnonzero(means >= means[best[-1]])
