"""The embeddable board of a task: the only page that other sites may frame."""

from collections.abc import Sequence

from flask import Blueprint, Response, render_template, request

from leaderboard.boards.page import cards
from leaderboard.web import http
from leaderboard.web.addresses import whole
from leaderboard.web.http import POLICY
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading

blueprint = Blueprint("frames", __name__)

NOBODY = "frame-ancestors 'none'"
WIDTH, HEAD_HEIGHT, ROW_HEIGHT = 640, 190, 34
"""Height of a frame in pixels: without rows, and per row."""


@blueprint.get("/tasks/<slug>/embed")
@rule(PUBLIC)
def show(slug: str) -> Response:
    """The first ?rows= runs by ?measure=, as seen by visitors, for sites allowed by the task."""
    asked = whole(request.args.get("rows"), digits=3)
    page = cards.frame(
        reading(),
        slug,
        request.args.get("measure") or None,
        cards.ROWS if asked is None else asked,
        request.args.get("phase", ""),
    )
    html = render_template("boards/cards/frame.html", page=page, table=cards.frame_table(page))
    return http.framed(html, policy(page.origins))


def policy(origins: Sequence[str]) -> str:
    """The content security policy that lets these origins frame a page; the default without any."""
    return POLICY.replace(NOBODY, f"frame-ancestors {' '.join(origins)}") if origins else POLICY


def height(rows: int) -> int:
    """Height in pixels of a frame with a number of rows."""
    return HEAD_HEIGHT + ROW_HEIGHT * rows
