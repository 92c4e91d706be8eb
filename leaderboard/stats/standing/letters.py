"""Letters beside runs: two runs share a letter exactly when they cannot be told apart.

The compact letter display of Piepho, An Algorithm for a Letter-Based Representation of All-Pairwise
Comparisons, Journal of Computational and Graphical Statistics 13(2), 2004: insert, absorb, sweep.
"""

from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

MOST_RUNS = 15


def letters(undecided: NDArray[np.bool_]) -> tuple[str, ...]:
    """The letters of n runs of which undecided (n, n) says whether two cannot be told apart.

    The first run has an a; give the runs in the board's order. After z come a', b' and so on. No letter can
    be left out, though another choice may do with fewer. The diagonal is not read.

    Raises ValueError where the relation is not symmetric or there are more than 15 runs, whose letters
    no one reads.

    The second run can be told apart from neither of its neighbours, the first from the third:

    >>> letters(np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool))
    ('a', 'ab', 'b')
    """
    runs = len(undecided)
    if undecided.shape != (runs, runs) or (undecided != undecided.T).any():
        raise ValueError("whether two runs can be told apart is a square, symmetric relation")
    if runs > MOST_RUNS:
        raise ValueError(f"letters are for at most {MOST_RUNS} runs")
    columns = _swept(_columns(undecided), runs)
    ordered = sorted(columns, key=sorted)
    return tuple(
        "".join(_letter(place) for place, column in enumerate(ordered) if run in column)
        for run in range(runs)
    )


def _columns(undecided: NDArray[np.bool_]) -> list[frozenset[int]]:
    """Every largest set of runs of which no two can be told apart."""
    columns = {frozenset(range(len(undecided)))}
    for pair in np.argwhere(np.triu(~undecided, 1)).tolist():
        split = {column for column in columns if column.issuperset(pair)}
        columns -= split
        halves = {column - {run} for column in split for run in pair}
        columns |= {half for half in halves if not any(half < other for other in columns | halves)}
    return sorted(columns, key=sorted)


def _swept(columns: list[frozenset[int]], runs: int) -> list[frozenset[int]]:
    """The columns less those, and then the places in them, whose pairs of runs all share another column."""
    shared = np.zeros((runs, runs), dtype=int)
    for column in columns:
        shared[np.ix_(list(column), list(column))] += 1
    left = []
    for column in sorted(columns, key=len):
        members = list(column)
        among = np.ix_(members, members)
        if (shared[among] > 1).all():
            shared[among] -= 1
        else:
            left.append(column)
    return [_thinned(column, shared) for column in left]


def _thinned(column: frozenset[int], shared: NDArray[np.int_]) -> frozenset[int]:
    members = sorted(column)
    for run in sorted(column, reverse=True):
        if (shared[run, members] > 1).all():
            shared[run, members] -= 1
            shared[members, run] = shared[run, members]
            members.remove(run)
    return frozenset(members)


def _letter(place: int) -> str:
    return ascii_lowercase[place % 26] + "'" * (place // 26)
