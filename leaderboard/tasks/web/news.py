"""The news of a task, and the announcement form."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.ops.announcements import AnnouncementDraft, AnnouncementPreview
from leaderboard.tasks.page import news as pages
from leaderboard.tasks.page.news import NewsPage
from leaderboard.web import http
from leaderboard.web.addresses import absolute, whole
from leaderboard.web.errors import refused
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, settings, viewer, wake, writing

blueprint = Blueprint("news", __name__)


@http.with_files(blueprint, "/tasks/<slug>/news", "tasks/news.html", pages.FILES, changes=pages.changes)
@rule(PUBLIC)
def show(slug: str) -> NewsPage:
    """Announcements and changes of a task."""
    return pages.news(reading(), viewer(), slug)


@blueprint.get("/tasks/<slug>/announce")
@rule(SIGNED_IN)
def form(slug: str) -> ResponseReturnValue:
    """The form of a new announcement."""
    return _form_page(slug, AnnouncementDraft("", "", request.args.get("to", announcements.EVERYBODY)))


def _form_page(
    slug: str,
    draft: AnnouncementDraft,
    preview: AnnouncementPreview | None = None,
    error: LeaderboardError | None = None,
) -> str:
    has_mail = bool(settings().smtp_url)
    return render_template(
        "tasks/announce.html",
        page=pages.announcement_form(reading(), viewer(), slug),
        draft=draft,
        kinds=announcements.KINDS,
        preview=preview,
        people=pages.people(preview.people, has_mail) if preview else None,
        error=error,
        title_characters=announcements.TITLE_CHARACTERS,
        body_characters=announcements.BODY_CHARACTERS,
    )


@blueprint.post("/tasks/<slug>/announce")
@rule(SIGNED_IN)
def announce(slug: str) -> ResponseReturnValue:
    """Show what would be sent to whom; with `step=send` send it to those that were shown."""
    asker, draft = viewer(), _draft()
    try:
        if request.form.get("step") != "send":
            preview = announcements.preview(reading(), asker, slug, draft)
            return _form_page(slug, draft, preview)
        counted = whole(request.form.get("counted"))
        link = absolute("news.show", slug=slug) if settings().smtp_url else None
        with writing() as session:
            announcements.send(session, asker, slug, draft, -1 if counted is None else counted, link)
    except (Invalid, Conflict) as error:
        return refused(lambda error: _form_page(slug, draft, error=error), error)
    wake()
    return redirect(url_for("news.show", slug=slug), 303)


def _draft() -> AnnouncementDraft:
    sent = request.form
    chosen = (whole(text) for text in sent.getlist("team"))
    return AnnouncementDraft(
        title=sent.get("title", "").strip(),
        # Browsers send lines with two characters at their ends; stored data has one.
        body=sent.get("body", "").replace("\r\n", "\n").strip(),
        kind=sent.get("recipients", ""),
        teams=frozenset(team_id for team_id in chosen if team_id is not None),
    )
