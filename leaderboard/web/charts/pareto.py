"""Effectiveness against cost, and the runs that nobody beats at their price."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from leaderboard.web.charts.marks import outline
from leaderboard.web.charts.notes import beside
from leaderboard.web.charts.scales import Scale, Tick, fixed, number, rounded
from leaderboard.web.charts.scatter import Point, PointChart

WIDTH, PLOT, LEFT, TOP, RIGHT, AXIS = 460.0, 290.0, 50.0, 18.0, 12.0, 40.0
SIDES = ((-7.0, -4.0, "end"), (7.0, -6.0, "start"))
"""Names stand above the front's line; to the left of it nobody is as good."""
WIDE = 20.0
"""Costs that differ by more than this factor are drawn on a logarithmic scale."""
MOST_TICKS = 7

Direction = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Costed:
    """A run with its cost, the less the better, and its value by a measure."""

    name: str
    cost: float
    value: float
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoChart(PointChart):
    """Points in units of a view box; the front's runs by place in what was given, cheapest first."""

    width: float
    height: float
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
    runs: Sequence[Costed],
    *,
    log: bool | None = None,
    direction: Direction = "higher",
    digits: int = 4,
    cost_digits: int = 3,
) -> ParetoChart:
    """Cost across, the value upwards, the front as steps, its runs named where there is room.

    The cost's scale is logarithmic where log says so, or by itself where all costs are above 0 and the
    largest is over 20 times the smallest. Raises ValueError for a value or cost that is not finite, or a
    logarithm of none.

    >>> chart = pareto_chart([Costed("a", 1.0, 0.25), Costed("b", 100.0, 0.5), Costed("c", 50.0, 0.25)])
    >>> chart.logarithmic, chart.front, [tick.label for tick in chart.across]
    (True, (0, 1), ['1', '2', '5', '10', '20', '50', '100'])
    """
    if not all(math.isfinite(end) for run in runs for end in (run.cost, run.value)):
        raise ValueError("a chart of costs needs finite values")
    costs = [run.cost for run in runs]
    logarithmic = (
        log if log is not None else bool(costs) and min(costs) > 0 and max(costs) > WIDE * min(costs)
    )
    if logarithmic and min(costs, default=1.0) <= 0:
        raise ValueError("a cost of zero or less has no place on a logarithmic scale")
    values = [run.value for run in runs] or [0.0, 1.0]
    down = Scale(*rounded(min(values), max(values), 5), TOP + PLOT, TOP)
    across, ticks = _logarithmic(costs) if logarithmic else _linear(costs)
    front = pareto_front([(run.cost, run.value) for run in runs], direction)
    points = tuple(
        _point(
            run,
            across(math.log10(run.cost) if logarithmic else run.cost),
            down(run.value),
            at in front,
            (cost_digits, digits),
        )
        for at, run in enumerate(runs)
    )
    named = sorted(front, key=lambda at: -values[at] if direction == "higher" else values[at])
    return ParetoChart(
        width=WIDTH,
        height=TOP + PLOT + AXIS,
        left=LEFT,
        right=WIDTH - RIGHT,
        top=TOP,
        bottom=TOP + PLOT,
        logarithmic=logarithmic,
        across=ticks,
        down=down.ticks(5),
        points=points,
        path=_steps([points[at] for at in front], TOP + PLOT if direction == "higher" else TOP),
        notes=beside([(runs[at].name, points[at]) for at in named], points, LEFT, WIDTH, SIDES),
        front=front,
    )


def _point(run: Costed, x: float, y: float, on_front: bool, digits: tuple[int, int]) -> Point:
    shape = outline("circle" if on_front else "cross", x, y, 4.2 if on_front else 3.2)
    label = f"{run.name}: cost {fixed(run.cost, digits[0])}, {fixed(run.value, digits[1])}"
    return Point(x, y, shape, "front" if on_front else "beaten", label, run.href)


def _steps(front: Sequence[Point], start: float) -> str:
    """The front as a line of steps: up to a run where it begins, on to the next dearer one, to the edge."""
    if not front:
        return ""
    moves = "".join(f"H{point.x:g}V{point.y:g}" for point in front)
    return f"M{front[0].x:g} {start:g}{moves}H{WIDTH - RIGHT:g}"


def _linear(costs: Sequence[float]) -> tuple[Scale, tuple[Tick, ...]]:
    low, high = rounded(min([0.0, *costs]), max(costs, default=1.0), 5)
    scale = Scale(low, high, LEFT, WIDTH - RIGHT)
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
    scale = Scale(logs[start], logs[end], LEFT, WIDTH - RIGHT)
    kept = [at for at in range(start, end + 1) if end - start < MOST_TICKS or places[at][1] == 1]
    every = -(-len(kept) // MOST_TICKS)
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
