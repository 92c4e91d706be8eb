"""Registration of answers with the site."""

from typing import TYPE_CHECKING

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint

    from leaderboard.core.kinds import RunKind


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.answers.web import answers
    from leaderboard.answers.web.nuggets import topics as nuggets

    modules = (answers, nuggets)
    return (module.blueprint for module in modules)


def _kind() -> "RunKind":
    from leaderboard.answers.ops import kind

    return kind.KIND


FEATURE = Feature("answers", pages=_pages, kinds={"answers": _kind})
