"""The desk of who makes nuggets and labels, by a personal link: topics, one item at a time, one key each."""

import secrets
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.pages.labelling import desk as pages
from leaderboard.pages.labelling import written
from leaderboard.services.labelling import desks, labels
from leaderboard.services.labelling.kinds import NUGGETS
from leaderboard.services.labelling.nuggets import IMPORTANCES
from leaderboard.web.errors import status_of, wants_json
from leaderboard.web.labelling.sent import act, item_label
from leaderboard.web.rankings import highlighted
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, writing

blueprint = Blueprint("labelling_desk", __name__)


@blueprint.get("/judge/<token>/labels/<id:number>")
@rule(PUBLIC)
def topics(token: str, number: int) -> ResponseReturnValue:
    """The assessor's topics of a round, what the labels mean, and the guidelines."""
    page = pages.round_page(reading(), token, number)
    return _private("labelling/desk/round.html", token, page, table=pages.topics_table(page))


@blueprint.get("/judge/<token>/labels/<id:number>/<topic:topic_id>")
@rule(PUBLIC)
def topic(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """The topic's next item, or the one of ?item=; of nuggets the list that is written."""
    return _topic(token, number, topic_id)


@blueprint.post("/judge/<token>/labels/<id:number>/<topic:topic_id>")
@rule(PUBLIC)
def save(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """Store the label of the form, or do to the nuggets what it says, and go on."""
    try:
        with writing() as session:
            _, here = desks.topic_desk(session, token, number, topic_id)
            if here.here.kind == NUGGETS:
                act(session, here)
            else:
                labels.save(session, here, item_label())
    except (Invalid, Conflict) as error:
        if wants_json():
            raise
        return _topic(token, number, topic_id, error), status_of(error)
    return redirect(_address(token, number, topic_id), 303)


@blueprint.post("/judge/<token>/labels/<id:number>/<topic:topic_id>/undo")
@rule(PUBLIC)
def undo(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """Take back the assessor's last label of the topic and show its item again."""
    with writing() as session:
        _, here = desks.topic_desk(session, token, number, topic_id)
        item = labels.undo_last(session, here.here, here.assessor_id, topic_id)
    return redirect(_address(token, number, topic_id, item), 303)


def _topic(token: str, number: int, topic_id: str, error: LeaderboardError | None = None) -> Response:
    session, key = reading(), secrets.token_urlsafe(12)
    _, here = desks.topic_desk(session, token, number, topic_id)
    if here.here.kind == NUGGETS:
        nuggets = written.nugget_page(session, token, number, topic_id)
        shown = {"importances": IMPORTANCES, "sent": request.form}
        return _private("labelling/desk/nuggets.html", token, nuggets, key=key, error=error, **shown)
    page = pages.item_page(session, token, number, topic_id, request.args.get("item"))
    table = pages.own_table(page)
    facts = {"table": table, "highlighted": highlighted}
    return _private("labelling/desk/item.html", token, page, key=key, error=error, **facts)


def _address(token: str, number: int, topic_id: str, item: str | None = None) -> str:
    return url_for("labelling_desk.topic", token=token, number=number, topic_id=topic_id, item=item)


def _private(template: str, token: str, page: Any, **facts: Any) -> Response:
    """A page that only the assessor sees, and no cache keeps."""
    about = {"assessor_id": page.assessor_id, "task": page.task}
    response = Response(
        render_template(template, token=token, page=page, **about, **facts), mimetype="text/html"
    )
    response.headers["Cache-Control"] = "no-store"
    return response
