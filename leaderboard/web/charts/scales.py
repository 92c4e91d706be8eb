"""Scales, ticks, and labels that keep clear of each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

MINUS = "−"
STEPS = (1.0, 2.0, 5.0, 10.0)
TIE = 1e-9
"""Scores nearer to each other than this are equal up to rounding."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Position of a grid line, and its label."""

    place: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """A drawing between two scales of numbers, in units of the view box."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    across: tuple[Tick, ...]
    down: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from low to high laid out between two places; values outside are placed at the nearer end.

    >>> across = Scale(0.0, 2.0, start=10.0, end=90.0)
    >>> across(1.0), across(math.inf)
    (50.0, 90.0)
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value, to a hundredth."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self, most: int, *, signed: bool = False) -> tuple[Tick, ...]:
        """Ticks at round values in at most `most` steps, those above zero with a plus where signed."""
        step = _step(self.high - self.low, most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(
            Tick(self(count * step), number(count * step, step, signed=signed))
            for count in range(first, last + 1)
        )


def rounded(low: float, high: float, most: int) -> tuple[float, float]:
    """The domain widened to round values; one of no width gets some.

    >>> rounded(-0.13, 0.02, 6), rounded(3.0, 3.0, 5)
    ((-0.15, 0.05), (2.4, 3.6))
    """
    if high - low < TIE:
        room = abs(low) / 6 if abs(low) >= TIE else 0.5
        low, high = low - room, high + room
    start, end = _ends(low, high, _step(high - low, most))
    # Ends that are too many steps apart get ticks of the next step, where only one may fit.
    if len(Scale(start, end, 0.0, 1.0).ticks(most)) < 2:
        start, end = _ends(low, high, _step(end - start, most))
    return start, end


def _ends(low: float, high: float, step: float) -> tuple[float, float]:
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return round(first * step, 12), round(last * step, 12)


def number(value: float, step: float, *, signed: bool = False) -> str:
    """A value with the decimals that a step needs, and a true minus sign.

    >>> number(-0.05, 0.05), number(2.0, 1.0, signed=True), number(0.0, 0.5, signed=True)
    ('−0.05', '+2', '0')
    """
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return "0"
    return (MINUS if value < 0 else "+" if signed else "") + text


def fixed(value: float, digits: int) -> str:
    """A value with `digits` decimals and a true minus sign, none before a zero.

    >>> fixed(-0.12345, 4), fixed(0.5, 2), fixed(-0.0001, 2)
    ('−0.1235', '0.50', '0.00')
    """
    text = f"{abs(value):.{digits}f}"
    return MINUS + text if value < 0 and float(text) else text


def signed(value: float, digits: int) -> str:
    """A difference with its sign, also where it is zero.

    >>> signed(-0.12345, 4), signed(0.0, 2), signed(-math.inf, 3)
    ('−0.1235', '±0.00', '−∞')
    """
    if math.isinf(value):
        return (MINUS if value < 0 else "+") + "∞"
    text = f"{abs(value):.{digits}f}"
    return ("±" if float(text) == 0 else MINUS if value < 0 else "+") + text


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Labels moved apart until neighbours are a gap away, each as little as may be, within low and high.

    The sum of squared moves is the smallest possible: less its rank's gaps, each place is a value of an
    isotonic regression, found by pooling neighbours that collide (J. de Leeuw, K. Hornik and P. Mair, Isotone
    Optimization in R, Journal of Statistical Software 32(5), 2009) and cut at the bounds.
    Without room for all between low and high they continue beyond high.

    >>> spread([10, 11, 30], 4, 0, 40)
    [8.5, 12.5, 30.0]
    >>> spread([39, 39], 4, 0, 40)
    [36, 40]
    """
    order = sorted(range(len(places)), key=lambda index: places[index])
    pools: list[tuple[float, int]] = []
    for rank, index in enumerate(order):
        total, count = places[index] - rank * gap, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before, many = pools.pop()
            total, count = total + before, count + many
        pools.append((total, count))
    top = max(low, high - (len(places) - 1) * gap)
    levels = [min(max(total / count, low), top) for total, count in pools for _ in range(count)]
    moved = [0.0] * len(places)
    for rank, (index, level) in enumerate(zip(order, levels, strict=True)):
        moved[index] = round(level + rank * gap, 2)
    return moved


@dataclass(frozen=True, slots=True)
class Name:
    """A name whole, cut for a wide drawing and cut for a narrow one."""

    full: str
    wide: str
    narrow: str


def fitted(text: str, wide: int, narrow: int) -> Name:
    """A name shortened for a wide and for a narrow drawing.

    >>> fitted("clueweb09-en0000-00-00000", 30, 12)
    Name(full='clueweb09-en0000-00-00000', wide='clueweb09-en0000-00-00000', narrow='cluew…-00000')
    """
    return Name(text, shorten(text, wide), shorten(text, narrow))


def shorten(text: str, most: int) -> str:
    """A name cut in its middle: runs and documents of one family differ at their ends.

    >>> shorten("clueweb09-en0000-00-00000", 12)
    'cluew…-00000'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2 + 1
    return f"{text[: most - 1 - tail]}…{text[-tail:]}"


def fitted_title(text: str, wide: int, narrow: int) -> Name:
    """A title shortened for a wide and for a narrow drawing: what it says stands at its beginning.

    >>> fitted_title("Iterating over files", 20, 10)
    Name(full='Iterating over files', wide='Iterating over files', narrow='Iterating…')
    """
    wider, narrower = (
        text if len(text) <= most else f"{text[: most - 1].rstrip()}…" for most in (wide, narrow)
    )
    return Name(text, wider, narrower)


def _step(span: float, most: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that divides a span into at most `most` parts."""
    least = span / most
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * step for step in STEPS if power * step >= least * (1 - 1e-9))


Shape = Literal["circle", "square", "triangle", "diamond", "down", "plus", "cross", "bar"]

SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond", "down", "plus", "cross", "bar")


def outline(shape: Shape, x: float, y: float, radius: float = 3.5) -> str:
    """The path of a mark around a point; plus and cross are strokes, the rest are closed.

    >>> outline("diamond", 10, 20, 4)
    'M5 20L10 15L15 20L10 25Z'
    """
    wide, slim = radius * 1.25, radius * 0.45
    match shape:
        case "circle":
            turn = f"a{radius:g} {radius:g} 0 1 0"
            return f"M{x - radius:.4g} {y:.4g}{turn} {2 * radius:g} 0{turn} {-2 * radius:g} 0Z"
        case "square":
            side = radius * 0.9
            return _polygon(
                (x - side, y - side), (x + side, y - side), (x + side, y + side), (x - side, y + side)
            )
        case "triangle":
            return _polygon((x - wide, y + radius), (x, y - wide), (x + wide, y + radius))
        case "down":
            return _polygon((x - wide, y - radius), (x, y + wide), (x + wide, y - radius))
        case "diamond":
            return _polygon((x - wide, y), (x, y - wide), (x + wide, y), (x, y + wide))
        case "plus":
            return _stroke((x - wide, y), (x + wide, y)) + _stroke((x, y - wide), (x, y + wide))
        case "cross":
            return _stroke((x - radius, y - radius), (x + radius, y + radius)) + _stroke(
                (x - radius, y + radius), (x + radius, y - radius)
            )
        case "bar":
            return _polygon(
                (x - slim, y - wide), (x + slim, y - wide), (x + slim, y + wide), (x - slim, y + wide)
            )


def _polygon(*corners: tuple[float, float]) -> str:
    return _stroke(*corners) + "Z"


def _stroke(*points: tuple[float, float]) -> str:
    return "M" + "L".join(f"{x:.5g} {y:.5g}" for x, y in points)


LETTER, LINE = 9.0, 13.0
"""At most the width of a letter and the height of a line of a label."""
NEAR = 9.0
"""Minimum distance of two marks, so that a name between them is not mistaken for the other's."""
Side = tuple[float, float, str]
"""Offset of a name to the right of its mark and below it, and its text anchor."""
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
    """A name written next to its mark."""

    x: float
    y: float
    text: str
    anchor: str


def extent(note: Note) -> tuple[float, float]:
    """From where to where a note reaches across."""
    wide = LETTER * len(note.text)
    return (note.x, note.x + wide) if note.anchor == "start" else (note.x - wide, note.x)


def labels(
    named: Sequence[tuple[str, Placed]],
    points: Sequence[Placed],
    left: float,
    right: float,
    sides: Sequence[Side] = LEVEL_WITH,
) -> tuple[Note, ...]:
    """Names next to their marks, on the first side with room; one that would cover something is left out.

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
        abs(placed.y - note.y) < LINE and extent(placed)[0] <= high and low <= extent(placed)[1]
        for placed in notes
    )
    return over_note or any(
        abs(point.y + 4 - note.y) < NEAR and low - NEAR / 2 <= point.x <= high + NEAR / 2 for point in points
    )
