"""A run's first page, and all of the run as JSON, CSV and LaTeX."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.boards.web.cards import heads, snippets
from leaderboard.runs.page import card, measures, run
from leaderboard.runs.page.measures import RunChoice
from leaderboard.runs.page.run import RunPage
from leaderboard.runs.page.topics import ORDERS, Order
from leaderboard.runs.web import charts
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.figures import PARAMETER as FIGURE
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

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
@rule(PUBLIC)
def show(run_id: int) -> ResponseReturnValue:
    """The run: its state, its scores and place by the board's measures, and its other pages as links."""
    page = run.run_page(reading(), viewer(), run_id, request.args.get("measure") or None)
    if page.by_topic and (moved := _moved(page)) is not None:
        return redirect(moved, 301)
    html = render_template(
        "runs/show.html",
        page=page,
        table=run.table(page),
        strips=charts.strips(page),
        card_head=None if "measure" in request.args else heads.for_visitors(lambda: card.of_run_page(page)),
        snippets=snippets.of_run(page.id, f"{page.name} on {page.task}"),
    )
    return responses.page(html)


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
    return responses.export(
        form, measures.WHOLE_FILES, measures.whole_run(reading(), viewer(), run_id, run_choice)
    )


def topic_order() -> Order:
    """The order of topics that this address asks for."""
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
