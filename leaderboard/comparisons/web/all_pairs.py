"""The drawing of all pairs of runs: one path a shade, so that 150 runs stay small and quick."""

from collections import defaultdict
from dataclasses import dataclass

from leaderboard.comparisons.page.matrix import AllPairs

LARGEST, SMALLEST, ACROSS = 22, 8, 1150
"""Sides of a cell in pixels, and how wide all cells may be together."""
NAMED_FROM = 11
"""From this side of a cell on, names stand above the columns too."""
LETTER = 0.62


@dataclass(frozen=True, slots=True)
class MatrixDrawing:
    """Sides in pixels; paths by the class of their cells; a baseline for each row's name."""

    cell: int
    left: int
    top: int
    width: int
    height: int
    font: int
    paths: tuple[tuple[str, str], ...]
    names: tuple[str, ...]


def draw(pairs: AllPairs) -> MatrixDrawing:
    """Draw the matrix; neighbours of one shade in a row are one line, as thick as a cell."""
    count = len(pairs.rows)
    cell = max(SMALLEST, min(LARGEST, ACROSS // count))
    font = min(13, cell)
    names = tuple(row.run if len(row.run) <= 24 else f"{row.run[:23]}…" for row in pairs.rows)
    left = int(max(map(len, names)) * font * LETTER) + 8
    top = left if cell >= NAMED_FROM else 4
    return MatrixDrawing(
        cell=cell,
        left=left,
        top=top,
        width=left + cell * count,
        height=top + cell * count,
        font=font,
        paths=_paths(pairs, cell, left, top),
        names=names,
    )


def _paths(pairs: AllPairs, cell: int, left: int, top: int) -> tuple[tuple[str, str], ...]:
    drawn: defaultdict[str, list[str]] = defaultdict(list)
    ends: dict[str, tuple[int, int]] = {}
    for at, (signs, steps) in enumerate(zip(pairs.signs, pairs.steps, strict=True)):
        kinds = list(map(_kind, signs, steps))
        kinds[at] = "self"
        start = 0
        for to in range(1, len(kinds) + 1):
            if to < len(kinds) and kinds[to] == kinds[start]:
                continue
            if kinds[start] != "self":
                x, y = left + start * cell, top + at * cell + cell // 2
                before = ends.get(kinds[start], (0, 0))
                across = (to - start) * cell - 1
                # Relative to the line before: the numbers stay short, and compress well.
                drawn[kinds[start]].append(f"m{x - before[0]} {y - before[1]}h{across}")
                ends[kinds[start]] = (x + across, y)
            start = to
    return tuple((kind, "".join(parts)) for kind, parts in sorted(drawn.items()))


def _kind(sign: int, step: int) -> str:
    return "level" if not sign else f"{'up' if sign > 0 else 'down'}-{step}"
