"""A task's topics: their list and each one's page, as page, JSON, CSV and LaTeX."""

from typing import Any, Literal

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.pages.topics import lists, topic
from leaderboard.pages.topics.lists import TopicList, TopicRow
from leaderboard.pages.topics.topic import Choice, TopicPage
from leaderboard.web import responses
from leaderboard.web.charts import Scored, ScoreStrip, Spread, StripChart, score_strip, strip_chart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("topics", __name__)

LIST_STATE = ("measure", "sort", "all")
PAGE_STATE = ("measure", "documents", "all")
ROWS_AT_FIRST = 250
RUNS_AT_FIRST, DOCUMENTS_AT_FIRST = 200, 100


@blueprint.get("/tasks/<slug>/topics")
@rule(PUBLIC)
def index(slug: str) -> ResponseReturnValue:
    """All topics of a task."""
    page = _list(slug)
    rows = page.topics if "all" in request.args else page.topics[:ROWS_AT_FIRST]
    html = render_template(
        "topics/index.html", page=page, rows=rows, chart=_spreads(page, rows), args=_state(LIST_STATE)
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/topics.json")
@rule(PUBLIC)
def index_json(slug: str) -> ResponseReturnValue:
    """All topics as JSON."""
    return responses.as_json(lists.as_json(_list(slug)))


@blueprint.get("/tasks/<slug>/topics.csv")
@rule(PUBLIC)
def index_csv(slug: str) -> ResponseReturnValue:
    """All topics as CSV."""
    return responses.as_csv(lists.table(_list(slug)), f"{slug}-topics")


@blueprint.get("/tasks/<slug>/topics.tex")
@rule(PUBLIC)
def index_tex(slug: str) -> ResponseReturnValue:
    """All topics as LaTeX."""
    page = _list(slug)
    digits = dict.fromkeys(("worst", "lower", "median", "upper", "best"), page.measure.digits)
    return responses.as_latex_table(
        lists.latex_columns(page), f"{slug}-topics", caption=lists.caption(page), digits=digits
    )


@blueprint.get("/tasks/<slug>/topics/<topic_id>")
@rule(PUBLIC)
def show(slug: str, topic_id: str) -> ResponseReturnValue:
    """One topic: its statement, every run's scores, its judgments and who found them."""
    whole = "all" in request.args
    page = _page(slug, topic_id, limit=None if whole else DOCUMENTS_AT_FIRST)
    html = render_template(
        "topics/show.html",
        page=page,
        rows=page.scores if whole else page.scores[:RUNS_AT_FIRST],
        chart=_score_strip(page),
        args=_state(PAGE_STATE),
        kept=_state(("measure",)),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/topics/<topic_id>.json")
@rule(PUBLIC)
def show_json(slug: str, topic_id: str) -> ResponseReturnValue:
    """One topic as JSON."""
    return responses.as_json(topic.as_json(_page(slug, topic_id)))


@blueprint.get("/tasks/<slug>/topics/<topic_id>.csv")
@rule(PUBLIC)
def show_csv(slug: str, topic_id: str) -> ResponseReturnValue:
    """Every run's scores on one topic as CSV."""
    return responses.as_csv(topic.table(_page(slug, topic_id, limit=0)), f"{slug}-{topic_id}")


@blueprint.get("/tasks/<slug>/topics/<topic_id>.tex")
@rule(PUBLIC)
def show_tex(slug: str, topic_id: str) -> ResponseReturnValue:
    """Every run's scores on one topic as LaTeX."""
    page = _page(slug, topic_id, limit=0)
    digits = {each.key: each.digits for each in page.measures}
    return responses.as_latex_table(
        topic.table(page), f"{slug}-{topic_id}", caption=topic.caption(page), digits=digits
    )


def _list(slug: str) -> TopicList:
    given = request.args
    return lists.topic_list(reading(), viewer(), slug, given.get("measure") or None, given.get("sort", ""))


def _page(slug: str, topic_id: str, limit: int | None = None) -> TopicPage:
    choice = Choice(request.args.get("measure") or None, request.args.get("documents", ""), limit)
    return topic.topic_page(reading(), viewer(), slug, topic_id, choice)


def _state(names: tuple[str, ...]) -> dict[str, Any]:
    """The parts of the address that choose what is shown, to be kept in links."""
    return {name: request.args[name] for name in names if request.args.get(name)}


def _spreads(page: TopicList, rows: tuple[TopicRow, ...]) -> StripChart | None:
    """How the runs spread on each topic that is shown."""
    found = [_spread(page, row) for row in rows if row.difficulty is not None]
    return strip_chart(found, digits=page.measure.digits) if found else None


def _spread(page: TopicList, row: TopicRow) -> Spread:
    hard = row.difficulty
    assert hard is not None, "only topics with scores have a spread"
    ends = sorted((hard.worst, hard.best))
    quartiles = sorted((hard.lower, hard.upper))
    return Spread(
        row.topic_id,
        *(ends[0], quartiles[0], hard.median, quartiles[1], ends[1]),
        best=hard.best,
        href=url_for("topics.show", slug=page.slug, topic_id=row.topic_id),
        note=row.title,
    )


def _score_strip(page: TopicPage) -> ScoreStrip | None:
    """Every run as a dot; the viewer's own are named."""
    if page.measure is None or page.place is None:
        return None
    found = [
        Scored(
            row.run,
            row.scores[page.place],
            href=url_for("rankings.show", run_id=row.run_id, topic_id=page.topic_id),
            kind="highlight" if row.is_own else "plain",
        )
        for row in page.scores
    ]
    direction: Literal["higher", "lower"] = "lower" if page.measure.direction == "lower" else "higher"
    return score_strip(found, direction=direction, digits=page.measure.digits)
