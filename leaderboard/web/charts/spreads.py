"""How the field spreads on a topic or by a measure: all of it, its middle half, its median, its best."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.scales import TIE, Name, Scale, Tick, fitted, fixed, rounded

RIGHT = 97.0
LETTER, BESIDE = 1.9, 4.0
"""Room for a letter of a name in a narrow drawing, and beside the name, in percent of its width."""
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

    note is said after the numbers where the row is pointed at.
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
    """One row a spread, in the order given, on one axis from 0 (or the lowest) to highest (or the largest).

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
        BESIDE + LETTER * min(LONGEST[1], max((len(spread.name) for spread in spreads), default=0)), 2
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
