"""Bars by topic: scores upwards from zero, differences to both sides of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.scales import TIE, Scale, Tick, rounded, signed

HEIGHT, TOP, BOTTOM, LEFT = 168.0, 8.0, 6.0, 10.5
SIGNED_HEIGHT = 220.0
GAP, WIDEST, SLIM = 0.2, 7.0, 0.6
"""The share of a bar's step left empty, the widest step, and the step that is too slim for a gap."""
MOST_BARS = 400
"""More differences than this are drawn as means of neighbours: a bar would be thinner than a pixel."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One bar to draw: what it is about, how much, and where it leads."""

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

    above and below count the differences over and under zero, but for rounding; merged is how many topics
    a bar stands for.

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
    """What one bar shows of the differences it stands for, and what it says."""
    if len(group) == 1:
        return group[0], f"{group[0].name}: {signed(group[0].value, digits)}"
    mean = sum(difference.value for difference in group) / len(group)
    ends = f"{signed(group[0].value, digits)} to {signed(group[-1].value, digits)}"
    return Difference("", mean), f"places {first} to {first + len(group) - 1}: {ends}"


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
