"""Runs by their values of two measures, each on a scale of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.marks import outline
from leaderboard.web.charts.scales import MINUS, Scale, Tick, rounded
from leaderboard.web.charts.scatter import BOTTOM, LEFT, LETTER, LINE, RIGHT, SIZE, TOP, Note, Point

NEAR = 9.0
"""How far apart two marks are at least, so that a name between them is not taken for the other's."""


@dataclass(frozen=True, slots=True)
class Means:
    """A run's values by the first and the second measure, and where its mark leads."""

    name: str
    first: float
    second: float
    href: str | None = None


@dataclass(frozen=True, slots=True)
class MeansChart:
    """Points in a square, in units of the view box."""

    size: float
    left: float
    right: float
    top: float
    bottom: float
    across: tuple[Tick, ...]
    down: tuple[Tick, ...]
    points: tuple[Point, ...]
    notes: tuple[Note, ...]


def means_chart(runs: Sequence[Means], *, named: int = 6, digits: tuple[int, int] = (4, 4)) -> MeansChart:
    """The first measure across, the second upwards; the first so many runs are named where there is room.

    >>> chart = means_chart([Means("a", 0.0, 10.0), Means("b", 1.0, 20.0)])
    >>> [(point.x, point.y) for point in chart.points]
    [(50.0, 380.0), (410.0, 10.0)]
    """
    across = Scale(*_domain([run.first for run in runs]), LEFT, SIZE - RIGHT)
    down = Scale(*_domain([run.second for run in runs]), SIZE - BOTTOM, TOP)
    points = tuple(_point(run, across, down, digits) for run in runs)
    return MeansChart(
        size=SIZE,
        left=LEFT,
        right=SIZE - RIGHT,
        top=TOP,
        bottom=SIZE - BOTTOM,
        across=across.ticks(5),
        down=down.ticks(5),
        points=points,
        notes=_notes([run.name for run in runs[:named]], points),
    )


def _domain(values: Sequence[float]) -> tuple[float, float]:
    return rounded(min(values, default=0.0), max(values, default=1.0), 5)


def _point(run: Means, across: Scale, down: Scale, digits: tuple[int, int]) -> Point:
    x, y = across(run.first), down(run.second)
    values = [
        f"{value:.{kept}f}".replace("-", MINUS)
        for value, kept in zip((run.first, run.second), digits, strict=True)
    ]
    label = f"{run.name}: {values[0]} and {values[1]}"
    return Point(x, y, outline("circle", x, y, 3.6), "none", label, run.href)


def _notes(names: Sequence[str], points: Sequence[Point]) -> tuple[Note, ...]:
    """Names beside their marks, on the side with room; one that would cover a mark or a name is left out."""
    notes: list[Note] = []
    for name, point in zip(names, points, strict=False):
        for side, anchor in ((8.0, "start"), (-8.0, "end")):
            note = Note(point.x + side, point.y + 4, name, anchor)
            low, high = _extent(note)
            inside = low >= LEFT and high <= SIZE
            if inside and not _covers(note, notes, [other for other in points if other is not point]):
                notes.append(note)
                break
    return tuple(notes)


def _extent(note: Note) -> tuple[float, float]:
    """From where to where a note reaches across."""
    wide = LETTER * len(note.text)
    return (note.x, note.x + wide) if note.anchor == "start" else (note.x - wide, note.x)


def _covers(note: Note, notes: Sequence[Note], points: Sequence[Point]) -> bool:
    low, high = _extent(note)
    over_note = any(
        abs(other.y - note.y) < LINE and _extent(other)[0] <= high and low <= _extent(other)[1]
        for other in notes
    )
    return over_note or any(
        abs(point.y + 4 - note.y) < NEAR and low - NEAR / 2 <= point.x <= high + NEAR / 2 for point in points
    )
