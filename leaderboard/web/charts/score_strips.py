"""Every run's score on one topic, as dots over an axis, the outermost named."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from leaderboard.web.charts.scales import Name, Scale, Tick, fitted, fixed, rounded

LEFT, RIGHT = 3.0, 97.0
TOP, NAME_LINE, AXIS = 6.0, 15.0, 40.0
COLUMN = 1.0
"""Dots whose scores are nearer than this, in percent of the drawing's width, share a pile."""
PITCH, MOST_PILED = 8.0, 130.0
"""Pixels from dot to dot in a pile, and how tall the highest pile may get before its dots close up."""
LONGEST = 28, 20
MIDDLE = 50.0


@dataclass(frozen=True, slots=True)
class Scored:
    """A run's score on the topic, and whether its name is always written."""

    name: str
    value: float
    href: str | None = None
    kind: Literal["plain", "highlight"] = "plain"


@dataclass(frozen=True, slots=True)
class Dot:
    """A run: x in percent of the drawing's width, y and name_y (where its name stands, if so) in pixels."""

    x: float
    y: float
    kind: str
    name: Name
    value: str
    name_y: float | None
    anchor: str
    label: str
    href: str | None


@dataclass(frozen=True, slots=True)
class ScoreStrip:
    """Dots piled up from a line; across in percent, down in pixels."""

    height: float
    left: float
    right: float
    head: float
    base: float
    ticks: tuple[Tick, ...]
    dots: tuple[Dot, ...]


def score_strip(
    runs: Sequence[Scored],
    *,
    highest: float | None = None,
    direction: Literal["higher", "lower"] = "higher",
    digits: int = 4,
    named: int = 3,
) -> ScoreStrip:
    """One dot a run on an axis from 0 (or the lowest) to highest (or the largest), equal scores piled up.

    The best runs, the last one and those highlighted are named.
    Raises ValueError where a value is not finite.

    >>> strip = score_strip([Scored("a", 0.5), Scored("b", 0.5), Scored("c", 1.0)], named=1)
    >>> [(dot.name.full, dot.x, strip.base - dot.y, dot.name_y) for dot in strip.dots]
    [('a', 50.0, 6.0, None), ('b', 50.0, 14.0, 32.0), ('c', 97.0, 6.0, 17.0)]
    """
    if not all(math.isfinite(run.value) for run in runs):
        raise ValueError("a strip of scores needs finite values")
    values = [run.value for run in runs]
    top = highest if highest is not None else max(values, default=1.0)
    scale = Scale(*rounded(min([0.0, *values]), max([top, *values]), 5), LEFT, RIGHT)
    sign = -1 if direction == "higher" else 1
    order = sorted(range(len(runs)), key=lambda at: sign * values[at])
    picked = [at for at in range(len(runs)) if runs[at].kind == "highlight"]
    picked += [at for at in [*order[:named], *order[-1:]] if at not in picked]
    places = [_column(scale(value)) for value in values]
    lines = _lines(picked, places)
    levels = _levels(places, order)
    pitch = min(PITCH, MOST_PILED / max([1, *levels]))
    head = TOP + NAME_LINE * len(picked) + 4
    base = head + pitch * max([1, *levels]) + 12
    return ScoreStrip(
        height=base + AXIS,
        left=LEFT,
        right=RIGHT,
        head=head,
        base=base,
        ticks=scale.ticks(5),
        dots=tuple(
            _dot(run, places[at], round(base - 6 - pitch * levels[at], 2), lines.get(at), digits)
            for at, run in enumerate(runs)
        ),
    )


def _lines(picked: Sequence[int], places: Sequence[float]) -> dict[int, float]:
    """The heights of the names: on either half the outermost stands highest, so that no line cuts a name."""
    order = sorted(picked, key=lambda at: -abs(places[at] - MIDDLE))
    return {at: TOP + NAME_LINE * (line + 1) - 4 for line, at in enumerate(order)}


def _column(place: float) -> float:
    """The middle of the column that a place is in."""
    return round(LEFT + COLUMN * round((place - LEFT) / COLUMN), 2)


def _levels(places: Sequence[float], order: Sequence[int]) -> list[int]:
    """How many dots lie below each in its pile, the best of a pile at its foot."""
    levels, piles = [0] * len(places), dict[float, int]()
    for at in order:
        levels[at] = piles.get(places[at], 0)
        piles[places[at]] = levels[at] + 1
    return levels


def _dot(run: Scored, x: float, y: float, name_y: float | None, digits: int) -> Dot:
    value = fixed(run.value, digits)
    return Dot(
        x=x,
        y=y,
        kind=run.kind,
        name=fitted(run.name, *LONGEST),
        value=value,
        name_y=name_y,
        anchor="start" if x < MIDDLE else "end",
        label=f"{run.name}: {value}",
        href=run.href,
    )
