"""Two-way analysis of variance without replication: runs by topics, one score each.

Fisher, Statistical Methods for Research Workers, 1925; for runs Carterette, Multiple Testing in Statistical
Analysis of Systems-Based Information Retrieval Experiments, ACM Transactions on Information Systems 30(1),
2012.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats import special
from leaderboard.stats.pairs.paired_t import ROUNDING

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Anova:
    """The components of the scores' variation; a mean square without degrees of freedom is 0."""

    runs_df: int
    topics_df: int
    residual_df: int
    runs_mean_square: float
    topics_mean_square: float
    residual_mean_square: float
    """Variance explained neither by run nor by topic; 0 if it is only rounding."""
    f: float
    """The runs' mean square over the residual's; infinite without residual variance."""
    p: float
    """Of the hypothesis that all runs are alike, from 0 to 1."""


def anova(scores: FloatArray) -> Anova:
    """The analysis of scores (runs, topics). Raises ValueError without runs or topics.

    >>> scores = np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5], [0.3, 0.5, 0.4, 0.2, 0.3]])
    >>> analysis = anova(scores)
    >>> round(analysis.f, 6), round(analysis.p, 6), round(analysis.residual_mean_square, 6)
    (2.785714, 0.120742, 0.009333)
    """
    if not scores.size:
        raise ValueError("an analysis of variance needs at least a run and a topic")
    n, topics = scores.shape
    of_runs, of_topics, mean = scores.mean(axis=1), scores.mean(axis=0), scores.mean()
    residuals = scores - of_runs[:, None] - of_topics + mean
    residual_df = (n - 1) * (topics - 1)
    runs_square = topics * float(np.square(of_runs - mean).sum()) / max(1, n - 1)
    topics_square = n * float(np.square(of_topics - mean).sum()) / max(1, topics - 1)
    residual_square = float(np.square(residuals).sum()) / max(1, residual_df)
    rounding = float(np.square(ROUNDING * np.abs(scores).max()))
    residual_square = residual_square if residual_square > rounding else 0.0
    f, p = _f_test(runs_square if runs_square > rounding else 0.0, residual_square, n - 1, residual_df)
    return Anova(n - 1, topics - 1, residual_df, runs_square, topics_square, residual_square, f, p)


def _f_test(between: float, residual: float, between_df: int, residual_df: int) -> tuple[float, float]:
    if between == 0 or residual_df == 0:
        return 0.0, 1.0
    if residual == 0:
        return float("inf"), 0.0
    f = between / residual
    return f, float(special.fdtrc(between_df, residual_df, f))
