"""The reproductions of a task, one of them level by level, both as files, and the form that links a run."""

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.comparisons.web.comparisons import MOST_LINKED
from leaderboard.errors import LeaderboardError
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.ops import OriginalRuns
from leaderboard.reproductions.page import show, tables
from leaderboard.reproductions.page.show import (
    PairRow,
    ReproductionPage,
    ReproductionsPage,
    TopicScores,
    place_of,
)
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.web import actions, http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import Pair, PlaneChart, ScatterChart, plane_chart, scatter_chart
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("reproductions", __name__)
links = Blueprint("reproduction_links", __name__)

STATE = ("measure",)
ROWS_AT_FIRST = 200


@http.with_files(
    blueprint,
    "/tasks/<slug>/reproductions",
    "reproductions/index.html",
    tables.ALL_FILES,
    endpoint="export",
    table=tables.reproductions,
    plane=lambda page: _plane(page.rows, None),
    args=lambda _: kept(STATE),
)
@rule(PUBLIC, is_computed=True, carries="board")
def index(slug: str) -> ReproductionsPage:
    """Every reproduction of the task, its levels from left to right."""
    return show.reproductions_page(reading(), viewer(), slug, request.args.get("measure") or None)


actions.add_to(blueprint, (show.COMPUTE,))


@http.with_files(
    blueprint,
    "/tasks/<slug>/reproductions/<id:run_id>",
    "reproductions/show.html",
    tables.FILES,
    tables=lambda page: http.tables(tables.FILES, page),
    scatter_chart=lambda page: _scatter(page),
    plane=lambda page: _plane(page.plane, page.row.run.run_id),
    rows=lambda page: page.topics if "all" in request.args else page.topics[:ROWS_AT_FIRST],
    args=lambda _: kept(STATE),
)
@rule(PUBLIC, is_computed=True, carries="board")
def one(slug: str, run_id: int) -> ReproductionPage:
    """One reproduction: its levels, topics, effect, metadata, and the other collections."""
    return show.reproduction_page(reading(), viewer(), slug, run_id, request.args.get("measure") or None)


def _scatter(page: ReproductionPage) -> ScatterChart | None:
    if not page.topics:
        return None
    are_few = len(page.topics) <= MOST_LINKED
    pairs = [
        Pair(topic.topic_id, topic.original, topic.other, _both(page, topic) if are_few else None)
        for topic in page.topics
    ]
    return scatter_chart(pairs, digits=page.measure.digits)


def _both(page: ReproductionPage, topic: TopicScores) -> str:
    """The address that shows both rankings of a topic side by side."""
    a, b, key = page.row.original.run_id, page.row.run.run_id, page.measure.key
    return url_for("comparisons.compare", slug=page.slug, a=a, b=b, topic=topic.topic_id, measure=key)


def _plane(rows: tuple[PairRow, ...], this: int | None) -> PlaneChart | None:
    placed = [(row, place) for row in rows if (place := place_of(row)) is not None]
    if not placed:
        return None
    return plane_chart([_reproduced(row, place, this) for row, place in placed])


def _reproduced(row: PairRow, place: tuple[float, float], this: int | None) -> Pair:
    kind = "this" if row.run.run_id == this else tables.kind(row)
    link = url_for("reproductions.one", slug=row.run.slug, run_id=row.run.run_id, **kept(STATE))
    return Pair(row.run.name, *place, link, kind)


@links.get("/runs/<id:run_id>/reproduces")
@rule(SIGNED_IN)
def form(run_id: int) -> ResponseReturnValue:
    """The form that sets the reproduced run."""
    return _page(run_id)


def _page(run_id: int, error: LeaderboardError | None = None) -> str:
    linked = reproductions.originals_of(reading(), viewer(), run_id)
    return render_template(
        "reproductions/form.html",
        page=facts.description_page(reading(), viewer(), run_id),
        is_linked=linked is not None,
        about=actions.form(OriginalRuns, error, fields.texts(linked) if linked else None),
        error=error,
    )


actions.add_to(links, reproductions.ACTIONS, _page)
