"""What forms of labelling send: a label of an item, or an act on a list of nuggets."""

from collections.abc import Callable

from flask import request
from sqlalchemy.orm import Session

from leaderboard.errors import Invalid
from leaderboard.services.labelling import nuggets
from leaderboard.services.labelling.desks import TopicDesk
from leaderboard.services.labelling.labels import SentItemLabel
from leaderboard.services.labelling.nuggets import SentNugget
from leaderboard.web.addresses import whole

ID_DIGITS = 18


def item_label() -> SentItemLabel:
    """The label of the form; a button pressed twice is one label, another button of the page is another."""
    form, given = request.form, request.form.get("label", "")
    key = form.get("key", "")
    label = whole(given.removeprefix("-"), digits=1)
    value = -label if label is not None and given.startswith("-") else label
    return SentItemLabel(form.get("item", ""), value, f"{key}:{given}"[:100] if key else "")


def act(session: Session, desk: TopicDesk) -> None:
    """Do to a list of nuggets what the form says; raises Invalid for what it cannot say."""
    named = request.form.get("act", "")
    if named not in _ACTS:
        raise Invalid("Nothing was changed: press one of the buttons.")
    _ACTS[named](session, desk)


def _nugget() -> SentNugget:
    form = request.form
    return SentNugget(form.get("text", ""), form.get("importance", ""), form.get("key", ""))


def _id() -> int:
    """The nugget of the form; 0, which nothing has, for what is not an id."""
    return whole(request.form.get("nugget"), digits=ID_DIGITS) or 0


def _merge(session: Session, desk: TopicDesk) -> None:
    chosen = [whole(text, digits=ID_DIGITS) or 0 for text in request.form.getlist("nugget")]
    nuggets.merge(session, desk, chosen)


_ACTS: dict[str, Callable[[Session, TopicDesk], None]] = {
    "write": lambda session, desk: nuggets.write(session, desk, _nugget()),
    "rewrite": lambda session, desk: nuggets.rewrite(session, desk, _id(), _nugget()),
    "merge": _merge,
    "out": lambda session, desk: nuggets.take_out(session, desk, _id()),
    "back": lambda session, desk: nuggets.put_back(session, desk, _id()),
    "done": lambda session, desk: nuggets.finish(session, desk, is_done=True),
    "again": lambda session, desk: nuggets.finish(session, desk, is_done=False),
}
"""What a button of the list is called -> what it does."""
