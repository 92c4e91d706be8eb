"""Rank changes from public to hidden topics of a blind task, as page, JSON, CSV and LaTeX."""

from flask import Blueprint

from leaderboard.qrels.page import reveal
from leaderboard.qrels.page.reveal import RevealPage
from leaderboard.qrels.web.revisions import slopes_of
from leaderboard.web import http
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("reveal", __name__)


@http.with_files(
    blueprint,
    "/tasks/<slug>/reveal",
    "boards/reveal.html",
    reveal.FILES,
    table=reveal.table,
    budget=reveal.budget_table,
    slopes=lambda page: slopes_of(page.ranks),
)
@rule(PUBLIC, carries="board")
def show(slug: str) -> RevealPage:
    """Ranks and scores on both; for organisers also the answer budget, even before the task closes."""
    return reveal.reveal_page(reading(), viewer(), slug)
