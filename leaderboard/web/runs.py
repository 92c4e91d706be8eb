"""A run's page, its rankings and the documents in them."""

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import NotFound
from leaderboard.services import rankings, runs
from leaderboard.services.rankings import DocumentPage
from leaderboard.services.runs import RunPage
from leaderboard.web import tables
from leaderboard.web.charts import BarChart, bar_chart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("runs", __name__)

ROWS_AT_FIRST = 200


@blueprint.get("/runs/<int:run_id>")
@rule(PUBLIC)
def show(run_id: int) -> ResponseReturnValue:
    """The run: state, scores, topics, where the numbers come from."""
    page = runs.run_page(reading(), viewer(), run_id)
    chart, links = _chart(page)
    return tables.page(render_template("runs/show.html", page=page, chart=chart, links=links))


@blueprint.get("/runs/<int:run_id>.json")
@rule(PUBLIC)
def show_json(run_id: int) -> ResponseReturnValue:
    """The run with its per-topic scores as JSON."""
    return tables.as_json(runs.as_json(runs.run_page(reading(), viewer(), run_id)))


@blueprint.get("/runs/<int:run_id>.csv")
@rule(PUBLIC)
def show_csv(run_id: int) -> ResponseReturnValue:
    """The run's per-topic scores as CSV."""
    page = runs.run_page(reading(), viewer(), run_id)
    return tables.as_csv(runs.table(page), page.name)


@blueprint.get("/runs/<int:run_id>/topics/<topic_id>")
@rule(PUBLIC)
def ranking(run_id: int, topic_id: str) -> ResponseReturnValue:
    """What the run ranked for one topic, with grades."""
    limit = None if "all" in request.args else ROWS_AT_FIRST
    page = rankings.ranking_page(reading(), viewer(), run_id, topic_id, limit)
    return tables.page(render_template("runs/ranking.html", page=page))


@blueprint.get("/runs/<int:run_id>/topics/<topic_id>.json")
@rule(PUBLIC)
def ranking_json(run_id: int, topic_id: str) -> ResponseReturnValue:
    """The ranking as JSON."""
    return tables.as_json(rankings.as_json(rankings.ranking_page(reading(), viewer(), run_id, topic_id)))


@blueprint.get("/runs/<int:run_id>/topics/<topic_id>.csv")
@rule(PUBLIC)
def ranking_csv(run_id: int, topic_id: str) -> ResponseReturnValue:
    """The ranking as CSV."""
    page = rankings.ranking_page(reading(), viewer(), run_id, topic_id)
    return tables.as_csv(rankings.table(page), f"{page.run}-{topic_id}")


@blueprint.get("/tasks/<slug>/documents")
@rule(PUBLIC)
def document(slug: str) -> ResponseReturnValue:
    """One document of the task's collection, by ?docno=."""
    return tables.page(render_template("runs/document.html", page=_document(slug)))


@blueprint.get("/tasks/<slug>/documents.json")
@rule(PUBLIC)
def document_json(slug: str) -> ResponseReturnValue:
    """The document as JSON."""
    return tables.as_json(rankings.document_json(_document(slug)))


@blueprint.get("/tasks/<slug>/documents.csv")
@rule(PUBLIC)
def document_csv(slug: str) -> ResponseReturnValue:
    """The document's judgments as CSV."""
    page = _document(slug)
    return tables.as_csv(rankings.document_table(page), f"{slug}-{page.docno}")


def _document(slug: str) -> DocumentPage:
    docno = request.args.get("docno", "")
    if not docno:
        raise NotFound("Say which document: ?docno= is missing.")
    return rankings.document_page(reading(), viewer(), slug, docno)


def _chart(page: RunPage) -> tuple[BarChart | None, list[str]]:
    """Bars of the primary measure by topic, best first, and where each leads."""
    if not page.topics or page.primary_place is None:
        return None, []
    place = page.primary_place
    ordered = sorted(page.topics, key=lambda topic: (-topic.scores[place], topic.topic_id))
    links = [url_for("runs.ranking", run_id=page.id, topic_id=topic.topic_id) for topic in ordered]
    values = [topic.scores[place] for topic in ordered]
    labels = [f"{topic.topic_id}: {topic.scores[place]:.4f}" for topic in ordered]
    return bar_chart(values, labels), links
