"""An operator's pages of the queue, of storage and of mail, and the way to all of them."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.core import events
from leaderboard.core.jobs import leases
from leaderboard.errors import NotFound
from leaderboard.site import page as mail_pages
from leaderboard.site.page import OutboxPage, QueuePage, StoragePage
from leaderboard.web import http
from leaderboard.web.addresses import whole
from leaderboard.web.rules import OPERATOR, rule
from leaderboard.web.session import reading, require_mail, settings, viewer, wake, writing

blueprint = Blueprint("site", __name__)


@blueprint.get("/site")
@rule(OPERATOR)
def index() -> ResponseReturnValue:
    """The start page of operators."""
    page = mail_pages.queue_page(reading(), viewer())
    return render_template("site/index.html", queue=page)


@http.with_files(
    blueprint,
    "/site/queue",
    "site/queue.html",
    mail_pages.QUEUE_FILES,
    is_kept=False,
    tables=lambda page: http.tables(mail_pages.QUEUE_FILES, page),
)
@rule(OPERATOR)
def queue() -> QueuePage:
    """Open jobs, failed jobs and evaluators."""
    return mail_pages.queue_page(reading(), viewer())


@blueprint.post("/site/queue/<id:job_id>")
@rule(OPERATOR)
def do_again(job_id: int) -> ResponseReturnValue:
    """Queue a failed job again."""
    asker = viewer()
    with writing() as session:
        leases.again(session, asker, job_id)
    wake()
    return redirect(url_for("site.queue"), 303)


@http.with_files(
    blueprint,
    "/site/storage",
    "site/storage.html",
    mail_pages.STORAGE_FILES,
    is_kept=False,
    tables=lambda page: http.tables(mail_pages.STORAGE_FILES, page),
)
@rule(OPERATOR)
def storage() -> StoragePage:
    """Database size, free space and the last backup."""
    return mail_pages.storage_page(reading(), viewer(), settings().data)


@http.with_files(
    blueprint,
    "/site/mail",
    "site/mail.html",
    mail_pages.MAIL_FILES,
    is_kept=False,
    tables=lambda page: http.tables(mail_pages.MAIL_FILES, page),
)
@rule(OPERATOR)
def mail() -> OutboxPage:
    """Letters by state, undelivered ones, and invalid addresses."""
    require_mail()
    return mail_pages.outbox_page(reading(), viewer())


@blueprint.post("/site/mail")
@rule(OPERATOR)
def send_again() -> ResponseReturnValue:
    """Retry a letter that was given up, or all of them if none is named."""
    require_mail()
    asker, letter = viewer(), request.form.get("letter", "")
    mail_id = whole(letter)
    if letter and mail_id is None:
        raise NotFound("This mail does not exist.")
    with writing() as session:
        for post in events.MAIL:
            post.try_again(session, asker, mail_id)
    wake()
    return redirect(url_for("site.mail"), 303)
