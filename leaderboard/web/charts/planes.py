"""Reproductions in the plane of DRI and ER, where a perfect one is at (0, 1)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from leaderboard.web.charts.scales import (
    LETTER,
    LINE,
    TIE,
    Axes,
    Note,
    Scale,
    Shape,
    Tick,
    extent,
    fixed,
    labels,
    number,
    outline,
    rounded,
)

SIZE, SCATTER_LEFT, SCATTER_BOTTOM, SCATTER_TOP, SCATTER_RIGHT = 420.0, 50.0, 40.0, 10.0, 10.0
MOST_POINTS = 600
"""More points than this are drawn as a cloud: single ones can no longer be pointed at."""
GRAIN = 2
SCATTER_SHAPE_OF: dict[str, Shape] = {"first": "circle", "second": "triangle", "none": "plus"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values of one thing, the link of its mark, and its kind, where a chart distinguishes kinds."""

    name: str
    first: float
    second: float
    href: str | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A mark; kind says which run is higher ("first", "second", "none")."""

    x: float
    y: float
    path: str
    kind: str
    label: str
    href: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot(Axes):
    """Points between two scales of numbers."""

    width: float = SIZE
    height: float = SIZE
    left: float = SCATTER_LEFT
    right: float = SIZE - SCATTER_RIGHT
    top: float = SCATTER_TOP
    bottom: float = SIZE - SCATTER_BOTTOM
    points: tuple[Point, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterChart(Plot):
    """Points in a square; a cloud is one path for all points of a kind."""

    cloud: tuple[tuple[str, str], ...]
    first_higher: int
    second_higher: int


def scatter_chart(pairs: Sequence[Pair], *, named: int = 6, digits: int = 4) -> ScatterChart:
    """The first run across, the second upwards, on the same scale; the widest gaps are named.

    A name that would cover another is left out. Above 600 points nothing is named or linked.

    >>> chart = scatter_chart([Pair("1", 0.5, 0.5), Pair("2", 0.0, 1.0)])
    >>> [(point.x, point.y, point.kind) for point in chart.points]
    [(230.0, 195.0, 'none'), (50.0, 10.0, 'second')]
    """
    values = [value for pair in pairs for value in (pair.first, pair.second)] or [0.0, 1.0]
    low, high = rounded(min(0.0, *values), max(values), 5)
    across = Scale(low, high, SCATTER_LEFT, SIZE - SCATTER_RIGHT)
    down = Scale(low, high, SIZE - SCATTER_BOTTOM, SCATTER_TOP)
    kinds = [_kind(pair) for pair in pairs]
    crowded = len(pairs) > MOST_POINTS
    points = [] if crowded else [_scatter_point(pair, across, down, digits) for pair in pairs]
    return ScatterChart(
        across=across.ticks(5),
        down=down.ticks(5),
        points=tuple(points),
        cloud=_cloud(pairs, across, down) if crowded else (),
        notes=_notes(pairs, points, named) if points else (),
        first_higher=kinds.count("first"),
        second_higher=kinds.count("second"),
    )


def _kind(pair: Pair) -> str:
    lead = pair.first - pair.second
    return "first" if lead >= TIE else "second" if lead <= -TIE else "none"


def _scatter_point(pair: Pair, across: Scale, down: Scale, digits: int) -> Point:
    x, y, kind = across(pair.first), down(pair.second), _kind(pair)
    label = f"{pair.name}: {pair.first:.{digits}f} and {pair.second:.{digits}f}"
    return Point(x, y, outline(SCATTER_SHAPE_OF[kind], x, y, 3.6), kind, label, pair.href)


def _cloud(pairs: Sequence[Pair], across: Scale, down: Scale) -> tuple[tuple[str, str], ...]:
    """By kind, a path of dots on a grid about as fine as a dot is wide, each drawn once."""
    dots: dict[str, dict[tuple[int, int], None]] = {}
    for pair in pairs:
        place = round(across(pair.first) / GRAIN) * GRAIN, round(down(pair.second) / GRAIN) * GRAIN
        dots.setdefault(_kind(pair), {})[place] = None
    return tuple((kind, "".join(f"M{x} {y}h0" for x, y in places)) for kind, places in sorted(dots.items()))


def _notes(pairs: Sequence[Pair], points: Sequence[Point], named: int) -> tuple[Note, ...]:
    """Names next to the widest gaps, on the side away from the diagonal unless the edge is there."""
    order = sorted(range(len(pairs)), key=lambda at: -abs(pairs[at].first - pairs[at].second))
    notes: list[Note] = []
    for at in order[:named]:
        point = points[at]
        if point.kind == "none":
            break
        wide = LETTER * len(pairs[at].name)
        after = point.x + 8 + wide <= SIZE if point.kind == "first" else point.x - 8 - wide < LETTER
        note = Note(point.x + (8 if after else -8), point.y + 4, pairs[at].name, "start" if after else "end")
        if all(_apart(note, placed) for placed in notes):
            notes.append(note)
    return tuple(notes)


def _apart(first: Note, second: Note) -> bool:
    return (
        abs(first.y - second.y) >= LINE
        or extent(first)[1] < extent(second)[0]
        or extent(second)[1] < extent(first)[0]
    )


WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 520.0, 380.0, 58.0, 40.0, 12.0, 24.0
PERFECT = (0.0, 1.0)
SHAPE_OF: dict[str, Shape] = {"this": "diamond", "reproduced": "circle", "replicated": "triangle"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneChart(Plot):
    """x and y: the place of the perfect reproduction, ring its mark."""

    x: float
    y: float
    ring: str

    @property
    def has_this(self) -> bool:
        """Whether one of the marks is the reproduction of the page."""
        return any(point.kind == "this" for point in self.points)


def plane_chart(reproductions: Sequence[Pair], *, named: int = 8) -> PlaneChart:
    """Pairs of DRI, across, and ER, upwards, of a kind: this, reproduced or replicated.

    Names are shown where there is room, the reproduction of the page first.

    >>> chart = plane_chart([Pair("a", 0.0, 1.0, kind="reproduced")])
    >>> (chart.points[0].x, chart.points[0].y) == (chart.x, chart.y)
    True
    """
    dris = [PERFECT[0], *(reproduction.first for reproduction in reproductions)]
    ers = [PERFECT[1], 0.0, *(reproduction.second for reproduction in reproductions)]
    across = Scale(*rounded(min(dris), max(dris), 6), LEFT, WIDTH - RIGHT)
    down = Scale(*rounded(min(ers), max(ers), 5), HEIGHT - BOTTOM, TOP)
    points = [_point(reproduction, across, down) for reproduction in reproductions]
    order = sorted(zip(reproductions, points, strict=True), key=lambda pair: pair[0].kind != "this")
    x, y = across(PERFECT[0]), down(PERFECT[1])
    return PlaneChart(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=WIDTH - RIGHT,
        top=TOP,
        bottom=HEIGHT - BOTTOM,
        across=across.ticks(6, signed=True),
        down=down.ticks(5),
        points=tuple(points),
        notes=labels(
            [(reproduction.name, point) for reproduction, point in order[:named]], points, LEFT, WIDTH - RIGHT
        ),
        x=x,
        y=y,
        ring=outline("circle", x, y, 7.0),
    )


def _point(pair: Pair, across: Scale, down: Scale) -> Point:
    x, y = across(pair.first), down(pair.second)
    label = f"{pair.name}: DRI {pair.first:.4f}, ER {pair.second:.4f}"
    return Point(x, y, outline(SHAPE_OF[pair.kind], x, y, 4.0), pair.kind, label, pair.href)


PARETO_WIDTH, PLOT, PARETO_LEFT, PARETO_TOP, PARETO_RIGHT, AXIS = 460.0, 290.0, 50.0, 18.0, 12.0, 40.0
SIDES = ((-7.0, -4.0, "end"), (7.0, -6.0, "start"))
"""Names are above the front's line; no run to the left of it is as good."""
WIDE = 20.0
"""Costs that differ by more than this factor are drawn on a logarithmic scale."""
PARETO_MOST_TICKS = 7

Direction = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoChart(Plot):
    """The front is by position in the input, cheapest first."""

    logarithmic: bool
    path: str
    front: tuple[int, ...]


def pareto_front(pairs: Sequence[tuple[float, float]], direction: Direction = "higher") -> tuple[int, ...]:
    """The places of pairs (cost, value) that no other pair beats, cheapest first.

    One beats another that is at most as cheap and at most as good, and not equal in both.

    >>> pareto_front([(1.0, 0.2), (2.0, 0.5), (3.0, 0.4), (2.0, 0.5)])
    (0, 1, 3)
    """
    sign = 1 if direction == "higher" else -1
    order = sorted(range(len(pairs)), key=lambda at: (pairs[at][0], -sign * pairs[at][1], at))
    front: list[int] = []
    for at in order:
        if not front or sign * pairs[at][1] > sign * pairs[front[-1]][1] or pairs[at] == pairs[front[-1]]:
            front.append(at)
    return tuple(front)


def pareto_chart(
    runs: Sequence[Pair],
    *,
    log: bool | None = None,
    direction: Direction = "higher",
    digits: int = 4,
    cost_digits: int = 3,
) -> ParetoChart:
    """Pairs of a cost, across, and a value, upwards: the front as steps, its runs named where there is room.

    The cost's scale is logarithmic where log says so, or automatically where all costs are above 0 and the
    largest is over 20 times the smallest. Raises ValueError for a value or cost that is not finite, or a
    logarithm of none.

    >>> chart = pareto_chart([Pair("a", 1.0, 0.25), Pair("b", 100.0, 0.5), Pair("c", 50.0, 0.25)])
    >>> chart.logarithmic, chart.front, [tick.label for tick in chart.across]
    (True, (0, 1), ['1', '2', '5', '10', '20', '50', '100'])
    """
    if not all(math.isfinite(end) for run in runs for end in (run.first, run.second)):
        raise ValueError("a chart of costs needs finite values")
    costs = [run.first for run in runs]
    logarithmic = (
        log if log is not None else bool(costs) and min(costs) > 0 and max(costs) > WIDE * min(costs)
    )
    if logarithmic and min(costs, default=1.0) <= 0:
        raise ValueError("a cost of zero or less has no place on a logarithmic scale")
    values = [run.second for run in runs] or [0.0, 1.0]
    down = Scale(*rounded(min(values), max(values), 5), PARETO_TOP + PLOT, PARETO_TOP)
    across, ticks = _logarithmic(costs) if logarithmic else _linear(costs)
    front = pareto_front([(run.first, run.second) for run in runs], direction)
    points = tuple(
        _pareto_point(
            run,
            across(math.log10(run.first) if logarithmic else run.first),
            down(run.second),
            at in front,
            (cost_digits, digits),
        )
        for at, run in enumerate(runs)
    )
    named = sorted(front, key=lambda at: -values[at] if direction == "higher" else values[at])
    return ParetoChart(
        width=PARETO_WIDTH,
        height=PARETO_TOP + PLOT + AXIS,
        left=PARETO_LEFT,
        right=PARETO_WIDTH - PARETO_RIGHT,
        top=PARETO_TOP,
        bottom=PARETO_TOP + PLOT,
        logarithmic=logarithmic,
        across=ticks,
        down=down.ticks(5),
        points=points,
        path=_steps([points[at] for at in front], PARETO_TOP + PLOT if direction == "higher" else PARETO_TOP),
        notes=labels([(runs[at].name, points[at]) for at in named], points, PARETO_LEFT, PARETO_WIDTH, SIDES),
        front=front,
    )


def _pareto_point(run: Pair, x: float, y: float, on_front: bool, digits: tuple[int, int]) -> Point:
    shape = outline("circle" if on_front else "cross", x, y, 4.2 if on_front else 3.2)
    label = f"{run.name}: cost {fixed(run.first, digits[0])}, {fixed(run.second, digits[1])}"
    return Point(x, y, shape, "front" if on_front else "beaten", label, run.href)


def _steps(front: Sequence[Point], start: float) -> str:
    """The front as a line of steps: up to a run where it begins, on to the next dearer one, to the edge."""
    if not front:
        return ""
    moves = "".join(f"H{point.x:g}V{point.y:g}" for point in front)
    return f"M{front[0].x:g} {start:g}{moves}H{PARETO_WIDTH - PARETO_RIGHT:g}"


def _linear(costs: Sequence[float]) -> tuple[Scale, tuple[Tick, ...]]:
    low, high = rounded(min([0.0, *costs]), max(costs, default=1.0), 5)
    scale = Scale(low, high, PARETO_LEFT, PARETO_WIDTH - PARETO_RIGHT)
    return scale, scale.ticks(5)


def _logarithmic(costs: Sequence[float]) -> tuple[Scale, tuple[Tick, ...]]:
    """A scale of decimal logarithms from one round value to another, with its ticks."""
    low, high = math.log10(min(costs)), math.log10(max(costs))
    places = [
        (power, part) for power in range(math.floor(low) - 1, math.ceil(high) + 2) for part in (1, 2, 5)
    ]
    logs = [power + math.log10(part) for power, part in places]
    start = max(at for at, power in enumerate(logs) if power <= low + 1e-9)
    end = max(start + 1, min(at for at, power in enumerate(logs) if power >= high - 1e-9))
    scale = Scale(logs[start], logs[end], PARETO_LEFT, PARETO_WIDTH - PARETO_RIGHT)
    kept = [at for at in range(start, end + 1) if end - start < PARETO_MOST_TICKS or places[at][1] == 1]
    every = -(-len(kept) // PARETO_MOST_TICKS)
    return scale, tuple(Tick(scale(logs[at]), _round_number(*places[at])) for at in kept[::every])


def _round_number(power: int, part: int) -> str:
    """1, 2 or 5 times a power of ten in few letters.

    >>> _round_number(-2, 5), _round_number(3, 2), _round_number(7, 1), _round_number(-7, 1)
    ('0.05', '2000', '10M', '1e−7')
    """
    if power < -4:
        return f"{part}e{number(power, 1.0)}"
    for unit, letter in ((9, "G"), (6, "M")):
        if power >= unit:
            return f"{part * 10 ** (power - unit)}{letter}"
    return number(part * 10.0**power, 10.0**power)


def means_chart(runs: Sequence[Pair], *, named: int = 6, digits: tuple[int, int] = (4, 4)) -> Plot:
    """The first measure across, the second upwards; the first of them are named where there is room.

    >>> chart = means_chart([Pair("a", 0.0, 10.0), Pair("b", 1.0, 20.0)])
    >>> [(point.x, point.y) for point in chart.points]
    [(50.0, 380.0), (410.0, 10.0)]
    """
    across = Scale(*_domain([run.first for run in runs]), SCATTER_LEFT, SIZE - SCATTER_RIGHT)
    down = Scale(*_domain([run.second for run in runs]), SIZE - SCATTER_BOTTOM, SCATTER_TOP)
    points = tuple(_means_point(run, across, down, digits) for run in runs)
    return Plot(
        across=across.ticks(5),
        down=down.ticks(5),
        points=points,
        notes=labels(
            [(run.name, point) for run, point in zip(runs[:named], points, strict=False)],
            points,
            SCATTER_LEFT,
            SIZE,
        ),
    )


def _domain(values: Sequence[float]) -> tuple[float, float]:
    return rounded(min(values, default=0.0), max(values, default=1.0), 5)


def _means_point(run: Pair, across: Scale, down: Scale, digits: tuple[int, int]) -> Point:
    x, y = across(run.first), down(run.second)
    values = [fixed(value, kept) for value, kept in zip((run.first, run.second), digits, strict=True)]
    label = f"{run.name}: {values[0]} and {values[1]}"
    return Point(x, y, outline("circle", x, y, 3.6), "none", label, run.href)
