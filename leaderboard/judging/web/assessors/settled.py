"""Publish the labels of a pool: choose a rule, preview the judgments, create a draft revision."""

from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import LeaderboardError
from leaderboard.judging.ops.assessors import settle
from leaderboard.judging.ops.assessors.settle import BLANKS, MODES, OPEN, Choice, SettledPool
from leaderboard.judging.page.assessors import settled as outcome
from leaderboard.stats.assessors import RULES
from leaderboard.web import actions, http
from leaderboard.web.addresses import kept
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import hands_out_judgments, reading, viewer

blueprint = Blueprint("settled", __name__)

STATE = ("rule", "whose", "open", "skipped", "unjudged", "reused", "mode")


def _html(settled: SettledPool, error: LeaderboardError | None = None) -> str:
    return render_template(
        "judging/assessors/publish.html",
        settled=settled,
        fates=outcome.fates_table(settled),
        grades=outcome.grades_table(settled),
        rules={key: f"{rule.title}: {rule.question}" for key, rule in RULES.items()},
        opens=OPEN,
        blanks=BLANKS,
        modes=MODES,
        error=error,
        sent=request.form,
        args=kept(STATE),
    )


@http.with_files(blueprint, "/tasks/<slug>/pools/<id:number>/publish", _html, outcome.FILES)
@rule(SIGNED_IN)
def show(slug: str, number: int) -> SettledPool:
    """The choice of a rule, with a preview of the judgments."""
    return settle.settled_pool(reading(), viewer(), slug, number, _choice())


@blueprint.get("/tasks/<slug>/pools/<id:number>/settled.qrels")
@hands_out_judgments
@rule(SIGNED_IN)
def qrels(slug: str, number: int) -> ResponseReturnValue:
    """The settled judgments as a TREC qrels file; ?columns=both adds stratum and probability."""
    text = "".join(outcome.qrels_lines(show(slug, number), request.args.get("columns", "")))
    response = Response(text, mimetype="text/plain")
    response.headers["Content-Disposition"] = f'attachment; filename="{slug}-pool-{number}.qrels"'
    return response


actions.add_to(
    blueprint,
    (settle.SETTLE,),
    lambda slug, number, error: _html(show(slug, number), error),
    then={
        "settle_pool": lambda token, slug, number: redirect(
            url_for("revisions.draft", slug=slug, token=token), 303
        )
    },
)


def _choice() -> Choice:
    """The settling choice in the address."""
    given: dict[str, Any] = {name: value for name in STATE if (value := request.args.get(name))}
    return Choice(**given | {"reused": given.get("reused") != "no"})
