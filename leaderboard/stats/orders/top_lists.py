"""Agreement of the top k of two rankings: overlap, Spearman's footrule, Kendall's distance.

A document of one list that the other's top k lacks gets rank k + 1 there (Fagin, Kumar and Sivakumar,
Comparing Top k Lists, SIAM Journal on Discrete Mathematics 17(1), 2003). With absent='actual' it has its
actual rank further down, or one below the end of the ranking.

A ranking shorter than k ends where it ends: nothing fills its place. Every function raises ValueError
where k is below 1 or a ranking has a document twice.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Ranking = Sequence[Hashable]
FEW = 64
"""Documents whose pairs are compared in a matrix: it is there before the bits are scanned."""
Absent = Literal["k+1", "actual"]


def overlap_curve(first: Ranking, second: Ranking, k: int) -> FloatArray:
    """The overlap at every depth from 1 to k, float64 (k,), each from 0 to 1.

    >>> overlap_curve("abcd", "bxay", 4)
    array([0.        , 0.5       , 0.66666667, 0.5       ])
    """
    shared_from = _ranks(first, second, k, "k+1").max(axis=0)
    shared = np.bincount(shared_from, minlength=k + 2)[1 : k + 1].cumsum()
    return shared / np.arange(1, k + 1)


def overlap(first: Ranking, second: Ranking, k: int) -> float:
    """The share of the top k documents both have, from 0 to 1.

    >>> overlap("abcd", "bxay", 2)
    0.5
    """
    return float(overlap_curve(first, second, k)[-1])


def average_overlap(first: Ranking, second: Ranking, k: int) -> float:
    """The mean overlap at depths 1 to k, from 0 to 1.

    Overlap 0 at depth 1, then 1/2:

    >>> average_overlap("abcd", "bxay", 2)
    0.25
    """
    return float(np.cumsum(overlap_curve(first, second, k))[-1]) / k


def footrule(first: Ranking, second: Ranking, k: int, *, absent: Absent = "k+1") -> int:
    """Spearman's footrule: by how many ranks the documents of both top k are moved, all together.

    Fagin's F^(k+1), from 0 to k(k + 1), a metric.

    a moves by 1, b by 1, c from 3 to 4 and d from 4 to 3:

    >>> footrule("abc", "bad", 3)
    4
    """
    return _moved(_ranks(first, second, k, absent))


def footrule_per_document(first: Ranking, second: Ranking, k: int, *, absent: Absent = "k+1") -> float:
    """The footrule over the number of documents in either top k; 0 or more.

    Lecture texts call this the footrule distance.

    >>> footrule_per_document("abc", "bad", 3)
    1.0
    """
    ranks = _ranks(first, second, k, absent)
    return _moved(ranks) / ranks.shape[1] if ranks.size else 0.0


def kendall(first: Ranking, second: Ranking, k: int, *, p: float = 0.0, absent: Absent = "k+1") -> float:
    """Kendall's distance: how many pairs of documents of both top k the lists order oppositely.

    A pair on which one list says nothing, as it has neither, counts p: Fagin's K^(p), optimistic with
    p = 0, neutral with 1/2. From 0 to k² + pk(k - 1); no metric.

    Opposite are ab, and cd, of which each list has one; of cd and ef in the longer lists, one says
    nothing each.

    >>> kendall("abc", "bad", 3), kendall("abcd", "abef", 4, p=0.5)
    (2.0, 5.0)
    """
    ranks = _ranks(first, second, k, absent)
    return _opposite_pairs(ranks) + p * sum(_tied_pairs(side) for side in ranks)


def kendall_per_pair(first: Ranking, second: Ranking, k: int, *, absent: Absent = "k+1") -> float:
    """The share of oppositely ordered pairs in all pairs of documents in either top k, from 0 to 1.

    Lecture texts call this the Kendall distance. 0 where there is no pair.

    >>> kendall_per_pair("abc", "bad", 3)
    0.3333333333333333
    """
    ranks = _ranks(first, second, k, absent)
    pairs = ranks.shape[1] * (ranks.shape[1] - 1) // 2
    return _opposite_pairs(ranks) / pairs if pairs else 0.0


@dataclass(frozen=True, slots=True)
class TopLists:
    """Distances of the tops of two rankings, each as defined by the function of the same name."""

    footrule: int
    footrule_per_document: float
    kendall: float
    kendall_per_pair: float


def compared(first: Ranking, second: Ranking, k: int, *, p: float = 0.0) -> TopLists:
    """All distances of the top k at once, documents that one lacks at rank k + 1."""
    ranks = _ranks(first, second, k, "k+1")
    documents = ranks.shape[1]
    moved, opposite, pairs = _moved(ranks), _opposite_pairs(ranks), documents * (documents - 1) // 2
    return TopLists(
        moved,
        moved / documents if documents else 0.0,
        opposite + p * sum(_tied_pairs(side) for side in ranks),
        opposite / pairs if pairs else 0.0,
    )


def curve_of_places(places: IntArray, k: int) -> FloatArray:
    """The overlap_curve of two rankings by the places, from 0 on, of what both have, (documents, 2).

    >>> curve_of_places(np.array([[0, 2], [1, 0]]), 4)
    array([0.        , 0.5       , 0.66666667, 0.5       ])
    """
    since = places.max(axis=1, initial=0) + 1
    shared = np.bincount(since[since <= k], minlength=k + 1)[1:].cumsum()
    return shared / np.arange(1, k + 1)


def _ranks(first: Ranking, second: Ranking, k: int, absent: Absent) -> IntArray:
    """The ranks of every document of either top k in both rankings, (2, documents)."""
    if k < 1:
        raise ValueError(f"a list of the top {k} has no documents")
    documents = tuple(dict.fromkeys((*first[:k], *second[:k])))
    rows = []
    for ranking in (first, second):
        top = ranking if absent == "actual" else ranking[:k]
        rank = dict(zip(top, range(1, len(top) + 1), strict=True))
        if len(rank) < len(top):
            raise ValueError("a ranking has a document twice")
        missing = len(ranking) + 1 if absent == "actual" else k + 1
        rows.append([rank.get(document, missing) for document in documents])
    return np.array(rows, dtype=np.int64)


def _moved(ranks: IntArray) -> int:
    return int(np.abs(ranks[0] - ranks[1]).sum())


def _opposite_pairs(ranks: IntArray) -> int:
    # Ties of one list follow the other's order, so that no tie looks opposite.
    return _inversions(ranks[1, np.lexsort((ranks[1], ranks[0]))])


def _inversions(values: IntArray) -> int:
    """Number of inversions: pairs of values, none negative, with the larger one first.

    Bit by bit from the highest, values equal so far side by side: a pair's order shows at the first bit
    in which it differs. So 1,000 documents a list take no matrix of pairs; a few have one.
    """
    if len(values) <= FEW:
        return int(np.count_nonzero(np.triu(values[:, None] > values)))
    inversions = 0
    for bit in reversed(range(int(values.max(initial=0)).bit_length())):
        group = values >> (bit + 1)
        ones = (values >> bit) & 1
        before = np.cumsum(ones) - ones
        zeros = ones == 0
        inversions += int((before - before[np.searchsorted(group, group)])[zeros].sum())
        values = values[np.argsort(values >> bit, kind="stable")]
    return inversions


def _tied_pairs(values: IntArray) -> int:
    counts = np.bincount(values)
    return int((counts * (counts - 1)).sum()) // 2
