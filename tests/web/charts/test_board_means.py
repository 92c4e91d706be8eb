"""The means of a board on one axis: every mark lies on it, and what cannot be drawn is left out."""

import pytest

from leaderboard.web.charts.ranges import BOARD_MEANS_WIDTH, MARGIN, MeanOfRun, board_means

RUNS = {1: MeanOfRun(0.9, 0.05), 2: MeanOfRun(0.5, 0.2), 3: MeanOfRun(0.4, None), 4: MeanOfRun(0.2, 0.1)}


def test_all_lies_on_the_axis_in_order() -> None:
    """Means, ends of intervals, quartiles and baselines, from left to right as their values are."""
    drawn = board_means(RUNS, [0.05, 0.95])
    assert drawn is not None
    cells = drawn.cells
    assert cells[4].x < cells[3].x < cells[2].x < cells[1].x
    assert drawn.lower < drawn.median < drawn.upper
    assert cells[3].x < drawn.median < cells[2].x
    places = [*drawn.baselines, *(end for cell in cells.values() for end in (cell.low, cell.x, cell.high))]
    assert all(MARGIN <= place <= BOARD_MEANS_WIDTH - MARGIN for place in places)
    assert drawn.baselines[0] < cells[4].low
    assert drawn.baselines[1] > cells[1].x


def test_a_run_without_an_interval_has_a_point() -> None:
    """One topic says nothing of others."""
    drawn = board_means(RUNS, [])
    assert drawn is not None
    assert drawn.cells[3].low == drawn.cells[3].x == drawn.cells[3].high


def test_intervals_of_sums_are_as_wide_as_sums_are() -> None:
    """The half width is of a mean over topics; a sum over ten of them varies ten times as much."""
    drawn = board_means({1: MeanOfRun(5.0, 0.1), 2: MeanOfRun(3.0, 0.1)}, [], scale=10, digits=1)
    assert drawn is not None
    assert drawn.cells[1].label == "5.0, 95% interval 4.0 to 6.0"


@pytest.mark.parametrize("runs", [{}, {1: MeanOfRun(0.5, 0.1)}])
def test_one_run_is_no_field(runs: dict[int, MeanOfRun]) -> None:
    """Nothing to compare it with."""
    assert board_means(runs, [0.3]) is None
