"""What the head of a page tells programs that show links to it: title, description, picture.

Such programs are visitors, and only visitors are told: it is made of the very page that they are given.
"""

from collections.abc import Callable
from dataclasses import dataclass

from flask import url_for

from leaderboard.pages.cards.card import CardPage
from leaderboard.services.cards import HEIGHT, WIDTH
from leaderboard.web.security import own_origin
from leaderboard.web.session import viewer


@dataclass(frozen=True, slots=True)
class Head:
    """The words of a head; addresses are whole, the size of the picture is in pixels."""

    title: str
    description: str
    address: str
    picture: str
    oembed: str
    dataset: str = ""
    """The text of a data block; empty for what is no set of data."""
    width: int = WIDTH
    height: int = HEIGHT


def for_visitors(make: Callable[[], CardPage]) -> Head | None:
    """The head of a page by what a card says of it; None for who is signed in, whose page may say more."""
    return _head(make()) if viewer().account_id is None else None


def page_address(shown: CardPage) -> str:
    """Where the page of a card is."""
    if shown.kind == "run":
        return own_origin() + url_for("runs.show", run_id=int(shown.address))
    if shown.kind == "snapshot":
        return own_origin() + url_for("snapshots.show", address=shown.address)
    return own_origin() + url_for("boards.board", slug=shown.slug)


def picture_address(shown: CardPage) -> str:
    """Where the picture of a card is."""
    if shown.kind == "run":
        return own_origin() + url_for("card_pictures.of_run", run_id=int(shown.address))
    if shown.kind == "snapshot":
        return own_origin() + url_for("card_pictures.of_snapshot", address=shown.address)
    return own_origin() + url_for("card_pictures.of_task", slug=shown.slug)


def _head(shown: CardPage) -> Head:
    page = page_address(shown)
    oembed = own_origin() + url_for("oembed.show", url=page, format="json")
    return Head(shown.title, shown.description, page, picture_address(shown), oembed)
