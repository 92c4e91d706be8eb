"""Orders that look at ranks only: depth-k, priorities of runs, take@N and fair take@N.

Each gives the candidates' indices in judging order and a priority for each of them, larger first.
"""

from collections.abc import Sequence

import numpy as np

from leaderboard.pooling.candidates import Candidates, FloatArray, IntArray

Order = tuple[IntArray, FloatArray]


def by_depth(pool: Candidates) -> Order:
    """By the best rank any run gives, ties by document: cut anywhere, it is still fair to every run."""
    order = np.argsort(pool.best, kind="stable")
    return order, 1.0 / pool.best[order]


def take(pool: Candidates) -> Order:
    """Rank by rank over the runs in stored order, each document once."""
    entries = np.argsort(pool.rank, kind="stable")
    order = _firsts(pool.document[entries], len(pool.documents))
    return order, 1.0 / pool.best[order]


def fair_take(pool: Candidates) -> Order:
    """The runs in turn, each with its best document that is not taken yet, until none has any left."""
    rankings = [iter(ranking.tolist()) for ranking in pool.rankings]
    taken = [False] * len(pool.documents)
    order: list[int] = []
    turn: list[int] = []
    rounds = 0
    while rankings:
        rounds += 1
        going = []
        for ranking in rankings:
            document = next((candidate for candidate in ranking if not taken[candidate]), None)
            if document is not None:
                taken[document] = True
                order.append(document)
                turn.append(rounds)
                going.append(ranking)
        rankings = going
    return np.array(order, dtype=np.int64), 1.0 / np.array(turn, dtype=np.float64)


def by_priority(pool: Candidates, priorities: Sequence[int]) -> Order:
    """The documents of the runs with priority 1 by best rank, then what those with 2 add, and so on.

    Runs of priority 0 add nothing. Raises ValueError where there is not one priority a run.
    """
    if len(priorities) != pool.runs:
        raise ValueError(f"there are {len(priorities)} priorities for {pool.runs} runs: give one a run")
    given = np.array(priorities, dtype=np.int64)[pool.run]
    prioritised = np.flatnonzero(given > 0)
    chosen = prioritised[np.lexsort((pool.document[prioritised], pool.rank[prioritised], given[prioritised]))]
    order, place = _first_entries(pool.document[chosen], len(pool.documents))
    return order, 1.0 / given[chosen][place]


def _firsts(documents: IntArray, count: int) -> IntArray:
    return _first_entries(documents, count)[0]


def _first_entries(documents: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """The documents in the order of their first entry, and where that is."""
    first = np.full(count, len(documents))
    np.minimum.at(first, documents, np.arange(len(documents)))
    order = np.argsort(first, kind="stable")[: int((first < len(documents)).sum())]
    return order, first[order]
