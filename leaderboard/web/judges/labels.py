"""A judge's labels beside the judgments that the reference rests on."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.pages.judges import label_tables as tables
from leaderboard.pages.judges import labels as pages
from leaderboard.pages.judges.labels import LabelledTopicPage, LabelsPage
from leaderboard.services.judges.labels.held import LabelPlan
from leaderboard.stats.judges.labels import LabelAgreement
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.charts import heat_step
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("judge_labels", __name__)

PLAN = ("documents", "level", "scale")
STATE = (*PLAN, "part")
MOST_ROWS = 100
"""Documents of a topic, or nuggets, that a page lists unless all are asked for."""


@blueprint.get("/tasks/<slug>/judges/<id:run_id>/labels")
@rule(PUBLIC, is_computed=True)
def show(slug: str, run_id: int) -> ResponseReturnValue:
    """A judge's labels by the judgments: coefficients, levels, topics, documents that differ most."""
    page = _page(slug, run_id)
    found = responses.tables(tables.LABELS_FILES, page)
    nuggets = found["nugget-words"].rows
    html = render_template(
        "judges/labels.html",
        page=page,
        which=tables.which(page),
        tables=found,
        nuggets=nuggets if "all" in request.args else nuggets[:MOST_ROWS],
        cells=_cells(page.held.overall if page.held else None),
        args=kept(STATE),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/judges/<id:run_id>/labels.<form:form>")
@rule(PUBLIC, is_computed=True)
def export(slug: str, run_id: int, form: str) -> ResponseReturnValue:
    """A judge's labels as a file: its topics, or with ?table= coefficients, levels or differences."""
    return responses.export(form, tables.LABELS_FILES, _page(slug, run_id))


@blueprint.get("/tasks/<slug>/judges/<id:run_id>/labels/<topic:topic_id>")
@rule(PUBLIC, is_computed=True)
def topic(slug: str, run_id: int, topic_id: str) -> ResponseReturnValue:
    """One topic of a judge's labels: every document that counts."""
    page = _topic(slug, run_id, topic_id)
    html = render_template(
        "judges/labelled_topic.html",
        page=page,
        which=tables.which(page),
        tables=responses.tables(tables.TOPIC_FILES, page),
        cells=_cells(page.agreement),
        names=tables.NAMES,
        rows=page.documents if "all" in request.args else page.documents[:MOST_ROWS],
        args=kept(STATE),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/judges/<id:run_id>/labels/<topic:topic_id>.<form:form>")
@rule(PUBLIC, is_computed=True)
def topic_export(slug: str, run_id: int, topic_id: str, form: str) -> ResponseReturnValue:
    """One topic of a judge's labels as a file."""
    return responses.export(form, tables.TOPIC_FILES, _topic(slug, run_id, topic_id))


def _page(slug: str, run_id: int) -> LabelsPage:
    return pages.labels_page(reading(), viewer(), slug, run_id, _plan(), _part())


def _topic(slug: str, run_id: int, topic_id: str) -> LabelledTopicPage:
    return pages.labelled_topic_page(reading(), viewer(), slug, run_id, topic_id, _plan(), _part())


def _part() -> str:
    return request.args.get("part", "")


def _plan() -> LabelPlan:
    return pages.plan_from(*(request.args.get(name, "") for name in PLAN))


def _cells(found: LabelAgreement | None) -> list[tuple[int, list[tuple[int, str]]]]:
    """The confusion table by rows, each cell with its class: the darker, the more documents."""
    if found is None:
        return []
    counts = found.confusion.counts.tolist()
    most = max(max(row) for row in counts)
    return [
        (grade, [(count, heat_step(count, 0, most)) for count in row])
        for grade, row in zip(found.confusion.grades, counts, strict=True)
    ]
