"""Outlines of marks, so that series and kinds differ in shape and not in colour alone."""

from typing import Literal

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
