"""Adjudication: the list of disagreements, one document at a time, and the adjudicator's decisions."""

import secrets
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.judging.ops.assessors import log as decisions
from leaderboard.judging.ops.judging import WHOSE
from leaderboard.judging.page.assessors import adjudication
from leaderboard.judging.page.assessors.adjudication import (
    AdjudicationCase,
    AdjudicationChoice,
    AdjudicationPage,
)
from leaderboard.runs.web.rankings import highlighted
from leaderboard.web import actions, http
from leaderboard.web.addresses import kept
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("adjudication", __name__)

ROWS_AT_FIRST = 100
STATE = ("shown", "order", "of", "whose")


@http.with_files(
    blueprint,
    "/tasks/<slug>/pools/<id:number>/adjudication",
    "judging/assessors/adjudication.html",
    adjudication.FILES,
    table=adjudication.documents_table,
    rows=lambda page: page.rows if "all" in request.args else page.rows[:ROWS_AT_FIRST],
    kinds=lambda _: adjudication.SHOWN,
    orders=lambda _: adjudication.ORDERS,
    whose=lambda _: WHOSE,
    args=lambda _: _state(),
)
@rule(SIGNED_IN)
def show(slug: str, number: int) -> AdjudicationPage:
    """The documents of a pool with disagreements."""
    return adjudication.adjudication_page(reading(), viewer(), slug, number, _wish())


@blueprint.get("/tasks/<slug>/pools/<id:number>/adjudication/document")
@rule(SIGNED_IN)
def case(slug: str, number: int) -> ResponseReturnValue:
    """A document to decide, by ?topic= and ?docno=."""
    return _case_page(_case(slug, number))


actions.add_to(
    blueprint,
    decisions.DECISIONS,
    lambda slug, number, error: _case_page(_case(slug, number), error),
    then={"undo_decision": lambda place, slug, number: redirect(_address(slug, number, *place), 303)},
    refusals=(Invalid,),
)


def _case_page(case: AdjudicationCase, error: LeaderboardError | None = None) -> str:
    return render_template(
        "judging/assessors/disagreement.html",
        case=case,
        table=adjudication.case_table(case),
        following=_address(case.pool.slug, case.pool.number, *case.next)
        if case.next
        else url_for("adjudication.show", slug=case.pool.slug, number=case.pool.number, **_state()),
        error=error,
        sent=request.form,
        key=secrets.token_urlsafe(16),
        highlighted=highlighted,
        args=_state(),
    )


def _case(slug: str, number: int) -> AdjudicationCase:
    topic_id, docno = request.args.get("topic", ""), request.args.get("docno", "")
    return adjudication.case(reading(), viewer(), slug, number, _wish(), topic_id, docno)


def _wish() -> AdjudicationChoice:
    given = request.args
    return AdjudicationChoice(
        shown=given.get("shown") or "open",
        order=given.get("order") or "topic",
        topic_id=given.get("of", ""),
        whose=given.get("whose") or "human",
    )


def _address(slug: str, number: int, topic_id: str, docno: str) -> str:
    return url_for("adjudication.case", slug=slug, number=number, topic=topic_id, docno=docno, **_state())


def _state() -> dict[str, Any]:
    return kept(STATE, flags=["all"])
