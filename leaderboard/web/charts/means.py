"""Runs by their values of two measures, each on a scale of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.marks import outline
from leaderboard.web.charts.notes import beside
from leaderboard.web.charts.scales import Scale, fixed, rounded
from leaderboard.web.charts.scatter import BOTTOM, LEFT, RIGHT, SIZE, TOP, Pair, Point, PointChart


@dataclass(frozen=True, slots=True, kw_only=True)
class MeansChart(PointChart):
    """Points in a square."""

    size: float


def means_chart(runs: Sequence[Pair], *, named: int = 6, digits: tuple[int, int] = (4, 4)) -> MeansChart:
    """The first measure across, the second upwards; the first of them are named where there is room.

    >>> chart = means_chart([Pair("a", 0.0, 10.0), Pair("b", 1.0, 20.0)])
    >>> [(point.x, point.y) for point in chart.points]
    [(50.0, 380.0), (410.0, 10.0)]
    """
    across = Scale(*_domain([run.first for run in runs]), LEFT, SIZE - RIGHT)
    down = Scale(*_domain([run.second for run in runs]), SIZE - BOTTOM, TOP)
    points = tuple(_point(run, across, down, digits) for run in runs)
    return MeansChart(
        size=SIZE,
        left=LEFT,
        right=SIZE - RIGHT,
        top=TOP,
        bottom=SIZE - BOTTOM,
        across=across.ticks(5),
        down=down.ticks(5),
        points=points,
        notes=beside(
            [(run.name, point) for run, point in zip(runs[:named], points, strict=False)], points, LEFT, SIZE
        ),
    )


def _domain(values: Sequence[float]) -> tuple[float, float]:
    return rounded(min(values, default=0.0), max(values, default=1.0), 5)


def _point(run: Pair, across: Scale, down: Scale, digits: tuple[int, int]) -> Point:
    x, y = across(run.first), down(run.second)
    values = [fixed(value, kept) for value, kept in zip((run.first, run.second), digits, strict=True)]
    label = f"{run.name}: {values[0]} and {values[1]}"
    return Point(x, y, outline("circle", x, y, 3.6), "none", label, run.href)
