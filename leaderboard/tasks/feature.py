"""The tasks feature: its pages, operations and commands."""

from typing import TYPE_CHECKING, Any

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint, Flask

    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.tasks.web import (
        activity,
        entries,
        feeds,
        groups,
        members,
        naming,
        news,
        organise,
        people,
        phases,
        pictures,
        search,
        tasks,
        teams,
    )
    from leaderboard.tasks.web import settings as task_settings

    modules = (
        activity,
        entries,
        feeds,
        groups,
        members,
        naming,
        news,
        organise,
        people,
        phases,
        pictures,
        search,
        task_settings,
        tasks,
        teams,
    )
    return (module.blueprint for module in modules)


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.tasks.api import people, tasks, teams
    from leaderboard.tasks.ops import phases
    from leaderboard.web.api import actions

    return {
        "Tasks and boards": (*tasks.OPERATIONS, *tasks.READS, *tasks.SEARCHES),
        "Teams": (*teams.OPERATIONS,),
        "Organising a task": (*tasks.CHANGES, *actions.operations(phases.ACTIONS)),
        "People of a task": (*people.OPERATIONS, *people.NAMING),
    }


def _set_up(app: "Flask") -> None:
    from leaderboard.tasks.web import heading

    heading.register(app)


def _command(name: str) -> Any:
    command: Any
    match name:
        case "collection":
            from leaderboard.tasks.cli.tasks import collection as command
        case "task":
            from leaderboard.tasks.cli.tasks import task as command
        case "account":
            from leaderboard.tasks.cli.accounts import account as command
        case _:
            raise LookupError(name)
    return command


FEATURE = Feature(
    "tasks",
    pages=_pages,
    operations=_operations,
    set_up=_set_up,
    commands=("collection", "task", "account"),
    command=_command,
)
