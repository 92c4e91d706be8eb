"""Names beside marks, left out where they would cover something."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

LETTER, LINE = 9.0, 13.0
"""At most the width of a letter and the height of a line of a label."""
NEAR = 9.0
"""How far apart two marks are at least, so that a name between them is not taken for the other's."""
Side = tuple[float, float, str]
"""How far a name stands to the right of its mark and below it, and which end of it that is."""
LEVEL_WITH: tuple[Side, ...] = ((8.0, 4.0, "start"), (-8.0, 4.0, "end"))


class Placed(Protocol):
    """A mark at a place."""

    @property
    def x(self) -> float:
        """Across, in units of the view box."""

    @property
    def y(self) -> float:
        """Down, in units of the view box."""


@dataclass(frozen=True, slots=True)
class Note:
    """A name written beside its mark."""

    x: float
    y: float
    text: str
    anchor: str


def extent(note: Note) -> tuple[float, float]:
    """From where to where a note reaches across."""
    wide = LETTER * len(note.text)
    return (note.x, note.x + wide) if note.anchor == "start" else (note.x - wide, note.x)


def beside(
    named: Sequence[tuple[str, Placed]],
    points: Sequence[Placed],
    left: float,
    right: float,
    sides: Sequence[Side] = LEVEL_WITH,
) -> tuple[Note, ...]:
    """Names beside their marks, on the first side with room; one that would cover something is left out.

    The names come in the order of their importance; points are all marks, left and right the bounds.
    """
    notes: list[Note] = []
    for name, point in named:
        for across, down, anchor in sides:
            note = Note(point.x + across, point.y + down, name, anchor)
            low, high = extent(note)
            inside = low >= left and high <= right
            if inside and not _covers(note, notes, [other for other in points if other is not point]):
                notes.append(note)
                break
    return tuple(notes)


def _covers(note: Note, notes: Sequence[Note], points: Sequence[Placed]) -> bool:
    low, high = extent(note)
    over_note = any(
        abs(other.y - note.y) < LINE and extent(other)[0] <= high and low <= extent(other)[1]
        for other in notes
    )
    return over_note or any(
        abs(point.y + 4 - note.y) < NEAR and low - NEAR / 2 <= point.x <= high + NEAR / 2 for point in points
    )
