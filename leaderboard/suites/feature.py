"""The suites feature: its pages, operations and commands."""

from typing import TYPE_CHECKING, Any

from leaderboard.core.feature import Feature
from leaderboard.runs import slots as runs_slots
from leaderboard.tasks import slots as tasks_slots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint

    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.suites.web import sending as suite_sending
    from leaderboard.suites.web import suites

    modules = (suite_sending, suites)
    return (module.blueprint for module in modules)


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.suites import api

    return {"Suites": (*api.OPERATIONS,)}


def _command(name: str) -> Any:
    command: Any
    match name:
        case "suites":
            from leaderboard.suites.cli import suites as command
        case _:
            raise LookupError(name)
    return command


def _front() -> "tasks_slots.Front":
    from leaderboard.suites import page

    return page.of_front


def _about() -> "tasks_slots.About":
    from leaderboard.suites import page

    return page.of_task


def _suites() -> "tasks_slots.Suites":
    from leaderboard.suites.ops import seen

    return seen.suites_on_site


def _wholes() -> "runs_slots.Wholes":
    from leaderboard.suites import page

    return page.of_run


def _demo() -> "runs_slots.DemoPart":
    from leaderboard.suites.ops import demo

    return demo


def _fill() -> None:
    tasks_slots.FRONT.add(_front)
    tasks_slots.ABOUT.add(_about)
    tasks_slots.SUITES.add(_suites)
    runs_slots.WHOLES.add(_wholes)
    runs_slots.DEMO.add(_demo)


FEATURE = Feature(
    "suites",
    pages=_pages,
    operations=_operations,
    commands=("suites",),
    command=_command,
    fill=_fill,
    parts={"tasks/search": "suites/found.html"},
)
