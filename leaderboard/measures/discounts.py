"""Logarithmic discounts as tables made with math.log2, the same bits on every machine."""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray


def log2_discounts(rank: NDArray[np.int64]) -> NDArray[np.float64]:
    """log2(rank + 1) of every rank, in the shape of rank.

    Not np.log2: its result differs in the last bit between processors.

    >>> log2_discounts(np.array([1, 3]))
    array([1., 2.])
    """
    highest = int(rank.max(initial=0))
    return _table(highest.bit_length())[rank]


@cache
def _table(bits: int) -> NDArray[np.float64]:
    table = np.array([math.log2(rank + 1) for rank in range(1 << bits)])
    table.flags.writeable = False
    return table
