"""The pages of a run behind its first: what explains it, topics, curves, ties, measures, its origin."""

from flask import Blueprint, render_template, request

from leaderboard.runs.page import curves as run_curves
from leaderboard.runs.page import explanation as run_explanation
from leaderboard.runs.page import measures as run_measures
from leaderboard.runs.page import ties as run_ties
from leaderboard.runs.page import topics as run_topics
from leaderboard.runs.page.curves import CurvesPage
from leaderboard.runs.page.explanation import ExplanationPage
from leaderboard.runs.page.head import ScoredRun, ranked_documents, scored_run, seen_run
from leaderboard.runs.page.measures import MeasuresPage, OriginPage
from leaderboard.runs.page.ties import TiesPage
from leaderboard.runs.page.topics import TopicsPage
from leaderboard.runs.web import runs
from leaderboard.runs.web.runs import topic_order
from leaderboard.web import http
from leaderboard.web.addresses import kept
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("run_sections", __name__)

STATE = ("measure", "sort")
RANKS = frozenset((1, 2, 3, 5, 10, 15, 20, 30, 50, 70, 100))
"""The ranks listed on the curves page; its files contain all ranks."""


@http.with_files(
    blueprint,
    "/runs/<id:run_id>/explained",
    "runs/explained.html",
    run_explanation.FILES,
    costly=run_explanation.table,
    good=run_explanation.good_table,
    args=lambda _: kept(("measure",)),
)
@rule(PUBLIC, carries="edition")
def explained(run_id: int) -> ExplanationPage:
    """The explanation of the run's score."""
    return run_explanation.explanation_page(reading(), _ranked(run_id), _measure())


@http.with_files(
    blueprint,
    "/runs/<id:run_id>/topics",
    "runs/topics.html",
    run_topics.FILES,
    table=run_topics.table,
    against=run_topics.field_table,
    args=lambda _: kept(STATE),
    chart=runs.by_topic,
)
@rule(PUBLIC, carries="edition")
def topics(run_id: int) -> TopicsPage:
    """The run topic by topic, compared with the ranked runs."""
    return run_topics.topics_page(reading(), _scored(run_id), _measure(), topic_order())


def _curves_html(page: CurvesPage) -> str:
    ranks = run_curves.ranks_table(page)
    return render_template(
        "runs/curves.html",
        page=page,
        recall=run_curves.recall_table(page),
        ranks=ranks,
        some_ranks=[row for row in ranks.rows if row.at in RANKS],
        figures=runs.curves(page),
    )


@http.with_files(blueprint, "/runs/<id:run_id>/curves", _curves_html, run_curves.FILES)
@rule(PUBLIC, carries="edition")
def curves(run_id: int) -> CurvesPage:
    """The run's curves and those of the ranked runs."""
    return run_curves.curves_page(reading(), _ranked(run_id))


@http.with_files(blueprint, "/runs/<id:run_id>/ties", "runs/ties.html", run_ties.FILES, table=run_ties.table)
@rule(PUBLIC, carries="edition")
def ties(run_id: int) -> TiesPage:
    """Equal scores of the run, and what another order of them could have changed."""
    return run_ties.ties_page(reading(), _ranked(run_id), drawn="drawn" in request.args)


@http.with_files(
    blueprint,
    "/runs/<id:run_id>/measures",
    "runs/measures.html",
    run_measures.FILES,
    table=run_measures.table,
)
@rule(PUBLIC, carries="edition")
def measures(run_id: int) -> MeasuresPage:
    """The run's scores by all measures."""
    return run_measures.measures_page(reading(), _ranked(run_id))


@http.with_files(
    blueprint,
    "/runs/<id:run_id>/origin",
    "runs/origin.html",
    run_measures.ORIGIN_FILES,
    table=run_measures.origin_table,
)
@rule(PUBLIC, carries="edition")
def origin(run_id: int) -> OriginPage:
    """The provenance of the run's scores, and near-duplicate runs."""
    return run_measures.origin_page(reading(), seen_run(reading(), viewer(), run_id))


def _scored(run_id: int) -> ScoredRun:
    return scored_run(reading(), viewer(), run_id)


def _measure() -> str | None:
    return request.args.get("measure") or None


def _ranked(run_id: int) -> ScoredRun:
    return ranked_documents(reading(), viewer(), run_id)
