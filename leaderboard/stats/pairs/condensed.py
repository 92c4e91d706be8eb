"""All pairs of runs, i < j, in the order (0, 1), (0, 2), .., (1, 2), ..: condensed arrays of them."""

from collections.abc import Iterator
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
Kind = TypeVar("Kind", bound=np.generic)

BLOCK = 2**18
"""Differences in memory at once: 2 MB, which fits a core's own cache."""


def pairs(n: int) -> tuple[IntArray, IntArray]:
    """The first and the second run of every pair of n runs, each (n(n-1)/2,).

    >>> pairs(3)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    first, second = np.triu_indices(n, 1)
    return first, second


def square(
    condensed: NDArray[Kind], n: int, *, mirrored: Literal[-1, 1], diagonal: float = 0.0
) -> NDArray[Kind]:
    """One value per pair, (n(n-1)/2,), as a matrix (n, n) of the same type.

    Below the diagonal is the value of the pair seen from its other run: with mirrored=1 the same,
    as of a p; with mirrored=-1 its negative, as of a difference. Raises ValueError where the number of
    values is not that of the pairs of n runs.

    >>> square(np.array([0.1, 0.3, 0.2]), 3, mirrored=-1)
    array([[ 0. ,  0.1,  0.3],
           [-0.1,  0. ,  0.2],
           [-0.3, -0.2,  0. ]])
    """
    first, second = pairs(n)
    if condensed.shape != first.shape:
        raise ValueError(f"{n} runs have {len(first)} pairs, not an array of shape {condensed.shape}")
    matrix = np.full((n, n), diagonal, dtype=condensed.dtype)
    matrix[first, second] = condensed
    matrix[second, first] = condensed if mirrored == 1 else np.negative(condensed)
    return matrix


def differences(scores: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """The differences by topic of all pairs of runs, first less second, a block of pairs at a time.

    Each block comes with the slice of the pairs it holds; it is (pairs in it, topics) and the caller's to
    change until the next one, which replaces it in memory: allocating and clearing memory for each block
    takes as long as its computation. Formed directly, not from covariances, which loses digits for runs
    nearly the same.

    >>> for block, difference in differences(np.array([[3.0, 1.0], [2.0, 2.0]])):
    ...     print(block, difference)
    slice(0, 1, None) [[ 1. -1.]]
    """
    first, second = pairs(len(scores))
    step = max(1, BLOCK // max(1, scores.shape[1]))
    room = np.empty((2, min(step, len(first)), scores.shape[1]), dtype=scores.dtype)
    for start in range(0, len(first), step):
        block = slice(start, min(start + step, len(first)))
        difference, subtrahend = room[:, : block.stop - start]
        # Clipping changes no index here; to check them, numpy would write to room of its own first.
        np.take(scores, first[block], axis=0, out=difference, mode="clip")
        np.take(scores, second[block], axis=0, out=subtrahend, mode="clip")
        difference -= subtrahend
        yield block, difference
