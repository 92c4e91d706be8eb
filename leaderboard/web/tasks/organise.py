"""An organiser's pages: a new task, its draft, and what goes on in it once it is published."""

import re
from dataclasses import replace
from pathlib import Path

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.pages.tasks import organise
from leaderboard.services import collections
from leaderboard.services.tasks import drafts
from leaderboard.services.tasks import organise as operations
from leaderboard.services.tasks.drafts import TaskDraft
from leaderboard.services.tasks.organise import TaskDates
from leaderboard.web import actions
from leaderboard.web.errors import status_of, wants_json
from leaderboard.web.files import Received, number, received
from leaderboard.web.rules import ORGANISER, SIGNED_IN, Body, rule
from leaderboard.web.session import finish_reading, reading, viewer, writing

blueprint = Blueprint("organise", __name__)


@blueprint.get("/tasks/new")
@rule(ORGANISER)
def new() -> ResponseReturnValue:
    """The form of a new task."""
    return _new_page()


def _new_page(error: LeaderboardError | None = None) -> str:
    return render_template(
        "tasks/new.html",
        error=error,
        sent=request.form,
        templates=drafts.TEMPLATES.values(),
        collections=collections.choices(reading(), viewer()),
    )


@blueprint.post("/tasks/new")
@rule(ORGANISER, Body.FILES)
def create() -> ResponseReturnValue:
    """Make a draft from the form and its files, and show it for a last look."""
    asker = viewer()
    finish_reading()
    try:
        prepared = drafts.prepare(_draft())
        with writing() as session:
            made = drafts.create(session, asker, prepared)
    except LeaderboardError as error:
        if wants_json():
            raise
        return _new_page(error), status_of(error)
    return redirect(url_for("organise.show", slug=made.slug), 303)


def _draft() -> TaskDraft:
    form, topics, judged, documents = (
        request.form,
        received("topics"),
        received("qrels"),
        received("documents"),
    )
    if topics is None:
        raise Invalid("Choose a topics file.")
    template = drafts.find_template(form.get("template") or drafts.LIVING)
    name = form.get("name", "").strip()
    draft = TaskDraft(
        slug=form.get("slug", "").strip() or suggested_slug(name),
        name=name,
        topics=topics.path,
        topics_name=topics.name,
        topic_fields=form.get("topic_fields", ""),
        topics_seen=form.get("topics_seen", ""),
        description=form.get("description", ""),
        links=form.get("links", ""),
        agreement=form.get("agreement", ""),
        collection=form.get("collection") or None,
        documents=_path(documents),
        depth=number("depth", 1000) or 0,
        level=number("level", 1) or 0,
        dialect=number("dialect", 10) or 0,
        visibility=form.get("visibility") or drafts.usual_visibility(form.get("kind"), template),
        template=template.key,
        kind=form.get("kind") or "rankings",
        second=form.get("second", ""),
        map=form.get("map", ""),
        measures=tuple(re.split(r"[\s;]+", form.get("measures", "").strip())) if form.get("measures") else (),
        primary=form.get("primary", "").strip() or None,
        origin=form.get("origin", "human"),
        origin_name=form.get("origin_name", "").strip(),
    )
    return draft if judged is None else replace(draft, qrels=judged.path, qrels_name=judged.name)


def _path(file: Received | None) -> Path | None:
    return file.path if file else None


def suggested_slug(name: str) -> str:
    """A slug made of a task's name.

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
    known = TaskDates(opens_at=desk.overview.opens_at, closes_at=desk.overview.closes_at)
    typed = actions.sent(TaskDates) if error and "closes_at" in request.form else {}
    return render_template(
        "tasks/organise.html",
        desk=desk,
        task=desk.overview.of,
        tables={name: table(desk) for name, table in organise.TABLES.items()},
        error=error,
        dates=fields.of(TaskDates),
        typed=fields.texts(known) | typed | {"seen": desk.dates_stamp},
        problems=actions.problems(error),
    )


actions.add_to(blueprint, operations.DESK, _desk_page)
