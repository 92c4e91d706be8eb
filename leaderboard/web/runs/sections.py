"""The pages of a run behind its first: what explains it, topics, curves, ties, measures, its origin."""

from flask import Blueprint, render_template, request

from leaderboard.pages.runs import curves as run_curves
from leaderboard.pages.runs import explanation as run_explanation
from leaderboard.pages.runs import measures as run_measures
from leaderboard.pages.runs import ties as run_ties
from leaderboard.pages.runs import topics as run_topics
from leaderboard.pages.runs.curves import CurvesPage
from leaderboard.pages.runs.explanation import ExplanationPage
from leaderboard.pages.runs.head import ScoredRun, ranked_documents, scored_run, seen_run
from leaderboard.pages.runs.measures import MeasuresPage, OriginPage
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


@responses.with_files(
    blueprint,
    "/runs/<id:run_id>/explained",
    "runs/explained.html",
    run_explanation.FILES,
    costly=run_explanation.table,
    good=run_explanation.good_table,
    args=lambda _: kept(("measure",)),
)
@rule(PUBLIC)
def explained(run_id: int) -> ExplanationPage:
    """Why the run stands where it does."""
    return run_explanation.explanation_page(reading(), _ranked(run_id), _measure())


@responses.with_files(
    blueprint,
    "/runs/<id:run_id>/topics",
    "runs/topics.html",
    run_topics.FILES,
    table=run_topics.table,
    against=run_topics.field_table,
    args=lambda _: kept(STATE),
    chart=charts.by_topic,
)
@rule(PUBLIC)
def topics(run_id: int) -> TopicsPage:
    """The run topic by topic, beside the ranked runs."""
    return run_topics.topics_page(reading(), _scored(run_id), _measure(), topic_order())


def _curves_html(page: CurvesPage) -> str:
    ranks = run_curves.ranks_table(page)
    return render_template(
        "runs/curves.html",
        page=page,
        recall=run_curves.recall_table(page),
        ranks=ranks,
        some_ranks=[row for row in ranks.rows if row.at in RANKS],
        figures=charts.curves(page),
    )


@responses.with_files(blueprint, "/runs/<id:run_id>/curves", _curves_html, run_curves.FILES)
@rule(PUBLIC)
def curves(run_id: int) -> CurvesPage:
    """The run's curves beside those of the ranked runs."""
    return run_curves.curves_page(reading(), _ranked(run_id))


@responses.with_files(
    blueprint, "/runs/<id:run_id>/ties", "runs/ties.html", run_ties.FILES, table=run_ties.table
)
@rule(PUBLIC)
def ties(run_id: int) -> TiesPage:
    """Equal scores of the run, and what another order of them could have changed."""
    return run_ties.ties_page(reading(), _ranked(run_id), drawn="drawn" in request.args)


@responses.with_files(
    blueprint,
    "/runs/<id:run_id>/measures",
    "runs/measures.html",
    run_measures.FILES,
    table=run_measures.table,
)
@rule(PUBLIC)
def measures(run_id: int) -> MeasuresPage:
    """The run by all measures that there are."""
    return run_measures.measures_page(reading(), _ranked(run_id))


@responses.with_files(
    blueprint,
    "/runs/<id:run_id>/origin",
    "runs/origin.html",
    run_measures.ORIGIN_FILES,
    table=run_measures.origin_table,
)
@rule(PUBLIC)
def origin(run_id: int) -> OriginPage:
    """Where the run's numbers come from, and runs that are nearly the same."""
    return run_measures.origin_page(reading(), seen_run(reading(), viewer(), run_id))


def _scored(run_id: int) -> ScoredRun:
    return scored_run(reading(), viewer(), run_id)


def _measure() -> str | None:
    return request.args.get("measure") or None


def _ranked(run_id: int) -> ScoredRun:
    return ranked_documents(reading(), viewer(), run_id)
