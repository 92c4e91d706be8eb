"""The accounts feature: pages, API operations and commands."""

from typing import TYPE_CHECKING

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint

    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.accounts.web import accounts, device_logins, invitations, openid, second_factor, tokens

    modules = (accounts, device_logins, invitations, openid, second_factor, tokens)
    return (module.blueprint for module in modules)


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.accounts import api

    return {"Account and tokens": (*api.OPERATIONS,)}


FEATURE = Feature("accounts", pages=_pages, operations=_operations)
