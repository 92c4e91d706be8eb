"""Webhooks of tasks and teams."""

from typing import Any

from flask import Blueprint, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import LeaderboardError
from leaderboard.notify.ops import deliveries, webhooks
from leaderboard.notify.ops.webhooks import MOST, NewWebhook, WebhookSecret
from leaderboard.notify.page import webhooks as pages
from leaderboard.web import actions
from leaderboard.web.rules import OPERATOR, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("webhooks", __name__)


@blueprint.get("/tasks/<slug>/webhooks")
@rule(SIGNED_IN)
def of_task(slug: str) -> ResponseReturnValue:
    """The webhooks of a task and the form of another one."""
    return _page(slug=slug)


@blueprint.get("/teams/<id:team_id>/webhooks")
@rule(SIGNED_IN)
def of_team(team_id: int) -> ResponseReturnValue:
    """The webhooks of a team and the form of another one."""
    return _page(team_id=team_id)


def _page(slug: str = "", team_id: int = 0, error: LeaderboardError | None = None) -> str:
    asker = viewer()
    of_task = pages.task_webhooks(reading(), asker, slug) if slug else None
    page = of_task or pages.team_webhooks(reading(), asker, team_id)
    every = {"address": "", "events": [event for event, _ in page.choices]}
    return render_template(
        "notify/webhooks/index.html",
        page=page,
        table=pages.webhook_table(page.webhooks),
        error=error,
        form=actions.form(NewWebhook, error, every),
        offered={"events": {event: f"{meaning} ({event})" for event, meaning in page.choices}},
        most=MOST,
    )


def _secret(secret: WebhookSecret, **_: object) -> ResponseReturnValue:
    """The secret, this once."""
    return render_template("notify/webhooks/secret.html", made=secret), 201


@blueprint.get("/webhooks/<id:webhook_id>")
@rule(SIGNED_IN)
def show(webhook_id: int) -> ResponseReturnValue:
    """One webhook with its deliveries."""
    return _webhook(webhook_id)


def _webhook(webhook_id: int, error: LeaderboardError | None = None, **_: object) -> str:
    page = pages.webhook_page(reading(), viewer(), webhook_id)
    return render_template(
        "notify/webhooks/show.html", page=page, table=pages.delivery_table(page), error=error
    )


@blueprint.get("/site/webhooks")
@rule(OPERATOR)
def of_site() -> ResponseReturnValue:
    """All webhooks of the site, for operators."""
    rows = pages.site_webhooks(reading(), viewer())
    return render_template("notify/webhooks/site.html", table=pages.site_table(rows))


@blueprint.post("/site/webhooks/<id:webhook_id>/stop")
@rule(OPERATOR)
def stop(webhook_id: int) -> ResponseReturnValue:
    """Pause any webhook."""
    asker = viewer()
    with writing() as session:
        webhooks.stop(session, asker, webhook_id)
    return redirect(url_for("webhooks.of_site"), 303)


def _rest(owner: dict[str, Any], **_: object) -> ResponseReturnValue:
    """The webhooks that its owner still has."""
    return redirect(url_for("webhooks.of_team" if "team_id" in owner else "webhooks.of_task", **owner), 303)


actions.add_to(
    blueprint,
    deliveries.MAKE,
    _page,
    then=dict.fromkeys(("make_task_webhook", "make_team_webhook"), _secret),
    refusals=(LeaderboardError,),
)
actions.add_to(
    blueprint, deliveries.CHANGE, _webhook, then={"rotate_webhook_secret": _secret, "delete_webhook": _rest}
)
