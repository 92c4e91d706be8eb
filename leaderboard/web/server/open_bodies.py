"""How many request bodies are being received, and how large they may be together."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from leaderboard.errors import Busy
from leaderboard.shared import LARGE_BODIES, Shared

SMALL_BODIES = 32 * 2**20
"""Bytes that small bodies may take of memory together."""
OF_ONE_OWNER = 4
"""Large bodies that one account sends at a time."""
SHARE_OF_ONE_OWNER = 8
"""One account has an eighth of the bytes at most, or one body."""
RETRY_AFTER_S = 30
SOMEBODY = "somebody else"
"""Who sends a body to another process, where it is not the account that is looked at."""


@dataclass(frozen=True, eq=False)
class OpenBody:
    """A body that is being received, of at most so many bytes; owner: the account that sends a large one."""

    limit: int
    owner: str = ""

    @property
    def is_large(self) -> bool:
        """Whether it is kept in a file."""
        return bool(self.owner)


class OpenBodies:
    """The bodies that are open; its methods may be called from any thread.

    room: bytes that large bodies may have together, those of other web processes too.
    """

    def __init__(self, room: int, shared: Shared | None = None) -> None:
        self._room = room
        self._shared = shared
        self._lock = threading.Lock()
        self._open: set[OpenBody] = set()
        self._places: dict[OpenBody, int] = {}

    def add(self, body: OpenBody) -> None:
        """Count a body as open; raises Busy where there are too many already."""
        with self._held(body):
            others = [other for other in self._open if other.is_large == body.is_large]
            if body.is_large:
                others += self._elsewhere(body.owner)
                self._require_share([other for other in others if other.owner == body.owner], body)
                if len(others) >= LARGE_BODIES or (others and _bytes(others, body) > self._room):
                    raise _busy("More files than usual are being sent")
            elif _bytes(others, body) > SMALL_BODIES:
                raise _busy("More forms than usual are being sent")
            self._open.add(body)
            self._tell(body)

    def remove(self, body: OpenBody) -> None:
        """Count a body as done; one that is not open is passed over."""
        with self._held(body):
            self._open.discard(body)
            place = self._places.pop(body, None)
            if self._shared is not None and place is not None:
                self._shared.set_body(place, "", 0)

    @contextmanager
    def _held(self, body: OpenBody) -> Iterator[None]:
        # Small bodies are counted by the thread that takes connections, which should wait for no process.
        everywhere = self._shared.held() if self._shared is not None and body.is_large else nullcontext()
        with everywhere, self._lock:
            yield

    def _elsewhere(self, owner: str) -> list[OpenBody]:
        found = self._shared.bodies_elsewhere(owner) if self._shared is not None else []
        return [OpenBody(limit, owner if is_own else SOMEBODY) for is_own, limit in found]

    def _tell(self, body: OpenBody) -> None:
        if self._shared is not None and body.is_large:
            place = min(set(range(LARGE_BODIES)) - set(self._places.values()))
            self._places[body] = place
            self._shared.set_body(place, body.owner, body.limit)

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def _require_share(self, own: list[OpenBody], body: OpenBody) -> None:
        share = self._room // SHARE_OF_ONE_OWNER
        if len(own) >= OF_ONE_OWNER or (own and _bytes(own, body) > share):
            raise _busy("Your account is sending other files")


def _bytes(others: list[OpenBody], body: OpenBody) -> int:
    return body.limit + sum(other.limit for other in others)


def _busy(reason: str) -> Busy:
    return Busy(f"{reason}; try again in half a minute.", retry_after_s=RETRY_AFTER_S)
