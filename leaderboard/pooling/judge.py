"""One topic's documents in sequence, for assessors who judge while the pool is built."""

from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np

from leaderboard.pooling.adaptive import HIT, MISS, OPEN, PASSED, Policy, States
from leaderboard.pooling.candidates import Candidates, IntArray


class Judge:
    """Returns one topic's documents in sequence; the result depends only on the judgments.

    It remembers its position, so the next call is quick; a new one after a restart returns the same. It is
    thread-safe.
    """

    def __init__(self, pool: Candidates, policies: Sequence[Policy], budget: int | None) -> None:
        """policies: each is used once those before it have nothing left."""
        self._pool, self._policies, self._budget = pool, policies, budget
        self._asking = Lock()

    def next(self, judged: Mapping[int, int], level: int = 1) -> int | None:
        """The document to judge next, None when the pool or the budget is exhausted.

        judged: the grade of each graded document, or -1 for documents not to return now, because
        they were skipped or are with another assessor: these teach nothing and cost nothing. Documents
        outside the candidates are ignored. A grade of at least level is relevant. The same seed and the
        same judgments give the same document, in any order of the judgments.
        """
        states = self._states(judged, level)
        if self._budget is not None and np.count_nonzero(states >= MISS) >= self._budget:
            return None
        place = self._next(states)
        return None if place is None else int(self._pool.documents[place])

    def order(self, grades: Mapping[int, int], level: int = 1) -> IntArray:
        """The order in which all graded documents would be returned, regardless of the budget.

        Documents without a grade, or with a negative one, are skipped.
        """
        answers = self._states(grades, level)
        states = np.where(answers >= MISS, OPEN, PASSED).astype(np.int8)
        order = []
        while (place := self._next(states)) is not None:
            order.append(place)
            states[place] = answers[place]
        return self._pool.documents[np.array(order, dtype=np.int64)]

    def _next(self, states: States) -> int | None:
        with self._asking:
            every = (policy.next(states) for policy in self._policies)
            return next((place for place in every if place is not None), None)

    def _states(self, judged: Mapping[int, int], level: int) -> States:
        states = np.full(len(self._pool.documents), OPEN, dtype=np.int8)
        place = self._pool.places(np.fromiter(judged.keys(), dtype=np.int64, count=len(judged)))
        grade = np.fromiter(judged.values(), dtype=np.int64, count=len(judged))[place >= 0]
        states[place[place >= 0]] = np.where(grade < 0, PASSED, np.where(grade < level, MISS, HIT))
        return states
