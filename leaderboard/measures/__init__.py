"""Effectiveness measures: arrays in, one score per topic out; no text, no files, no frameworks."""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """This package, which programs call as `leaderboard.measures()`: one name is both."""

    def __call__(self, *names: str) -> tuple[Any, ...]:
        """The measures with these names, or all there are."""
        from leaderboard.measures.selection import measures

        return measures(*names)


sys.modules[__name__].__class__ = _Callable
