"""Rank-biased overlap of every pair of runs on a board, averaged over topics."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def alike(rows: FloatArray) -> NDArray[np.intp]:
    """The order, (n,), that puts rows of similar shape next to each other; rows: (n, columns).

    Rows are alike as their correlation is high; one that does not vary is equally far from all. The
    order is that of the Fiedler vector, the eigenvector of the second smallest eigenvalue of the
    Laplacian of the similarities, turned so that the first row given is in the first half.
    Source: Atkins, Boman and Hendrickson, A Spectral Algorithm for Seriation and the Consecutive Ones
    Problem, SIAM Journal on Computing 28(1), 1998.

    >>> alike(np.array([[0.0, 1, 2, 9], [9.0, 2, 1, 0], [0.0, 1, 3, 8], [8.0, 3, 1, 0]])).tolist()
    [2, 0, 1, 3]
    """
    n = len(rows)
    if n < 3:
        return np.arange(n)
    centred = rows - rows.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    similar = (1 + unit @ unit.T) / 2
    np.fill_diagonal(similar, 0.0)
    laplacian = np.diag(similar.sum(axis=1)) - similar
    fiedler = np.linalg.eigh(laplacian)[1][:, 1]
    order = np.argsort(fiedler.round(12), kind="stable")
    return order if int(np.flatnonzero(order == 0)[0]) < n / 2 else order[::-1]


IntArray = NDArray[np.int64]
_Number = TypeVar("_Number", bound=np.number)


def rbo_of_all_pairs(
    documents: Collection[NDArray[np.integer]],
    p: float = 0.9,
    *,
    progress: Callable[[float], None] | None = None,
) -> FloatArray:
    """The mean extrapolated overlap of every pair of runs, (m,) in the order of np.triu_indices(n, 1).

    documents has one array (n runs, k ranks) per topic: any whole numbers from 0 that identify the documents
    of that topic, best first, -1 behind the last where a run has fewer than k. On every topic a pair
    gets what `rbo` gives for its two lists, be they of different length; one empty list gives 0, and the
    mean is over the topics on which either run has documents (0 without any). Only one topic's
    array is in use at a time, so documents may load them on request.

    progress is called with the share of topics done. Raises ValueError if p is not between 0 and 1, no topic
    is given, a run has a document twice on a topic, or one behind a -1.

    >>> rbo_of_all_pairs([np.array([[0, 1], [1, 0], [0, -1]])], 0.5)
    array([0.5 , 1.  , 0.25])
    """
    if not 0 < p < 1:
        raise ValueError(f"p is {p:g}; it must be above 0 and below 1")
    if not len(documents):
        raise ValueError("there is no topic to compare rankings on")
    total, counted = np.zeros(()), np.zeros(())
    for done, topic in enumerate(documents, start=1):
        length = _lengths(topic)
        total = total + np.concatenate(list(_overlaps(_Topic.of(topic, length), p)))
        counted = counted + np.concatenate(
            [np.maximum(own_length, rest) > 0 for own_length, rest in _against_rest(length)]
        )
        if progress is not None:
            progress(done / len(documents))
    return total / np.maximum(counted, 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Topic:
    """A topic's rankings run by run: each place's run, rank from 0, and document numbered from 0."""

    run: IntArray
    rank: IntArray
    document: IntArray
    length: IntArray

    @classmethod
    def of(cls, topic: NDArray[np.integer], length: IntArray) -> Self:
        run, rank = np.nonzero(topic >= 0)
        _, document = np.unique(topic[run, rank], return_inverse=True)
        return cls(run, rank, document, length)

    def table(self, values: NDArray[_Number], absent: int) -> NDArray[_Number]:
        """The values of the ranks at which each run has each document, (documents, runs)."""
        table = np.full((self.document.max(initial=-1) + 1, len(self.length)), absent, dtype=values.dtype)
        table[self.document, self.run] = values[self.rank]
        return table

    def by_run(self) -> list[IntArray]:
        """The documents of each run, best first."""
        return np.split(self.document, np.cumsum(self.length)[:-1])


def _lengths(topic: NDArray[np.integer]) -> IntArray:
    has = topic >= 0
    if (has[:, 1:] & ~has[:, :-1]).any():
        raise ValueError("a document stands behind the end of its ranking")
    ordered = np.sort(topic, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise ValueError("a ranking has a document twice")
    length: IntArray = np.count_nonzero(has, axis=1)
    return length


def _against_rest(length: IntArray) -> Iterator[tuple[np.int64, IntArray]]:
    """Each run's length with those of the runs that follow it."""
    return ((length[run], length[run + 1 :]) for run in range(len(length)))


def _overlaps(topic: _Topic, p: float) -> Iterator[FloatArray]:
    """Each run's overlap with each of the runs that follow it.

    A shared document counts at every depth from its lower place on, so that a pair's sum over depths is
    one over its shared documents.
    """
    shortest, longest = topic.length.min(), topic.length.max()
    share = p ** np.arange(1, longest + 1) / np.arange(1, longest + 1)
    return _even(topic, share, p) if shortest == longest else _uneven(topic, share, p)


def _even(topic: _Topic, share: FloatArray, p: float) -> Iterator[FloatArray]:
    """With all rankings of one length, a shared document counts by its lower place alone."""
    weight = (1 - p) / p * _sum_from(share)[:-1] + share[-1:]
    table = topic.table(weight, absent=0)
    for run, mine in enumerate(topic.by_run()):
        yield np.minimum(table[mine, run + 1 :], weight[:, None]).sum(axis=0)


def _uneven(topic: _Topic, share: FloatArray, p: float) -> Iterator[FloatArray]:
    """Below the end of the shorter ranking, its missing documents agree as those above did."""
    longest = len(share)
    share_from, weight_from = _sum_from(share), _sum_from(share * np.arange(1, longest + 1))
    place = topic.table(np.arange(longest, dtype=np.int32), absent=longest)
    for run, (mine, (own_length, rest)) in enumerate(
        zip(topic.by_run(), _against_rest(topic.length), strict=True)
    ):
        lower = np.maximum(place[mine, run + 1 :], np.arange(own_length, dtype=np.int32)[:, None])
        short, long = np.minimum(own_length, rest), np.maximum(own_length, rest)
        shared, shared_above = (lower < longest).sum(axis=0), (lower < short).sum(axis=0)
        seen = shared_above / np.maximum(short, 1)
        overlap = share_from[lower].sum(axis=0) - shared * share_from[long]
        assumed = seen * (
            weight_from[short] - weight_from[long] - short * (share_from[short] - share_from[long])
        )
        steady = ((shared - shared_above) / np.maximum(long, 1) + seen) * p**long
        yield (1 - p) / p * (overlap + assumed) + steady


def _sum_from(values: FloatArray) -> FloatArray:
    """The sum of the values from each place on, and 0 from behind the last."""
    return np.concatenate((np.cumsum(values[::-1])[::-1], [0.0]))
