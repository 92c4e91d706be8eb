"""Intervals and ranges: a run's topics within the field, differences, means in the rows of a board."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Literal

from leaderboard.web.charts.scales import (
    TIE,
    Name,
    Scale,
    Tick,
    fitted,
    fixed,
    number,
    rounded,
    shorten,
    signed,
)

TOP, PLOT, BOTTOM = 30.0, 190.0, 6.0
LETTER, ASIDE = 6.8, 6.0
"""Pixels per letter of a vertical name, and between axis and name."""
LEFT, RIGHT = 10.5, 99.0
WIDEST = 7.0
"""The widest step from topic to topic, in percent."""
TICK = 0.64
"""The width of a median's tick as a share of a step."""
MOST_COLUMNS = 400
"""More topics than this are drawn as means of neighbours."""
MOST_NAMED = 75
LONGEST_NAME = 8

KINDS = {1: "plus", 0: "none", -1: "minus"}
WORDS = {1: "better than", 0: "equal to", -1: "worse than"}


@dataclass(frozen=True, slots=True)
class Range:
    """A topic: the field's lowest, median and highest score, and the run's."""

    name: str
    low: float
    median: float
    high: float
    value: float
    href: str | None = None


@dataclass(frozen=True, slots=True)
class RangeColumn:
    """A topic's column: x, left and right in percent of the drawing's width, the rest in pixels down.

    kind says whether the run is better than the median ("plus"), worse ("minus") or level ("none").
    """

    x: float
    left: float
    right: float
    low: float
    median: float
    high: float
    y: float
    kind: str
    name: str
    label: str
    href: str | None


@dataclass(frozen=True, slots=True)
class RangeChart:
    """Columns over a common axis; foot is where the topics' names start, None without room."""

    height: float
    left: float
    step: float
    top: float
    bottom: float
    foot: float | None
    ticks: tuple[Tick, ...]
    columns: tuple[RangeColumn, ...]
    better: int
    worse: int
    level: int
    merged: int


def range_chart(
    ranges: Sequence[Range], *, direction: Literal["higher", "lower"] = "higher", digits: int = 4
) -> RangeChart:
    """One column a topic, in the order given; more than 400 as means of as many neighbours as it takes.

    better, worse and level count the topics against their medians, up to rounding; merged is how many
    topics a column represents. Raises ValueError where a value is not finite.

    >>> chart = range_chart([Range("401", 0.0, 0.2, 1.0, 0.5)], digits=2)
    >>> [(column.low, column.median, column.high, column.y, column.kind) for column in chart.columns]
    [(220.0, 182.0, 30.0, 125.0, 'plus')]
    >>> chart.columns[0].label
    '401: 0.50, better than the median 0.20 (all 0.00 to 1.00)'
    """
    if not all(
        math.isfinite(end)
        for spread in ranges
        for end in (spread.low, spread.median, spread.high, spread.value)
    ):
        raise ValueError("a chart of ranges needs finite values")
    merged = max(1, -(-len(ranges) // MOST_COLUMNS))
    shown = [_merged(ranges[start : start + merged]) for start in range(0, len(ranges), merged)]
    ends = [end for spread in shown for end in (spread.low, spread.high, spread.value)]
    low, high = rounded(min([0.0, *ends]), max(ends, default=1.0), 5)
    scale = Scale(low, high, TOP + PLOT, TOP)
    sign = 1 if direction == "higher" else -1
    verdicts = [_verdict(spread, sign) for spread in ranges]
    step = min((RIGHT - LEFT) / max(1, len(shown)), WIDEST)
    named = 0 < len(shown) <= MOST_NAMED and merged == 1
    longest = min(LONGEST_NAME, max((len(spread.name) for spread in shown), default=0)) if named else 0
    return RangeChart(
        height=TOP + PLOT + ASIDE + math.ceil(LETTER * longest) + BOTTOM,
        left=LEFT,
        step=step,
        top=TOP,
        bottom=TOP + PLOT,
        foot=TOP + PLOT + ASIDE if named else None,
        ticks=scale.ticks(5),
        columns=tuple(
            _column(spread, LEFT + step * place, step, scale, _verdict(spread, sign), digits)
            for place, spread in enumerate(shown)
        ),
        better=verdicts.count(1),
        worse=verdicts.count(-1),
        level=verdicts.count(0),
        merged=merged,
    )


def _merged(group: Sequence[Range]) -> Range:
    """One range for neighbours: the means of theirs."""
    if len(group) == 1:
        return group[0]
    count = len(group)
    return Range(
        name=f"means of {group[0].name} to {group[-1].name}",
        low=sum(spread.low for spread in group) / count,
        median=sum(spread.median for spread in group) / count,
        high=sum(spread.high for spread in group) / count,
        value=sum(spread.value for spread in group) / count,
    )


def _verdict(spread: Range, sign: int) -> int:
    lead = sign * (spread.value - spread.median)
    return 1 if lead >= TIE else -1 if lead <= -TIE else 0


def _column(spread: Range, start: float, step: float, scale: Scale, verdict: int, digits: int) -> RangeColumn:
    middle, half = start + step / 2, step * TICK / 2
    value, median, low, high = (
        fixed(end, digits) for end in (spread.value, spread.median, spread.low, spread.high)
    )
    return RangeColumn(
        x=round(middle, 2),
        left=round(middle - half, 2),
        right=round(middle + half, 2),
        low=scale(spread.low),
        median=scale(spread.median),
        high=scale(spread.high),
        y=scale(spread.value),
        kind=KINDS[verdict],
        name=shorten(spread.name, LONGEST_NAME),
        label=f"{spread.name}: {value}, {WORDS[verdict]} the median {median} (all {low} to {high})",
        href=spread.href,
    )


INTERVALS_LEFT, INTERVALS_RIGHT = 30.0, 95.0
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
    ends = [
        end
        for interval in intervals
        for end in (interval.value, interval.low, interval.high)
        if math.isfinite(end)
    ]
    if differences or not ends:
        ends.append(0.0)
    scale = Scale(*rounded(min(ends), max(ends), 5), INTERVALS_LEFT, INTERVALS_RIGHT)
    pitch = ROOMY if len(intervals) <= MOST_ROOMY else DENSE
    end = HEAD + pitch * len(intervals)
    foot = end + LINE if len(intervals) > MOST_WITHOUT_FOOT else None
    key = (foot or end) + LINE if any(interval.kind == "highlight" for interval in intervals) else None
    return IntervalChart(
        height=(key or foot or end) + FOOT,
        row_height=pitch,
        left=INTERVALS_LEFT,
        right=INTERVALS_RIGHT,
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


BOARD_MEANS_WIDTH, BOARD_MEANS_HEIGHT, MARGIN = 160.0, 36.0, 14.0
BOARD_MEANS_MOST_TICKS = 4


@dataclass(frozen=True, slots=True)
class MeanOfRun:
    """A run's mean with its interval; half_width is None if it has none, as for a baseline."""

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
    """Parts shared by all cells (axis, field and baselines), and the cells, by run id."""

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
        """Height of a cell's marks, from its top."""
        return self.height / 2


def board_means(
    ranked: Mapping[int, MeanOfRun], baselines: Sequence[float], *, scale: float = 1.0, digits: int = 4
) -> BoardMeans | None:
    """The cells of the ranked runs by id; None for fewer than two. scale is of sums: the number of topics.

    >>> drawn = board_means({1: MeanOfRun(0.5, 0.1), 2: MeanOfRun(0.3, 0.1)}, [0.25])
    >>> drawn.cells[1].label, drawn.cells[1].x, [tick.label for tick in drawn.ticks]
    ('0.5000, 95% interval 0.4000 to 0.6000', 113.0, ['0.2', '0.3', '0.4', '0.5', '0.6'])
    """
    if len(ranked) < 2:
        return None
    spans = {
        run_id: (run.value, scale * run.half_width if run.half_width is not None else 0.0)
        for run_id, run in ranked.items()
    }
    ends = [value + sign * half for value, half in spans.values() for sign in (-1, 1)]
    low, high = rounded(min(*ends, *baselines), max(*ends, *baselines), BOARD_MEANS_MOST_TICKS)
    across = Scale(low, high, start=MARGIN, end=BOARD_MEANS_WIDTH - MARGIN)
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
        width=BOARD_MEANS_WIDTH,
        height=BOARD_MEANS_HEIGHT,
        ticks=across.ticks(BOARD_MEANS_MOST_TICKS),
        lower=across(lower),
        median=across(median),
        upper=across(upper),
        baselines=tuple(across(value) for value in baselines),
        cells=cells,
    )
