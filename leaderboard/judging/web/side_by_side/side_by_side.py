"""Side-by-side comparisons of runs: the organiser's page, and the results of two runs as files."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.core import policy
from leaderboard.errors import Invalid, LeaderboardError, NotFound
from leaderboard.judging.ops import side_by_side as side_by_side_services
from leaderboard.judging.ops.side_by_side import ComparisonRequest
from leaderboard.judging.page import side_by_side
from leaderboard.judging.page.side_by_side import Results
from leaderboard.judging.web import desks
from leaderboard.judging.web.desks import ID_DIGITS, ids, or_again
from leaderboard.web import responses
from leaderboard.web.addresses import whole
from leaderboard.web.rules import PUBLIC, SIGNED_IN, number, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("side_by_side", __name__)


@blueprint.get("/tasks/<slug>/side-by-side")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """The compared pairs, their assessors, and the forms to request more."""
    return _page(slug)


def _page(slug: str, error: LeaderboardError | None = None) -> str:
    page = side_by_side.desk_page(reading(), viewer(), slug)
    return render_template(
        "judging/side_by_side/show.html",
        page=page,
        pairs_table=side_by_side.pairs_table(page),
        assessors_table=side_by_side.assessors_table(page),
        error=error,
        sent=request.form,
    )


@blueprint.get("/tasks/<slug>/side-by-side.<form:form>")
@rule(SIGNED_IN)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The pairs as a file."""
    return responses.export(form, side_by_side.DESK_FILES, side_by_side.desk_page(reading(), viewer(), slug))


@blueprint.get("/tasks/<slug>/side-by-side/answers.<form:form>")
@rule(SIGNED_IN)
def answers_export(slug: str, form: str) -> ResponseReturnValue:
    """Every answer as a file."""
    return responses.export(form, side_by_side.ANSWERS, side_by_side.answers_page(reading(), viewer(), slug))


@blueprint.post("/tasks/<slug>/side-by-side")
@rule(SIGNED_IN)
@or_again(_page, LeaderboardError)
def ask(slug: str) -> ResponseReturnValue:
    """Request comparisons of a run with others."""
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    asked_for = _request()
    with writing() as session:
        side_by_side_services.ask_pair(session, asker, slug, asked_for)
    return redirect(url_for("side_by_side.show", slug=slug), 303)


@blueprint.post("/tasks/<slug>/side-by-side/assessors")
@rule(SIGNED_IN)
@or_again(_page, LeaderboardError)
def add_assessors(slug: str) -> ResponseReturnValue:
    """Add assessors, and show their links."""
    policy.own_task(reading(), viewer(), slug)
    words = {"name": "Side by side", "does": "answers", "begin": "compare"}
    return desks.add_assessors(slug, "side_by_side.show", **words)


@blueprint.post("/tasks/<slug>/side-by-side/end")
@rule(SIGNED_IN)
def end(slug: str) -> ResponseReturnValue:
    """Stop requesting answers for two runs."""
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    first, second = number("first", None), number("second", None)
    if first is None or second is None:
        raise Invalid("Choose two runs.")
    with writing() as session:
        side_by_side_services.end(session, asker, slug, first, second)
    return redirect(url_for("side_by_side.show", slug=slug), 303)


@blueprint.get("/tasks/<slug>/compare/side-by-side.<form:form>")
@rule(PUBLIC)
def compared_export(slug: str, form: str) -> ResponseReturnValue:
    """Assessor preferences between two runs, by topic, as a file."""
    return responses.export(form, side_by_side.RESULTS_FILES, _results(slug))


def _results(slug: str) -> Results:
    one, two = (whole(request.args.get(name), digits=ID_DIGITS) for name in ("a", "b"))
    if one is None or two is None:
        raise NotFound("Name two runs with ?a= and ?b=.")
    return side_by_side.results_of(reading(), viewer(), slug, one, two)


def _request() -> ComparisonRequest:
    form = request.form
    return ComparisonRequest(
        run=whole(form.get("run"), digits=ID_DIGITS) or 0,
        others=ids("other"),
        assessors=ids("assessor"),
        topics=tuple(form.get("topics", "").split()),
        sample=number("sample", None),
        each=number("each", None),
    )
