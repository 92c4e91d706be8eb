"""Bars by topic: scores upwards from zero, differences to both sides of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.scales import TIE, Name, Scale, Tick, fitted, fixed, rounded, signed

HEIGHT, TOP, BOTTOM, LEFT = 168.0, 8.0, 6.0, 10.5
SIGNED_HEIGHT = 220.0
GAP, WIDEST, SLIM = 0.2, 7.0, 0.6
"""The share of a bar's step left empty, the widest step, and the step that is too slim for a gap."""
MOST_BARS = 400
"""More differences than this are drawn as means of neighbours: a bar would be thinner than a pixel."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One bar to draw: its subject, amount and link."""

    name: str
    value: float
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar's rectangle: x and width in percent of the drawing's width, y and height in pixels."""

    x: float
    y: float
    width: float
    height: float
    label: str
    kind: str
    href: str | None


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars from a common line; across in percent, down in pixels."""

    height: float
    left: float
    zero: float
    ticks: tuple[Tick, ...]
    bars: tuple[Bar, ...]
    above: int
    below: int
    merged: int


def bar_chart(values: Sequence[float], labels: Sequence[str]) -> BarChart:
    """One bar a value of at least 0, in the order given, on a scale from 0 to 1 or the largest value above 1.

    >>> chart = bar_chart([0.5, 1.0], ["a", "b"])
    >>> [(bar.x, bar.y, bar.width, bar.height) for bar in chart.bars]
    [(11.2, 85.0, 5.6, 77.0), (18.2, 8.0, 5.6, 154.0)]
    """
    scale = Scale(0.0, max(1.0, *values) if values else 1.0, HEIGHT - BOTTOM, TOP)
    ticks = tuple(Tick(scale(part * scale.high), f"{part * scale.high:g}") for part in (0.0, 0.5, 1.0))
    shown = [Difference(label, value) for value, label in zip(values, labels, strict=True)]
    bars = tuple(
        _bar(difference, difference.name, place, len(shown), scale) for place, difference in enumerate(shown)
    )
    return BarChart(HEIGHT, LEFT, scale(0.0), ticks, bars, len(bars), 0, 1)


def signed_bars(differences: Sequence[Difference], *, digits: int = 4) -> BarChart:
    """One bar a difference, largest first; more than 400 as means of as many neighbours as it takes.

    above and below count the differences over and under zero, up to rounding; merged is how many topics
    a bar represents.

    >>> chart = signed_bars([Difference("1", -0.1), Difference("2", 0.2), Difference("3", 0.0)], digits=2)
    >>> [(bar.label, bar.kind, bar.y, bar.height) for bar in chart.bars]
    [('2: +0.20', 'plus', 8.0, 136.0), ('3: ±0.00', 'none', 144.0, 0.0), ('1: −0.10', 'minus', 144.0, 68.0)]
    """
    ordered = sorted(differences, key=lambda difference: -difference.value)
    merged = max(1, -(-len(ordered) // MOST_BARS))
    groups = [ordered[start : start + merged] for start in range(0, len(ordered), merged)]
    shown = [_merged(group, start * merged + 1, digits) for start, group in enumerate(groups)]
    values = [difference.value for difference, _ in shown]
    low, high = rounded(min([0.0, *values]), max([0.0, *values]), 5)
    scale = Scale(low, high, SIGNED_HEIGHT - TOP, TOP)
    return BarChart(
        height=SIGNED_HEIGHT,
        left=LEFT,
        zero=scale(0.0),
        ticks=scale.ticks(5),
        bars=tuple(
            _bar(difference, label, place, len(shown), scale)
            for place, (difference, label) in enumerate(shown)
        ),
        above=sum(difference.value >= TIE for difference in differences),
        below=sum(difference.value <= -TIE for difference in differences),
        merged=merged,
    )


def _merged(group: Sequence[Difference], first: int, digits: int) -> tuple[Difference, str]:
    """The difference that one bar shows for those it represents, and its label."""
    if len(group) == 1:
        return group[0], f"{group[0].name}: {signed(group[0].value, digits)}"
    mean = sum(difference.value for difference in group) / len(group)
    ends = f"{signed(group[0].value, digits)} to {signed(group[-1].value, digits)}"
    return Difference("", mean), f"positions {first} to {first + len(group) - 1}: {ends}"


def _bar(difference: Difference, label: str, place: int, count: int, scale: Scale) -> Bar:
    step = min((100.0 - LEFT) / count, WIDEST)
    gap = GAP if step > SLIM else 0.0
    zero, end = scale(0.0), scale(difference.value)
    return Bar(
        x=round(LEFT + step * (place + gap / 2), 2),
        y=min(zero, end),
        width=round(step * (1 - gap), 2),
        height=round(abs(end - zero), 2),
        label=label,
        kind="plus" if difference.value >= TIE else "minus" if difference.value <= -TIE else "none",
        href=difference.href,
    )


RIGHT = 97.0
LETTER, NAME_GAP = 1.9, 4.0
"""Room for a letter of a name in a narrow drawing, and next to the name, in percent of its width."""
HEAD, FOOT, LINE = 34.0, 8.0, 14.0
ROOMY, DENSE = 18.0, 14.0
MOST_ROOMY = 60
LONGEST = 24, 11
MOST_WITHOUT_FOOT = 30
"""Longer charts repeat the axis at their foot."""
CELL_WIDTH, CELL_HEIGHT, CELL_MARGIN = 140.0, 16.0, 6.0


@dataclass(frozen=True, slots=True)
class Spread:
    """The field's lowest value, quartiles, median and highest; which of them is best, and one run's own.

    note follows the numbers in the row's tooltip.
    """

    name: str
    low: float
    lower: float
    median: float
    upper: float
    high: float
    best: float | None = None
    mine: float | None = None
    href: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Strip:
    """A field laid out along one line; the units are the chart's or the cell's."""

    low: float
    lower: float
    median: float
    upper: float
    high: float
    best: float
    mine: float | None
    label: str


@dataclass(frozen=True, slots=True)
class StripRow:
    """A row of the chart: y in pixels at its middle, the strip in percent of the drawing's width."""

    y: float
    name: Name
    strip: Strip
    href: str | None


@dataclass(frozen=True, slots=True)
class StripChart:
    """Rows under an axis; its labels are repeated at foot, if at all."""

    height: float
    row_height: float
    left: float
    head: float
    end: float
    foot: float | None
    ticks: tuple[Tick, ...]
    rows: tuple[StripRow, ...]


@dataclass(frozen=True, slots=True)
class StripCell:
    """One strip for a table's cell, in units of its view box."""

    width: float
    height: float
    middle: float
    strip: Strip


def strip_chart(spreads: Sequence[Spread], *, highest: float | None = None, digits: int = 4) -> StripChart:
    """One row per spread, in the order given, on one axis from 0 (or the lowest) to highest (or the largest).

    Raises ValueError where a value is not finite.

    >>> chart = strip_chart([Spread("401", 0.0, 0.25, 0.5, 0.75, 1.0, mine=0.5)], digits=2)
    >>> chart.rows[0].strip.lower, chart.rows[0].strip.median, chart.rows[0].strip.mine
    (31.52, 53.35, 53.35)
    >>> chart.rows[0].strip.label
    '401: median 0.50, middle half 0.25 to 0.75, all 0.00 to 1.00, this run 0.50'
    """
    _require_finite(spreads)
    low = min([0.0, *(spread.low for spread in spreads)])
    top = highest if highest is not None else max((_top(spread) for spread in spreads), default=1.0)
    left = round(
        NAME_GAP + LETTER * min(LONGEST[1], max((len(spread.name) for spread in spreads), default=0)), 2
    )
    scale = Scale(*rounded(low, top, 5), left, RIGHT)
    pitch = ROOMY if len(spreads) <= MOST_ROOMY else DENSE
    end = HEAD + pitch * len(spreads)
    foot = end + LINE if len(spreads) > MOST_WITHOUT_FOOT else None
    return StripChart(
        height=(foot or end) + FOOT,
        row_height=pitch,
        left=left,
        head=HEAD,
        end=end,
        foot=foot,
        ticks=scale.ticks(5),
        rows=tuple(
            StripRow(
                y=HEAD + pitch * (place + 0.5),
                name=fitted(spread.name, *LONGEST),
                strip=_strip(spread, scale, digits),
                href=spread.href,
            )
            for place, spread in enumerate(spreads)
        ),
    )


def strip(spread: Spread, *, digits: int = 4) -> StripCell:
    """One spread on a scale of its own, from its lowest to its highest value.

    Raises ValueError where a value is not finite.

    >>> cell = strip(Spread("AP", 0.1, 0.2, 0.3, 0.4, 0.5))
    >>> cell.strip.low, cell.strip.median, cell.strip.best
    (6.0, 70.0, 134.0)
    """
    _require_finite([spread])
    ends = [spread.low, _top(spread), *([] if spread.mine is None else [spread.mine])]
    low, high = min(ends), max(ends)
    if high - low < TIE:
        low, high = low - 0.5, high + 0.5
    scale = Scale(low, high, CELL_MARGIN, CELL_WIDTH - CELL_MARGIN)
    return StripCell(CELL_WIDTH, CELL_HEIGHT, CELL_HEIGHT / 2, _strip(spread, scale, digits))


def _require_finite(spreads: Sequence[Spread]) -> None:
    for spread in spreads:
        values = [
            spread.low,
            spread.lower,
            spread.median,
            spread.upper,
            spread.high,
            spread.best,
            spread.mine,
        ]
        if not all(value is None or math.isfinite(value) for value in values):
            raise ValueError("a strip needs finite values")


def _top(spread: Spread) -> float:
    return max(spread.high, spread.high if spread.mine is None else spread.mine)


def _strip(spread: Spread, scale: Scale, digits: int) -> Strip:
    return Strip(
        low=scale(spread.low),
        lower=scale(spread.lower),
        median=scale(spread.median),
        upper=scale(spread.upper),
        high=scale(spread.high),
        best=scale(spread.high if spread.best is None else spread.best),
        mine=None if spread.mine is None else scale(spread.mine),
        label=_label(spread, digits),
    )


def _label(spread: Spread, digits: int) -> str:
    low, lower, median, upper, high = (
        fixed(value, digits) for value in (spread.low, spread.lower, spread.median, spread.upper, spread.high)
    )
    mine = "" if spread.mine is None else f", this run {fixed(spread.mine, digits)}"
    note = f"; {spread.note}" if spread.note else ""
    return f"{spread.name}: median {median}, middle half {lower} to {upper}, all {low} to {high}{mine}{note}"
