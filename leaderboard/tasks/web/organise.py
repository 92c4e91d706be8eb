"""An organiser's pages: a new task, its draft, and its management once it is published."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import LeaderboardError
from leaderboard.scoring.ops import collections
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops import organise as operations
from leaderboard.tasks.ops.drafts import TaskForm
from leaderboard.tasks.ops.organise import TaskDates
from leaderboard.tasks.page import organise
from leaderboard.web import actions
from leaderboard.web.rules import ORGANISER, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("organise", __name__)


@blueprint.get("/tasks/new")
@rule(ORGANISER)
def new() -> ResponseReturnValue:
    """The form of a new task."""
    return _new_page()


def _new_page(error: LeaderboardError | None = None) -> str:
    form = actions.form(TaskForm, error)
    existing = {each.name: each.name for each in collections.choices(reading(), viewer())}
    return render_template(
        "tasks/new.html",
        error=error,
        sent=request.form,
        form=form,
        templates=drafts.TEMPLATES.values(),
        offered={"collection": {"": "new collection, named after the task"} | existing},
    )


actions.add_to(
    blueprint,
    (drafts.MAKE,),
    _new_page,
    then={"make_task": lambda created: redirect(url_for("organise.show", slug=created[0].slug), 303)},
    refusals=(LeaderboardError,),
    who=ORGANISER,
)


@blueprint.get("/tasks/<slug>/organise")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """A task as its organisers see it: draft or published."""
    return _desk_page(slug)


def _desk_page(slug: str, error: LeaderboardError | None = None, **_: object) -> str:
    desk = organise.desk(reading(), viewer(), slug)
    task_dates = TaskDates(opens_at=desk.overview.opens_at, closes_at=desk.overview.closes_at)
    typed = actions.sent(TaskDates) if error and "closes_at" in request.form else {}
    return render_template(
        "tasks/organise.html",
        desk=desk,
        task=desk.overview.of,
        tables={name: table(desk) for name, table in organise.TABLES.items()},
        error=error,
        dates=fields.of(TaskDates),
        typed=fields.texts(task_dates) | typed | {"seen": desk.dates_stamp},
    )


actions.add_to(blueprint, operations.DESK, _desk_page)
