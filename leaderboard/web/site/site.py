"""An operator's pages of the queue, of storage and of mail, and the way to all of them."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import NotFound
from leaderboard.pages.site import mail as mail_pages
from leaderboard.pages.site import queue as queue_pages
from leaderboard.pages.site import storage as storage_pages
from leaderboard.pages.site.mail import OutboxPage
from leaderboard.pages.site.storage import StoragePage
from leaderboard.services.jobs import failed
from leaderboard.services.mail import outbox
from leaderboard.web import responses
from leaderboard.web.addresses import whole
from leaderboard.web.rules import OPERATOR, rule
from leaderboard.web.session import reading, require_mail, settings, viewer, wake, writing

blueprint = Blueprint("site", __name__)


@blueprint.get("/site")
@rule(OPERATOR)
def index() -> ResponseReturnValue:
    """What there is for operators."""
    page = queue_pages.queue_page(reading(), viewer())
    return render_template("site/index.html", queue=page)


@blueprint.get("/site/queue")
@rule(OPERATOR)
def queue() -> ResponseReturnValue:
    """What waits, what failed, and who does the work."""
    page = queue_pages.queue_page(reading(), viewer())
    return render_template("site/queue.html", page=page, tables=responses.tables(queue_pages.FILES, page))


@blueprint.get("/site/queue.<form:form>")
@rule(OPERATOR)
def queue_export(form: str) -> ResponseReturnValue:
    """The same as a file."""
    return responses.export(form, queue_pages.FILES, queue_pages.queue_page(reading(), viewer()))


@blueprint.post("/site/queue/<id:job_id>")
@rule(OPERATOR)
def do_again(job_id: int) -> ResponseReturnValue:
    """Queue a failed job anew."""
    asker = viewer()
    with writing() as session:
        failed.again(session, asker, job_id)
    wake()
    return redirect(url_for("site.queue"), 303)


@blueprint.get("/site/storage")
@rule(OPERATOR)
def storage() -> ResponseReturnValue:
    """What the database takes, what is free, and the last backup."""
    page = _storage()
    return render_template("site/storage.html", page=page, tables=responses.tables(storage_pages.FILES, page))


@blueprint.get("/site/storage.<form:form>")
@rule(OPERATOR)
def storage_export(form: str) -> ResponseReturnValue:
    """The same as a file."""
    return responses.export(form, storage_pages.FILES, _storage())


def _storage() -> StoragePage:
    return storage_pages.storage_page(reading(), viewer(), settings().data)


@blueprint.get("/site/mail")
@rule(OPERATOR)
def mail() -> ResponseReturnValue:
    """Letters by state, those that did not arrive, and addresses that are none."""
    page = _outbox()
    return render_template("site/mail.html", page=page, tables=responses.tables(mail_pages.FILES, page))


@blueprint.get("/site/mail.<form:form>")
@rule(OPERATOR)
def mail_export(form: str) -> ResponseReturnValue:
    """The same as a file."""
    return responses.export(form, mail_pages.FILES, _outbox())


def _outbox() -> OutboxPage:
    require_mail()
    return mail_pages.outbox_page(reading(), viewer())


@blueprint.post("/site/mail")
@rule(OPERATOR)
def send_again() -> ResponseReturnValue:
    """Try a letter that was given up anew, or all of them where none is named."""
    require_mail()
    asker, letter = viewer(), request.form.get("letter", "")
    mail_id = whole(letter)
    if letter and mail_id is None:
        raise NotFound("There is no such letter.")
    with writing() as session:
        outbox.try_again(session, asker, mail_id)
    wake()
    return redirect(url_for("site.mail"), 303)
