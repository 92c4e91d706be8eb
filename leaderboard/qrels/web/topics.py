"""A task's topics: their list and each one's page, as page, JSON, CSV and LaTeX."""

from typing import Literal

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.qrels.page.topics import lists, topic
from leaderboard.qrels.page.topics.lists import TopicList, TopicRow
from leaderboard.qrels.page.topics.topic import Choice, TopicPage
from leaderboard.web import http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import Scored, ScoreStrip, Spread, StripChart, score_strip, strip_chart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("topics", __name__)

LIST_STATE = ("measure", "sort", "all")
PAGE_STATE = ("measure", "documents", "all")
ROWS_AT_FIRST = 250
RUNS_AT_FIRST, DOCUMENTS_AT_FIRST = 50, 100


def _index_html(page: TopicList) -> str:
    rows = page.topics if "all" in request.args else page.topics[:ROWS_AT_FIRST]
    return render_template(
        "qrels/topics/index.html",
        page=page,
        table=lists.list_table(page),
        rows=rows,
        chart=_spreads(page, rows),
        args=kept(LIST_STATE),
    )


@http.with_files(blueprint, "/tasks/<slug>/topics", _index_html, lists.LIST_FILES)
@rule(PUBLIC, carries="edition")
def index(slug: str) -> TopicList:
    """All topics of a task."""
    given = request.args
    return lists.topic_list(reading(), viewer(), slug, given.get("measure") or None, given.get("sort", ""))


@blueprint.get("/tasks/<slug>/topics/<topic:topic_id>")
@rule(PUBLIC, carries="edition")
def show(slug: str, topic_id: str) -> ResponseReturnValue:
    """One topic: statement, scores of all runs, judgments with the runs that found them."""
    whole = "all" in request.args
    page = _page(slug, topic_id, limit=None if whole else DOCUMENTS_AT_FIRST)
    html = render_template(
        "qrels/topics/show.html",
        page=page,
        table=topic.scores_table(page),
        documents=topic.documents_table(page),
        grades=topic.grades_table(page),
        rows=[row for place, row in enumerate(page.scores) if whole or place < RUNS_AT_FIRST or row.is_own],
        chart=_score_strip(page),
        args=kept(PAGE_STATE),
        measured=kept(("measure",)),
    )
    return http.page(html)


@blueprint.get("/tasks/<slug>/topics/<topic:topic_id>.<form:form>")
@rule(PUBLIC)
def export(slug: str, topic_id: str, form: str) -> ResponseReturnValue:
    """One topic as JSON; scores of all runs as a table, unless ?table= names another."""
    is_of_runs = form != "json" and "table" not in request.args
    return http.export(form, topic.TOPIC_FILES, _page(slug, topic_id, limit=0 if is_of_runs else None))


def _page(slug: str, topic_id: str, limit: int | None = None) -> TopicPage:
    choice = Choice(request.args.get("measure") or None, request.args.get("documents", ""), limit)
    return topic.topic_page(reading(), viewer(), slug, topic_id, choice)


def _spreads(page: TopicList, rows: tuple[TopicRow, ...]) -> StripChart | None:
    """Chart of run scores on each shown topic."""
    spreads = [_spread(page, row) for row in rows if row.difficulty is not None]
    return strip_chart(spreads, digits=page.measure.digits) if spreads else None


def _spread(page: TopicList, row: TopicRow) -> Spread:
    hard = row.difficulty
    assert hard is not None, "only topics with scores have a spread"
    ends = sorted((hard.worst, hard.best))
    quartiles = sorted((hard.lower, hard.upper))
    return Spread(
        row.topic_id,
        low=ends[0],
        lower=quartiles[0],
        median=hard.median,
        upper=quartiles[1],
        high=ends[1],
        best=hard.best,
        href=url_for("topics.show", slug=page.slug, topic_id=row.topic_id),
        note=row.title,
    )


def _score_strip(page: TopicPage) -> ScoreStrip | None:
    """Chart with one dot per run; the viewer's own are labelled."""
    if page.measure is None or page.place is None:
        return None
    shows = "answers.show" if page.takes == "answers" else "rankings.show"
    dots = [
        Scored(
            row.name,
            score,
            href=url_for(shows, run_id=row.run_id, topic_id=page.topic_id),
            kind="highlight" if row.is_own else "plain",
        )
        for row in page.scores
        if (score := row.scores[page.place]) is not None
    ]
    if not dots:
        return None
    direction: Literal["higher", "lower"] = "lower" if page.measure.lower_is_better else "higher"
    return score_strip(dots, direction=direction, digits=page.measure.digits)
