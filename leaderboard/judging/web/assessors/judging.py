"""Judging pages, reached by a personal link: topics, guidelines, one document at a time."""

import secrets
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.judging.ops import side_by_side
from leaderboard.judging.ops.assessors import log
from leaderboard.judging.page.assessors import judging
from leaderboard.judging.page.labelling import desk as labelling
from leaderboard.judging.web.desks import private, unkept
from leaderboard.runs.web.rankings import highlighted
from leaderboard.web import actions
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading

blueprint = Blueprint("judging", __name__)

SKIP = "skip"


@blueprint.get("/judge/<token>")
@rule(PUBLIC)
def desk(token: str) -> ResponseReturnValue:
    """The assessor's topics."""
    desk = judging.desk(reading(), token)
    compared = side_by_side.of_link(reading(), token)
    return private(
        "judging/assessors/judging/desk.html",
        token,
        desk.assessor,
        desk.task,
        desk=desk,
        topics_table=judging.topics_table,
        compared=compared,
        rounds=labelling.rounds_of(reading(), token),
    )


@blueprint.get("/judge/<token>/<id:number>")
@rule(PUBLIC)
def guidelines(token: str, number: int) -> ResponseReturnValue:
    """The guidelines of a pool with worked examples, and a link to the first topic."""
    page = judging.guidelines_page(reading(), token, number)
    chosen = request.args.get("topic", "")
    topic_ids = [topic.topic_id for topic in page.topics]
    left = [topic.topic_id for topic in page.topics if topic.left]
    begin = chosen if chosen in topic_ids else next(iter(left), None)
    return private(
        "judging/assessors/judging/guidelines.html", token, page.assessor, page.task, page=page, begin=begin
    )


@blueprint.get("/judge/<token>/<id:number>/<topic:topic_id>")
@rule(PUBLIC)
def topic(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """The topic's next document, or the requested one; before the first one the guidelines."""
    page = judging.judging_page(
        reading(), token, number, topic_id, docno=request.args.get("docno"), with_labels="all" in request.args
    )
    if page.must_read and "read" not in request.args:
        return redirect(url_for("judging.guidelines", token=token, number=number, topic=topic_id), 303)
    return private(
        "judging/assessors/judging/topic.html",
        token,
        page.queue.assessor,
        page.queue.task,
        page=page,
        table=judging.labels_table(page),
        key=secrets.token_urlsafe(12),
        names={grade.value: grade.name for grade in page.grades},
        highlighted=highlighted,
    )


@blueprint.get("/judge/<token>/<id:number>/<topic:topic_id>/documents")
@rule(PUBLIC)
def documents(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """The documents after ?after=, as HTML fragments."""
    coming = judging.ahead(reading(), token, number, topic_id, request.args.get("after", ""))
    html = render_template(
        "judging/assessors/judging/documents.html", documents=coming, highlighted=highlighted
    )
    return unkept(Response(html, mimetype="text/html"))


def _sent(**_: Any) -> dict[str, Any]:
    """What a button says; its time is that of the request."""
    form, at, given = request.form, datetime.now(UTC), request.form.get("grade", "")
    # A button pressed twice is one judgment, but another button of the same page is a new one.
    return {
        **form.to_dict(),
        "key": f"{form['key']}:{given}" if form.get("key") else "",
        "grade": None if given == SKIP else given or "no button",
        "note": form.get("note", "").replace("\r\n", "\n"),
        "saved_at": at,
        "sent_at": at,
    }


def _judged(_: bool, **at: Any) -> ResponseReturnValue:
    """The next document is shown."""
    return redirect(url_for("judging.topic", **at), 303)


def _undone(docno: str | None, token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """The document whose judgment was withdrawn is shown again."""
    address = url_for("judging.topic", token=token, number=number, topic_id=topic_id, docno=docno, read="")
    return redirect(address, 303)


actions.add_to(
    blueprint, log.ACTIONS, reads={"judge": _sent}, then={"judge": _judged, "undo_judgment": _undone}
)
