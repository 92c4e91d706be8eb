"""Positions of the relevant documents in a ranking: one cell a rank, a hundred ranks a line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from leaderboard.web.charts.scales import Name, Scale, Tick, fitted, fixed, rounded

RANK_STRIPS_LEFT, RANK_STRIPS_RIGHT = 0.5, 99.5
RANK_STRIPS_TOP, LINE_HEIGHT, BAR, FOOT = 4.0, 42.0, 22.0, 18.0
SHORT, LOWEST = 4.0, 10.0
"""Heights of a bar: judged but not relevant, and relevant at the lowest such grade."""
FEW, MANY = 50, 100
"""Ranks a line: a ranking of at most as many has wider cells."""
FILL = 0.78
"""The width of a bar as a share of its cell."""
ROOM = 20
"""A line of fewer ranks names its first alone."""
EVERY = 10
"""Ranks from one mark under a line to the next."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A relevant document's bar: x and width in percent of the drawing's width, y and height in pixels."""

    x: float
    width: float
    y: float
    height: float
    label: str
    href: str


@dataclass(frozen=True, slots=True)
class RankLine:
    """A line of ranks; path holds the bars of judged, non-relevant documents, in units one rank wide.

    end is where the last rank is named, in percent, None without room.
    """

    first: int
    last: int
    end: float | None
    y: float
    path: str
    marks: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class RankStrip:
    """Lines from left to right, in percent of the drawing's width; per_line ranks would fill one."""

    height: float
    left: float
    width: float
    bar: float
    per_line: int
    lines: tuple[RankLine, ...]
    relevant: int
    judged: int


def rank_strip(
    grades: Sequence[int | None], *, level: int = 1, highest: int | None = None, anchors: str = "rank-"
) -> RankStrip:
    """One cell a rank from 1 on; None is not judged, grades from level on are relevant, higher ones taller.

    highest is the highest grade there is (the highest here, if not given); a relevant document's cell leads
    to the anchor of its rank.

    >>> strip = rank_strip([1, None, 0, 2])
    >>> [(cell.x, cell.height, cell.label, cell.href) for cell in strip.lines[0].cells]
    [(0.72, 16.0, 'rank 1: grade 1', '#rank-1'), (6.66, 22.0, 'rank 4: grade 2', '#rank-4')]
    >>> strip.lines[0].path
    'M2.11 22v-4h.78v4Z'
    """
    per_line = FEW if len(grades) <= FEW else MANY
    top = max([level, *(grade for grade in grades if grade is not None), highest or level])
    starts = range(0, len(grades), per_line)
    return RankStrip(
        height=RANK_STRIPS_TOP + LINE_HEIGHT * max(1, len(starts)) + FOOT - (LINE_HEIGHT - BAR),
        left=RANK_STRIPS_LEFT,
        width=RANK_STRIPS_RIGHT - RANK_STRIPS_LEFT,
        bar=BAR,
        per_line=per_line,
        lines=tuple(
            _line(
                grades[start : start + per_line],
                start,
                RANK_STRIPS_TOP + LINE_HEIGHT * number,
                per_line,
                (level, top),
                anchors,
            )
            for number, start in enumerate(starts)
        ),
        relevant=sum(grade is not None and grade >= level for grade in grades),
        judged=sum(grade is not None for grade in grades),
    )


def _line(
    grades: Sequence[int | None], start: int, y: float, per_line: int, ends: tuple[int, int], anchors: str
) -> RankLine:
    level, top = ends
    step = (RANK_STRIPS_RIGHT - RANK_STRIPS_LEFT) / per_line
    cells, path = [], ""
    for place, grade in enumerate(grades):
        if grade is None:
            continue
        if grade < level:
            path += f"M{place + (1 - FILL) / 2:.2f} {BAR:g}v-{SHORT:g}h{FILL:.2g}v{SHORT:g}Z".replace(
                "h0.", "h."
            )
            continue
        height = LOWEST + (BAR - LOWEST) * (grade - level + 1) / (top - level + 1)
        cells.append(
            Cell(
                x=round(RANK_STRIPS_LEFT + step * (place + (1 - FILL) / 2), 2),
                width=round(step * FILL, 2),
                y=round(y + BAR - height, 2),
                height=round(height, 2),
                label=f"rank {start + place + 1}: grade {grade}",
                href=f"#{anchors}{start + place + 1}",
            )
        )
    marks = "".join(f"M{place} 0v4" for place in range(EVERY, len(grades) + 1, EVERY))
    end = round(RANK_STRIPS_LEFT + step * len(grades), 2) if len(grades) >= ROOM else None
    return RankLine(start + 1, start + len(grades), end, y, path, marks, tuple(cells))


SCORE_STRIPS_LEFT, SCORE_STRIPS_RIGHT = 3.0, 97.0
SCORE_STRIPS_TOP, NAME_LINE, AXIS = 6.0, 15.0, 40.0
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
    """A run: x in percent of the drawing's width, y and name_y (of its name, if shown) in pixels."""

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
    scale = Scale(
        *rounded(min([0.0, *values]), max([top, *values]), 5), SCORE_STRIPS_LEFT, SCORE_STRIPS_RIGHT
    )
    sign = -1 if direction == "higher" else 1
    order = sorted(range(len(runs)), key=lambda at: sign * values[at])
    picked = [at for at in range(len(runs)) if runs[at].kind == "highlight"]
    picked += [at for at in [*order[:named], *order[-1:]] if at not in picked]
    places = [_column(scale(value)) for value in values]
    lines = _lines(picked, places)
    levels = _levels(places, order)
    pitch = min(PITCH, MOST_PILED / max([1, *levels]))
    head = SCORE_STRIPS_TOP + NAME_LINE * len(picked) + 4
    base = head + pitch * max([1, *levels]) + 12
    return ScoreStrip(
        height=base + AXIS,
        left=SCORE_STRIPS_LEFT,
        right=SCORE_STRIPS_RIGHT,
        head=head,
        base=base,
        ticks=scale.ticks(5),
        dots=tuple(
            _dot(run, places[at], round(base - 6 - pitch * levels[at], 2), lines.get(at), digits)
            for at, run in enumerate(runs)
        ),
    )


def _lines(picked: Sequence[int], places: Sequence[float]) -> dict[int, float]:
    """The heights of the names: in each half the outermost is highest, so that no line cuts a name."""
    order = sorted(picked, key=lambda at: -abs(places[at] - MIDDLE))
    return {at: SCORE_STRIPS_TOP + NAME_LINE * (line + 1) - 4 for line, at in enumerate(order)}


def _column(place: float) -> float:
    """The middle of the column that a place is in."""
    return round(SCORE_STRIPS_LEFT + COLUMN * round((place - SCORE_STRIPS_LEFT) / COLUMN), 2)


def _levels(places: Sequence[float], order: Sequence[int]) -> list[int]:
    """Number of dots below each in its pile, the best of a pile at its foot."""
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
