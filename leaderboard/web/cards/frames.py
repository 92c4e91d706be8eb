"""The bare board of a task for a frame on a page elsewhere: the one address that other sites may frame."""

from collections.abc import Sequence

from flask import Blueprint, Response, render_template, request

from leaderboard.pages import cards
from leaderboard.web import responses
from leaderboard.web.addresses import whole
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.security import POLICY
from leaderboard.web.session import reading

blueprint = Blueprint("frames", __name__)

NOBODY = "frame-ancestors 'none'"
WIDTH, HEAD_HEIGHT, ROW_HEIGHT = 640, 190, 34
"""Pixels of a frame: what it takes beside its rows, and each of them."""


@blueprint.get("/tasks/<slug>/embed")
@rule(PUBLIC)
def show(slug: str) -> Response:
    """The first ?rows= runs by ?measure=, as a visitor may see them; framed by whom the task names."""
    asked = whole(request.args.get("rows"), digits=3)
    page = cards.frame(
        reading(),
        slug,
        request.args.get("measure") or None,
        cards.ROWS if asked is None else asked,
        request.args.get("phase", ""),
    )
    html = render_template("cards/frame.html", page=page, table=cards.frame_table(page))
    return responses.framed(html, policy(page.origins))


def policy(origins: Sequence[str]) -> str:
    """The policy of content of a page that these origins may frame; the site's own where there are none."""
    return POLICY.replace(NOBODY, f"frame-ancestors {' '.join(origins)}") if origins else POLICY


def height(rows: int) -> int:
    """Pixels that a frame of so many rows takes."""
    return HEAD_HEIGHT + ROW_HEIGHT * rows
