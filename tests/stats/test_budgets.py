"""The bound of a Ladder board, held against a count of every answer it can give."""

import math

import pytest

from leaderboard.stats import budgets


def _sequences(answers: int, step: float) -> int:
    """How many sequences of a team's scores there are: each stays or rises, to a value in whole steps.

    A change needs a best run better by more than the step, so there are at most 1 / step of them in a row,
    among at most 1 / step + 2 values.
    """
    values, most = math.floor(1 / step) + 2, math.floor(1 / step)
    return sum(math.comb(answers - 1, rises) * math.comb(values, rises + 1) for rises in range(most + 1))


@pytest.mark.parametrize("step", [0.5, 0.25, 0.1, 0.05, 0.02])
def test_no_more_answers_are_told_than_the_bound_counts(step: float) -> None:
    """For any number of answers, the bits are enough for every sequence that there is."""
    for answers in (1, 2, 3, 10, 30, 300, 3000):
        assert math.log2(_sequences(answers, step)) <= budgets.answer_bits([answers], 1, 6, step), answers


@pytest.mark.parametrize("step", [0.5, 0.25, 0.1, 0.05, 0.02])
def test_the_ladders_bound_covers_every_run_that_answers_can_lead_to(step: float) -> None:
    """Hoeffding's inequality, two-sided, for a run at every place of every sequence stays under the risk."""
    topics = 500
    for answers in (1, 2, 3, 10, 30, 300, 3000):
        runs = math.log(answers) + math.log(_sequences(answers, step))
        margin = budgets.ladder_bound(answers, step, topics) - 1.5 * step
        assert math.log(2) + runs - 2 * margin**2 * topics <= math.log(budgets.RISK), answers
