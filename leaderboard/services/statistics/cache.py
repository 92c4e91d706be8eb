"""Results held in memory while they are used."""

from leaderboard.memory import Kept, MemoryBudget, budget
from leaderboard.stats.arrays import Arrays


class KeptResults:
    """Arrays by digest, within the budget of the process or in so many bytes; for several threads.

    A digest is of everything that its result depends on, so what is kept is never out of date.
    """

    def __init__(self, bytes_at_most: int | None = None) -> None:
        within = budget if bytes_at_most is None else MemoryBudget(bytes_at_most)
        self._results: Kept[Arrays] = Kept(__name__, within=within)

    def get(self, digest: str) -> Arrays | None:
        """The result, or None."""
        return self._results.get(digest)

    def put(self, digest: str, result: Arrays) -> Arrays:
        """Keep the result and give it back, read-only from now on; one over the limit is not kept."""
        for array in result.values():
            array.flags.writeable = False
        return self._results.put(digest, result)
