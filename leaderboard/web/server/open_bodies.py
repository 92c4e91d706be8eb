"""How many request bodies are being received, and how large they may be together."""

import threading
from dataclasses import dataclass

from leaderboard.errors import Busy

SMALL_BODIES = 32 * 2**20
"""Bytes that small bodies may take of memory together."""
LARGE_BODIES = 64
OF_ONE_OWNER = 4
"""Large bodies that one account sends at a time."""
SHARE_OF_ONE_OWNER = 8
"""One account has an eighth of the bytes at most, or one body."""
RETRY_AFTER_S = 30


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

    room: bytes that large bodies may have together.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._open: set[OpenBody] = set()

    def add(self, body: OpenBody) -> None:
        """Count a body as open; raises Busy where there are too many already."""
        with self._lock:
            others = [other for other in self._open if other.is_large == body.is_large]
            if body.is_large:
                self._require_share([other for other in others if other.owner == body.owner], body)
                if len(others) >= LARGE_BODIES or (others and _bytes(others, body) > self._room):
                    raise _busy("More files than usual are being sent")
            elif _bytes(others, body) > SMALL_BODIES:
                raise _busy("More forms than usual are being sent")
            self._open.add(body)

    def remove(self, body: OpenBody) -> None:
        """Count a body as done; one that is not open is passed over."""
        with self._lock:
            self._open.discard(body)

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
