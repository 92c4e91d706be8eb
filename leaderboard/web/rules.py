"""Access rules of routes, and rate limits of visitors for computed pages; every view declares one.

One without a declaration stops the start. Budgets of visitors are counts in memory that refill by the second.

This is the outer door only; what a viewer may see or do inside is decided by services.policy.
"""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum, auto
from math import ceil
from typing import Any, Protocol, TypeVar

from cachetools import LRUCache
from flask import Flask, current_app, request

from leaderboard.core.picture_kinds import LARGEST_BYTES
from leaderboard.core.policy import require_operator, require_second_factor
from leaderboard.core.throttles import network
from leaderboard.errors import Forbidden, OverQuota, SignInNeeded
from leaderboard.settings import Settings, is_loopback
from leaderboard.shared import Shared, SharedBudgets
from leaderboard.web.session import client_ip, settings, viewer

VISITORS_BODY = 2**16
"""Bytes a request may have at an address that is open to everybody."""
SMALL_BODY = 2**20
"""Bytes a request without files may have."""

BUDGET = "budget"
ADDRESSES = 20_000
"""Number of remembered network addresses; the least recent one is dropped first."""

View = TypeVar("View", bound=Callable[..., Any])


class Access(Enum):
    """Who may open a route."""

    PUBLIC = auto()
    SIGNED_IN = auto()
    ORGANISER = auto()
    OPERATOR = auto()


class Body(Enum):
    """Maximum size of a request's body."""

    SMALL = auto()
    UPLOAD = auto()
    FILES = auto()
    FOLDER = auto()
    """Files as large as FILES, and many of them."""
    CHECK = auto()
    PIECE = auto()
    """Of a file that is sent in pieces: what came of one that was cut off counts."""
    PICTURE = auto()

    def limit(self, settings: Settings, *, is_visitor: bool = False) -> int:
        """The limit in bytes; visitors and accounts may differ."""
        if self is Body.UPLOAD:
            return settings.upload_bytes + SMALL_BODY
        if self is Body.PIECE:
            return settings.upload_bytes
        if self is Body.CHECK:
            most = settings.inline_bytes if is_visitor else max(settings.inline_bytes, settings.check_bytes)
            return most + VISITORS_BODY
        if self is Body.PICTURE:
            return LARGEST_BYTES + SMALL_BODY
        if self in (Body.FILES, Body.FOLDER):
            return settings.plain_bytes + SMALL_BODY
        return SMALL_BODY


PUBLIC, SIGNED_IN, ORGANISER, OPERATOR = Access.PUBLIC, Access.SIGNED_IN, Access.ORGANISER, Access.OPERATOR


@dataclass(frozen=True, slots=True)
class Rule:
    """Declaration of one view; is_computed: whether its answer takes so much work that visitors get few."""

    access: Access
    body: Body = Body.SMALL
    is_computed: bool = False

    @property
    def takes_files(self) -> bool:
        """Whether files may be sent there."""
        return self.body is not Body.SMALL

    def limit(self, settings: Settings, *, is_visitor: bool = False) -> int:
        """The largest body in bytes."""
        if self.access is PUBLIC and self.body is not Body.CHECK:
            return VISITORS_BODY
        return self.body.limit(settings, is_visitor=is_visitor)


def rule(access: Access, body: Body = Body.SMALL, *, is_computed: bool = False) -> Callable[[View], View]:
    """A decorator, put under the route decorator, that declares a view's rule."""

    def declare(view: View) -> View:
        view.rule = Rule(access, body, is_computed)  # type: ignore[attr-defined]
        return view

    return declare


def rule_of(app: Flask, endpoint: str) -> Rule | None:
    """The rule of an endpoint's view, None where it declares none."""
    rule = getattr(app.view_functions[endpoint], "rule", None)
    return rule if isinstance(rule, Rule) else None


def require_rules(app: Flask) -> None:
    """Raise RuntimeError naming every route whose view declares no rule."""
    bare = sorted(
        {
            f"{route.rule} ({route.endpoint})"
            for route in app.url_map.iter_rules()
            if not rule_of(app, route.endpoint)
        }
    )
    if bare:
        raise RuntimeError(f"These routes declare no rule; put @rule(...) on their views: {', '.join(bare)}")


def enforce() -> None:
    """Raise SignInNeeded or Forbidden where the route's rule keeps the viewer out."""
    if request.endpoint is None:
        return
    declared = rule_of(current_app, request.endpoint)
    if declared is None:
        raise Forbidden("This address is not available.")
    if declared.access is PUBLIC:
        return
    if viewer().account_id is None:
        raise SignInNeeded("Sign in first.")
    if declared.access is OPERATOR:
        require_operator(viewer())
    if declared.access is ORGANISER and not viewer().is_organiser:
        require_second_factor(viewer())
        raise Forbidden("Only organiser accounts can do this. Ask the operator of this site.")


COMPUTED = Rule(PUBLIC, is_computed=True)


class Left(Protocol):
    """Remaining budgets of addresses, with their times."""

    def get(self, address: str, otherwise: tuple[float, float], /) -> tuple[float, float]:
        """Of one address."""

    def __setitem__(self, address: str, value: tuple[float, float], /) -> None:
        """Remember it."""


@dataclass
class Budget:
    """Budget of each address: a number of pages a minute, and as many again each minute."""

    clock: Callable[[], float] = time.monotonic
    shared: Shared | None = None
    """Counts that several web processes share."""

    def __post_init__(self) -> None:
        """Begin with every address's full budget."""
        self._left: Left = LRUCache(ADDRESSES) if self.shared is None else SharedBudgets(self.shared)
        self._lock = threading.Lock()

    def _held(self) -> AbstractContextManager[Any]:
        return self._lock if self.shared is None else self.shared.held()

    def spend(self, address: str, a_minute: int) -> float:
        """Take one page of the address's budget; seconds until there is one, 0 where there was."""
        with self._held():
            at = self.clock()
            left, seen = self._left.get(address, (float(a_minute), at))
            left = min(a_minute, left + (at - seen) * a_minute / 60)
            wait = 0.0 if left >= 1 else (1 - left) * 60 / a_minute
            self._left[address] = (left if wait else left - 1, at)
            return wait


def enforce_budget() -> None:
    """Spend the visitor's budget where the rule of the address says that its page is computed."""
    declared = rule_of(current_app, request.endpoint) if request.endpoint else None
    if declared is not None and declared.is_computed:
        spend()


def spend() -> None:
    """Raise OverQuota, with retry_after_s, where a visitor's address asked for too many computed pages.

    People on this machine have no limit, nor have accounts. Views call it of which only some pages are
    computed.
    """
    limit, ip = settings().computed_pages, client_ip()
    if not limit or not ip or is_loopback(ip):
        return
    if viewer().account_id is not None:
        return
    budget: Budget = current_app.extensions[BUDGET]
    if wait := ceil(budget.spend(network(ip), limit)):
        raise OverQuota(
            f"Your network address has reached the limit of {limit} computed pages per minute. Sign in, or "
            f"try again in {wait} s.",
            retry_after_s=wait,
        )
