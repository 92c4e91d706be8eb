"""Registration of scoring with the site."""

from typing import TYPE_CHECKING

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.scoring.web import measures

    modules = (measures,)
    return (module.blueprint for module in modules)


FEATURE = Feature("scoring", pages=_pages)
