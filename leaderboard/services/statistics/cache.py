"""Results held in memory while they are used: the least recently used go first."""

import threading
from contextlib import suppress

from cachetools import LRUCache

from leaderboard.stats.arrays import Arrays


class KeptResults:
    """Arrays by digest, up to a size in bytes; for several threads.

    A digest is of everything that its result depends on, so what is kept is never out of date.
    """

    def __init__(self, bytes_at_most: int) -> None:
        self._results: LRUCache[str, Arrays] = LRUCache(bytes_at_most, getsizeof=_bytes)
        # Reading changes the order in which results go, so readers take turns as well.
        self._lock = threading.Lock()

    def get(self, digest: str) -> Arrays | None:
        """The result, or None."""
        with self._lock:
            return self._results.get(digest)

    def put(self, digest: str, result: Arrays) -> Arrays:
        """Keep the result and give it back, read-only from now on; one over the limit is not kept."""
        for array in result.values():
            array.flags.writeable = False
        # The cache raises for a result larger than all of it, which is then used once only.
        with self._lock, suppress(ValueError):
            self._results[digest] = result
        return result


def _bytes(result: Arrays) -> int:
    return sum(array.nbytes for array in result.values())
