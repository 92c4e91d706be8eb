"""An interval a run: how far each is from a reference, with what remains uncertain."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from leaderboard.web.charts.scales import Name, Scale, Tick, fitted, number, rounded, signed

LEFT, RIGHT = 30.0, 95.0
HEAD, FOOT, LINE = 34.0, 8.0, 14.0
ROOMY, DENSE = 18.0, 15.0
MOST_ROOMY = 60
LONGEST = 24, 13
MOST_WITHOUT_FOOT = 30
"""Longer charts repeat the axis at their foot."""

Kind = Literal["plain", "highlight", "reference"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A run's value with its interval, which may be unbounded, and how it is marked."""

    name: str
    value: float
    low: float
    high: float
    kind: Kind = "plain"
    href: str | None = None


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A row: x, low and high in percent of the drawing's width, y in pixels at the row's middle."""

    y: float
    name: Name
    x: float
    low: float
    high: float
    open_low: bool
    open_high: bool
    kind: Kind
    label: str
    href: str | None


@dataclass(frozen=True, slots=True)
class IntervalChart:
    """Rows under an axis; its labels are repeated at foot and the marks explained at key, if at all."""

    height: float
    row_height: float
    left: float
    right: float
    head: float
    end: float
    foot: float | None
    key: float | None
    zero: float | None
    ticks: tuple[Tick, ...]
    rows: tuple[IntervalRow, ...]


def interval_chart(
    intervals: Sequence[Interval], *, differences: bool = True, confidence: str = "95%", digits: int = 4
) -> IntervalChart:
    """One row an interval, in the order given.

    With differences a line marks zero and numbers carry their sign; without, they are values of their own.
    An unbounded side runs to the edge, open. A value must be finite: raises ValueError.

    >>> chart = interval_chart([Interval("a", 0.0, 0.0, 0.0, "reference"), Interval("b", -0.1, -0.2, 0.0)])
    >>> chart.rows[1].low, chart.rows[1].x, chart.zero, chart.rows[1].label
    (30.0, 62.5, 95.0, 'b: −0.1000 (95% interval −0.2000 to ±0.0000)')
    """
    if not all(math.isfinite(interval.value) for interval in intervals):
        raise ValueError("an interval plot needs finite values")
    known = [
        end
        for interval in intervals
        for end in (interval.value, interval.low, interval.high)
        if math.isfinite(end)
    ]
    if differences or not known:
        known.append(0.0)
    scale = Scale(*rounded(min(known), max(known), 5), LEFT, RIGHT)
    pitch = ROOMY if len(intervals) <= MOST_ROOMY else DENSE
    end = HEAD + pitch * len(intervals)
    foot = end + LINE if len(intervals) > MOST_WITHOUT_FOOT else None
    key = (foot or end) + LINE if any(interval.kind == "highlight" for interval in intervals) else None
    return IntervalChart(
        height=(key or foot or end) + FOOT,
        row_height=pitch,
        left=LEFT,
        right=RIGHT,
        head=HEAD,
        end=end,
        foot=foot,
        key=key,
        zero=scale(0.0) if differences else None,
        ticks=scale.ticks(7, signed=differences),
        rows=tuple(
            _row(
                interval,
                HEAD + pitch * (place + 0.5),
                scale,
                _label(interval, differences, confidence, digits),
            )
            for place, interval in enumerate(intervals)
        ),
    )


def _row(interval: Interval, y: float, scale: Scale, label: str) -> IntervalRow:
    return IntervalRow(
        y=y,
        name=fitted(interval.name, *LONGEST),
        x=scale(interval.value),
        low=scale(interval.low),
        high=scale(interval.high),
        open_low=math.isinf(interval.low),
        open_high=math.isinf(interval.high),
        kind=interval.kind,
        label=label,
        href=interval.href,
    )


def _label(interval: Interval, differences: bool, confidence: str, digits: int) -> str:
    if interval.kind == "reference" and differences:
        return f"{interval.name}: the reference"
    value, low, high = (
        signed(end, digits) if differences or math.isinf(end) else number(end, 10.0**-digits)
        for end in (interval.value, interval.low, interval.high)
    )
    return f"{interval.name}: {value} ({confidence} interval {low} to {high})"
