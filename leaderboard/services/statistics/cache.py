"""Results held in memory while they are used: the least recently used go first."""

import threading
from collections import OrderedDict

from leaderboard.stats.arrays import Arrays


class KeptResults:
    """Arrays by digest, up to a size in bytes; for several threads."""

    def __init__(self, bytes_at_most: int) -> None:
        self._most = bytes_at_most
        self._size = 0
        self._results: OrderedDict[str, Arrays] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> Arrays | None:
        """The result, or None."""
        with self._lock:
            found = self._results.get(digest)
            if found is not None:
                self._results.move_to_end(digest)
            return found

    def put(self, digest: str, result: Arrays) -> Arrays:
        """Keep the result and give it back, read-only from now on; one over the limit is not kept."""
        for array in result.values():
            array.flags.writeable = False
        size = _bytes(result)
        with self._lock:
            if digest not in self._results and size <= self._most:
                self._results[digest] = result
                self._size += size
            while self._size > self._most:
                _, oldest = self._results.popitem(last=False)
                self._size -= _bytes(oldest)
        return result


def _bytes(result: Arrays) -> int:
    return sum(array.nbytes for array in result.values())
