"""The reproductions feature: its pages, operations and commands."""

from typing import TYPE_CHECKING

from leaderboard.core.feature import Feature
from leaderboard.core.slots import Tab
from leaderboard.runs import slots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint, Flask

    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.reproductions.web import reproductions

    return (reproductions.links, reproductions.blueprint)


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.reproductions import api

    return {"Comparisons": api.OPERATIONS}


def _admitted() -> "slots.Admitted":
    from leaderboard.reproductions import ops

    return ops.require_sendable


def _made() -> "slots.Made":
    from leaderboard.reproductions import ops

    return ops.link_sent


def _mentions() -> "slots.Mentions":
    from leaderboard.reproductions.page import mentions

    return mentions.parts


def _command() -> "slots.Command":
    from leaderboard.reproductions.cli import reproduces

    return lambda: reproduces


def _set_up(app: "Flask") -> None:
    from leaderboard import fields
    from leaderboard.reproductions.ops import OriginalRuns

    app.jinja_env.globals["original_runs"] = fields.of(OriginalRuns)


def _fill() -> None:
    slots.ADMITTED.add(_admitted)
    slots.MADE.add(_made)
    slots.MENTIONS.add(_mentions)
    slots.COMMANDS.add(_command)


FEATURE = Feature(
    "reproductions",
    pages=_pages,
    operations=_operations,
    set_up=_set_up,
    fill=_fill,
    parts={"runs/upload": "reproductions/upload.html", "runs/actions": "reproductions/action.html"},
    tabs=(Tab("Compare", "Curves", "Reproductions", "reproductions.index", ("rankings",)),),
)
