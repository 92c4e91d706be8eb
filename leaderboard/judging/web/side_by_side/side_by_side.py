"""Side-by-side comparisons of runs: the organiser's page, and the results of two runs as files."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.errors import LeaderboardError, NotFound
from leaderboard.judging.ops import side_by_side as side_by_side_services
from leaderboard.judging.ops.judging import Names
from leaderboard.judging.ops.side_by_side import ComparisonRequest
from leaderboard.judging.page import side_by_side
from leaderboard.judging.page.side_by_side import DeskPage, Results
from leaderboard.judging.web import desks
from leaderboard.judging.web.desks import ID_DIGITS
from leaderboard.web import actions, http
from leaderboard.web.addresses import whole
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("side_by_side", __name__)


def _html(page: DeskPage, error: LeaderboardError | None = None) -> str:
    return render_template(
        "judging/side_by_side/show.html",
        page=page,
        pairs_table=side_by_side.pairs_table(page),
        assessors_table=side_by_side.assessors_table(page),
        error=error,
        add=actions.form(Names, error),
        comparison=actions.form(ComparisonRequest, error),
        able={row.assessor_id: row.name for row in page.assessors if row.able},
    )


@http.with_files(blueprint, "/tasks/<slug>/side-by-side", _html, side_by_side.DESK_FILES, is_kept=False)
@rule(SIGNED_IN)
def show(slug: str) -> DeskPage:
    """The compared pairs, their assessors, and the forms to request more."""
    return side_by_side.desk_page(reading(), viewer(), slug)


@blueprint.get("/tasks/<slug>/side-by-side/answers.<form:form>")
@rule(SIGNED_IN)
def answers_export(slug: str, form: str) -> ResponseReturnValue:
    """Every answer as a file."""
    return http.export(form, side_by_side.ANSWERS, side_by_side.answers_page(reading(), viewer(), slug))


@blueprint.get("/tasks/<slug>/compare/side-by-side.<form:form>")
@rule(PUBLIC)
def compared_export(slug: str, form: str) -> ResponseReturnValue:
    """Assessor preferences between two runs, by topic, as a file."""
    return http.export(form, side_by_side.RESULTS_FILES, _results(slug))


WORDS = {"name": "Side by side", "does": "answers", "begin": "compare"}
actions.add_to(
    blueprint,
    side_by_side_services.ACTIONS,
    lambda slug, error: _html(show(slug), error),
    then={
        "add_comparing_assessors": lambda links, slug: (
            desks.shown_links(links, "side_by_side.show", slug, **WORDS),
            201,
        )
    },
)


def _results(slug: str) -> Results:
    first_id, second_id = (whole(request.args.get(name), digits=ID_DIGITS) for name in ("a", "b"))
    if first_id is None or second_id is None:
        raise NotFound("Name two runs with ?a= and ?b=.")
    return side_by_side.results_of(reading(), viewer(), slug, first_id, second_id)
