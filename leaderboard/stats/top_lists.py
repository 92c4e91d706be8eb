"""How far the top k of two rankings agree: overlap, Spearman's footrule, Kendall's distance.

A document of one list that the other's top k lacks stands there at rank k + 1 (Fagin, Kumar and
Sivakumar, Comparing Top k Lists, SIAM Journal on Discrete Mathematics 17(1), 2003). With
absent='actual' it stands at its rank further down, or one below the end of the ranking.
"""

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Ranking = Sequence[Hashable]
Absent = Literal["k+1", "actual"]


def overlap(first: Ranking, second: Ranking, k: int) -> float:
    """The share of the top k documents both have, from 0 to 1.

    >>> overlap("abcd", "bxay", 2)
    0.5
    """
    return len(set(first[:k]) & set(second[:k])) / k


def average_overlap(first: Ranking, second: Ranking, k: int) -> float:
    """The mean overlap at depths 1 to k, from 0 to 1.

    Overlap 0 at depth 1, then 1/2:

    >>> average_overlap("abcd", "bxay", 2)
    0.25
    """
    depths = np.arange(1, k + 1)
    ranks = _ranks(first, second, k, "k+1").max(axis=0)
    shared = np.bincount(ranks, minlength=k + 2)[1 : k + 1].cumsum()
    return float(np.cumsum(shared / depths)[-1]) / k


def footrule(first: Ranking, second: Ranking, k: int, *, absent: Absent = "k+1") -> int:
    """Spearman's footrule: by how many ranks the documents of both top k are moved, all together.

    Fagin's F^(k+1), from 0 to k(k + 1), a metric.

    a moves by 1, b by 1, c from 3 to 4 and d from 4 to 3:

    >>> footrule("abc", "bad", 3)
    4
    """
    one, two = _ranks(first, second, k, absent)
    return int(np.abs(one - two).sum())


def footrule_similarity(first: Ranking, second: Ranking, k: int) -> float:
    """1 less the footrule's share of its largest value, from 0 for lists with nothing in common to 1.

    >>> footrule_similarity("abc", "bad", 3)
    0.6666666666666667
    """
    return 1.0 - footrule(first, second, k) / (k * (k + 1))


def footrule_per_document(first: Ranking, second: Ranking, k: int, *, absent: Absent = "k+1") -> float:
    """The footrule over the number of documents in either top k; 0 or more.

    Lecture texts call this the footrule distance.

    >>> footrule_per_document("abc", "bad", 3)
    1.0
    """
    documents = _ranks(first, second, k, absent).shape[1]
    return footrule(first, second, k, absent=absent) / documents if documents else 0.0


def kendall(first: Ranking, second: Ranking, k: int, *, p: float = 0.0, absent: Absent = "k+1") -> float:
    """Kendall's distance: how many pairs of documents of both top k the lists order oppositely.

    A pair of which one list says nothing, as it has neither, counts p: Fagin's K^(p), optimistic with
    p = 0, neutral with 1/2. From 0 to k² + pk(k - 1); no metric. Compares all pairs: for k to some
    thousand.

    Opposite are ab, and cd, of which each list has one; of cd and ef in the longer lists, one says
    nothing each.

    >>> kendall("abc", "bad", 3), kendall("abcd", "abef", 4, p=0.5)
    (2.0, 5.0)
    """
    one, two = _ranks(first, second, k, absent)
    above_one, above_two = one[:, None] < one, two[:, None] < two
    opposite = int(np.count_nonzero(above_one & above_two.T))
    tied_once = int(np.count_nonzero((one[:, None] == one) ^ (two[:, None] == two))) // 2
    return opposite + p * tied_once


def kendall_share(first: Ranking, second: Ranking, k: int, *, p: float = 0.0) -> float:
    """Kendall's distance over its largest value, from 0 to 1 for lists with nothing in common.

    >>> kendall_share("abc", "bad", 3)
    0.2222222222222222
    """
    return kendall(first, second, k, p=p) / (k * k + p * k * (k - 1))


def kendall_per_pair(first: Ranking, second: Ranking, k: int, *, absent: Absent = "k+1") -> float:
    """The share of oppositely ordered pairs in all pairs of documents in either top k, from 0 to 1.

    Lecture texts call this the Kendall distance. 0 where there is no pair.

    >>> kendall_per_pair("abc", "bad", 3)
    0.3333333333333333
    """
    documents = _ranks(first, second, k, absent).shape[1]
    pairs = documents * (documents - 1)
    return 2.0 * kendall(first, second, k, absent=absent) / pairs if pairs else 0.0


def _ranks(first: Ranking, second: Ranking, k: int, absent: Absent) -> NDArray[np.int64]:
    """The ranks of every document of either top k in both rankings, (2, documents)."""
    documents = dict.fromkeys((*first[:k], *second[:k]))
    rows = []
    for ranking in (first, second):
        known = ranking if absent == "actual" else ranking[:k]
        if len(set(known)) < len(known):
            raise ValueError("a ranking has a document twice")
        rank = {document: place for place, document in enumerate(known, start=1)}
        missing = len(ranking) + 1 if absent == "actual" else k + 1
        rows.append([rank.get(document, missing) for document in documents])
    return np.array(rows, dtype=np.int64)
