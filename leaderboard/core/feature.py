"""Declaration of a feature's additions to the site; `leaderboard/features.py` lists all features."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flask import Blueprint, Flask

    from leaderboard.core.kinds import RunKind
    from leaderboard.core.slots import Tab
    from leaderboard.web.api.operations import Operation


def _nothing() -> tuple[()]:
    return ()


def _no_operations() -> "dict[str, tuple[Operation, ...]]":
    return {}


def _adds_nothing() -> None:
    """No slot to fill."""


def _no_set_up(_: "Flask") -> None:
    """Nothing to prepare."""


def _no_command(name: str) -> Any:
    raise LookupError(name)


KINDS: "dict[str, Callable[[], RunKind]]" = {}
"""Loaders of run kinds; filled by `leaderboard/features.py`, used by `leaderboard/core/kinds.py`."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Each part is a function that imports what it names: a process loads only the trades it needs."""

    name: str
    pages: "Callable[[], Iterable[Blueprint]]" = _nothing
    operations: "Callable[[], Mapping[str, tuple[Operation, ...]]]" = _no_operations
    """Operations of the API by the heading of its reference."""
    set_up: "Callable[[Flask], None]" = _no_set_up
    """Hook for additions to the application other than pages, such as template globals."""
    kinds: "Mapping[str, Callable[[], RunKind]]" = field(default_factory=dict)
    """Kinds of run."""
    fill: Callable[[], None] = _adds_nothing
    """Adds to slots of features below."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Templates that it adds to templates of features below, by the place, which these give to `parts_at`."""
    tabs: "tuple[Tab, ...]" = ()
    commands: tuple[str, ...] = ()
    command: Callable[[str], Any] = _no_command
    """The subcommand of one of these names, a click.Command."""
