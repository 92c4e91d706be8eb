"""Webhooks of a task and of a team: made, looked at, rotated, paused, deleted, tried out."""

from collections.abc import Callable

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from leaderboard.errors import Conflict, LeaderboardError, OverQuota
from leaderboard.pages import webhooks as pages
from leaderboard.pages.webhooks import WebhooksPage
from leaderboard.services.policy import Viewer
from leaderboard.services.webhooks import calls, deliveries, webhooks
from leaderboard.services.webhooks.webhooks import MOST, WebhookOwner, WebhookSecret
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.rules import OPERATOR, SIGNED_IN, rule
from leaderboard.web.session import reading, settings, viewer, wake, writing

blueprint = Blueprint("webhooks", __name__)

ACTS: dict[str, Callable[[Session, Viewer, int], object]] = {
    "pause": webhooks.pause,
    "resume": webhooks.resume,
    "test": deliveries.send_test,
}


@blueprint.get("/tasks/<slug>/webhooks")
@rule(SIGNED_IN)
def of_task(slug: str) -> ResponseReturnValue:
    """The webhooks of a task and the form of another one."""
    return _page(pages.task_webhooks(reading(), viewer(), slug))


@blueprint.get("/teams/<id:team_id>/webhooks")
@rule(SIGNED_IN)
def of_team(team_id: int) -> ResponseReturnValue:
    """The webhooks of a team and the form of another one."""
    return _page(pages.team_webhooks(reading(), viewer(), team_id))


def _page(page: WebhooksPage, error: LeaderboardError | None = None) -> str:
    chosen = request.form.getlist("event") if error else [event for event, _ in page.choices]
    return render_template(
        "webhooks/index.html",
        page=page,
        table=pages.webhook_table(page.webhooks),
        error=error,
        address=request.form.get("address", ""),
        chosen=chosen,
        most=MOST,
    )


@blueprint.post("/tasks/<slug>/webhooks")
@rule(SIGNED_IN)
def make_for_task(slug: str) -> ResponseReturnValue:
    """Make a webhook of a task and show its secret, this once."""
    asker = viewer()
    owner = webhooks.of_task(reading(), asker, slug)
    return _made(owner, lambda: pages.task_webhooks(reading(), asker, slug))


@blueprint.post("/teams/<id:team_id>/webhooks")
@rule(SIGNED_IN)
def make_for_team(team_id: int) -> ResponseReturnValue:
    """Make a webhook of a team and show its secret, this once."""
    asker = viewer()
    owner = webhooks.of_team(asker, team_id)
    return _made(owner, lambda: pages.team_webhooks(reading(), asker, team_id))


def _made(owner: WebhookOwner, page: Callable[[], WebhooksPage]) -> ResponseReturnValue:
    asker, form = viewer(), request.form
    allowed = calls.networks(settings().webhook_networks)
    try:
        if not settings().webhooks:
            raise Conflict("This site sends no webhooks; ask its operator.")
        with writing() as session:
            address, events = form.get("address", ""), form.getlist("event")
            made = webhooks.make(session, asker, owner, address, events, allowed)
    except LeaderboardError as error:
        if wants_json():
            raise
        return form_again(_page(page(), error), error)
    return _secret(made)


def _secret(made: WebhookSecret) -> ResponseReturnValue:
    return render_template("webhooks/secret.html", made=made), 201


@blueprint.get("/webhooks/<id:webhook_id>")
@rule(SIGNED_IN)
def show(webhook_id: int) -> ResponseReturnValue:
    """One webhook with its deliveries."""
    return _webhook(webhook_id)


def _webhook(webhook_id: int, error: LeaderboardError | None = None) -> str:
    page = pages.webhook_page(reading(), viewer(), webhook_id)
    return render_template("webhooks/show.html", page=page, table=pages.delivery_table(page), error=error)


@blueprint.post("/webhooks/<id:webhook_id>/<any(pause, resume, test):act>")
@rule(SIGNED_IN)
def change(webhook_id: int, act: str) -> ResponseReturnValue:
    """Pause the webhook, resume it, or send it a test event."""
    asker = viewer()
    return _done(webhook_id, lambda session: ACTS[act](session, asker, webhook_id))


@blueprint.post("/webhooks/<id:webhook_id>/deliveries/<message>")
@rule(SIGNED_IN)
def send_again(webhook_id: int, message: str) -> ResponseReturnValue:
    """Send one of its deliveries once more."""
    asker = viewer()
    return _done(webhook_id, lambda session: deliveries.send_again(session, asker, webhook_id, message))


def _done(webhook_id: int, act: Callable[[Session], object]) -> ResponseReturnValue:
    try:
        with writing() as session:
            act(session)
    except (Conflict, OverQuota) as error:
        if wants_json():
            raise
        return form_again(_webhook(webhook_id, error), error)
    wake()
    return redirect(url_for("webhooks.show", webhook_id=webhook_id), 303)


@blueprint.post("/webhooks/<id:webhook_id>/secret")
@rule(SIGNED_IN)
def rotate(webhook_id: int) -> ResponseReturnValue:
    """Give the webhook a new secret and show it, this once."""
    asker = viewer()
    with writing() as session:
        made = webhooks.rotate(session, asker, webhook_id)
    return _secret(made)


@blueprint.post("/webhooks/<id:webhook_id>/delete")
@rule(SIGNED_IN)
def delete(webhook_id: int) -> ResponseReturnValue:
    """Take the webhook away, and show those that are left."""
    asker = viewer()
    page = pages.webhook_page(reading(), asker, webhook_id)
    with writing() as session:
        webhooks.delete(session, asker, webhook_id)
    if page.slug:
        return redirect(url_for("webhooks.of_task", slug=page.slug), 303)
    return redirect(url_for("webhooks.of_team", team_id=page.team_id), 303)


@blueprint.get("/site/webhooks")
@rule(OPERATOR)
def of_site() -> ResponseReturnValue:
    """All webhooks of the site, for operators."""
    rows = pages.site_webhooks(reading(), viewer())
    return render_template("webhooks/site.html", table=pages.site_table(rows))


@blueprint.post("/site/webhooks/<id:webhook_id>/stop")
@rule(OPERATOR)
def stop(webhook_id: int) -> ResponseReturnValue:
    """Pause anybody's webhook."""
    asker = viewer()
    with writing() as session:
        webhooks.stop(session, asker, webhook_id)
    return redirect(url_for("webhooks.of_site"), 303)
