"""Labelling pages, reached by a personal link: topics, one item at a time with one key per label."""

import secrets
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, redirect, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.judging.ops.labelling import decisions, labels
from leaderboard.judging.ops.labelling.decisions import IMPORTANCES, SentNugget
from leaderboard.judging.ops.labelling.labels import NUGGETS, SentItemLabel, TopicDesk
from leaderboard.judging.page.labelling import desk as pages
from leaderboard.judging.page.labelling.desk import DeskRound, ItemPage, NuggetPage
from leaderboard.judging.web.desks import ids, or_again, private
from leaderboard.runs.web.rankings import highlighted
from leaderboard.web.addresses import whole
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, writing

blueprint = Blueprint("labelling_desk", __name__)


def _topic(token: str, number: int, topic_id: str, error: LeaderboardError | None = None) -> Response:
    session, key = reading(), secrets.token_urlsafe(12)
    _, topic_desk = labels.topic_desk(session, token, number, topic_id)
    if topic_desk.here.kind == NUGGETS:
        nuggets = pages.nugget_page(session, token, number, topic_id)
        shown = {"importances": IMPORTANCES, "sent": request.form}
        return _private(token, "nuggets", nuggets, key=key, error=error, **shown)
    page = pages.item_page(session, token, number, topic_id, request.args.get("item"))
    table = pages.own_table(page)
    facts = {"table": table, "highlighted": highlighted}
    return _private(token, "item", page, key=key, error=error, **facts)


@blueprint.get("/judge/<token>/labels/<id:number>")
@rule(PUBLIC)
def topics(token: str, number: int) -> ResponseReturnValue:
    """The assessor's topics of a round, the meanings of labels, and the guidelines."""
    page = pages.round_page(reading(), token, number)
    return _private(token, "round", page, table=pages.topics_table(page))


@blueprint.get("/judge/<token>/labels/<id:number>/<topic:topic_id>")
@rule(PUBLIC)
def topic(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """The topic's next item, or the one in ?item=; for nuggets, the assessor's list."""
    return _topic(token, number, topic_id)


@blueprint.post("/judge/<token>/labels/<id:number>/<topic:topic_id>")
@rule(PUBLIC)
@or_again(_topic)
def save(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """Store the form's label, or change the nuggets as it says, and continue."""
    with writing() as session:
        _, topic_desk = labels.topic_desk(session, token, number, topic_id)
        if topic_desk.here.kind == NUGGETS:
            act(session, topic_desk)
        else:
            labels.save(session, topic_desk, item_label())
    return redirect(_address(token, number, topic_id), 303)


@blueprint.post("/judge/<token>/labels/<id:number>/<topic:topic_id>/undo")
@rule(PUBLIC)
def undo(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """Withdraw the assessor's last label on the topic and show its item again."""
    with writing() as session:
        _, topic_desk = labels.topic_desk(session, token, number, topic_id)
        item = labels.undo_last(session, topic_desk.here, topic_desk.assessor_id, topic_id)
    return redirect(_address(token, number, topic_id, item), 303)


def _address(token: str, number: int, topic_id: str, item: str | None = None) -> str:
    return url_for("labelling_desk.topic", token=token, number=number, topic_id=topic_id, item=item)


def _private(token: str, name: str, page: DeskRound | ItemPage | NuggetPage, **facts: Any) -> Response:
    desk, template = page.desk, f"judging/labelling/desk/{name}.html"
    return private(template, token, desk.assessor, desk.task, page=page, **facts)


def item_label() -> SentItemLabel:
    """The form's label; a button pressed twice is one label, but another button of the page is a new one."""
    form, given = request.form, request.form.get("label", "")
    key = form.get("key", "")
    label = whole(given.removeprefix("-"), digits=1)
    value = -label if label is not None and given.startswith("-") else label
    return SentItemLabel(form.get("item", ""), value, f"{key}:{given}"[:100] if key else "")


def act(session: Session, desk: TopicDesk) -> None:
    """Change a nugget list as the form says; raises Invalid for an unknown action."""
    named = request.form.get("act", "")
    if named not in _ACTS:
        raise Invalid("Nothing was changed. Press one of the buttons.")
    _ACTS[named](session, desk)


def _nugget() -> SentNugget:
    form = request.form
    return SentNugget(form.get("text", ""), form.get("importance", ""), form.get("key", ""))


def _id() -> int:
    """The form's nugget."""
    return next(iter(ids("nugget")), 0)


def _merge(session: Session, desk: TopicDesk) -> None:
    decisions.merge_nuggets(session, desk, ids("nugget"))


_ACTS: dict[str, Callable[[Session, TopicDesk], None]] = {
    "write": lambda session, desk: decisions.write_nugget(session, desk, _nugget()),
    "rewrite": lambda session, desk: decisions.rewrite_nugget(session, desk, _id(), _nugget()),
    "merge": _merge,
    "out": lambda session, desk: decisions.take_out(session, desk, _id()),
    "back": lambda session, desk: decisions.put_back(session, desk, _id()),
    "done": lambda session, desk: decisions.finish_nuggets(session, desk, is_done=True),
    "again": lambda session, desk: decisions.finish_nuggets(session, desk, is_done=False),
}
"""Button of the list -> its action."""
