"""Reproductions in the plane of DRI and ER, in which a perfect one stands at (0, 1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.marks import Shape, outline
from leaderboard.web.charts.notes import beside
from leaderboard.web.charts.scales import Scale, rounded
from leaderboard.web.charts.scatter import Point, PointChart

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 520.0, 380.0, 58.0, 40.0, 12.0, 24.0
PERFECT = (0.0, 1.0)
SHAPE_OF: dict[str, Shape] = {"this": "diamond", "reproduced": "circle", "replicated": "triangle"}


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A reproduction: its DRI and ER; kind is this, reproduced or replicated."""

    name: str
    dri: float
    er: float
    kind: str = "reproduced"
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneChart(PointChart):
    """Points in units of the view box; x and y: the place of the perfect reproduction, ring its mark."""

    width: float
    height: float
    x: float
    y: float
    ring: str

    @property
    def has_this(self) -> bool:
        """Whether one of the marks is the reproduction of the page."""
        return any(point.kind == "this" for point in self.points)


def plane_chart(reproductions: Sequence[Reproduced], *, named: int = 8) -> PlaneChart:
    """DRI across and ER upwards; names as far as there is room, the reproduction of the page first.

    >>> chart = plane_chart([Reproduced("a", 0.0, 1.0), Reproduced("b", 0.1, 0.5)])
    >>> (chart.points[0].x, chart.points[0].y) == (chart.x, chart.y)
    True
    """
    dris = [PERFECT[0], *(one.dri for one in reproductions)]
    ers = [PERFECT[1], 0.0, *(one.er for one in reproductions)]
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


def _point(one: Reproduced, across: Scale, down: Scale) -> Point:
    x, y = across(one.dri), down(one.er)
    label = f"{one.name}: DRI {one.dri:.4f}, ER {one.er:.4f}"
    return Point(x, y, outline(SHAPE_OF[one.kind], x, y, 4.0), one.kind, label, one.href)
