"""Registration of qrels with the site."""

from typing import TYPE_CHECKING, Any

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint

    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.qrels.web import reveal, revisions, topics

    modules = (reveal, revisions, topics)
    return (module.blueprint for module in modules)


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.qrels.api import judgments, revisions, topics

    return {
        "Topics and rankings": (*topics.OPERATIONS, *topics.ANSWERS),
        "Judgments and pools": (*judgments.OPERATIONS,),
        "Organising a task": (*topics.CHANGES,),
        "New judgments": (*revisions.OPERATIONS,),
    }


def _command(name: str) -> Any:
    command: Any
    match name:
        case "qrels":
            from leaderboard.qrels.cli.qrels import qrels as command
        case "nuggets":
            from leaderboard.qrels.cli.nuggets import nuggets as command
        case _:
            raise LookupError(name)
    return command


FEATURE = Feature(
    "qrels", pages=_pages, operations=_operations, commands=("qrels", "nuggets"), command=_command
)
