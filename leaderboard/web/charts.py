"""Geometry of charts: numbers in, pixel places out, no markup."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720.0, 160.0, 34.0, 8.0, 6.0
GAP = 0.25
"""Share of a bar's step left empty."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the chart and its label."""

    place: float
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar's rectangle and what it says when pointed at."""

    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars from a common base line, in units of the view box."""

    width: float
    height: float
    left: float
    ticks: tuple[Tick, ...]
    bars: tuple[Bar, ...]


def bar_chart(values: Sequence[float], labels: Sequence[str]) -> BarChart:
    """One bar a value, in the order given, on a scale from 0 to 1 (or to the largest value above 1).

    >>> chart = bar_chart([0.5, 1.0], ["a", "b"])
    >>> [(bar.x, bar.y, bar.height) for bar in chart.bars]
    [(76.88, 81.0, 73.0), (419.88, 8.0, 146.0)]
    """
    top = max(1.0, *values) if values else 1.0
    depth = HEIGHT - TOP - BOTTOM
    step = (WIDTH - LEFT) / max(1, len(values))
    ticks = tuple(Tick(round(TOP + depth * (1 - part), 2), f"{part * top:g}") for part in (0.0, 0.5, 1.0))
    bars = tuple(
        Bar(
            x=round(LEFT + step * (place + GAP / 2), 2),
            y=round(TOP + depth * (1 - value / top), 2),
            width=round(step * (1 - GAP), 2),
            height=round(depth * value / top, 2),
            label=label,
        )
        for place, (value, label) in enumerate(zip(values, labels, strict=True))
    )
    return BarChart(WIDTH, HEIGHT, LEFT, ticks, bars)
