"""Where the relevant documents are in a ranking: one cell a rank, a hundred ranks a line."""

from collections.abc import Sequence
from dataclasses import dataclass

LEFT, RIGHT = 0.5, 99.5
TOP, LINE_HEIGHT, BAR, FOOT = 4.0, 42.0, 22.0, 18.0
SHORT, LOWEST = 4.0, 10.0
"""Heights of a bar: judged but not relevant, and relevant at the lowest such grade."""
FEW, MANY = 50, 100
"""Ranks a line: a ranking of at most as many has wider cells."""
FILL = 0.78
"""The share of a cell that its bar takes."""
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
    """A line of ranks; path holds the bars of what is judged and not relevant, in units a rank wide.

    end is where the last rank is named, in percent, None where there is no room.
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
        height=TOP + LINE_HEIGHT * max(1, len(starts)) + FOOT - (LINE_HEIGHT - BAR),
        left=LEFT,
        width=RIGHT - LEFT,
        bar=BAR,
        per_line=per_line,
        lines=tuple(
            _line(
                grades[start : start + per_line],
                start,
                TOP + LINE_HEIGHT * number,
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
    step = (RIGHT - LEFT) / per_line
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
                x=round(LEFT + step * (place + (1 - FILL) / 2), 2),
                width=round(step * FILL, 2),
                y=round(y + BAR - height, 2),
                height=round(height, 2),
                label=f"rank {start + place + 1}: grade {grade}",
                href=f"#{anchors}{start + place + 1}",
            )
        )
    marks = "".join(f"M{place} 0v4" for place in range(EVERY, len(grades) + 1, EVERY))
    end = round(LEFT + step * len(grades), 2) if len(grades) >= ROOM else None
    return RankLine(start + 1, start + len(grades), end, y, path, marks, tuple(cells))
