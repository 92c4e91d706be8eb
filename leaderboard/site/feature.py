"""The site feature: pages and commands of operators."""

from typing import TYPE_CHECKING, Any

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.site.web import accounts as site_accounts
    from leaderboard.site.web import audit as site_audit
    from leaderboard.site.web import health, help, metrics, site

    modules = (site_accounts, site_audit, health, help, metrics, site)
    return (module.blueprint for module in modules)


def _command(name: str) -> Any:
    command: Any
    match name:
        case "db":
            from leaderboard.site.cli.db import db as command
        case "objects":
            from leaderboard.site.cli.objects import objects as command
        case "backup":
            from leaderboard.site.cli.backups import backup as command
        case "restore":
            from leaderboard.site.cli.backups import restore as command
        case "audit":
            from leaderboard.site.cli.audit import audit as command
        case _:
            raise LookupError(name)
    return command


FEATURE = Feature(
    "site", pages=_pages, commands=("db", "objects", "backup", "restore", "audit"), command=_command
)
