"""The front page and what a task is about."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.pages.bundles import citation
from leaderboard.pages.cards import ROWS
from leaderboard.pages.tasks import landing, settings
from leaderboard.pages.tasks.leaders import LeaderOfTask
from leaderboard.services.bundles.describing import FORMS, bibtex
from leaderboard.web import responses
from leaderboard.web.addresses import whole
from leaderboard.web.cards import frames, snippets
from leaderboard.web.charts import Spread, StripCell, strip
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.security import own_origin
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("tasks", __name__)


@blueprint.get("/")
@rule(PUBLIC)
def index() -> ResponseReturnValue:
    """The newest tasks, each with its leader; older ones on further pages."""
    page = landing.front_page(reading(), viewer(), whole(request.args.get("page", "1")) or 0)
    fields = {row.task.id: _field(row.leader) for row in page.rows if row.leader is not None}
    return responses.page(render_template("tasks/index.html", page=page, fields=fields))


def _field(leader: LeaderOfTask) -> StripCell:
    """Where the runs of a task lie, as a figure of a line."""
    low, lower, median, upper, high = leader.quantiles
    best = low if leader.sign < 0 else high
    name = f"All {leader.runs:,} runs by {leader.measure}"
    return strip(Spread(name, low, lower, median, upper, high, best), digits=leader.digits)


@blueprint.get("/tasks.<form:form>")
@rule(PUBLIC)
def export(form: str) -> ResponseReturnValue:
    """All tasks as a file."""
    return responses.export(form, landing.FILES, landing.landing(reading(), viewer()))


@blueprint.get("/tasks/<slug>/about")
@rule(PUBLIC)
def about(slug: str) -> ResponseReturnValue:
    """A task's description and rules."""
    page = landing.about(reading(), viewer(), slug)
    html = render_template(
        "tasks/about.html",
        page=page,
        measures=landing.measures(page),
        changes=settings.changes_table(slug, page.changes),
        snippets=snippets.of_task(page.slug, page.task),
        # To be pasted elsewhere, where some site may show it.
        framed=snippets.of_frame(page.slug, page.task, frames.WIDTH, frames.height(ROWS))
        if page.frames
        else None,
        bibtex=bibtex(citation(reading(), viewer(), slug, own_origin())),
        cited={form: (file, name) for form, (file, name, _) in FORMS.items()},
    )
    return responses.page(html)
