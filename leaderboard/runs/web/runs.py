"""A run's first page, and all of the run as JSON, CSV and LaTeX."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.boards.web.cards import heads
from leaderboard.runs.page import measures, run
from leaderboard.runs.page.curves import CurveLines, CurvesPage, Kind
from leaderboard.runs.page.measures import RunChoice
from leaderboard.runs.page.run import MeasureValue, RunPage
from leaderboard.runs.page.topics import ORDERS, Order, TopicsPage
from leaderboard.web import http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import (
    Curve,
    LineChart,
    Range,
    RangeChart,
    Spread,
    StripCell,
    line_chart,
    range_chart,
    strip,
)
from leaderboard.web.filters import PARAMETER as FIGURE
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer


@dataclass(frozen=True, slots=True)
class CurveFigures:
    """Precision by recall, precision by rank, gain by rank."""

    recall: LineChart
    precision: LineChart
    gain: LineChart


def strips(page: RunPage) -> dict[str, StripCell]:
    """Measure key -> the field's spread with the run's own value, where both are known."""
    spreads = ((row, _spread(row)) for row in page.measures)
    return {row.column.key: strip(spread, digits=row.digits) for row, spread in spreads if spread is not None}


def _spread(value: MeasureValue) -> Spread | None:
    field = value.spread
    if field is None or value.value is None:
        return None
    return Spread(
        name=value.column.key,
        low=field.low,
        lower=field.lower,
        median=field.median,
        upper=field.upper,
        high=field.high,
        best=value.best,
        mine=value.value,
    )


def by_topic(page: TopicsPage) -> RangeChart | None:
    """The run's score on every topic within the field's range, in page order; None if absent."""
    field = page.field
    if field is None:
        return None
    ranges = [
        Range(
            name=topic.topic_id,
            low=min(topic.worst, topic.best),
            median=topic.median,
            high=max(topic.worst, topic.best),
            value=topic.score,
            href=url_for("rankings.show", run_id=page.id, topic_id=topic.topic_id),
        )
        for topic in field.topics
    ]
    direction: Literal["higher", "lower"] = "lower" if field.column.lower_is_better else "higher"
    return range_chart(ranges, direction=direction, digits=field.column.digits)


def curves(page: CurvesPage) -> CurveFigures:
    """The curves of the run and of the ranked runs."""
    curves = page.curves
    names: dict[Kind, str] = {
        "mine": page.name,
        "leader": curves.leader,
        "median": "median at each point",
        "highest": "maximum at each point",
    }
    return CurveFigures(
        recall=line_chart(_lines(curves.recall, names)),
        precision=line_chart(_lines(curves.precision, names)),
        gain=line_chart(_lines(curves.gain, {**names, "ideal": "ideal"}), y=None),
    )


def _lines(lines: CurveLines, names: Mapping[Kind, str]) -> list[Curve]:
    values = ((name, lines.line(kind)) for kind, name in names.items())
    return [
        Curve(name, list(zip(lines.points, line, strict=True))) for name, line in values if line is not None
    ]


blueprint = Blueprint("runs", __name__)

MOVED = {"all": "run_sections.measures", "ties": "run_sections.ties", "sort": "run_sections.topics"}
"""Former parameters of this page -> the page that replaced them."""
MOVED_FIGURES = {
    "topics": "run_sections.topics",
    "recall-precision": "run_sections.curves",
    "precision-by-rank": "run_sections.curves",
    "gain-by-rank": "run_sections.curves",
}


@blueprint.get("/runs/<id:run_id>")
@rule(PUBLIC, carries="edition")
def show(run_id: int) -> ResponseReturnValue:
    """The run: its state, its scores and place by the board's measures, and its other pages as links."""
    page = run.run_page(reading(), viewer(), run_id, request.args.get("measure") or None)
    if page.by_topic and (moved := _moved(page)) is not None:
        return redirect(moved, 301)
    html = render_template(
        "runs/show.html",
        page=page,
        table=run.table(page),
        strips=strips(page),
        card_head=None if "measure" in request.args else heads.for_visitors(lambda: run.of_run_page(page)),
        snippets=heads.of_run(page.id, f"{page.name} on {page.task}"),
    )
    return http.page(html)


@blueprint.get("/runs/<id:run_id>.<form:form>")
@rule(PUBLIC)
def export(run_id: int, form: str) -> ResponseReturnValue:
    """All of the run as JSON; or one of its tables, its scores by topic unless ?table= names another."""
    run_choice = RunChoice(
        measure=request.args.get("measure"),
        order=topic_order(),
        every_measure="all" in request.args,
        drawn_ties="ties" in request.args,
    )
    return http.export(
        form, measures.WHOLE_FILES, measures.whole_run(reading(), viewer(), run_id, run_choice)
    )


def topic_order() -> Order:
    """The order of topics that this address requests."""
    return next((order for order in ORDERS if order == request.args.get("sort")), ORDERS[0])


def _moved(page: RunPage) -> str | None:
    """The current address for an old one."""
    endpoint = MOVED_FIGURES.get(request.args.get(FIGURE, ""))
    endpoint = endpoint or next((MOVED[name] for name in MOVED if name in request.args), None)
    if endpoint is None:
        return None
    state = kept(("measure", "sort", FIGURE))
    if "ties" in request.args:
        state["drawn"] = ""
    return url_for(endpoint, run_id=page.id, **state)
