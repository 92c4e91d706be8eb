"""Curves on common axes, told apart by colour, mark and dashes."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.marks import SHAPES, outline
from leaderboard.web.charts.scales import Frame, Name, Scale, fitted, rounded

WIDTH, PLOT, LEFT, TOP, RIGHT = 460.0, 250.0, 50.0, 10.0, 12.0
AXIS = 38.0
"""Room under the plot for ticks and the axis' name."""
LEGEND_ROW, MOST_IN_A_ROW = 18.0, 2
LONGEST = 26, 21
MOST_CURVES = len(SHAPES)
MOST_MARKS = 12
"""Marks on a curve; one with more points carries them on some only."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A named curve through points (x, y), x rising."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Line:
    """A curve as a path, the path of its marks, and its entry in the legend."""

    series: int
    path: str
    marks: str
    name: Name
    key_x: float
    key_y: float
    key_mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart(Frame):
    """Curves in units of the view box."""

    width: float
    height: float
    lines: tuple[Line, ...]


def line_chart(
    curves: Sequence[Curve],
    *,
    x: tuple[float, float] | None = None,
    y: tuple[float, float] | None = (0.0, 1.0),
) -> LineChart:
    """At most 8 curves over the ranges x and y; None takes a range from the points.

    Raises ValueError for more curves.

    >>> chart = line_chart([Curve("a", [(0.0, 1.0), (1.0, 0.0)])])
    >>> chart.lines[0].path
    'M50 10L448 260'
    """
    if len(curves) > MOST_CURVES:
        raise ValueError(f"{len(curves)} curves cannot be told apart; draw at most {MOST_CURVES}")
    points = [point for curve in curves for point in curve.points] or [(0.0, 0.0), (1.0, 1.0)]
    ranges = x or _range([point[0] for point in points], rounding=False)
    across = Scale(*ranges, LEFT, WIDTH - RIGHT)
    down = Scale(*(y or _range([point[1] for point in points], rounding=True)), TOP + PLOT, TOP)
    rows = -(-len(curves) // MOST_IN_A_ROW)
    return LineChart(
        width=WIDTH,
        height=TOP + PLOT + AXIS + LEGEND_ROW * rows,
        left=LEFT,
        right=WIDTH - RIGHT,
        top=TOP,
        bottom=TOP + PLOT,
        across=across.ticks(6),
        down=down.ticks(5),
        lines=tuple(_line(curve, series, across, down) for series, curve in enumerate(curves)),
    )


def _range(values: Sequence[float], *, rounding: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    return rounded(low, high, 5) if rounding or low == high else (low, high)


def _line(curve: Curve, series: int, across: Scale, down: Scale) -> Line:
    places = [(across(x), down(y)) for x, y in curve.points]
    every = max(1, -(-len(places) // MOST_MARKS))
    # Each curve begins its marks elsewhere, so that those of equal curves do not all coincide.
    first = series % every
    key_x = LEFT + (series % MOST_IN_A_ROW) * (WIDTH - LEFT) / MOST_IN_A_ROW
    key_y = TOP + PLOT + AXIS + LEGEND_ROW * (series // MOST_IN_A_ROW + 0.5)
    return Line(
        series=series,
        path="M" + "L".join(f"{x:g} {y:g}" for x, y in places) if places else "",
        marks="".join(outline(SHAPES[series], x, y) for x, y in places[first::every]),
        name=fitted(curve.name, *LONGEST),
        key_x=key_x,
        key_y=key_y,
        key_mark=outline(SHAPES[series], key_x + 12, key_y),
    )
