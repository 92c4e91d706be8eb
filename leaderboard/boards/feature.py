"""Registration of the boards feature with the site."""

from typing import TYPE_CHECKING, Any

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint, Flask


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.boards.web import boards, efficiency, intervals, snapshots
    from leaderboard.boards.web.cards import badges, frames
    from leaderboard.boards.web.scores import heat_maps, measure_orders

    modules = (boards, efficiency, intervals, snapshots, badges, frames, heat_maps, measure_orders)
    return (module.blueprint for module in modules)


def _set_up(app: "Flask") -> None:
    from leaderboard.web import addresses

    addresses.register_carried(app)


def _command(name: str) -> Any:
    command: Any
    match name:
        case "snapshot":
            from leaderboard.boards.cli import snapshot as command
        case _:
            raise LookupError(name)
    return command


FEATURE = Feature("boards", pages=_pages, set_up=_set_up, commands=("snapshot",), command=_command)
