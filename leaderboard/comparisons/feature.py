"""Registration of the comparisons feature with the site."""

from typing import TYPE_CHECKING

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint

    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.comparisons.web import comparisons, curves, many

    modules = (comparisons, curves, many)
    return (module.blueprint for module in modules)


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.comparisons import api

    return {"Comparisons": (*api.OPERATIONS,)}


FEATURE = Feature("comparisons", pages=_pages, operations=_operations)
