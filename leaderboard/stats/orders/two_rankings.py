"""Similarity of two runs' rankings on every topic: all distances of rankings, and their means."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.orders import top_lists
from leaderboard.stats.orders.rbo import RankedPair, Scores, Ties, shared_places, tie_sizes, untied
from leaderboard.stats.orders.top_lists import Ranking

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

TIES: tuple[Ties, ...] = ("a", "w", "b")


@dataclass(frozen=True, slots=True, eq=False)
class RankingComparison:
    """Two runs' rankings compared on the topics for which either run has one.

    topics are places in the sequences that were compared, (t,); by_topic has a float64 (t,) array a key,
    and overlap_by_depth the mean overlap at depths from 1 on.
    """

    topics: IntArray
    by_topic: dict[str, FloatArray]
    overlap_by_depth: FloatArray

    @property
    def means(self) -> dict[str, float]:
        """The mean over the topics under each key."""
        return {key: float(values.mean()) for key, values in self.by_topic.items()}


def compare_rankings(
    first: Sequence[Ranking],
    second: Sequence[Ranking],
    *,
    k: int = 10,
    p: float = 0.9,
    penalty: float = 0.5,
    curve_depth: int = 100,
    shared: Sequence[IntArray] | None = None,
) -> RankingComparison:
    """Compare the rankings of two runs, one per topic in the same order, empty where a run has none.

    The keys, with the numbers as given (here the defaults):

    - overlap@10, ao@10: the share of the top 10 both have, and its mean over depths 1 to 10;
    - rbo_ext(p=0.9), rbo_min, rbo_max, rbo_res: rank-biased overlap of the whole rankings;
    - footrule_slide@10, kendall_slide@10: the distances per document and per pair of documents, as
      lecture texts have them;
    - footrule_fagin@10: Fagin's F^(k+1), the sum of moves, from 0 to k(k + 1);
    - kendall_fagin(p=0.5)@10: Fagin's K^(p), the number of opposite pairs, where a pair on which one list
      is silent counts p (penalty), from 0 to k² + pk(k - 1).

    Fagin's forms are sums, not shares of their largest value. A document that the other's top k lacks gets
    rank k + 1 there. Topics without documents in either ranking are left out. Where one ranking is empty,
    overlap, ao, rbo_ext and rbo_min are 0, rbo_max and rbo_res 1; the footrule moves all documents of the
    other from rank k + 1. The Kendall distances find no opposite pair, as an empty list orders none:
    kendall_slide is 0, and in Fagin's each pair counts p.

    shared are the shared_places of each topic's rankings, if already computed.

    Raises ValueError where the numbers of topics differ, no topic is left, k or curve_depth is below 1, p
    is not between 0 and 1, or a ranking has a document twice.

    >>> means = compare_rankings(["ab", ""], ["ba", "a"], k=2).means
    >>> means["overlap@2"], means["footrule_fagin@2"]
    (0.5, 2.0)
    """
    topics = _topics_of_either(first, second)
    if min(k, curve_depth) < 1:
        raise ValueError(f"a list of the top {min(k, curve_depth)} has no documents")
    places = [
        shared_places(first[topic], second[topic]) if shared is None else shared[topic] for topic in topics
    ]
    rows = [
        _measured(first[topic], second[topic], at, k, p, penalty)
        for topic, at in zip(topics, places, strict=True)
    ]
    curves = [top_lists.curve_of_places(at, curve_depth) for at in places]
    return RankingComparison(
        topics=np.array(topics, dtype=np.int64),
        by_topic={key: np.array([row[key] for row in rows], dtype=np.float64) for key in rows[0]},
        overlap_by_depth=np.array(curves).mean(axis=0),
    )


def compare_tied_rankings(
    first: Sequence[Ranking],
    second: Sequence[Ranking],
    first_scores: Sequence[Scores],
    second_scores: Sequence[Scores],
    *,
    p: float = 0.9,
    shared: Sequence[IntArray] | None = None,
) -> dict[str, FloatArray]:
    """The extrapolated rank-biased overlap with documents of equal score tied, float64 (t,) each.

    For the topics of compare_rankings, under the keys rbo_ext(p=0.9,ties=a), ties=w and ties=b; for their
    meaning see rbo_with_ties. The scores are one per document, in the order of the rankings; shared is as for
    compare_rankings. Raises ValueError as compare_rankings does, and where scores do not descend or are not
    one per document.

    >>> compare_tied_rankings(["ab"], ["ba"], [[1.0, 1.0]], [[2.0, 1.0]], p=0.5)["rbo_ext(p=0.5,ties=a)"]
    array([0.75])
    """
    pairs = [
        RankedPair(
            shared_places(first[topic], second[topic]) if shared is None else shared[topic],
            tie_sizes(first[topic], first_scores[topic]),
            tie_sizes(second[topic], second_scores[topic]),
        )
        for topic in _topics_of_either(first, second)
    ]
    return {
        f"rbo_ext(p={p:g},ties={ties})": np.array([pair.extrapolated(p, ties) for pair in pairs])
        for ties in TIES
    }


def _topics_of_either(first: Sequence[Ranking], second: Sequence[Ranking]) -> list[int]:
    if len(first) != len(second):
        raise ValueError(f"rankings of {len(first)} topics cannot be compared with those of {len(second)}")
    topics = [topic for topic, pair in enumerate(zip(first, second, strict=True)) if any(map(len, pair))]
    if not topics:
        raise ValueError("neither run has a ranking to compare on any topic")
    return topics


def _measured(
    first: Ranking, second: Ranking, places: IntArray, k: int, p: float, penalty: float
) -> dict[str, float]:
    overlap = RankedPair(places, untied(first), untied(second)).rbo(p)
    curve = top_lists.curve_of_places(places, k)
    tops = top_lists.compared(first, second, k, p=penalty)
    return {
        f"overlap@{k}": float(curve[-1]),
        f"ao@{k}": float(np.cumsum(curve)[-1]) / k,
        f"rbo_ext(p={p:g})": overlap.ext,
        f"rbo_min(p={p:g})": overlap.min,
        f"rbo_max(p={p:g})": overlap.max,
        f"rbo_res(p={p:g})": overlap.res,
        f"footrule_slide@{k}": tops.footrule_per_document,
        f"footrule_fagin@{k}": tops.footrule,
        f"kendall_slide@{k}": tops.kendall_per_pair,
        f"kendall_fagin(p={penalty:g})@{k}": tops.kendall,
    }
