"""A task's settings: each section saved by its own button, its topics, and what may become of the task."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.core import policy
from leaderboard.errors import Invalid, LeaderboardError, NotFound
from leaderboard.scoring.ops import board_measures
from leaderboard.scoring.ops.board_measures import NewTopic, TopicText
from leaderboard.tasks.ops import organise, settings
from leaderboard.tasks.ops.organise import TaskCopy
from leaderboard.tasks.page import settings as pages
from leaderboard.trec.topics import topics as trec_topics
from leaderboard.web import actions
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.rules import SIGNED_IN, Body, received, rule
from leaderboard.web.session import finish_reading, reading, viewer, wake, writing

blueprint = Blueprint("settings", __name__)

REASON_CHARACTERS = 300
LONGEST_QUERY = 100
SEEN = "seen-"
"""Prefix of the hidden fields with the stamps of the values in the form."""


@blueprint.get("/tasks/<slug>/settings")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """All settings, folded by section."""
    saved = request.args.get("saved", "")
    return _page(slug, opened=saved or request.args.get("section", ""), saved=saved)


def _page(slug: str, error: LeaderboardError | None = None, opened: str = "", saved: str = "") -> str:
    return render_template(
        "tasks/settings.html",
        page=pages.settings_page(reading(), viewer(), slug),
        error=error,
        opened=opened,
        saved=saved,
        previewed=request.form.get("preview", ""),
        sent=request.form,
        typed=_typed(opened),
        copied=fields.of(TaskCopy),
        new_topic=fields.of(NewTopic),
    )


def _typed(section: str) -> dict[str, str]:
    """The changed fields of a section's form."""
    form, setting_section = request.form, settings.section(section)
    if setting_section is None:
        return {}
    given = {one.name: form[one.name] for one in setting_section.settings if one.name in form}
    if "measures" in given:
        given["measures"] = " ".join(form.getlist("measures"))
    return settings.typed(given, _seen())


def _seen() -> dict[str, str]:
    """Setting -> stamp of the value that the form showed; nothing for a script that saw none."""
    return {key.removeprefix(SEEN): stamp for key, stamp in request.form.items() if key.startswith(SEEN)}


@blueprint.post("/tasks/<slug>/settings/<section>")
@rule(SIGNED_IN)
def save(slug: str, section: str) -> ResponseReturnValue:
    """Save one section, or show how its Markdown will look."""
    asker, form, setting_section = viewer(), request.form, settings.section(section)
    if setting_section is None:
        policy.own_task(reading(), asker, slug)
        raise NotFound("This settings section does not exist.")
    if form.get("preview"):
        policy.own_task(reading(), asker, slug)
        return _page(slug, opened=section)
    given = _typed(section)
    reason = form.get("reason", "")[:REASON_CHARACTERS]
    try:
        with writing() as session:
            settings.change_settings(session, asker, slug, given, reason, _seen())
    except LeaderboardError as error:
        return refused(slug, error, section)
    wake()
    return redirect(saved(given.get("slug", "").strip() or slug, section), 303)


def saved(slug: str, section: str) -> str:
    """The page of settings with a section open that was saved."""
    return url_for("settings.show", slug=slug, saved=section, _anchor=f"section-{section}")


def refused(slug: str, error: LeaderboardError, section: str) -> ResponseReturnValue:
    """The page of settings with a section open that was refused; raises what is not for a page."""
    if wants_json() or not policy.organises(viewer(), policy.visible_task(reading(), viewer(), slug)[0].id):
        raise error
    return form_again(_page(slug, error, section), error)


@blueprint.get("/tasks/<slug>/settings/measures")
@rule(SIGNED_IN)
def measures(slug: str) -> ResponseReturnValue:
    """Measures to tick, found by a search; ticked boxes stay ticked from one search to the next."""
    query = request.args.get("q", "").strip()[:LONGEST_QUERY]
    chosen = request.args.getlist("measures")[:200]
    page = pages.measures(reading(), viewer(), slug, query, chosen)
    return render_template("tasks/measures.html", page=page)


@blueprint.post("/tasks/<slug>/settings/topics")
@rule(SIGNED_IN, Body.FILES)
def topics(slug: str) -> ResponseReturnValue:
    """Replace all topics by those of a file, before the first run."""
    asker, file = viewer(), received("topics")
    policy.own_task(reading(), asker, slug)
    finish_reading()
    try:
        if file is None:
            raise Invalid("Choose a topics file.", field="topics")
        new = trec_topics.read(file.path, request.form.get("topic_fields", ""))
        new.require_seen(request.form.get("topics_seen", ""))
        with writing() as session:
            board_measures.replace(session, asker, slug, new.topics)
    except LeaderboardError as error:
        return refused(slug, error, "topics")
    wake()
    return redirect(saved(slug, "topics"), 303)


@blueprint.get("/tasks/<slug>/settings/topics/<topic:topic_id>")
@rule(SIGNED_IN)
def topic(slug: str, topic_id: str) -> ResponseReturnValue:
    """The form that corrects a topic."""
    return _topic_page(slug, topic_id)


def _topic_page(slug: str, topic_id: str, error: LeaderboardError | None = None) -> str:
    task, found = pages.topic_form(reading(), viewer(), slug, topic_id)
    return render_template(
        "tasks/topic.html",
        task=task,
        topic=found,
        error=error,
        asked=fields.of(TopicText),
        typed=request.form if error else {part: getattr(found, part) for part in board_measures.PARTS},
    )


def _topics_again(slug: str, topic_id: str = "", error: LeaderboardError | None = None) -> str:
    return _topic_page(slug, topic_id, error) if topic_id else _page(slug, error, "topics")


@blueprint.get("/tasks/<slug>/discard")
@rule(SIGNED_IN)
def ask_to_discard(slug: str) -> ResponseReturnValue:
    """Ask whether a draft is really to be deleted."""
    page = pages.settings_page(reading(), viewer(), slug)
    policy.own_task(reading(), viewer(), slug)
    return render_template("tasks/discard.html", page=page)


actions.add_to(
    blueprint,
    organise.LIFE,
    lambda slug, error: _page(slug, error, "life"),
    then={
        "archive": lambda _, slug: redirect(saved(slug, "life"), 303),
        "clone_task": lambda made, slug: redirect(url_for("organise.show", slug=made.slug), 303),
        "discard_task": lambda *_, slug: redirect(url_for("tasks.index"), 303),
    },
)
actions.add_to(
    blueprint,
    organise.TOPICS,
    _topics_again,
    then={"add_topic": lambda _, slug: redirect(saved(slug, "topics"), 303)},
)
