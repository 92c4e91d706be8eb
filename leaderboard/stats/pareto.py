"""Pareto front: runs that no other beats in both cost and effectiveness."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def front(cost: FloatArray, better: FloatArray) -> NDArray[np.bool_]:
    """Whether each point is on the Pareto front, bool (n,).

    cost: (n,) lower is better; better: (n,) higher is better. A point is on the front where no other is
    as good in both and better in one; equal points are on it together. One whose cost or value is not
    finite never is. Source: Kung, Luccio and Preparata, On Finding the Maxima of a Set of Vectors,
    Journal of the ACM 22(4), 1975.

    The second costs more than the first and is no better, the third is better than both:

    >>> front(np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, 0.6]))
    array([ True, False,  True])
    """
    finite = np.flatnonzero(np.isfinite(cost) & np.isfinite(better))
    order = finite[np.lexsort((-better[finite], cost[finite]))]
    on_front = np.zeros(len(cost), np.bool_)
    if not len(order):
        return on_front
    highest = np.maximum.accumulate(better[order])
    cheaper = np.searchsorted(cost[order], cost[order], side="left")
    beaten = (cheaper > 0) & (highest[np.maximum(cheaper - 1, 0)] >= better[order])
    # Among equal costs the best comes first.
    on_front[order] = ~beaten & (better[order] == better[order][cheaper])
    return on_front
