"""One run's scores against another's, topic by topic, on equal axes."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.marks import Shape, outline
from leaderboard.web.charts.notes import LETTER, LINE, Note, extent
from leaderboard.web.charts.scales import TIE, Frame, Scale, rounded

SIZE, LEFT, BOTTOM, TOP, RIGHT = 420.0, 50.0, 40.0, 10.0, 10.0
MOST_POINTS = 600
"""More points than this are drawn as a cloud: single ones can no longer be pointed at."""
GRAIN = 2
SHAPE_OF: dict[str, Shape] = {"first": "circle", "second": "triangle", "none": "plus"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values of one thing, such as a topic's score in two runs, and where its mark leads."""

    name: str
    first: float
    second: float
    href: str | None = None


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
class PointChart(Frame):
    """Points in a frame, some of them named."""

    points: tuple[Point, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterChart(PointChart):
    """Points in a square; a cloud is one path for all points of a kind."""

    size: float
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
    across = Scale(low, high, LEFT, SIZE - RIGHT)
    down = Scale(low, high, SIZE - BOTTOM, TOP)
    kinds = [_kind(pair) for pair in pairs]
    crowded = len(pairs) > MOST_POINTS
    points = [] if crowded else [_point(pair, across, down, digits) for pair in pairs]
    return ScatterChart(
        size=SIZE,
        left=LEFT,
        right=SIZE - RIGHT,
        top=TOP,
        bottom=SIZE - BOTTOM,
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


def _point(pair: Pair, across: Scale, down: Scale, digits: int) -> Point:
    x, y, kind = across(pair.first), down(pair.second), _kind(pair)
    label = f"{pair.name}: {pair.first:.{digits}f} and {pair.second:.{digits}f}"
    return Point(x, y, outline(SHAPE_OF[kind], x, y, 3.6), kind, label, pair.href)


def _cloud(pairs: Sequence[Pair], across: Scale, down: Scale) -> tuple[tuple[str, str], ...]:
    """By kind, a path of dots on a grid about as fine as a dot is wide, each drawn once."""
    dots: dict[str, dict[tuple[int, int], None]] = {}
    for pair in pairs:
        place = round(across(pair.first) / GRAIN) * GRAIN, round(down(pair.second) / GRAIN) * GRAIN
        dots.setdefault(_kind(pair), {})[place] = None
    return tuple((kind, "".join(f"M{x} {y}h0" for x, y in places)) for kind, places in sorted(dots.items()))


def _notes(pairs: Sequence[Pair], points: Sequence[Point], named: int) -> tuple[Note, ...]:
    """Names beside the widest gaps, on the side away from the diagonal unless the edge is there."""
    order = sorted(range(len(pairs)), key=lambda at: -abs(pairs[at].first - pairs[at].second))
    notes: list[Note] = []
    for at in order[:named]:
        point = points[at]
        if point.kind == "none":
            break
        wide = LETTER * len(pairs[at].name)
        after = point.x + 8 + wide <= SIZE if point.kind == "first" else point.x - 8 - wide < LETTER
        note = Note(point.x + (8 if after else -8), point.y + 4, pairs[at].name, "start" if after else "end")
        if all(_apart(note, other) for other in notes):
            notes.append(note)
    return tuple(notes)


def _apart(one: Note, other: Note) -> bool:
    return (
        abs(one.y - other.y) >= LINE or extent(one)[1] < extent(other)[0] or extent(other)[1] < extent(one)[0]
    )
