"""A run's page, also as JSON, CSV and LaTeX."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.pages.runs import run
from leaderboard.pages.runs import tables as run_tables
from leaderboard.pages.runs.profiles import Asked
from leaderboard.pages.runs.run import RunPage
from leaderboard.pages.runs.topics import ORDERS
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.runs import charts
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("runs", __name__)

STATE = ("measure", "sort")


@blueprint.get("/runs/<id:run_id>")
@rule(PUBLIC)
def show(run_id: int) -> ResponseReturnValue:
    """The run: state, scores among the others, topics, curves, ties, where the numbers come from."""
    page = _page(run_id)
    html = render_template(
        "runs/show.html",
        page=page,
        args=kept(STATE),
        strips=charts.strips(page),
        chart=charts.by_topic(page),
        figures=charts.curves(page),
    )
    return responses.page(html)


@blueprint.get("/runs/<id:run_id>.json")
@rule(PUBLIC)
def show_json(run_id: int) -> ResponseReturnValue:
    """The run with all its numbers as JSON."""
    return responses.as_json(run_tables.as_json(_page(run_id)))


@blueprint.get("/runs/<id:run_id>.csv")
@rule(PUBLIC)
def show_csv(run_id: int) -> ResponseReturnValue:
    """One of the run's tables as CSV: its scores by topic, unless ?table= names another."""
    page, name = _page(run_id), _table()
    return responses.as_csv(run_tables.table(page, name), _file_name(page, name))


@blueprint.get("/runs/<id:run_id>.tex")
@rule(PUBLIC)
def show_tex(run_id: int) -> ResponseReturnValue:
    """The same table as LaTeX."""
    page, name = _page(run_id), _table()
    return responses.as_latex_table(
        run_tables.table(page, name),
        _file_name(page, name),
        caption=run_tables.caption(page, name),
        digits=run_tables.digits(page),
    )


def _page(run_id: int) -> RunPage:
    order = next((each for each in ORDERS if each == request.args.get("sort")), ORDERS[0])
    asked = Asked(request.args.get("measure"), order, "all" in request.args, "ties" in request.args)
    return run.run_page(reading(), viewer(), run_id, asked)


def _table() -> str:
    return request.args.get("table", next(iter(run_tables.TABLES)))


def _file_name(page: RunPage, table: str) -> str:
    return page.name if table == next(iter(run_tables.TABLES)) else f"{page.name}-{table}"
