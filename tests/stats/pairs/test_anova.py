"""Two-way analysis of variance: worked numbers, statsmodels, and scores without a residual."""

import numpy as np
import pytest

from leaderboard.stats.pairs.anova import anova
from tests.stats.worked import WORKED, generated


def test_worked_example() -> None:
    """Three runs on five topics: F(2, 8)."""
    analysis = anova(WORKED)
    assert (analysis.runs_df, analysis.topics_df, analysis.residual_df) == (2, 4, 8)
    assert analysis.f == pytest.approx(2.785714, abs=5e-7)
    assert analysis.p == pytest.approx(0.120742, abs=5e-7)
    assert analysis.residual_mean_square == pytest.approx(0.009333, abs=5e-7)


@pytest.mark.parametrize("shape", [(2, 2), (3, 10), (12, 25)])
def test_agrees_with_statsmodels(shape: tuple[int, int]) -> None:
    """An ordinary least squares fit of runs and topics."""
    formula = pytest.importorskip("statsmodels.formula.api")
    anova_lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    scores = generated(*shape)
    run, topic = np.indices(shape)
    columns = {"score": scores.ravel(), "run": run.ravel(), "topic": topic.ravel()}
    frame = pytest.importorskip("pandas").DataFrame(columns)
    theirs = anova_lm(formula.ols("score ~ C(run) + C(topic)", frame).fit())
    analysis = anova(scores)
    assert [analysis.runs_df, analysis.topics_df, analysis.residual_df] == theirs["df"].tolist()
    squares = (analysis.runs_mean_square, analysis.topics_mean_square, analysis.residual_mean_square)
    assert squares == pytest.approx((theirs["sum_sq"] / theirs["df"]).tolist(), rel=1e-10)
    assert analysis.f == pytest.approx(theirs["F"].iloc[0], rel=1e-10)
    assert analysis.p == pytest.approx(theirs["PR(>F)"].iloc[0], rel=1e-10)


def test_nothing_left_to_explain() -> None:
    """Runs that differ by the same on every topic; runs that are all the same; one run; one topic."""
    constant = anova(np.array([WORKED[0], WORKED[0] + 0.1]))
    assert (constant.residual_mean_square, constant.f, constant.p) == (0, np.inf, 0)
    same = anova(WORKED[[0, 0, 0]])
    assert (same.residual_mean_square, same.f, same.p) == (0, 0, 1)
    for alone in (anova(WORKED[:1]), anova(WORKED[:, :1])):
        assert (alone.residual_df, alone.residual_mean_square, alone.f, alone.p) == (0, 0, 0, 1)


def test_no_scores_are_refused() -> None:
    """There is nothing to analyse."""
    with pytest.raises(ValueError, match="at least a run and a topic"):
        anova(np.empty((0, 5)))
