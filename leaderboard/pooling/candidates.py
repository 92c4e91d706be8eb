"""The candidate documents of one topic's pool, and their ranks in each run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

BITS = 40
"""Leading bits to which tied priorities agree: sums of the same terms in another order
differ in the last few of 53."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The documents in the top ranks of any run, and each run's top as (run, rank, document) entries.

    documents: (n,) the caller's document indices, ascending; everything else counts from 0 to n - 1 in
    this order, which is the order of docnos. run, rank (1-based), document: (entries,) one run after the
    other in stored order, best first. lengths: (runs,) entries of each run.
    """

    documents: IntArray
    run: IntArray
    rank: IntArray
    document: IntArray
    lengths: IntArray

    @property
    def runs(self) -> int:
        """Number of runs, including those with no document."""
        return len(self.lengths)

    @cached_property
    def starts(self) -> IntArray:
        """Start of each run's entries, and end of the last one's, (runs + 1,)."""
        return np.concatenate(([0], np.cumsum(self.lengths)))

    @cached_property
    def rankings(self) -> list[IntArray]:
        """The documents of each run, best first."""
        return [self.document[start:end] for start, end in zip(self.starts, self.starts[1:], strict=False)]

    @cached_property
    def best(self) -> IntArray:
        """Best rank of each document in any run, (n,)."""
        best = np.full(len(self.documents), np.iinfo(np.int64).max)
        np.minimum.at(best, self.document, self.rank)
        return best

    def total(self, weights: NDArray[np.floating]) -> FloatArray:
        """The sum of the weights (entries,) of each document, (n,)."""
        return _sums(self.document, weights, len(self.documents))

    def by_run(self, weights: NDArray[np.floating]) -> FloatArray:
        """The sum of the weights (entries,) of each run, (runs,)."""
        return _sums(self.run, weights, self.runs)

    def places(self, documents: IntArray) -> IntArray:
        """Positions of the caller's documents among the candidates, -1 for others."""
        if not len(self.documents):
            return np.full(len(documents), -1)
        at = np.minimum(np.searchsorted(self.documents, documents), len(self.documents) - 1)
        return np.where(self.documents[at] == documents, at, -1)


def candidates(rankings: Sequence[IntArray], depth: int | None = None) -> Candidates:
    """The candidates of one topic: rankings in stored order, best first, cut at depth (None: not at all).

    A document is its index in the topic's docnos in byte order; a ranking contains none twice.

    >>> candidates([np.array([4, 2]), np.array([2, 7])], 1).documents
    array([2, 4])
    """
    tops = [np.asarray(ranking, dtype=np.int64)[:depth] for ranking in rankings]
    lengths = np.array([len(top) for top in tops], dtype=np.int64)
    entries = np.concatenate(tops) if tops else np.empty(0, dtype=np.int64)
    documents, document = _numbered(entries)
    run = np.repeat(np.arange(len(tops)), lengths)
    first = np.cumsum(lengths) - lengths
    return Candidates(documents, run, np.arange(1, len(entries) + 1) - first[run], document, lengths)


def descending(priority: FloatArray) -> IntArray:
    """The order of documents by priority, highest first, ties by document, (n,)."""
    fraction, exponent = np.frexp(priority)
    return np.argsort(-np.ldexp(np.rint(np.ldexp(fraction, BITS)), exponent - BITS), kind="stable")


def _sums(groups: IntArray, weights: NDArray[np.floating], count: int) -> FloatArray:
    return np.bincount(groups, weights=weights, minlength=count).astype(np.float64, copy=False)


def _numbered(entries: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct documents, ascending, and each entry's index among them; without sorting entries."""
    present = np.bincount(entries) > 0
    return np.flatnonzero(present), np.cumsum(present)[entries] - 1
