"""Reproducible random draws, from the raw integers of PCG64, which NumPy guarantees."""

import numpy as np
from numpy.random import PCG64, SeedSequence
from numpy.typing import NDArray

from leaderboard.pooling.candidates import IntArray

_RUN_BITS = 24
"""A draw keeps the other 40 bits; two draws for a run coincide once in 2**40."""


def stream(seed: int, *block: int) -> PCG64:
    """The random integers of one block of the stream of a seed; independent of other blocks'."""
    return PCG64(SeedSequence(seed, spawn_key=block))


def order(source: PCG64, count: int) -> IntArray:
    """A uniformly random permutation of 0 to count - 1.

    >>> order(stream(1), 5)
    array([2, 4, 0, 3, 1])
    """
    return np.argsort(_raw(source, count), kind="stable")


def beta(source: PCG64, relevant: IntArray, judged: IntArray) -> NDArray[np.uint64]:
    """A draw from Beta(1 + relevant, 1 + judged - relevant) of every run, as integers to compare.

    It is the (1 + relevant)-th smallest of judged + 1 uniform draws, which has that distribution.

    >>> beta(stream(1), np.array([0, 3]), np.array([3, 3])).astype(float) / 2**40
    array([0.14415961, 0.82770259])
    """
    size = judged + 1
    run = np.repeat(np.arange(len(size), dtype=np.uint64), size)
    drawn = np.sort((run << np.uint64(64 - _RUN_BITS)) | (_raw(source, len(run)) >> np.uint64(_RUN_BITS)))
    chosen: NDArray[np.uint64] = drawn[np.cumsum(size) - size + relevant]
    return chosen & np.uint64(2 ** (64 - _RUN_BITS) - 1)


def _raw(source: PCG64, count: int) -> NDArray[np.uint64]:
    raw: NDArray[np.uint64] = np.asarray(source.random_raw(count), dtype=np.uint64)
    return raw
