"""A judge's labels compared with the judgments behind the reference."""

from flask import Blueprint, render_template, request

from leaderboard.judges.ops.labels.comparison import LabelPlan
from leaderboard.judges.page import labels as tables
from leaderboard.judges.page.labels import LabelledTopicPage, LabelsPage
from leaderboard.stats.judges import LabelAgreement
from leaderboard.web import http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import heat_step
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("judge_labels", __name__)

PLAN = ("documents", "level", "scale")
STATE = (*PLAN, "part")
MOST_ROWS = 100
"""Number of documents of a topic, or nuggets, to list unless all are requested."""


def _show_html(page: LabelsPage) -> str:
    shown_tables = http.tables(tables.LABELS_FILES, page)
    nuggets = shown_tables["nugget-words"].rows
    return render_template(
        "judges/labels.html",
        page=page,
        which=tables.which(page),
        tables=shown_tables,
        nuggets=nuggets if "all" in request.args else nuggets[:MOST_ROWS],
        cells=_cells(page.judged_labels.overall if page.judged_labels else None),
        args=kept(STATE),
    )


@http.with_files(blueprint, "/tasks/<slug>/judges/<id:run_id>/labels", _show_html, tables.LABELS_FILES)
@rule(PUBLIC, is_computed=True)
def show(slug: str, run_id: int) -> LabelsPage:
    """A judge's labels compared with the judgments: coefficients, levels, topics, largest differences."""
    return tables.labels_page(reading(), viewer(), slug, run_id, _plan(), _part())


@http.with_files(
    blueprint,
    "/tasks/<slug>/judges/<id:run_id>/labels/<topic:topic_id>",
    "judges/labelled_topic.html",
    tables.TOPIC_FILES,
    which=tables.which,
    tables=lambda page: http.tables(tables.TOPIC_FILES, page),
    cells=lambda page: _cells(page.agreement),
    names=lambda _: tables.LABEL_TABLES_NAMES,
    rows=lambda page: page.documents if "all" in request.args else page.documents[:MOST_ROWS],
    args=lambda _: kept(STATE),
)
@rule(PUBLIC, is_computed=True)
def topic(slug: str, run_id: int, topic_id: str) -> LabelledTopicPage:
    """One topic of a judge's labels: every included document."""
    return tables.labelled_topic_page(reading(), viewer(), slug, run_id, topic_id, _plan(), _part())


def _part() -> str:
    return request.args.get("part", "")


def _plan() -> LabelPlan:
    return tables.plan_from(*(request.args.get(name, "") for name in PLAN))


def _cells(agreement: LabelAgreement | None) -> list[tuple[int, list[tuple[int, str]]]]:
    """The confusion table by rows, each cell with its class: darker for more documents."""
    if agreement is None:
        return []
    counts = agreement.confusion.counts.tolist()
    most = max(max(row) for row in counts)
    return [
        (grade, [(count, heat_step(count, 0, most)) for count in row])
        for grade, row in zip(agreement.confusion.grades, counts, strict=True)
    ]
