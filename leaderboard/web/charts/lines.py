"""Curves on common axes, distinguished by colour, marker and dashes."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.scales import SHAPES, Axes, Name, Scale, fitted, outline, rounded, spread

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
class LineChart(Axes):
    """Curves between two scales."""

    lines: tuple[Line, ...]
    curves: tuple[Curve, ...]

    def highest(self, count: int | None = None) -> tuple[int, int, int]:
        """Of the first curves (all unless given): which is alone highest most often, where, and of how many.

        >>> line_chart([Curve("a", [(0.0, 1.0), (1.0, 0.0)]), Curve("b", [(0.0, 0.5), (1.0, 0.0)])]).highest()
        (0, 1, 2)
        """
        values = [dict(curve.points) for curve in self.curves[:count]]
        shared = set.intersection(*map(set, values)) if values else set()
        leads = [
            sum(all(points[x] > other[x] for other in values if other is not points) for x in shared)
            for points in values
        ]
        most = max(leads, default=0)
        return (leads.index(most) if leads else 0, most, len(shared))

    def ahead(self, name: str, other: str) -> int:
        """At how many places of both curves the first is higher."""
        first, second = (
            dict(next((curve.points for curve in self.curves if curve.name == curve_name), ()))
            for curve_name in (name, other)
        )
        return sum(value > second[x] for x, value in first.items() if x in second)


def line_chart(
    curves: Sequence[Curve],
    *,
    x: tuple[float, float] | None = None,
    y: tuple[float, float] | None = (0.0, 1.0),
) -> LineChart:
    """At most 8 curves over the ranges x and y; None derives a range from the points.

    Raises ValueError for more curves.

    >>> chart = line_chart([Curve("a", [(0.0, 1.0), (1.0, 0.0)])])
    >>> chart.lines[0].path
    'M50 10L448 260'
    """
    if len(curves) > MOST_CURVES:
        raise ValueError(f"{len(curves)} curves are too many to distinguish; draw at most {MOST_CURVES}")
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
        curves=tuple(curves),
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


SLOPES_LEFT, SLOPES_RIGHT = 33.0, 55.0
HEAD, FOOT = 26.0, 10.0
LINE = 15.0
"""The height a label needs."""
CROWDED_HEIGHT = 620.0
"""Height of the plot without room for a label per run."""
MOST_ROOMY = 40
SLOPES_LONGEST = 18, 8


@dataclass(frozen=True, slots=True)
class Ranks:
    """A run's rank by the first and by the second measure, 1 the best, and the link of its name."""

    name: str
    first: int
    second: int
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Slope:
    """A run's line; labels are the heights of its names left and right, None where it is not named."""

    start: float
    end: float
    left_label: float | None
    right_label: float | None
    name: Name
    first: int
    second: int
    move: str
    kind: str
    label: str
    href: str | None


@dataclass(frozen=True, slots=True)
class SlopeChart:
    """Lines from left to right, both in percent of the drawing's width; heights in pixels."""

    height: float
    left: float
    right: float
    head: float
    end: float
    slopes: tuple[Slope, ...]


def slope_chart(ranks: Sequence[Ranks], *, largest: int = 10) -> SlopeChart:
    """One line per run; the largest moves are drawn last, over the others.

    Up to 40 runs all are named, beyond that only those with the largest moves. Of equal moves the
    run first by the first measure comes first.

    >>> chart = slope_chart([Ranks("a", 1, 2), Ranks("b", 2, 1), Ranks("c", 3, 3)], largest=1)
    >>> [(slope.name.full, slope.kind, slope.move, slope.start, slope.end) for slope in chart.slopes]
    [('b', 'plain', '▲1', 48.5, 33.5), ('c', 'plain', '', 63.5, 63.5), ('a', 'down', '▼1', 33.5, 48.5)]
    """
    order = sorted(range(len(ranks)), key=lambda at: (ranks[at].first, ranks[at].second, ranks[at].name))
    moves = sorted(order, key=lambda at: -abs(ranks[at].first - ranks[at].second))
    picked = {at for at in moves[:largest] if ranks[at].first != ranks[at].second}
    crowded = len(ranks) > MOST_ROOMY
    deepest = max((len(ranks), *(max(run.first, run.second) for run in ranks)))
    pitch = (CROWDED_HEIGHT - LINE) / max(1, deepest - 1) if crowded else LINE
    end = HEAD + (CROWDED_HEIGHT if crowded else LINE * deepest)
    drawn = [at for at in order if at not in picked] + [at for at in order if at in picked]
    named = [at for at in order if not crowded or at in picked]
    sides = [[run.first for run in ranks], [run.second for run in ranks]]
    places = [[round(HEAD + LINE / 2 + pitch * (rank - 1), 2) for rank in side] for side in sides]
    labels = [_labels(side, named, end) for side in places]
    return SlopeChart(
        height=end + FOOT,
        left=SLOPES_LEFT,
        right=SLOPES_RIGHT,
        head=HEAD,
        end=end,
        slopes=tuple(
            _slope(ranks[at], [side[at] for side in places], [side.get(at) for side in labels], at in picked)
            for at in drawn
        ),
    )


def _labels(places: Sequence[float], named: Sequence[int], end: float) -> dict[int, float]:
    """The heights of the names, by run."""
    moved = spread([places[at] for at in named], LINE - 1, HEAD + LINE / 2, end - LINE / 2)
    return dict(zip(named, moved, strict=True))


def _slope(run: Ranks, places: Sequence[float], labels: Sequence[float | None], picked: bool) -> Slope:
    rise = run.first - run.second
    words = f"{'up' if rise > 0 else 'down'} {abs(rise)}" if rise else "unmoved"
    return Slope(
        start=places[0],
        end=places[1],
        left_label=labels[0],
        right_label=labels[1],
        name=fitted(run.name, *SLOPES_LONGEST),
        first=run.first,
        second=run.second,
        move="" if not rise else f"{'▲' if rise > 0 else '▼'}{abs(rise)}",
        kind="plain" if not picked else "up" if rise > 0 else "down",
        label=f"{run.name}: {run.first} to {run.second}, {words}",
        href=run.href,
    )
