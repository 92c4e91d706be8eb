"""The notify feature: mail and webhooks."""

from typing import TYPE_CHECKING, Any

from leaderboard.accounts import slots as accounts
from leaderboard.core import events
from leaderboard.core.feature import Feature
from leaderboard.core.slots import Tab

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint

    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.notify.web import mail, webhooks

    modules = (mail, webhooks)
    return (module.blueprint for module in modules)


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.notify import api

    return {"Webhooks": (*api.OPERATIONS,)}


def _command(_: str) -> Any:
    from leaderboard.notify.cli import mail

    return mail


def _listener() -> "events.Listener":
    from leaderboard.notify.ops import webhooks

    return webhooks


def _mail() -> "events.Post":
    from leaderboard.notify.ops import mail

    return mail


def _work() -> "events.WorkOf":
    from leaderboard.notify.ops.work import NotifyWork

    return NotifyWork


def _account() -> "accounts.Account":
    from leaderboard.notify.web import mail

    return mail.of_account


def _fill() -> None:
    events.LISTENERS.add(_listener)
    events.MAIL.add(_mail)
    events.WORK.add(_work)
    accounts.ACCOUNT.add(_account)


FEATURE = Feature(
    "notify",
    pages=_pages,
    operations=_operations,
    commands=("mail",),
    command=_command,
    fill=_fill,
    parts={
        "accounts/sign_in": "notify/sign_in.html",
        "accounts/team": "notify/team.html",
        "site/index": "notify/site.html",
        "tasks/organise": "notify/organise.html",
    },
    tabs=(Tab("Organise", "Pseudonyms", "Webhooks", "webhooks.of_task"),),
)
