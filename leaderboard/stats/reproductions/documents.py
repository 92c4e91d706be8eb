"""Similarity of a reproduction's order of documents: Kendall's tau of the union, rank-biased overlap.

Rankings are docnos, best first. Breuer et al., How to Measure the Reproducibility of System-oriented IR
Experiments, SIGIR 2020; repro_eval 0.5.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.orders.rank_correlation import tau_b
from leaderboard.stats.orders.rbo import Rbo, rbo, shared_places
from leaderboard.stats.orders.top_lists import Ranking, curve_of_places

FloatArray = NDArray[np.float64]
Union = Callable[[Sequence[Any], Sequence[Any]], Mapping[Any, int]]

DEPTH = 1000
"""The number of documents of a ranking compared."""
P = 0.95
"""Persistence of the reader in rank-biased overlap."""


def ktu(original: Ranking, reproduced: Ranking, depth: int = DEPTH) -> float | None:
    """Kendall's tau of the union, its documents numbered as they appear: the original's first, then new ones.

    Both rankings are cut to the length of the shorter one and replaced by the numbers of their documents;
    tau_b of the two, from -1 to 1. None where less than two documents are left. What documents are called
    plays no part.

    >>> ktu("abcde", "acbfd"), round(ktu("bac", "bca"), 6), ktu("a", "a")
    (0.6, 0.333333, None)
    """
    return _ktu(original, reproduced, depth, _by_appearance)


def ktu_by_spelling(original: Ranking, reproduced: Ranking, depth: int = DEPTH) -> float | None:
    """KTU(repro_eval): the same with the union numbered in order of docnos, as repro_eval has it.

    For comparison with printed values. It depends on how docnos are spelled: these two pairs are the same
    rankings, with a and b exchanged.

    >>> ktu_by_spelling("abc", "acb"), ktu_by_spelling("bac", "bca")
    (0.33333333333333, -1.0)
    """
    value = _ktu(original, reproduced, depth, _by_spelling)
    return None if value is None else round(value, 14)


def truncated_rbo(reproduced: Ranking, original: Ranking, depth: int = DEPTH, p: float = P) -> float | None:
    """The mean overlap at depths 1 to depth with weights p^(d - 1), as repro_eval has it; None at depth 0.

    Beyond the end of a ranking its overlap is divided by ever larger depths: identical rankings have less
    than 1 where they are shorter than depth. Source: Clarke, Vtyurina and Smucker, Assessing Top-k
    Preferences, ACM Transactions on Information Systems 39(3), 2021.

    >>> round(truncated_rbo("abcde", "abcde"), 6), round(truncated_rbo("abcde", "abcde", 5), 6)
    (0.4763, 1.0)
    """
    if depth < 1:
        return None
    top = shared_places(reproduced[:depth], original[:depth])
    weight = p ** np.arange(depth)
    return float(curve_of_places(top, depth) @ weight / weight.sum())


def seen_rbo(reproduced: Ranking, original: Ranking, depth: int = DEPTH, p: float = P) -> float | None:
    """The same down to the end of the longer ranking, at most depth: identical rankings have 1.

    None where both are empty.

    >>> round(seen_rbo("acbfd", "abcde", p=0.8), 6), round(seen_rbo("acbfd", "abcde"), 6)
    (0.818563, 0.811633)
    """
    return truncated_rbo(reproduced, original, min(depth, max(len(reproduced), len(original))), p)


def bounded_rbo(reproduced: Ranking, original: Ranking, depth: int = DEPTH, p: float = P) -> Rbo:
    """Rank-biased overlap of infinite rankings with these tops: likely, lowest and highest.

    >>> bounds = bounded_rbo("abcde", "abcde")
    >>> bounds.ext, round(bounds.min, 3), bounds.max
    (1.0, 0.476, 1.0)
    """
    return rbo(reproduced[:depth], original[:depth], p)


@dataclass(frozen=True, slots=True)
class DocumentOrder:
    """Similarity of two runs' orders of documents: means over topics, None where no topic has the number.

    topics: for which either run has documents; with_ktu: those for which KTU is defined. rbo down to the end
    of the longer ranking, rbo_repro_eval down to depth 1,000; rbo_ext, rbo_min and rbo_max of endless
    rankings.
    """

    topics: int
    with_ktu: int
    ktu: float | None
    ktu_by_spelling: float | None
    rbo: float | None
    rbo_repro_eval: float | None
    rbo_ext: float | None
    rbo_min: float | None
    rbo_max: float | None


def document_order(originals: Sequence[Ranking], reproductions: Sequence[Ranking]) -> DocumentOrder:
    """Two runs compared, one ranking a topic in the same order, empty where a run has none.

    Topics that neither has are left out; one that a single run has counts as empty in the other: no overlap,
    and KTU not defined. Raises ValueError where the numbers of topics differ.
    """
    pairs = [
        (original, reproduction)
        for original, reproduction in zip(originals, reproductions, strict=True)
        if len(original) or len(reproduction)
    ]
    taus = [ktu(*pair) for pair in pairs]
    bounds = [bounded_rbo(reproduction, original) for original, reproduction in pairs]
    return DocumentOrder(
        topics=len(pairs),
        with_ktu=sum(tau is not None for tau in taus),
        ktu=_mean(taus),
        ktu_by_spelling=_mean([ktu_by_spelling(*pair) for pair in pairs]),
        rbo=_mean([seen_rbo(reproduction, original) for original, reproduction in pairs]),
        rbo_repro_eval=_mean([truncated_rbo(reproduction, original) for original, reproduction in pairs]),
        rbo_ext=_mean([bound.ext for bound in bounds]),
        rbo_min=_mean([bound.min for bound in bounds]),
        rbo_max=_mean([bound.max for bound in bounds]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def _by_appearance(first: Sequence[Any], second: Sequence[Any]) -> Mapping[Any, int]:
    return {document: number for number, document in enumerate(dict.fromkeys((*first, *second)))}


def _by_spelling(first: Sequence[Any], second: Sequence[Any]) -> Mapping[Any, int]:
    return {document: number for number, document in enumerate(sorted({*first, *second}))}


def _ktu(original: Ranking, reproduced: Ranking, depth: int, union: Union) -> float | None:
    length = min(len(original), len(reproduced), depth)
    if length < 2:
        return None
    original_top, reproduced_top = original[:length], reproduced[:length]
    number = union(original_top, reproduced_top)
    places = (
        np.array([number[document] for document in ranking], dtype=np.float64)
        for ranking in (original_top, reproduced_top)
    )
    return tau_b(*places)
