"""Adaptive methods: hedge, move-to-front and the bandits.

A policy returns the next candidate given the state of all of them: OPEN, PASSED (shown, or skipped,
and nothing learnt), MISS or HIT. Its result depends only on the states, not on the order in which they arose:
the same judgments give the same next document, for every assessor and after every restart.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leaderboard.pooling.candidates import Candidates, FloatArray, IntArray
from leaderboard.pooling.draws import beta, stream

DECIMALS = 10
"""Decimals to which tied sums of Hedge agree; rounding errors are far smaller."""
States = NDArray[np.int8]
OPEN, PASSED, MISS, HIT = 0, 1, 2, 3

Worth = Callable[[IntArray, IntArray, IntArray], NDArray[np.generic]]
"""From each run's relevant and judged documents and its last result to its value as an arm, (runs,)."""


class Policy(Protocol):
    """Chooses the next candidate."""

    def next(self, states: States) -> int | None:
        """The open candidate to judge next, None if nothing is open; states: (n,)."""


class Listed:
    """Returns documents in a fixed order."""

    def __init__(self, order: IntArray) -> None:
        """order: candidates, first to be judged first."""
        self._order = order

    def next(self, states: States) -> int | None:
        """The first open candidate in the order."""
        waiting = np.flatnonzero(states[self._order] == OPEN)
        return int(self._order[waiting[0]]) if len(waiting) else None


class Hedge:
    """Weights runs by their losses and returns the document with the highest weighted rank.

    A judgment costs a run that ranked a document at r out of Z candidates ln(Z / r) / 2, or gains it the same
    if the document is relevant; if the run did not retrieve it, the mean over the remaining ranks. Source:
    Aslam, Pavlu and Savell 2003.
    """

    def __init__(self, pool: Candidates, beta: float) -> None:
        """beta: factor on a weight for each unit of loss."""
        count = len(pool.documents)
        value = 0.5 * np.log(count / np.arange(1, count + 1)) if count else np.empty(0)
        below = np.concatenate((np.cumsum(value[::-1])[::-1], [0.0]))
        left = count - pool.lengths
        self._pool, self._beta = pool, beta
        self._rest = below[pool.lengths] / np.maximum(left, 1)
        self._excess = value[pool.rank - 1] - self._rest[pool.run]

    def losses(self, states: States) -> FloatArray:
        """The loss of every run, (runs,)."""
        sign = (states == MISS).astype(np.float64) - (states == HIT)
        return self._rest * float(sign.sum()) + self._pool.by_run(self._excess * sign[self._pool.document])

    def weights(self, states: States) -> FloatArray:
        """The weight of every run, 1 for the best one, (runs,)."""
        losses = self.losses(states)
        weights: FloatArray = self._beta ** (losses - losses.min(initial=np.inf))
        return weights

    def next(self, states: States) -> int | None:
        """The open document with the largest weighted sum of ln(Z / rank) / 2; ties by document."""
        waiting = np.flatnonzero(states == OPEN)
        if not len(waiting):
            return None
        weights = self.weights(states)
        worth = self._pool.total(weights[self._pool.run] * self._excess) + weights @ self._rest
        return int(waiting[np.argmax(np.round(worth[waiting], DECIMALS))])


class SharedArms:
    """A bandit that credits each judged document to all runs that contain it."""

    def __init__(self, pool: Candidates, worth: Worth) -> None:
        """worth: called with the relevant and judged counts of runs; the last result is unknown."""
        self._pool, self._worth = pool, worth

    def next(self, states: States) -> int | None:
        """The best ranked open document of the best run; ties by stored order."""
        pooled_states = states[self._pool.document]
        open_runs = np.bincount(self._pool.run[pooled_states == OPEN], minlength=self._pool.runs) > 0
        if not open_runs.any():
            return None
        relevant = np.bincount(self._pool.run[pooled_states == HIT], minlength=self._pool.runs)
        judged = np.bincount(self._pool.run[pooled_states >= MISS], minlength=self._pool.runs)
        run = _best(self._worth(relevant, judged, judged), open_runs)
        ranking = self._pool.rankings[run]
        return int(ranking[np.argmax(states[ranking] == OPEN)])


class PulledArms:
    """A bandit that pulls one run at a time, so that it learns from the run that provided a document.

    The pulls are replayed from the start against the states while the pulled document is no
    longer open, so an earlier state counts when its document's turn comes. Replayed pulls are
    cached and replayed again only if a state has changed since.
    """

    def __init__(self, pool: Candidates, worth: Worth, *, holders: bool = False) -> None:
        """holders: whether to credit all runs that contain the document, not only the pulled one."""
        self._pool, self._worth, self._holders = pool, worth, holders
        self._pulled: tuple[int, int] | None = None
        self._restart()

    def next(self, states: States) -> int | None:
        """The document of the next pull; ties by stored order."""
        if (states[self._path] != np.array(self._played, dtype=np.int8)).any():
            self._restart()
        while True:
            if self._pulled is None:
                self._pulled = self._pull()
                if self._pulled is None:
                    return None
            run, document = self._pulled
            state = int(states[document])
            if state == OPEN:
                return document
            self._learn(run, document, state)
            self._pulled = None

    def _restart(self) -> None:
        runs = self._pool.runs
        self._path: list[int] = []
        self._played: list[int] = []
        self._seen = bytearray(len(self._pool.documents))
        self._at = [0] * runs
        self._relevant, self._judged = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=np.int64)
        self._last = np.full(runs, PASSED)
        self._going = self._pool.lengths > 0
        self._pulled = None

    def _pull(self) -> tuple[int, int] | None:
        while self._going.any():
            run = _best(self._worth(self._relevant, self._judged, self._last), self._going)
            ranking, at = self._rankings[run], self._at[run]
            while at < len(ranking) and self._seen[ranking[at]]:
                at += 1
            self._at[run] = at
            if at < len(ranking):
                return run, ranking[at]
            self._going[run] = False
        return None

    def _learn(self, run: int, document: int, state: int) -> None:
        self._seen[document] = True
        self._path.append(document)
        self._played.append(state)
        if state == PASSED:
            return
        credited: IntArray | int = run
        if self._holders:
            runs, starts = self._holding
            credited = runs[starts[document] : starts[document + 1]]
        self._judged[credited] += 1
        self._relevant[credited] += state == HIT
        self._last[credited] = state

    @cached_property
    def _rankings(self) -> list[list[int]]:
        return [ranking.tolist() for ranking in self._pool.rankings]

    @cached_property
    def _holding(self) -> tuple[IntArray, list[int]]:
        """The runs that contain each document, in order of documents, and the start of each one's runs."""
        document, count = self._pool.document, len(self._pool.documents)
        # Radix sort is much faster, if the numbers are small enough.
        entries = np.argsort(document.astype(np.uint16) if count <= 1 << 16 else document, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(document, minlength=count))))
        return self._pool.run[entries], starts.tolist()


def mean(relevant: IntArray, judged: IntArray, _: IntArray) -> FloatArray:
    """The mean of Beta(1 + relevant, 1 + judged - relevant): MaxMean's worth of a run."""
    return (1.0 + relevant) / (2.0 + judged)


def last_result(relevant: IntArray, judged: IntArray, last: IntArray) -> IntArray:
    """Prefers a run whose last document was relevant, then one with no document, then the fewest misses.

    With forgetting at rate 0 the mean is 2/3, 1/2 or 1/3; breaking ties by misses makes it
    move-to-front, whose priorities these are.
    """
    # A run that was never credited ranks between a miss and a hit, as its mean of 1/2 does.
    rank = np.where(last == HIT, 2, np.where(last == MISS, 0, 1))
    worth: IntArray = rank * (1 << 40) - (judged - relevant)
    return worth


def sampled(seed: int) -> Worth:
    """Thompson's worth of a run: a draw from its Beta, a new one for each number of judgments."""

    source = stream(seed)
    begin = source.state

    def draw(relevant: IntArray, judged: IntArray, _: IntArray) -> NDArray[np.uint64]:
        # Its position in the stream distinguishes the draws for different numbers of judgments.
        source.state = begin
        source.advance(int(judged.sum()) << 32)
        return beta(source, relevant, judged)

    return draw


def _best(worth: NDArray[np.generic], open_runs: NDArray[np.bool_]) -> int:
    if open_runs.all():
        return int(worth.argmax())
    runs = np.flatnonzero(open_runs)
    return int(runs[worth[runs].argmax()])
