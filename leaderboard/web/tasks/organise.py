"""An organiser's pages: a new task, its draft, and what goes on in it once it is published."""

import re
from dataclasses import replace
from pathlib import Path

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import zones
from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.pages.tasks import organise
from leaderboard.services import collections
from leaderboard.services.jobs import failed
from leaderboard.services.tasks import create as tasks
from leaderboard.services.tasks import drafts, scored_topics, templates
from leaderboard.services.tasks import organise as operations
from leaderboard.services.tasks.drafts import TaskDraft
from leaderboard.web.errors import status_of, wants_json
from leaderboard.web.files import Received, number, received
from leaderboard.web.rules import ORGANISER, SIGNED_IN, Body, rule
from leaderboard.web.session import finish_reading, reading, viewer, wake, writing

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
        templates=templates.TEMPLATES.values(),
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
            made = tasks.create(session, asker, prepared)
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
    template = templates.find(form.get("template") or templates.LIVING)
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


def _desk_page(slug: str, error: LeaderboardError | None = None) -> str:
    desk = organise.desk(reading(), viewer(), slug)
    return render_template(
        "tasks/organise.html",
        desk=desk,
        task=desk.overview.of,
        tables={name: table(desk) for name, table in organise.TABLES.items()},
        error=error,
        sent=request.form,
        written=zones.written,
    )


@blueprint.post("/tasks/<slug>/organise/publish")
@rule(SIGNED_IN)
def publish(slug: str) -> ResponseReturnValue:
    """Show a draft to everybody."""
    asker = viewer()
    with writing() as session:
        tasks.publish(session, asker, slug)
    wake()
    return redirect(url_for("organise.show", slug=slug), 303)


@blueprint.post("/tasks/<slug>/organise/dates")
@rule(SIGNED_IN)
def dates(slug: str) -> ResponseReturnValue:
    """Set when the task takes runs, in UTC; an empty field is no limit."""
    asker = viewer()
    try:
        zone = request.form.get("zone", "UTC")
        said = {key: request.form.get(key, "") for key in ("reason", "seen")}
        opens, closes = (zones.read(request.form.get(name, ""), zone, name) for name in ("opens", "closes"))
        with writing() as session:
            operations.set_dates(session, asker, slug, (opens, closes), zone=zone, **said)
    except (Invalid, Conflict) as error:
        if wants_json():
            raise
        return _desk_page(slug, error), status_of(error)
    return redirect(url_for("organise.show", slug=slug), 303)


@blueprint.post("/tasks/<slug>/organise/exclusions")
@rule(SIGNED_IN)
def exclude(slug: str) -> ResponseReturnValue:
    """Leave a draft's topic out of the means, with a reason; without one take it back in."""
    asker, topic, reason = viewer(), request.form.get("topic", ""), request.form.get("reason", "")
    with writing() as session:
        operations.exclude_topic(session, asker, slug, topic, reason)
    return redirect(url_for("organise.show", slug=slug), 303)


@blueprint.post("/tasks/<slug>/organise/topics/judged")
@rule(SIGNED_IN)
def score_judged(slug: str) -> ResponseReturnValue:
    """Leave the topics without judgments out of means and rules."""
    asker = viewer()
    with writing() as session:
        scored_topics.score_judged(session, asker, slug)
    wake()
    return redirect(url_for("organise.show", slug=slug), 303)


@blueprint.post("/tasks/<slug>/organise/topics/all")
@rule(SIGNED_IN)
def score_all(slug: str) -> ResponseReturnValue:
    """Count topics without judgments again as soon as they have some."""
    asker = viewer()
    with writing() as session:
        scored_topics.score_all(session, asker, slug)
    wake()
    return redirect(url_for("organise.show", slug=slug), 303)


@blueprint.post("/tasks/<slug>/organise/jobs/<id:job_id>")
@rule(SIGNED_IN)
def evaluate_again(slug: str, job_id: int) -> ResponseReturnValue:
    """Queue a failed job anew."""
    asker = viewer()
    with writing() as session:
        failed.evaluate_again(session, asker, slug, job_id)
    wake()
    return redirect(url_for("organise.show", slug=slug), 303)
