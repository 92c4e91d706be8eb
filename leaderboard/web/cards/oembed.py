"""oEmbed (https://oembed.com): what a program shows in place of an address of this site."""

from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint, Response, current_app, request, url_for
from werkzeug import exceptions

from leaderboard.errors import Invalid, NotFound, Problem
from leaderboard.pages.cards import card, frame
from leaderboard.pages.cards.card import CardPage
from leaderboard.services import policy
from leaderboard.services.cards import HEIGHT, WIDTH
from leaderboard.services.policy import ANONYMOUS
from leaderboard.web import responses
from leaderboard.web.addresses import whole
from leaderboard.web.cards import frames, snippets
from leaderboard.web.cards.heads import picture_address
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.security import own_origin
from leaderboard.web.session import reading

blueprint = Blueprint("oembed", __name__)

PAGES = frozenset(("boards.board", "tasks.about", "runs.show", "snapshots.show"))
CACHE_S = 3600
LONGEST = 2000


@blueprint.get("/oembed")
@rule(PUBLIC)
def show() -> Response:
    """What stands for ?url=, a task, a run or a snapshot, as a visitor may see it; JSON only."""
    if request.args.get("format", "json") != "json":
        raise exceptions.NotImplemented
    endpoint, named = _page(request.args.get("url", ""))
    shown = _card(endpoint, named)
    facts: dict[str, Any] = {
        "version": "1.0",
        "type": "link",
        "title": shown.title,
        "provider_name": "Leaderboard",
        "provider_url": own_origin() + url_for("tasks.index"),
        "cache_age": CACHE_S,
        "description": shown.description,
        **_thumbnail(shown),
    }
    return responses.as_json(facts | _frame(shown))


def _page(address: str) -> tuple[str, dict[str, Any]]:
    """Which page of this site an address is of; raises Invalid without one, NotFound where it is of none."""
    if not address or len(address) > LONGEST:
        problem = Problem("needs the address of a page of this site.", "Give it as ?url=.", field="url")
        raise Invalid("Say which page.", [problem])
    try:
        parts = urlsplit(address)
    except ValueError:
        raise NotFound("This is no address.") from None
    if f"{parts.scheme}://{parts.netloc}" != own_origin():
        raise NotFound(f"This address is not one of {own_origin()}.")
    try:
        endpoint, named = current_app.url_map.bind("").match(parts.path, method="GET")
    except exceptions.HTTPException:
        endpoint, named = "", {}
    if endpoint not in PAGES:
        raise NotFound("Tasks, runs and snapshots can be shown elsewhere; this address is of none.")
    return str(endpoint), dict(named)


def _card(endpoint: str, named: dict[str, Any]) -> CardPage:
    if endpoint == "runs.show":
        return card.of_run(reading(), named["run_id"])
    if endpoint == "snapshots.show":
        return card.of_snapshot(reading(), named["address"])
    return card.of_task(reading(), named["slug"])


def _most(name: str) -> int | None:
    return whole(request.args.get(name), digits=5)


def _thumbnail(shown: CardPage) -> dict[str, Any]:
    """The card, where it is not larger than what is asked for."""
    if (_most("maxwidth") or WIDTH) < WIDTH or (_most("maxheight") or HEIGHT) < HEIGHT:
        return {}
    address = picture_address(shown)
    return {"thumbnail_url": address, "thumbnail_width": WIDTH, "thumbnail_height": HEIGHT}


def _frame(shown: CardPage) -> dict[str, Any]:
    """The frame of a task that some site may show, else nothing."""
    if shown.kind != "task":
        return {}
    task = policy.seen_task(reading(), ANONYMOUS, shown.slug).task
    if not frame.origins_of(task.frames):
        return {}
    full = frames.height(frame.ROWS)
    width = min(_most("maxwidth") or frames.WIDTH, frames.WIDTH)
    height = min(_most("maxheight") or full, full)
    html = snippets.of_frame(shown.slug, shown.task, width, height).text
    return {"type": "rich", "html": html, "width": width, "height": height}
