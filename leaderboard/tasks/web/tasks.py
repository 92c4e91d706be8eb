"""The front page and what a task is about."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.boards.page import cards
from leaderboard.boards.page.cards import ROWS
from leaderboard.boards.page.leaders import LeaderOfTask
from leaderboard.boards.web.cards import frames, heads
from leaderboard.tasks.ops import citing
from leaderboard.tasks.ops.citing import FORMS, bibtex, citation
from leaderboard.tasks.page import landing, settings
from leaderboard.web import http
from leaderboard.web.addresses import whole
from leaderboard.web.charts import Spread, StripCell, strip
from leaderboard.web.http import own_origin
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("tasks", __name__)

MEDIA = {"cff": "application/yaml", "bib": "application/x-bibtex", "json": "application/json"}


@blueprint.get("/")
@rule(PUBLIC)
def index() -> ResponseReturnValue:
    """The newest tasks, each with its leader; older ones on further pages."""
    page = landing.front_page(reading(), viewer(), whole(request.args.get("page", "1")) or 0)
    fields = {row.task.id: _field(row.leader) for row in page.rows if row.leader is not None}
    return http.page(render_template("tasks/index.html", page=page, fields=fields))


def _field(leader: LeaderOfTask) -> StripCell:
    """The distribution of a task's runs, as a one-line figure."""
    low, lower, median, upper, high = leader.quantiles
    best = low if leader.sign < 0 else high
    name = f"All {leader.runs:,} runs by {leader.measure}"
    return strip(Spread(name, low, lower, median, upper, high, best), digits=leader.digits)


@blueprint.get("/tasks.<form:form>")
@rule(PUBLIC)
def export(form: str) -> ResponseReturnValue:
    """All tasks as a file."""
    return http.export(form, landing.FILES, landing.landing(reading(), viewer()))


@blueprint.get("/tasks/<slug>/about")
@rule(PUBLIC, carries="board")
def about(slug: str) -> ResponseReturnValue:
    """A task's description and rules."""
    page = landing.about(reading(), viewer(), slug)
    html = render_template(
        "tasks/about.html",
        page=page,
        measures=landing.measures(page),
        changes=settings.changes_table(slug, page.changes),
        snippets=heads.of_task(page.slug, page.task),
        # To be pasted elsewhere, where some site may show it.
        framed=heads.of_frame(page.slug, page.task, frames.WIDTH, frames.height(ROWS))
        if page.frames
        else None,
        bibtex=bibtex(citation(reading(), viewer(), slug, own_origin())),
        cited={form: (file, name) for form, (file, name, _) in FORMS.items()},
    )
    return http.page(html)


@blueprint.get("/tasks/<slug>/citation.<any(cff,bib,json):cited>")
@rule(PUBLIC)
def cite(slug: str, cited: str) -> ResponseReturnValue:
    """The task's citation: CITATION.cff, BibTeX or DataCite JSON."""
    name, _, written = FORMS[cited]
    text = written(citation(reading(), viewer(), slug, own_origin()))
    return http.as_file(text, MEDIA[cited], f"{slug}-{name}")


@blueprint.get("/tasks/<slug>/eval.yaml")
@rule(PUBLIC)
def hub_benchmark(slug: str) -> ResponseReturnValue:
    """The task as a benchmark of Hugging Face's hub."""
    text = citing.hub_benchmark(citation(reading(), viewer(), slug, own_origin()))
    return http.as_file(text, "application/yaml", "eval.yaml")


@blueprint.get("/tasks/<slug>/croissant.json")
@rule(PUBLIC)
def croissant(slug: str) -> ResponseReturnValue:
    """The task as a data set in Croissant, as visitors may see it."""
    data = cards.data_of_task(reading(), slug)
    cite_as = bibtex(citation(reading(), viewer(), slug, own_origin()))
    return http.as_json(heads.croissant(data, cite_as))
