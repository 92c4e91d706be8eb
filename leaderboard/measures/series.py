"""Weights and sums of weights that depend on the rank alone, the same bits on every machine."""

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.judged import FloatArray, IntArray

_TERMS = 16
"""Number of terms added one by one; the rest is below 1e-17 of the formula's error there."""


def powers(base: float, exponent: IntArray) -> FloatArray:
    """base to the power of every exponent, which are 0 or more.

    Not np.power: its result differs in the last bit between processors.

    >>> powers(0.5, np.array([0, 2]))
    array([1.  , 0.25])
    """
    return _powers(base, int(exponent.max(initial=0)).bit_length())[exponent]


def harmonic(number: IntArray) -> FloatArray:
    """1 + 1/2 + ... + 1/number of every number, 0 for 0.

    >>> harmonic(np.array([0, 2]))
    array([0. , 1.5])
    """
    return _harmonic(int(number.max(initial=0)).bit_length())[number]


def inverse_squares(start: NDArray[Any]) -> FloatArray:
    """1/start² + 1/(start + 1)² + ..., without end, of every start above 0.

    The first terms one by one, the rest by the Euler-Maclaurin formula, whose error is below the
    last bit there. From 1 on the sum is π²/6:

    >>> inverse_squares(np.array([1.0])).round(6)
    array([1.644934])
    """
    total = np.zeros(len(start))
    for term in range(_TERMS):
        total += 1.0 / np.square(start + term)
    x = start + _TERMS
    square = x * x
    tail = 1.0 / x + 0.5 / square
    series = 1 / 6 - (1 / 30 - (1 / 42 - (1 / 30 - 5 / 66 / square) / square) / square) / square
    rest: FloatArray = total + (tail + series / (square * x))
    return rest


@lru_cache(maxsize=32)
def _powers(base: float, bits: int) -> FloatArray:
    table = np.array([base**exponent for exponent in range(1 << bits)])
    table.flags.writeable = False
    return table


@cache
def _harmonic(bits: int) -> FloatArray:
    table = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, 1 << bits))))
    table.flags.writeable = False
    return table
