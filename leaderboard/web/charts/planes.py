"""Reproductions in the plane of DRI and ER, in which a perfect one stands at (0, 1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.marks import Shape, outline
from leaderboard.web.charts.notes import beside
from leaderboard.web.charts.scales import Scale, rounded
from leaderboard.web.charts.scatter import Pair, Plot, Point

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 520.0, 380.0, 58.0, 40.0, 12.0, 24.0
PERFECT = (0.0, 1.0)
SHAPE_OF: dict[str, Shape] = {"this": "diamond", "reproduced": "circle", "replicated": "triangle"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneChart(Plot):
    """x and y: the place of the perfect reproduction, ring its mark."""

    x: float
    y: float
    ring: str

    @property
    def has_this(self) -> bool:
        """Whether one of the marks is the reproduction of the page."""
        return any(point.kind == "this" for point in self.points)


def plane_chart(reproductions: Sequence[Pair], *, named: int = 8) -> PlaneChart:
    """Pairs of DRI, across, and ER, upwards, of a kind: this, reproduced or replicated.

    Names as far as there is room, the reproduction of the page first.

    >>> chart = plane_chart([Pair("a", 0.0, 1.0, kind="reproduced")])
    >>> (chart.points[0].x, chart.points[0].y) == (chart.x, chart.y)
    True
    """
    dris = [PERFECT[0], *(one.first for one in reproductions)]
    ers = [PERFECT[1], 0.0, *(one.second for one in reproductions)]
    across = Scale(*rounded(min(dris), max(dris), 6), LEFT, WIDTH - RIGHT)
    down = Scale(*rounded(min(ers), max(ers), 5), HEIGHT - BOTTOM, TOP)
    points = [_point(one, across, down) for one in reproductions]
    order = sorted(zip(reproductions, points, strict=True), key=lambda pair: pair[0].kind != "this")
    x, y = across(PERFECT[0]), down(PERFECT[1])
    return PlaneChart(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=WIDTH - RIGHT,
        top=TOP,
        bottom=HEIGHT - BOTTOM,
        across=across.ticks(6, signed=True),
        down=down.ticks(5),
        points=tuple(points),
        notes=beside([(one.name, point) for one, point in order[:named]], points, LEFT, WIDTH - RIGHT),
        x=x,
        y=y,
        ring=outline("circle", x, y, 7.0),
    )


def _point(one: Pair, across: Scale, down: Scale) -> Point:
    x, y = across(one.first), down(one.second)
    label = f"{one.name}: DRI {one.first:.4f}, ER {one.second:.4f}"
    return Point(x, y, outline(SHAPE_OF[one.kind], x, y, 4.0), one.kind, label, one.href)
