"""How the runs of a blind task moved from its public to its hidden topics, as page, JSON, CSV and LaTeX."""

from flask import Blueprint

from leaderboard.pages.boards import reveal
from leaderboard.pages.boards.reveal import RevealPage
from leaderboard.web import responses
from leaderboard.web.revisions import slopes_of
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("reveal", __name__)


@responses.with_files(
    blueprint,
    "/tasks/<slug>/reveal",
    "boards/reveal.html",
    reveal.FILES,
    table=reveal.table,
    budget=reveal.budget_table,
    slopes=lambda page: slopes_of(page.ranks),
)
@rule(PUBLIC)
def show(slug: str) -> RevealPage:
    """Ranks and scores on both; for organisers, also before the close, what the answers gave away."""
    return reveal.reveal_page(reading(), viewer(), slug)
