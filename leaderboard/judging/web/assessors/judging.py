"""Judging pages, reached by a personal link: topics, guidelines, one document at a time."""

import secrets
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid, Problem
from leaderboard.judging.ops import side_by_side
from leaderboard.judging.ops.assessors import log
from leaderboard.judging.ops.assessors.log import SentLabel
from leaderboard.judging.page.assessors import judging
from leaderboard.judging.page.labelling import desk as labelling
from leaderboard.judging.web.desks import private, unkept
from leaderboard.runs.web.rankings import highlighted
from leaderboard.web import actions
from leaderboard.web.addresses import whole
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import finish_reading, reading, writing

blueprint = Blueprint("judging", __name__)

SKIP = "skip"
LONGEST_MOMENT = 40


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


@blueprint.post("/judge/<token>/<id:number>/<topic:topic_id>")
@rule(PUBLIC)
def judge(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """Store the form's judgment, then show the next document."""
    form, at, given = request.form, datetime.now(UTC), request.form.get("grade", "")
    # A button pressed twice is one judgment, but another button of the same page is a new one.
    sent = SentLabel(
        key=f"{form.get('key', '')}:{given}" if form.get("key") else "",
        docno=form.get("docno", ""),
        grade=None if given == SKIP else _grade(given),
        note=form.get("note", "").replace("\r\n", "\n"),
        shown_at=_moment("shown_at", form.get("shown_at")),
        saved_at=at,
        sent_at=at,
    )
    _save(token, number, topic_id, sent)
    return redirect(url_for("judging.topic", token=token, number=number, topic_id=topic_id), 303)


def _undone(docno: str | None, token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """The document whose judgment was withdrawn is shown again."""
    address = url_for("judging.topic", token=token, number=number, topic_id=topic_id, docno=docno, read="")
    return redirect(address, 303)


actions.add_to(blueprint, (log.UNDO,), then={"undo_judgment": _undone})


def _save(token: str, number: int, topic_id: str, sent: SentLabel) -> bool:
    checked = log.check(reading(), token, number, topic_id, sent)
    finish_reading()
    with writing() as session:
        return log.save(session, checked)


def _grade(text: str) -> int:
    grade = whole(text.removeprefix("-"), digits=2)
    if grade is None:
        raise _unreadable("grade", "must be one of the buttons.")
    return -grade if text.startswith("-") else grade


def _moment(name: str, text: Any) -> datetime | None:
    """Parse a time as browsers write it; raises Invalid for other text."""
    if text is None or text == "":
        return None
    try:
        if not isinstance(text, str) or len(text) > LONGEST_MOMENT:
            raise ValueError
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _unreadable(name, "must be a time such as 2026-05-31T23:59:00Z.") from None


def _unreadable(field: str, rule: str) -> Invalid:
    return Invalid(f"This judgment cannot be read: {field} {rule}", [Problem(rule, field=field)])
