"""The news of a task, and the announcement form."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.ops.announcements import AnnouncementBody, AnnouncementPreview
from leaderboard.tasks.page import news as pages
from leaderboard.tasks.page.news import NewsPage
from leaderboard.web import actions, http
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, settings, viewer

blueprint = Blueprint("news", __name__)


@http.with_files(blueprint, "/tasks/<slug>/news", "tasks/news.html", pages.FILES, changes=pages.changes)
@rule(PUBLIC, carries="board")
def show(slug: str) -> NewsPage:
    """Announcements and changes of a task."""
    return pages.news(reading(), viewer(), slug)


@blueprint.get("/tasks/<slug>/announce")
@rule(SIGNED_IN)
def form(slug: str) -> ResponseReturnValue:
    """The form of a new announcement."""
    return _form_page(slug)


def _form_page(
    slug: str, error: LeaderboardError | None = None, preview: AnnouncementPreview | None = None
) -> str:
    typed = actions.sent(AnnouncementBody) if request.form else {}
    draft = {"recipients": request.args.get("to", announcements.EVERYBODY)} | typed
    has_mail = bool(settings().smtp_url)
    return render_template(
        "tasks/announce.html",
        page=pages.announcement_form(reading(), viewer(), slug),
        draft=fields.empty(AnnouncementBody) | draft,
        kinds=announcements.KINDS,
        preview=preview,
        people=pages.people(preview.people, has_mail) if preview else None,
        error=error,
        title_characters=announcements.TITLE_CHARACTERS,
        body_characters=announcements.BODY_CHARACTERS,
    )


def _announced(result: tuple[int | None, AnnouncementPreview], slug: str) -> ResponseReturnValue:
    """The news, or what would be sent to whom."""
    number, preview = result
    return redirect(url_for("news.show", slug=slug), 303) if number else _form_page(slug, preview=preview)


actions.add_to(
    blueprint,
    (announcements.ANNOUNCE,),
    _form_page,
    then={"announce": _announced},
    refusals=(Invalid, Conflict),
)
