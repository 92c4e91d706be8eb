"""The signatures feature: the address of the site's keys, and their command."""

from typing import TYPE_CHECKING, Any

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.signatures import web

    return (web.blueprint,)


def _command(name: str) -> Any:
    if name != "keys":
        raise LookupError(name)
    from leaderboard.signatures.cli import keys

    return keys


FEATURE = Feature("signatures", pages=_pages, commands=("keys",), command=_command)
