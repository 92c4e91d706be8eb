"""A task's settings: each section saved by its own button, its topics, and what may become of the task."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.core import policy
from leaderboard.core.picture_kinds import KINDS
from leaderboard.errors import LeaderboardError, NotFound
from leaderboard.scoring.ops import board_measures
from leaderboard.scoring.ops.board_measures import NewTopic, TopicFields, TopicText
from leaderboard.tasks.ops import organise, settings
from leaderboard.tasks.ops.organise import TaskCopy
from leaderboard.tasks.ops.pictures.pictures import PictureText
from leaderboard.tasks.ops.settings import Settings
from leaderboard.tasks.page import settings as pages
from leaderboard.web import actions
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("settings", __name__)

LONGEST_QUERY = 100


@blueprint.get("/tasks/<slug>/settings")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """All settings, folded by section."""
    saved = request.args.get("saved", "")
    return page(slug, opened=saved or request.args.get("section", ""), saved=saved)


def page(slug: str, error: LeaderboardError | None = None, opened: str = "", saved: str = "") -> str:
    """The page of all settings, with a section open."""
    shown, kind = pages.settings_page(reading(), viewer(), slug), (request.view_args or {}).get("kind")
    return render_template(
        "tasks/settings.html",
        page=shown,
        pictures={
            name: actions.form(
                PictureText,
                error if name == kind else None,
                {"alt": head.alt if head else "", "seen": shown.picture_stamps[name]},
            )
            for name in KINDS
            for head in (shown.pictures.get(name),)
        },
        error=error,
        opened=opened,
        saved=saved,
        previewed=request.form.get("preview", ""),
        sent=request.form,
        typed=_typed(opened),
        copied=fields.of(TaskCopy),
        new_topic=fields.of(NewTopic),
        topics_file=actions.form(TopicFields, error),
    )


def _typed(section: str) -> dict[str, str]:
    """The changed fields of a section's form."""
    if settings.section(section) is None:
        return {}
    values = actions.sent(Settings)
    return settings.typed(values["settings"], values["seen"])


def _before(slug: str, section: str) -> str | None:
    """How the Markdown of a section will look, where that is asked."""
    if request.form.get("preview") or settings.section(section) is None:
        policy.own_task(reading(), viewer(), slug)
        if settings.section(section) is None:
            raise NotFound("This settings section does not exist.")
        return page(slug, opened=section)
    return None


def saved(slug: str, section: str) -> str:
    """The page of settings with a section open that was saved."""
    return url_for("settings.show", slug=slug, saved=section, _anchor=f"section-{section}")


@blueprint.get("/tasks/<slug>/settings/measures")
@rule(SIGNED_IN)
def measures(slug: str) -> ResponseReturnValue:
    """Measures to tick, found by a search; ticked boxes stay ticked from one search to the next."""
    query = request.args.get("q", "").strip()[:LONGEST_QUERY]
    chosen = request.args.getlist("measures")[:200]
    page = pages.measures(reading(), viewer(), slug, query, chosen)
    return render_template("tasks/measures.html", page=page)


@blueprint.get("/tasks/<slug>/settings/topics/<topic:topic_id>")
@rule(SIGNED_IN)
def topic(slug: str, topic_id: str) -> ResponseReturnValue:
    """The form that corrects a topic."""
    return _topic_page(slug, topic_id)


def _topic_page(slug: str, topic_id: str, error: LeaderboardError | None = None) -> str:
    task, task_topic = pages.topic_form(reading(), viewer(), slug, topic_id)
    return render_template(
        "tasks/topic.html",
        task=task,
        topic=task_topic,
        error=error,
        asked=fields.of(TopicText),
        typed=request.form if error else {part: getattr(task_topic, part) for part in board_measures.PARTS},
    )


def _topics_again(slug: str, topic_id: str = "", error: LeaderboardError | None = None) -> str:
    return _topic_page(slug, topic_id, error) if topic_id else page(slug, error, "topics")


@blueprint.get("/tasks/<slug>/discard")
@rule(SIGNED_IN)
def ask_to_discard(slug: str) -> ResponseReturnValue:
    """Ask whether a draft is really to be deleted."""
    page = pages.settings_page(reading(), viewer(), slug)
    policy.own_task(reading(), viewer(), slug)
    return render_template("tasks/discard.html", page=page)


actions.add_to(
    blueprint,
    (settings.CHANGE,),
    lambda slug, section, error: page(slug, error, section),
    before={"settle_task": _before},
    then={"settle_task": lambda result, slug, section: redirect(saved(result[0], section), 303)},
)
actions.add_to(
    blueprint,
    organise.LIFE,
    lambda slug, error: page(slug, error, "life"),
    then={
        **dict.fromkeys(
            ("archive_task", "unarchive_task"), lambda _, slug: redirect(saved(slug, "life"), 303)
        ),
        "clone_task": lambda copy, slug: redirect(url_for("organise.show", slug=copy.slug), 303),
        "discard_task": lambda *_, slug: redirect(url_for("tasks.index"), 303),
    },
)
actions.add_to(
    blueprint,
    organise.TOPICS,
    _topics_again,
    then=dict.fromkeys(("add_topic", "replace_topics"), lambda _, slug: redirect(saved(slug, "topics"), 303)),
)
