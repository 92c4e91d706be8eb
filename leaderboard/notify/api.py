"""Operations on webhooks of tasks and teams."""

from dataclasses import dataclass

from leaderboard.core.policy import Scope
from leaderboard.notify.ops import deliveries
from leaderboard.notify.ops.webhooks import WebhookSecret
from leaderboard.notify.page import webhooks as pages
from leaderboard.notify.page.webhooks import WebhookPage, WebhookRow, WebhooksPage
from leaderboard.web.api import actions
from leaderboard.web.api.operations import operation
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import reading, token, viewer
from leaderboard.zones import Moment

OF_TASK, OF_TEAM = (Scope.ORGANISE,), (Scope.SUBMIT,)
OF_EITHER = (*OF_TASK, *OF_TEAM)
OWN = Rule(SIGNED_IN)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookList:
    """The webhooks of a task or a team."""

    webhooks: tuple[WebhookRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEntry:
    """One try to send an event; status is null where nothing was answered, said the answer's beginning."""

    at: Moment
    status: int | None
    milliseconds: int
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryEntry:
    """One event for a webhook: waiting, sent or failed; message is its `webhook-id`."""

    message: str
    event: str
    state: str
    created_at: Moment
    attempts: tuple[AttemptEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDetails:
    """A webhook with its newest deliveries."""

    webhook: WebhookRow
    deliveries: tuple[DeliveryEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecretAnswer:
    """A webhook's new secret, given this once."""

    webhook: int
    secret: str


@operation("GET", "/tasks/<slug>/webhooks", WebhookList, rule=OWN, scopes=OF_TASK)
def task_webhooks(slug: str) -> WebhooksPage:
    """List the webhooks of a task

    For its organisers.
    """
    return pages.task_webhooks(reading(), viewer(), slug)


@operation("GET", "/teams/<id:team_id>/webhooks", WebhookList, rule=OWN, scopes=OF_TEAM)
def team_webhooks(team_id: int) -> WebhooksPage:
    """List the webhooks of a team

    For its members. A token for one task is not enough, because team webhooks cover all tasks.
    """
    return pages.team_webhooks(reading(), viewer(), team_id)


@operation("GET", "/webhooks/<id:webhook_id>", WebhookDetails, rule=OWN, scopes=OF_EITHER)
def webhook(webhook_id: int) -> WebhookPage:
    """Get a webhook with its deliveries

    With all attempts and responses.
    """
    return _own(webhook_id)


def _own(webhook_id: int, **_: object) -> WebhookPage:
    """The webhook, if the token has the scope for its owner."""
    page = pages.webhook_page(reading(), viewer(), webhook_id)
    asking = token()
    if asking is not None:
        asking.require(Scope.SUBMIT if page.team_id is not None else Scope.ORGANISE)
    return page


def _secret(secret: WebhookSecret, **_: object) -> WebhookSecretAnswer:
    return WebhookSecretAnswer(webhook=secret.id, secret=secret.secret)


def _as_it_is(_: object, webhook_id: int, **__: object) -> WebhookPage:
    return _own(webhook_id)


SECRETS = ("make_task_webhook", "make_team_webhook", "rotate_webhook_secret")
CHANGES = ("change_webhook", "test_webhook", "send_delivery_again")
OPERATIONS = (
    *(task_webhooks, team_webhooks, webhook),
    *actions.operations(
        (*deliveries.MAKE, *deliveries.CHANGE),
        answers={
            **dict.fromkeys(SECRETS, (WebhookSecretAnswer, _secret)),
            **dict.fromkeys(CHANGES, (WebhookDetails, _as_it_is)),
            "delete_webhook": (WebhookDetails, None),
        },
        before=dict.fromkeys((action.name for action in deliveries.CHANGE), _own),
    ),
)
