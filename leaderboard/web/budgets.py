"""How many computed pages a visitor's address may ask for: a count in memory that refills by the second."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

from cachetools import LRUCache
from flask import current_app, request

from leaderboard.errors import OverQuota
from leaderboard.services.throttles import network
from leaderboard.settings import is_loopback
from leaderboard.shared import Shared, SharedBudgets
from leaderboard.web.rules import rule_of
from leaderboard.web.session import client_ip, settings, viewer

EXTENSION = "budget"
ADDRESSES = 20_000
"""How many addresses are remembered; the one that asked longest ago is forgotten first."""


class Left(Protocol):
    """What addresses have left, and when that was."""

    def get(self, address: str, otherwise: tuple[float, float], /) -> tuple[float, float]:
        """Of one address."""

    def __setitem__(self, address: str, value: tuple[float, float], /) -> None:
        """Remember it."""


@dataclass
class Budget:
    """What every address has left: as many pages as it may have a minute, and as many again each minute."""

    clock: Callable[[], float] = time.monotonic
    shared: Shared | None = None
    """Where the counts are that several web processes share."""

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


def enforce() -> None:
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
    budget: Budget = current_app.extensions[EXTENSION]
    if wait := ceil(budget.spend(network(ip), limit)):
        raise OverQuota(
            f"This address may ask for {limit} computed pages a minute; sign in, or try again in {wait} s.",
            retry_after_s=wait,
        )
