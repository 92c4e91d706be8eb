"""The search over the whole site."""

from flask import Blueprint, Response, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid
from leaderboard.tasks.page import search
from leaderboard.tasks.page.search import SearchPage
from leaderboard.web import http
from leaderboard.web.errors import status_of
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("search", __name__)


@blueprint.get("/search")
@rule(PUBLIC)
def show() -> ResponseReturnValue:
    """Tasks, suites, runs, teams, topics and documents that have the words."""
    try:
        page, error = _page(search.AT_MOST if "all" in request.args else search.USUAL), None
    except Invalid as wrong:
        page, error = search.SearchPage(query=request.args.get("q", "")[: search.MOST]), wrong
    html = render_template(
        "tasks/search.html",
        page=page,
        error=error,
        runs=search.runs_table(page),
        most=search.AT_MOST,
        is_all="all" in request.args,
    )
    return http.page(html) if error is None else Response(html, status_of(error), mimetype="text/html")


@blueprint.get("/search.<form:form>")
@rule(PUBLIC)
def export(form: str) -> ResponseReturnValue:
    """The search results as JSON, the runs as CSV or LaTeX."""
    return http.export(form, search.FILES, _page(search.AT_MOST))


def _page(most: int) -> SearchPage:
    return search.search_page(reading(), viewer(), request.args.get("q", ""), most)
