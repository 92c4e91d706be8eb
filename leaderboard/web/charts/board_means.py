"""A board's means on one axis, a cell a run: its interval, the middle half of the field, the baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

from leaderboard.web.charts.scales import Scale, Tick, rounded

WIDTH, HEIGHT, MARGIN = 180.0, 18.0, 14.0
MOST_TICKS = 4


@dataclass(frozen=True, slots=True)
class MeanOfRun:
    """A run's mean with its interval; half_width is None where it has none, as of a baseline."""

    value: float
    half_width: float | None


@dataclass(frozen=True, slots=True)
class MeanCell:
    """A run's cell: x of its value and of the ends of its interval, in units of the drawing; what it says."""

    x: float
    low: float
    high: float
    label: str


@dataclass(frozen=True, slots=True)
class BoardMeans:
    """What every cell has, which is the axis, the field and the baselines; and the cells, by run id."""

    width: float
    height: float
    ticks: tuple[Tick, ...]
    lower: float
    median: float
    upper: float
    baselines: tuple[float, ...]
    cells: Mapping[int, MeanCell]

    @property
    def middle(self) -> float:
        """Where the marks of a cell stand, from its top."""
        return self.height / 2


def board_means(
    ranked: Mapping[int, MeanOfRun], baselines: Sequence[float], *, scale: float = 1.0, digits: int = 4
) -> BoardMeans | None:
    """The cells of the ranked runs by id; None for fewer than two. scale is of sums: the number of topics.

    >>> drawn = board_means({1: MeanOfRun(0.5, 0.1), 2: MeanOfRun(0.3, 0.1)}, [0.25])
    >>> drawn.cells[1].label, drawn.cells[1].x, [tick.label for tick in drawn.ticks]
    ('0.5000, 95% interval 0.4000 to 0.6000', 128.0, ['0.2', '0.3', '0.4', '0.5', '0.6'])
    """
    if len(ranked) < 2:
        return None
    spans = {
        run_id: (run.value, scale * run.half_width if run.half_width is not None else 0.0)
        for run_id, run in ranked.items()
    }
    ends = [value + sign * half for value, half in spans.values() for sign in (-1, 1)]
    low, high = rounded(min(*ends, *baselines), max(*ends, *baselines), MOST_TICKS)
    across = Scale(low, high, start=MARGIN, end=WIDTH - MARGIN)
    lower, median, upper = quantiles((value for value, _ in spans.values()), n=4, method="inclusive")
    cells = {
        run_id: MeanCell(
            across(value),
            across(value - half),
            across(value + half),
            f"{value:.{digits}f}, 95% interval {value - half:.{digits}f} to {value + half:.{digits}f}",
        )
        for run_id, (value, half) in spans.items()
    }
    return BoardMeans(
        width=WIDTH,
        height=HEIGHT,
        ticks=across.ticks(MOST_TICKS),
        lower=across(lower),
        median=across(median),
        upper=across(upper),
        baselines=tuple(across(value) for value in baselines),
        cells=cells,
    )
