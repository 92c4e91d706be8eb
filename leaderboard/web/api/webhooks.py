"""Operations on webhooks of tasks and teams."""

from dataclasses import dataclass
from typing import Annotated

from leaderboard.errors import Conflict
from leaderboard.pages import webhooks as pages
from leaderboard.pages.webhooks import WebhookPage, WebhooksPage
from leaderboard.services.accounts.tokens import Scope
from leaderboard.services.webhooks import calls, deliveries, webhooks
from leaderboard.services.webhooks.webhooks import WebhookOwner, WebhookSecret
from leaderboard.web.api import limits
from leaderboard.web.api.answers import WebhookDetails, WebhookList, WebhookSecretAnswer
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import operation
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import reading, settings, token, viewer, wake, writing

OF_TASK, OF_TEAM = (Scope.ORGANISE,), (Scope.SUBMIT,)
OF_EITHER = (*OF_TASK, *OF_TEAM)
OWN = Rule(SIGNED_IN)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    """Where a webhook leads, and what it is told of."""

    address: Filled
    events: Annotated[tuple[str, ...], limits.told(minItems=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookChange:
    """Whether a webhook is paused from now on."""

    paused: bool


@operation("GET", "/tasks/<slug>/webhooks", WebhookList, rule=OWN, scopes=OF_TASK)
def task_webhooks(slug: str) -> WebhooksPage:
    """The webhooks of a task

    For its organisers.
    """
    return pages.task_webhooks(reading(), viewer(), slug)


@operation("POST", "/tasks/<slug>/webhooks", WebhookSecretAnswer, body=NewWebhook, scopes=OF_TASK, status=201)
def make_task_webhook(slug: str, body: NewWebhook) -> WebhookSecretAnswer:
    """Make a webhook of a task

    For its organisers. The secret, by which requests are checked, is given this once.
    """
    return _made(webhooks.of_task(reading(), viewer(), slug), body)


@operation("GET", "/teams/<id:team_id>/webhooks", WebhookList, rule=OWN, scopes=OF_TEAM)
def team_webhooks(team_id: int) -> WebhooksPage:
    """The webhooks of a team

    For its members; not by a token for one task, as they hear of all.
    """
    return pages.team_webhooks(reading(), viewer(), team_id)


@operation(
    "POST", "/teams/<id:team_id>/webhooks", WebhookSecretAnswer, body=NewWebhook, scopes=OF_TEAM, status=201
)
def make_team_webhook(team_id: int, body: NewWebhook) -> WebhookSecretAnswer:
    """Make a webhook of a team

    For its members. The secret, by which requests are checked, is given this once.
    """
    return _made(webhooks.of_team(viewer(), team_id), body)


@operation("GET", "/webhooks/<id:webhook_id>", WebhookDetails, rule=OWN, scopes=OF_EITHER)
def webhook(webhook_id: int) -> WebhookPage:
    """A webhook with its deliveries

    Each with all attempts, and what was answered.
    """
    return _own(webhook_id)


@operation("PATCH", "/webhooks/<id:webhook_id>", WebhookDetails, body=WebhookChange, scopes=OF_EITHER)
def change_webhook(webhook_id: int, body: WebhookChange) -> WebhookPage:
    """Pause a webhook, or resume it

    What waited goes out when it is resumed; what happens while it is paused is not written down.
    """
    _own(webhook_id)
    act = webhooks.pause if body.paused else webhooks.resume
    with writing() as session:
        act(session, viewer(), webhook_id)
    wake()
    return _own(webhook_id)


@operation("DELETE", "/webhooks/<id:webhook_id>", WebhookDetails, scopes=OF_EITHER)
def delete_webhook(webhook_id: int) -> WebhookPage:
    """Delete a webhook with its deliveries

    The answer is what it was.
    """
    page = _own(webhook_id)
    with writing() as session:
        webhooks.delete(session, viewer(), webhook_id)
    return page


@operation("POST", "/webhooks/<id:webhook_id>/secret", WebhookSecretAnswer, scopes=OF_EITHER, status=201)
def rotate_webhook_secret(webhook_id: int) -> WebhookSecretAnswer:
    """Give a webhook a new secret

    For a day requests are signed with both.
    """
    _own(webhook_id)
    with writing() as session:
        return _secret(webhooks.rotate(session, viewer(), webhook_id))


@operation("POST", "/webhooks/<id:webhook_id>/test", WebhookDetails, scopes=OF_EITHER)
def test_webhook(webhook_id: int) -> WebhookPage:
    """Send a test event

    Of type `webhook.test`; ask for the webhook a moment later to see what was answered.
    """
    _own(webhook_id)
    with writing() as session:
        deliveries.send_test(session, viewer(), webhook_id)
    wake()
    return _own(webhook_id)


@operation("POST", "/webhooks/<id:webhook_id>/deliveries/<message>", WebhookDetails, scopes=OF_EITHER)
def send_delivery_again(webhook_id: int, message: str) -> WebhookPage:
    """Send an event again

    Under the same `webhook-id`, whatever became of it.
    """
    _own(webhook_id)
    with writing() as session:
        deliveries.send_again(session, viewer(), webhook_id, message)
    wake()
    return _own(webhook_id)


OPERATIONS = (
    task_webhooks,
    make_task_webhook,
    team_webhooks,
    make_team_webhook,
    webhook,
    change_webhook,
    delete_webhook,
    rotate_webhook_secret,
    test_webhook,
    send_delivery_again,
)


def _own(webhook_id: int) -> WebhookPage:
    """The webhook, where the token has the scope for whose it is."""
    page = pages.webhook_page(reading(), viewer(), webhook_id)
    asking = token()
    if asking is not None:
        asking.require(Scope.SUBMIT if page.team_id is not None else Scope.ORGANISE)
    return page


def _made(owner: WebhookOwner, wanted: NewWebhook) -> WebhookSecretAnswer:
    if not settings().webhooks:
        raise Conflict("This site sends no webhooks; ask its operator.")
    allowed = calls.networks(settings().webhook_networks)
    with writing() as session:
        return _secret(webhooks.make(session, viewer(), owner, wanted.address, wanted.events, allowed))


def _secret(made: WebhookSecret) -> WebhookSecretAnswer:
    return WebhookSecretAnswer(webhook=made.id, secret=made.secret)
