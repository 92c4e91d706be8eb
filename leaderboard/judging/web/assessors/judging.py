"""Judging pages, reached by a personal link: topics, guidelines, one document at a time."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import BadRequest

from leaderboard.errors import Invalid, Problem
from leaderboard.judging.ops import judging as judging_services
from leaderboard.judging.ops import side_by_side
from leaderboard.judging.ops.assessors import log
from leaderboard.judging.ops.assessors.log import SentLabel
from leaderboard.judging.page.assessors import judging
from leaderboard.judging.page.labelling import desk as labelling
from leaderboard.judging.web.desks import private, unkept
from leaderboard.runs.web.rankings import highlighted
from leaderboard.web.addresses import whole
from leaderboard.web.http import is_storable
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


@blueprint.post("/judge/<token>/<id:number>/<topic:topic_id>/assessments")
@rule(PUBLIC)
def save(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """Store a judgment sent as JSON; repeated requests with the same key are stored once."""
    judging_services.by_token(reading(), token)
    is_new = _save(token, number, topic_id, _sent(_json()))
    return jsonify({"stored": True, "new": is_new}), 201 if is_new else 200


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


@blueprint.post("/judge/<token>/<id:number>/<topic:topic_id>/undo")
@rule(PUBLIC)
def undo(token: str, number: int, topic_id: str) -> ResponseReturnValue:
    """Withdraw the assessor's last judgment on the topic and show its document again."""
    with writing() as session:
        docno = log.undo_last(session, token, number, topic_id)
    address = url_for("judging.topic", token=token, number=number, topic_id=topic_id, docno=docno, read="")
    return redirect(address, 303)


def _save(token: str, number: int, topic_id: str, sent: SentLabel) -> bool:
    checked = log.check(reading(), token, number, topic_id, sent)
    finish_reading()
    with writing() as session:
        return log.save(session, checked)


def _json() -> Any:
    """The body as JSON, None if it is not; raises BadRequest if it is nested too deeply to be read."""
    try:
        return request.get_json(silent=True)
    except RecursionError:
        raise BadRequest from None


def _sent(facts: Any) -> SentLabel:
    """Parse the judgment of a JSON object; raises Invalid."""
    if not isinstance(facts, Mapping):
        problem = Problem("must be a JSON object.", "Send key, docno, grade, note, shown_at and saved_at.")
        raise Invalid("This judgment cannot be read.", [problem])
    texts = {name: facts.get(name) or "" for name in ("key", "docno", "note")}
    for name, text in texts.items():
        if not isinstance(text, str) or not is_storable(text):
            raise _unreadable(name, "must be text without control characters.")
    grade, undone = facts.get("grade"), facts.get("undone", False)
    if "grade" not in facts or (grade is not None and type(grade) is not int):
        raise _unreadable("grade", "must be a whole number, or null to skip.")
    if not isinstance(undone, bool):
        raise _unreadable("undone", "must be true or false.")
    return SentLabel(
        key=texts["key"],
        docno=texts["docno"],
        grade=grade,
        note=texts["note"],
        shown_at=_moment("shown_at", facts.get("shown_at")),
        saved_at=_moment("saved_at", facts.get("saved_at")),
        sent_at=_moment("sent_at", facts.get("sent_at")),
        undone=undone,
    )


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
