"""How the runs of a blind task moved from its public to its hidden topics, as page, JSON, CSV and LaTeX."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from leaderboard.pages.boards import reveal
from leaderboard.web import responses
from leaderboard.web.revisions import slopes_of
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("reveal", __name__)


@blueprint.get("/tasks/<slug>/reveal")
@rule(PUBLIC)
def show(slug: str) -> ResponseReturnValue:
    """Ranks and scores on both; for organisers, also before the close, what the answers gave away."""
    page = reveal.reveal_page(reading(), viewer(), slug)
    html = render_template(
        "boards/reveal.html",
        page=page,
        table=reveal.table(page),
        budget=reveal.budget_table(page),
        slopes=slopes_of(page.ranks),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/reveal.<form:form>")
@rule(PUBLIC)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The same as a file."""
    return responses.export(form, reveal.FILES, reveal.reveal_page(reading(), viewer(), slug))
