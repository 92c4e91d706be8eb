"""The bundles feature: export and import of tasks."""

from typing import TYPE_CHECKING, Any

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint

    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.bundles.web import bundles, imports

    modules = (bundles, imports)
    return (module.blueprint for module in modules)


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.bundles import api

    return {"Organising a task": (*api.OPERATIONS,)}


def _command(name: str) -> Any:
    command: Any
    match name:
        case "export":
            from leaderboard.bundles.cli.export import export as command
        case "import":
            from leaderboard.bundles.cli.imports import import_ as command
        case _:
            raise LookupError(name)
    return command


FEATURE = Feature(
    "bundles",
    pages=_pages,
    operations=_operations,
    commands=("export", "import"),
    command=_command,
    parts={
        "tasks/about": "bundles/about.html",
        "tasks/new": "bundles/new.html",
        "tasks/settings": "bundles/settings.html",
    },
)
