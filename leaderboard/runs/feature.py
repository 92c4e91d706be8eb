"""The runs feature: its pages, operations and commands."""

from typing import TYPE_CHECKING, Any

from leaderboard.boards.slots import RUN_CARD
from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint

    from leaderboard.boards.slots import RunCard
    from leaderboard.core.kinds import RunKind
    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.runs.web import (
        batches,
        checks,
        facts,
        files,
        my,
        outward,
        rankings,
        runs,
        sections,
        uploads,
    )

    modules = (batches, checks, facts, files, my, outward, rankings, runs, sections, uploads)
    return (module.blueprint for module in modules)


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.runs.api import partial_uploads, runs

    return {
        "Tasks and boards": runs.QUOTA,
        "Topics and rankings": runs.RANKINGS,
        "Runs": (*runs.OPERATIONS, *runs.READS, *runs.UPLOADS, *partial_uploads.OPERATIONS),
    }


def _kind() -> "RunKind":
    from leaderboard.runs.ops import kind

    return kind.KIND


def _command(name: str) -> Any:
    command: Any
    match name:
        case "run":
            from leaderboard.runs.cli import run as command
        case _:
            raise LookupError(name)
    return command


def _card() -> "RunCard":
    from leaderboard.runs.page import run

    return run.of_run


FEATURE = Feature(
    "runs",
    fill=lambda: RUN_CARD.add(_card),
    pages=_pages,
    operations=_operations,
    kinds={"rankings": _kind},
    commands=("run",),
    command=_command,
)
