"""What the head of a page tells programs that show links to it: title and description.

Such programs are visitors, and only visitors are told: it is made of the very page that they are given.
"""

from collections.abc import Callable
from dataclasses import dataclass

from flask import url_for

from leaderboard.pages.cards import CardPage
from leaderboard.web.security import own_origin
from leaderboard.web.session import viewer


@dataclass(frozen=True, slots=True)
class Head:
    """The words of a head; the address is a whole one."""

    title: str
    description: str
    address: str
    dataset: str = ""
    """The text of a data block; empty for what is no set of data."""


def for_visitors(make: Callable[[], CardPage]) -> Head | None:
    """The head of a page by what a card says of it; None for who is signed in, whose page may say more."""
    if viewer().account_id is not None:
        return None
    shown = make()
    return Head(shown.title, shown.description, own_origin() + _path(shown))


def _path(shown: CardPage) -> str:
    if shown.kind == "run":
        return url_for("runs.show", run_id=int(shown.address))
    if shown.kind == "snapshot":
        return url_for("snapshots.show", address=shown.address)
    return url_for("boards.board", slug=shown.slug)
