"""Organisers' pages of labelling: rounds, their progress, agreement and results."""

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.core import policy
from leaderboard.errors import LeaderboardError
from leaderboard.judging.ops.judging import Names
from leaderboard.judging.ops.labelling import rounds, settled
from leaderboard.judging.ops.labelling.labels import KINDS
from leaderboard.judging.ops.labelling.rounds import RoundPlan
from leaderboard.judging.page.labelling import round
from leaderboard.judging.page.labelling.round import RoundPage
from leaderboard.judging.web import desks
from leaderboard.judging.web.desks import ids, or_again
from leaderboard.stats.assessors import RULES
from leaderboard.web import actions, http
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.rules import number as form_number
from leaderboard.web.session import hands_out_judgments, reading, viewer, writing

blueprint = Blueprint("labelling", __name__)


def _list(slug: str, error: LeaderboardError | None = None) -> str:
    page = round.round_list(reading(), viewer(), slug)
    table = round.rounds_table(page)
    return render_template(
        "judging/labelling/index.html",
        page=page,
        table=table,
        kinds=KINDS,
        error=error,
        sent=request.form,
        add=actions.form(Names, error),
    )


def _page(slug: str, number: int, error: LeaderboardError | None = None) -> str:
    page = _round(slug, number)
    return render_template(
        "judging/labelling/round.html",
        page=page,
        tables=round,
        rules={key: f"{rule.title}: {rule.question}" for key, rule in RULES.items()},
        modes=settled.MODES,
        error=error,
        sent=request.form,
    )


@blueprint.get("/tasks/<slug>/labelling")
@rule(SIGNED_IN)
def index(slug: str) -> ResponseReturnValue:
    """All rounds, and the form to open one."""
    return http.page(_list(slug))


@blueprint.get("/tasks/<slug>/labelling.<form:form>")
@rule(SIGNED_IN)
def index_export(slug: str, form: str) -> ResponseReturnValue:
    """The rounds as a file."""
    return http.export(form, round.INDEX_FILES, round.round_list(reading(), viewer(), slug))


@blueprint.post("/tasks/<slug>/labelling")
@rule(SIGNED_IN)
@or_again(_list)
def open_round(slug: str) -> ResponseReturnValue:
    """Open the round in the form."""
    asker = viewer()
    rounds.require_answers(policy.own_task(reading(), asker, slug, policy.coordinates))
    plan = _plan()
    with writing() as session:
        number = rounds.open_round(session, asker, slug, plan)
    return redirect(url_for("labelling.show", slug=slug, number=number), 303)


@blueprint.get("/tasks/<slug>/labelling/<id:number>")
@rule(SIGNED_IN)
def show(slug: str, number: int) -> ResponseReturnValue:
    """A round: progress, agreement, disagreements, and the contents of a revision."""
    return http.page(_page(slug, number))


@blueprint.get("/tasks/<slug>/labelling/<id:number>.<form:form>")
@rule(SIGNED_IN)
def export(slug: str, number: int, form: str) -> ResponseReturnValue:
    """The round as a file; with ?table= topics, pairs or lists."""
    return http.export(form, round.FILES, _round(slug, number))


@blueprint.post("/tasks/<slug>/labelling/<id:number>/state")
@rule(SIGNED_IN)
def change(slug: str, number: int) -> ResponseReturnValue:
    """Close or reopen a round."""
    asker = viewer()
    with writing() as session:
        rounds.change(session, asker, slug, number, request.form.get("state", ""))
    return redirect(url_for("labelling.show", slug=slug, number=number), 303)


@blueprint.get("/tasks/<slug>/labelling/<id:number>/made.jsonl")
@hands_out_judgments
@rule(SIGNED_IN)
def made(slug: str, number: int) -> ResponseReturnValue:
    """The labels settled by ?rule=, as a file that can be uploaded as a revision."""
    session = reading()
    _, labelling_round = rounds.seen_round(session, viewer(), slug, number)
    collected = settled.round_labels(session, labelling_round)
    text = "".join(settled.lines(session, collected, _rule()))
    response = Response(text, mimetype="application/jsonl")
    name = f"{slug}-round-{number}-{labelling_round.kind}.jsonl"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@blueprint.post("/tasks/<slug>/labelling/<id:number>/publish")
@rule(SIGNED_IN)
@or_again(_page)
def publish(slug: str, number: int) -> ResponseReturnValue:
    """Keep the settled labels as a draft revision, and show its changes."""
    asker, form = viewer(), request.form
    with writing() as session:
        facts = {"rule": _rule(), "mode": form.get("mode", "merge"), "note": form.get("note", "")}
        token = settled.keep_draft(session, asker, slug, number, **facts)
    return redirect(url_for("revisions.draft", slug=slug, token=token), 303)


WORDS = {"name": "Labelling", "does": "labels", "begin": "label"}
actions.add_to(
    blueprint,
    (rounds.ADD_ASSESSORS,),
    _list,
    then={
        "add_labelling_assessors": lambda links, slug: (
            desks.shown_links(links, "labelling.index", slug, **WORDS),
            201,
        )
    },
)


def _round(slug: str, number: int) -> RoundPage:
    return round.round_page(reading(), viewer(), slug, number, _rule())


def _rule() -> str:
    return request.args.get("rule") or settled.USUAL


def _plan() -> RoundPlan:
    form = request.form
    return RoundPlan(
        kind=form.get("kind", ""),
        assessors=ids("assessor"),
        topics=tuple(form.get("topics", "").split()),
        runs=ids("run"),
        twice=(form_number("twice", 0) or 0) / 100,
        every_citation=form.get("citations") == "all",
        guidelines=form.get("guidelines", "").replace("\r\n", "\n"),
    )
