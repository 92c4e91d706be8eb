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
from leaderboard.judging.page.labelling.round import RoundList, RoundPage
from leaderboard.judging.web import desks
from leaderboard.judging.web.desks import ids, or_again
from leaderboard.stats.assessors import RULES
from leaderboard.web import actions, http
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.rules import number as form_number
from leaderboard.web.session import hands_out_judgments, reading, viewer, writing

blueprint = Blueprint("labelling", __name__)


def _index_html(page: RoundList, error: LeaderboardError | None = None) -> str:
    return render_template(
        "judging/labelling/index.html",
        page=page,
        table=round.rounds_table(page),
        kinds=KINDS,
        error=error,
        sent=request.form,
        add=actions.form(Names, error),
    )


def _show_html(page: RoundPage, error: LeaderboardError | None = None) -> str:
    return render_template(
        "judging/labelling/round.html",
        page=page,
        tables=round,
        rules={key: f"{rule.title}: {rule.question}" for key, rule in RULES.items()},
        modes=settled.MODES,
        error=error,
        sent=request.form,
    )


@http.with_files(blueprint, "/tasks/<slug>/labelling", _index_html, round.INDEX_FILES)
@rule(SIGNED_IN)
def index(slug: str) -> RoundList:
    """All rounds, and the form to open one."""
    return round.round_list(reading(), viewer(), slug)


@blueprint.post("/tasks/<slug>/labelling")
@rule(SIGNED_IN)
@or_again(lambda slug, error: _index_html(index(slug), error))
def open_round(slug: str) -> ResponseReturnValue:
    """Open the round in the form."""
    asker = viewer()
    rounds.require_answers(policy.own_task(reading(), asker, slug, policy.coordinates))
    plan = _plan()
    with writing() as session:
        number = rounds.open_round(session, asker, slug, plan)
    return redirect(url_for("labelling.show", slug=slug, number=number), 303)


@http.with_files(blueprint, "/tasks/<slug>/labelling/<id:number>", _show_html, round.FILES)
@rule(SIGNED_IN)
def show(slug: str, number: int) -> RoundPage:
    """A round: progress, agreement, disagreements, and the contents of a revision."""
    return round.round_page(reading(), viewer(), slug, number, _rule())


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
@or_again(lambda slug, number, error: _show_html(show(slug, number), error))
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
    lambda slug, error: _index_html(index(slug), error),
    then={
        "add_labelling_assessors": lambda links, slug: (
            desks.shown_links(links, "labelling.index", slug, **WORDS),
            201,
        )
    },
)


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
