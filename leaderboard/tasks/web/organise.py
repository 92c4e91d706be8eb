"""An organiser's pages: a new task, its draft, and its management once it is published."""

import re

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import Invalid, LeaderboardError, Problem
from leaderboard.scoring.ops import collections
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops import organise as operations
from leaderboard.tasks.ops.drafts import TaskDraft, TaskForm
from leaderboard.tasks.ops.organise import TaskDates
from leaderboard.tasks.page import organise
from leaderboard.web import actions
from leaderboard.web.errors import refused
from leaderboard.web.rules import ORGANISER, SIGNED_IN, Body, received, rule
from leaderboard.web.session import finish_reading, reading, viewer, writing

blueprint = Blueprint("organise", __name__)


@blueprint.get("/tasks/new")
@rule(ORGANISER)
def new() -> ResponseReturnValue:
    """The form of a new task."""
    return _new_page()


def _new_page(error: LeaderboardError | None = None) -> str:
    form = actions.form(TaskForm, error)
    if error is not None and (seen := error.facts.get("topics_seen")):
        # What a reading guessed is shown in the form, to be confirmed.
        form["typed"] |= {"fields": error.facts["topic_fields"], "topics_seen": seen}
    known = {each.name: each.name for each in collections.choices(reading(), viewer())}
    return render_template(
        "tasks/new.html",
        error=error,
        sent=request.form,
        form=form,
        templates=drafts.TEMPLATES.values(),
        offered={"collection": {"": "new collection, named after the task"} | known},
    )


@blueprint.post("/tasks/new")
@rule(ORGANISER, Body.FILES)
@actions.takes(TaskForm)
def create() -> ResponseReturnValue:
    """Make a draft from the form and its files, and show it for a last look."""
    asker = viewer()
    finish_reading()
    try:
        prepared = drafts.prepare(_draft())
        with writing() as session:
            task = drafts.create(session, asker, prepared)
    except LeaderboardError as error:
        return refused(_new_page, error)
    return redirect(url_for("organise.show", slug=task.slug), 303)


def _draft() -> TaskDraft:
    topics, judged, documents = map(received, ("topics", "qrels", "documents"))
    asked = fields.values(_asked(has_topics=topics is not None))
    assert topics is not None, "the form was refused without them"
    return TaskDraft(
        **asked | {"slug": asked["slug"] or suggested_slug(asked["name"])},
        topics=topics.path,
        qrels=judged.path if judged else None,
        qrels_name=judged.name if judged else "",
        documents=documents.path if documents else None,
    )


def _asked(*, has_topics: bool) -> TaskForm:
    """What the form says; raises Invalid with every problem, the missing file among them."""
    problems = [] if has_topics else [Problem(fields.LACKING, "Choose a file.", field="topics")]
    titles = fields.titles(TaskForm) | {"topics": "Topics file"}
    measures = request.form.get("measures", "").replace(";", " ")
    try:
        sent = {"name": "", "topics_seen": "", **actions.sent(TaskForm), "measures": measures}
        task_form = fields.read(TaskForm, sent)
    except Invalid as error:
        raise Invalid(error.message, [*error.problems, *problems], titles=titles) from None
    if problems:
        raise Invalid("Topics file is missing.", problems, titles=titles)
    return task_form


def suggested_slug(name: str) -> str:
    """A slug derived from a task's name.

    >>> suggested_slug("TREC Robust (2004)")
    'trec-robust-2004'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63].strip("-")


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
