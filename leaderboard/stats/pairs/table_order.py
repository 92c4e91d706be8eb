"""A table of all pairs with its runs in another order."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.pairs.condensed import pairs, square
from leaderboard.stats.pairs.methods import PairTable

FloatArray = NDArray[np.float64]


def in_order(table: PairTable, order: Sequence[int]) -> PairTable:
    """The same comparison with the runs in this order, which names each by its place in the table once.

    A pair that comes the other way round changes the sign of its difference and the ends of its interval.
    Raises ValueError where some run is missing or named twice.

    >>> from leaderboard.stats.pairs.methods import all_pairs, method
    >>> scores = np.array([[0.5, 0.4, 0.7], [0.4, 0.4, 0.5], [0.3, 0.5, 0.4]])
    >>> in_order(all_pairs(scores, method("t+holm"), seed=1), [2, 0, 1]).difference.round(4)
    array([-0.1333, -0.0333,  0.1   ])
    """
    if sorted(order) != list(range(table.runs)):
        raise ValueError(f"{table.runs} runs cannot be put into the order {list(order)}")
    places = np.asarray(order, dtype=np.intp)
    first, second = (places[side] for side in pairs(table.runs))
    turned = first > second

    def same(values: FloatArray) -> FloatArray:
        return square(values, table.runs, mirrored=1)[first, second]

    low, high = same(table.low), same(table.high)
    return replace(
        table,
        difference=square(table.difference, table.runs, mirrored=-1)[first, second] + 0.0,
        low=np.where(turned, 0.0 - high, low),
        high=np.where(turned, 0.0 - low, high),
        p=same(table.p),
        single=same(table.single),
        adjusted=same(table.adjusted),
    )
