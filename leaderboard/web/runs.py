"""A run's page, also as JSON, CSV and LaTeX."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.services import run_tables, runs
from leaderboard.services.run_profiles import Asked
from leaderboard.services.run_topics import ORDERS
from leaderboard.services.runs import RunPage
from leaderboard.web import run_charts, tables
from leaderboard.web.addresses import kept
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("runs", __name__)

STATE = ("measure", "sort")


@blueprint.get("/runs/<int:run_id>")
@rule(PUBLIC)
def show(run_id: int) -> ResponseReturnValue:
    """The run: state, scores among the others, topics, curves, ties, where the numbers come from."""
    page = _page(run_id)
    html = render_template(
        "runs/show.html",
        page=page,
        args=kept(STATE),
        strips=run_charts.strips(page),
        chart=run_charts.by_topic(page),
        figures=run_charts.curves(page),
    )
    return tables.page(html)


@blueprint.get("/runs/<int:run_id>.json")
@rule(PUBLIC)
def show_json(run_id: int) -> ResponseReturnValue:
    """The run with all its numbers as JSON."""
    return tables.as_json(run_tables.as_json(_page(run_id)))


@blueprint.get("/runs/<int:run_id>.csv")
@rule(PUBLIC)
def show_csv(run_id: int) -> ResponseReturnValue:
    """One of the run's tables as CSV: its scores by topic, unless ?table= names another."""
    page, name = _page(run_id), _table()
    return tables.as_csv(run_tables.table(page, name), _file_name(page, name))


@blueprint.get("/runs/<int:run_id>.tex")
@rule(PUBLIC)
def show_tex(run_id: int) -> ResponseReturnValue:
    """The same table as LaTeX."""
    page, name = _page(run_id), _table()
    return tables.as_latex_table(
        run_tables.table(page, name),
        _file_name(page, name),
        caption=run_tables.caption(page, name),
        digits=run_tables.digits(page),
    )


def _page(run_id: int) -> RunPage:
    order = next((each for each in ORDERS if each == request.args.get("sort")), ORDERS[0])
    asked = Asked(request.args.get("measure"), order, "all" in request.args, "ties" in request.args)
    return runs.run_page(reading(), viewer(), run_id, asked)


def _table() -> str:
    return request.args.get("table", next(iter(run_tables.TABLES)))


def _file_name(page: RunPage, table: str) -> str:
    return page.name if table == next(iter(run_tables.TABLES)) else f"{page.name}-{table}"
