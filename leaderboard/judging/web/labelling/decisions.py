"""Adjudication of a round: the list of disagreements, one item at a time, and nugget lists by topic."""

import secrets

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import LeaderboardError
from leaderboard.judging.ops.labelling import decisions, rounds
from leaderboard.judging.ops.labelling.decisions import IMPORTANCES
from leaderboard.judging.page.labelling import desk, round
from leaderboard.judging.web.desks import or_again
from leaderboard.judging.web.labelling.desk import act, item_label
from leaderboard.runs.web.rankings import highlighted
from leaderboard.web import http
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("labelling_decisions", __name__)


def _page(slug: str, number: int, error: LeaderboardError | None = None) -> str:
    item = request.form.get("item") or request.args.get("item", "")
    page = round.disagreement_page(reading(), viewer(), slug, number, item)
    return render_template(
        "judging/labelling/adjudication.html",
        page=page,
        table=round.rows_table(page),
        key=secrets.token_urlsafe(12),
        highlighted=highlighted,
        error=error,
    )


def _topic(slug: str, number: int, topic_id: str, error: LeaderboardError | None = None) -> str:
    return render_template(
        "judging/labelling/lists.html",
        page=desk.decision_page(reading(), viewer(), slug, number, topic_id),
        key=secrets.token_urlsafe(12),
        importances=IMPORTANCES,
        sent=request.form,
        error=error,
    )


@blueprint.get("/tasks/<slug>/labelling/<id:number>/adjudication")
@rule(SIGNED_IN)
def show(slug: str, number: int) -> ResponseReturnValue:
    """The items with disagreements, or the one in ?item=."""
    return http.page(_page(slug, number))


@blueprint.post("/tasks/<slug>/labelling/<id:number>/adjudication")
@rule(SIGNED_IN)
@or_again(_page)
def decide(slug: str, number: int) -> ResponseReturnValue:
    """Store a decision and redirect to the next item."""
    asker, sent = viewer(), item_label()
    with writing() as session:
        decisions.decide(session, asker, slug, number, sent)
    page = round.disagreement_page(reading(), asker, slug, number)
    following = next((row.name for row in page.rows if row.decision is None), None)
    return redirect(url_for("labelling_decisions.show", slug=slug, number=number, item=following), 303)


@blueprint.get("/tasks/<slug>/labelling/<id:number>/nuggets/<topic:topic_id>")
@rule(SIGNED_IN)
def topic(slug: str, number: int, topic_id: str) -> ResponseReturnValue:
    """The nugget lists of assessors on a topic, and the adjudicated list."""
    return http.page(_topic(slug, number, topic_id))


@blueprint.post("/tasks/<slug>/labelling/<id:number>/nuggets/<topic:topic_id>")
@rule(SIGNED_IN)
@or_again(_topic)
def write(slug: str, number: int, topic_id: str) -> ResponseReturnValue:
    """Start the adjudicated list, or change it as the form says."""
    asker = viewer()
    rounds.own_round(reading(), asker, slug, number)
    with writing() as session:
        if request.form.get("act") == "begin":
            decisions.begin(session, asker, slug, number, topic_id)
        else:
            act(session, decisions.own_decision_desk(session, asker, slug, number, topic_id))
    return redirect(url_for("labelling_decisions.topic", slug=slug, number=number, topic_id=topic_id), 303)
