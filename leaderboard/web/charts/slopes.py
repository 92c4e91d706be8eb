"""Ranks by one measure joined to ranks by another."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.scales import Name, fitted, spread

LEFT, RIGHT = 33.0, 55.0
HEAD, FOOT = 26.0, 10.0
LINE = 15.0
"""The height a label needs."""
CROWDED_HEIGHT = 620.0
"""How tall the plot is where there is no room for a label a run."""
MOST_ROOMY = 40
LONGEST = 18, 8


@dataclass(frozen=True, slots=True)
class Ranks:
    """A run's rank by the first and by the second measure, 1 the best, and where its name leads."""

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
    """One line a run; the largest moves are drawn last, over the others.

    Up to 40 runs all are named, beyond that those with the largest moves and nobody else. Of equal
    moves the run first by the first measure goes before.

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
        left=LEFT,
        right=RIGHT,
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
        name=fitted(run.name, *LONGEST),
        first=run.first,
        second=run.second,
        move="" if not rise else f"{'▲' if rise > 0 else '▼'}{abs(rise)}",
        kind="plain" if not picked else "up" if rise > 0 else "down",
        label=f"{run.name}: {run.first} to {run.second}, {words}",
        href=run.href,
    )
