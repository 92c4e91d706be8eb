"""Slots: where a feature takes parts of features above it, which it does not import.

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
        self._loaders: dict[Callable[[], F], None] = {}

    def add(self, loader: Callable[[], F]) -> None:
        """Add what the loader imports, once the slot is asked. The same loader is added once."""
        self._loaders[loader] = None

    def __iter__(self) -> Iterator[F]:
        return (loader() for loader in self._loaders)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page: the template that shows what is said, and the same for the page's JSON."""

    template: str
    said: Any
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of a task, in a room after another tab; is_shown: for which kinds of run."""

    room: str
    after: str
    name: str
    endpoint: str
    is_shown: Callable[[Any], bool]
    """Asked with the RunKind of the task; a reader who sees no details never sees the tab."""
