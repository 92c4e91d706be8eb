"""Curves of up to eight runs on common axes, as page, JSON, CSV and LaTeX."""

from typing import Any

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.boards.ops.rows import Row
from leaderboard.comparisons.page import curves
from leaderboard.comparisons.page.curves import MOST_RUNS, Choice, CurvesPage
from leaderboard.errors import NotFound
from leaderboard.measures.drawn_curves import DEPTH, DEPTHS, KINDS
from leaderboard.web import http
from leaderboard.web.addresses import kept, whole
from leaderboard.web.charts import MOST_CURVES, Curve, LineChart, line_chart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("curves", __name__)

STATE = ("kind", "topic", "depth")
DRAWN_RANKS = 100
"""Number of points that are all drawn; beyond, one in ten is drawn (curves by rank)."""
CHOICES_AT_FIRST = 12
MOST_LISTED = 600
"""Maximum number of topics in a selection list."""


@blueprint.get("/tasks/<slug>/curves")
@rule(PUBLIC, is_computed=True, carries="edition")
def show(slug: str) -> ResponseReturnValue:
    """The page of curves, with the form to choose others."""
    page = _page(slug)
    html = render_template(
        "comparisons/curves.html",
        page=page,
        args=_state(page),
        chart=_chart(page),
        has_ideal=_has_ideal(page),
        points=curves.points(page, is_short=True),
        runs=curves.runs(page),
        kinds=KINDS,
        depths=DEPTHS,
        whole="whole" in request.args,
        usual=not any(request.args.getlist("run")),
        most=MOST_RUNS,
        offered=_offered(page),
        most_listed=MOST_LISTED,
    )
    return http.page(html)


@blueprint.get("/tasks/<slug>/curves.<form:form>")
@rule(PUBLIC, is_computed=True)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The curves as a file, one row per point; print has the points of the page's table."""
    page = _page(slug)
    if form not in http.PRINTED or "table" in request.args:
        return http.export(form, curves.FILES, page)
    table = curves.points(page, is_short=True)
    return http.table_file(form, table)


def _page(slug: str) -> CurvesPage:
    choice = Choice(
        runs=tuple(_run(text) for text in request.args.getlist("run") if text),
        kind=request.args.get("kind") or "rp",
        topic=request.args.get("topic") or None,
        depth=_depth(request.args.get("depth")),
        whole="whole" in request.args,
    )
    return curves.curves_page(reading(), viewer(), slug, choice)


def _depth(text: str | None) -> int:
    depth = whole(text, digits=5)
    return DEPTH if depth is None else depth


def _run(text: str) -> int:
    run_id = whole(text)
    if run_id is None:
        raise NotFound(f"Run {text[:20]!r} does not exist here.")
    return run_id


def _state(page: CurvesPage) -> dict[str, Any]:
    """Query parameters to keep in links."""
    chosen = kept(STATE, flags=["whole"])
    return {**chosen, "run": list(page.chosen)} if "run" in request.args else chosen


def _offered(page: CurvesPage) -> tuple[list[Row], list[Row]]:
    """Runs offered first (drawn runs and the first of the board), and the others."""
    near = {*page.chosen, *(row.run_id for row in page.choices[:CHOICES_AT_FIRST])}
    first = [row for row in page.choices if row.run_id in near]
    return first, [row for row in page.choices if row.run_id not in near]


def _has_ideal(page: CurvesPage) -> bool:
    """Whether the ideal curve fits into the chart."""
    return page.ideal is not None and len(page.runs) < MOST_CURVES


def _chart(page: CurvesPage) -> LineChart | None:
    """Chart of the runs' curves, labelled by the first of the page's measures."""
    if not page.runs:
        return None
    drawn = [place for place in range(len(page.points)) if place <= DRAWN_RANKS or place % 10 == 9]
    lines = [
        Curve(_name(page, place), _points(page, run.values, drawn)) for place, run in enumerate(page.runs)
    ]
    if page.ideal is not None and _has_ideal(page):
        lines.append(Curve("ideal", _points(page, page.ideal, drawn)))
    return line_chart(
        lines, x=(page.points[0], page.points[-1]), y=None if page.kind.key == "gain" else (0.0, 1.0)
    )


def _name(page: CurvesPage, place: int) -> str:
    run = page.runs[place]
    if not page.measures:
        return run.name
    return f"{run.numbers[0]:.{page.measures[0].digits}f} {run.name}"


def _points(page: CurvesPage, values: tuple[float, ...], places: list[int]) -> list[tuple[float, float]]:
    return [(page.points[place], values[place]) for place in places]
