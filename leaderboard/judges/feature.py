"""Everything that judges add to the site."""

from typing import TYPE_CHECKING, Any

from leaderboard.core.feature import Feature
from leaderboard.core.slots import Tab
from leaderboard.runs import slots as runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint

    from leaderboard.core.kinds import RunKind
    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.judges.web import judges
    from leaderboard.judges.web import labels as judge_labels

    modules = (judges, judge_labels)
    return (module.blueprint for module in modules)


def _kind() -> "RunKind":
    from leaderboard.judges.ops import kind

    return kind.KIND


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.judges import api

    return {"New judgments": api.OPERATIONS}


def _command(_: str) -> Any:
    from leaderboard.judges.cli import reference

    return reference


def _demo() -> "runs.DemoPart":
    from leaderboard.judges.ops import demo

    return demo


def _fill() -> None:
    runs.DEMO.add(_demo)


FEATURE = Feature(
    "judges",
    pages=_pages,
    operations=_operations,
    kinds={"judges": _kind},
    commands=("reference",),
    command=_command,
    fill=_fill,
    parts={"qrels/revisions of judges": "judges/form.html", "tasks/new kind": "judges/new_kind.html"},
    tabs=(Tab("Board", "Board", "Judges", "judges.board", ("judges",)),),
)
