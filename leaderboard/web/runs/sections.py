"""The pages of a run behind its first: what explains it, topics, curves, ties, measures, its origin."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.pages.runs import curves as run_curves
from leaderboard.pages.runs import explanation as run_explanation
from leaderboard.pages.runs import measures as run_measures
from leaderboard.pages.runs import origin as run_origin
from leaderboard.pages.runs import ties as run_ties
from leaderboard.pages.runs import topics as run_topics
from leaderboard.pages.runs.curves import CurvesPage
from leaderboard.pages.runs.explanation import ExplanationPage
from leaderboard.pages.runs.head import ScoredRun, ranked_documents, scored_run, seen_run
from leaderboard.pages.runs.measures import MeasuresPage
from leaderboard.pages.runs.origin import OriginPage
from leaderboard.pages.runs.ties import TiesPage
from leaderboard.pages.runs.topics import TopicsPage
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.runs import charts
from leaderboard.web.runs.runs import topic_order
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("run_sections", __name__)

STATE = ("measure", "sort")
RANKS = frozenset((1, 2, 3, 5, 10, 15, 20, 30, 50, 70, 100))
"""The ranks that the page of curves lists; its files have all of them."""


@blueprint.get("/runs/<id:run_id>/explained")
@rule(PUBLIC)
def explained(run_id: int) -> ResponseReturnValue:
    """Why the run stands where it does."""
    page = _explained(run_id)
    html = render_template(
        "runs/explained.html",
        page=page,
        costly=run_explanation.table(page),
        good=run_explanation.good_table(page),
        args=kept(("measure",)),
    )
    return responses.page(html)


@blueprint.get("/runs/<id:run_id>/explained.<form:form>")
@rule(PUBLIC)
def explained_export(run_id: int, form: str) -> ResponseReturnValue:
    """What explains it as a file."""
    return responses.export(form, run_explanation.FILES, _explained(run_id))


@blueprint.get("/runs/<id:run_id>/topics")
@rule(PUBLIC)
def topics(run_id: int) -> ResponseReturnValue:
    """The run topic by topic, beside the ranked runs."""
    page = _topics(run_id)
    html = render_template(
        "runs/topics.html",
        page=page,
        table=run_topics.table(page),
        against=run_topics.field_table(page),
        args=kept(STATE),
        chart=charts.by_topic(page),
    )
    return responses.page(html)


@blueprint.get("/runs/<id:run_id>/topics.<form:form>")
@rule(PUBLIC)
def topics_export(run_id: int, form: str) -> ResponseReturnValue:
    """Its topics as a file."""
    return responses.export(form, run_topics.FILES, _topics(run_id))


@blueprint.get("/runs/<id:run_id>/curves")
@rule(PUBLIC)
def curves(run_id: int) -> ResponseReturnValue:
    """The run's curves beside those of the ranked runs."""
    page = _curves(run_id)
    ranks = run_curves.ranks_table(page)
    html = render_template(
        "runs/curves.html",
        page=page,
        recall=run_curves.recall_table(page),
        ranks=ranks,
        some_ranks=[row for row in ranks.rows if row.at in RANKS],
        figures=charts.curves(page),
    )
    return responses.page(html)


@blueprint.get("/runs/<id:run_id>/curves.<form:form>")
@rule(PUBLIC)
def curves_export(run_id: int, form: str) -> ResponseReturnValue:
    """The points of its curves as a file."""
    return responses.export(form, run_curves.FILES, _curves(run_id))


@blueprint.get("/runs/<id:run_id>/ties")
@rule(PUBLIC)
def ties(run_id: int) -> ResponseReturnValue:
    """Equal scores of the run, and what another order of them could have changed."""
    page = _ties(run_id)
    html = render_template("runs/ties.html", page=page, table=run_ties.table(page))
    return responses.page(html)


@blueprint.get("/runs/<id:run_id>/ties.<form:form>")
@rule(PUBLIC)
def ties_export(run_id: int, form: str) -> ResponseReturnValue:
    """Its scores under ties as a file."""
    return responses.export(form, run_ties.FILES, _ties(run_id))


@blueprint.get("/runs/<id:run_id>/measures")
@rule(PUBLIC)
def measures(run_id: int) -> ResponseReturnValue:
    """The run by all measures that there are."""
    page = _measures(run_id)
    html = render_template("runs/measures.html", page=page, table=run_measures.table(page))
    return responses.page(html)


@blueprint.get("/runs/<id:run_id>/measures.<form:form>")
@rule(PUBLIC)
def measures_export(run_id: int, form: str) -> ResponseReturnValue:
    """Its values by all measures as a file."""
    return responses.export(form, run_measures.FILES, _measures(run_id))


@blueprint.get("/runs/<id:run_id>/origin")
@rule(PUBLIC)
def origin(run_id: int) -> ResponseReturnValue:
    """Where the run's numbers come from, and runs that are nearly the same."""
    page = _origin(run_id)
    html = render_template("runs/origin.html", page=page, table=run_origin.table(page))
    return responses.page(html)


@blueprint.get("/runs/<id:run_id>/origin.<form:form>")
@rule(PUBLIC)
def origin_export(run_id: int, form: str) -> ResponseReturnValue:
    """Digests, versions and near copies as a file."""
    return responses.export(form, run_origin.FILES, _origin(run_id))


def _scored(run_id: int) -> ScoredRun:
    return scored_run(reading(), viewer(), run_id)


def _explained(run_id: int) -> ExplanationPage:
    return run_explanation.explanation_page(reading(), _ranked(run_id), _measure())


def _topics(run_id: int) -> TopicsPage:
    return run_topics.topics_page(reading(), _scored(run_id), _measure(), topic_order())


def _measure() -> str | None:
    return request.args.get("measure") or None


def _ranked(run_id: int) -> ScoredRun:
    return ranked_documents(reading(), viewer(), run_id)


def _curves(run_id: int) -> CurvesPage:
    return run_curves.curves_page(reading(), _ranked(run_id))


def _ties(run_id: int) -> TiesPage:
    return run_ties.ties_page(reading(), _ranked(run_id), drawn="drawn" in request.args)


def _measures(run_id: int) -> MeasuresPage:
    return run_measures.measures_page(reading(), _ranked(run_id))


def _origin(run_id: int) -> OriginPage:
    return run_origin.origin_page(reading(), seen_run(reading(), viewer(), run_id))
