"""Slots: where a feature uses parts of features above it, which it does not import.

The lower feature declares a slot and asks it; the higher one adds to it in its `feature.py`. Without the
higher feature the slot is empty.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

F = TypeVar("F")


class Slot(Generic[F]):
    """An extension point: functions or modules added by features above, in order."""

    def __init__(self) -> None:
        self._loaders: dict[Callable[[], F], list[F]] = {}
        """With what each loaded, once it has."""

    def add(self, loader: Callable[[], F]) -> None:
        """Add what the loader imports, once the slot is asked. The same loader is added once."""
        self._loaders.setdefault(loader, [])

    def __iter__(self) -> Iterator[F]:
        for loader, loaded in self._loaders.items():
            if not loaded:
                loaded.append(loader())
            yield loaded[0]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page: a template, the content it shows, and the same as facts for the page's JSON."""

    template: str
    content: Any
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of a task, in a room after another tab; a reader who sees no details never sees it."""

    room: str
    after: str
    name: str
    endpoint: str
    kinds: tuple[str, ...] = ()
    """The kinds of run that it is for; empty: all."""


TABS: list[Tab] = []
"""Tabs that features add; `leaderboard/features.py` fills it."""
