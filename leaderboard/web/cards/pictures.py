"""The pictures of cards: what sites elsewhere show where an address of this one is shared."""

from flask import Blueprint, Response, request

from leaderboard.pages.cards import card
from leaderboard.pages.cards.card import CardPage
from leaderboard.services.cards import cards
from leaderboard.web import responses
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import finish_reading, reading

blueprint = Blueprint("card_pictures", __name__)


@blueprint.get("/tasks/<slug>/card.png")
@rule(PUBLIC, is_computed=True)
def of_task(slug: str) -> Response:
    """The card of a task."""
    return _picture(card.of_task(reading(), slug, request.args.get("phase", "")))


@blueprint.get("/runs/<id:run_id>/card.png")
@rule(PUBLIC, is_computed=True)
def of_run(run_id: int) -> Response:
    """The card of a run."""
    return _picture(card.of_run(reading(), run_id))


@blueprint.get("/snapshots/<address>/card.png")
@rule(PUBLIC, is_computed=True)
def of_snapshot(address: str) -> Response:
    """The card of a frozen board."""
    return _picture(card.of_snapshot(reading(), address))


def _picture(shown: CardPage) -> Response:
    # Others may be drawn before this one: no transaction stays open as long.
    finish_reading()
    return responses.as_stored(cards.picture(shown.text), "image/png")
