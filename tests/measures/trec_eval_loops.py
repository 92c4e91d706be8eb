"""trec_eval's measures as plain loops over the ranks of one topic, to check the vectorised ones against.

Written from their definitions, one topic and one rank at a time, with its order of additions.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tests.measures.rankings import Topic


@dataclass(frozen=True)
class Gain:
    """The gains of one topic: at every rank, and of all judged documents in descending order."""

    ranks: tuple[float, ...]
    ideal: tuple[float, ...]


def gain_of(topic: Topic, gains: Mapping[int, float]) -> Gain:
    """The gains of a topic whose grades gain themselves where gains does not say otherwise."""

    def of(grade: int | None) -> float:
        return 0.0 if grade is None or grade < 0 else float(gains.get(grade, grade))

    judged = [grade for grade in (*topic.ranking, *topic.missed) if grade is not None]
    return Gain(tuple(map(of, topic.ranking)), tuple(sorted(filter(None, map(of, judged)), reverse=True)))


def dcg(gains: tuple[float, ...], depth: int) -> float:
    """The discounted gain of the first depth ranks."""
    total = 0.0
    for rank, gain in enumerate(gains[:depth], start=1):
        if gain:
            total += gain / math.log2(rank + 1)
    return total


def ndcg(gain: Gain) -> float:
    """nDCG of the whole ranking."""
    ideal = dcg(gain.ideal, len(gain.ideal))
    return dcg(gain.ranks, len(gain.ranks)) / ideal if ideal else 0.0


def ndcg_rel(gain: Gain) -> float:
    """nDCG at every document with a gain, those missed at the end."""
    total, hits = 0.0, 0
    for rank, gained in enumerate(gain.ranks, start=1):
        if gained:
            total += dcg(gain.ranks, rank) / dcg(gain.ideal, rank)
            hits += 1
    if not gain.ideal:
        return 0.0
    total += (len(gain.ideal) - hits) * dcg(gain.ranks, len(gain.ranks)) / dcg(gain.ideal, len(gain.ideal))
    return total / len(gain.ideal)


def rndcg(gain: Gain, relevant: int) -> float:
    """nDCG where the ideal gain changes, and at the end of a ranking that goes on for two ranks or more."""
    if not relevant or not gain.ideal:
        return 0.0
    after = (*gain.ideal[1:], 0.0)
    changes = [
        rank for rank, (here, then) in enumerate(zip(gain.ideal, after, strict=True), 1) if here != then
    ]
    total = 0.0
    for rank in changes:
        total += dcg(gain.ranks, rank) / dcg(gain.ideal, rank)
    if len(gain.ranks) <= len(gain.ideal) + 1:
        return total / len(changes)
    return (total + ndcg(gain)) / (len(changes) + 1)


def g(gain: Gain) -> float:
    """Gain over how far the ranking is behind the ideal one."""
    total = gained = cost = 0.0
    for rank, gain_here in enumerate(gain.ranks):
        gained += gain_here
        cost += max(gain.ideal[rank], 1.0) if rank < len(gain.ideal) else 1.0
        if gain_here:
            total += gain_here / math.log2(2 + cost - gained)
    best = 0.0
    for gain_here in gain.ideal:
        best += gain_here
    return total / best if best else 0.0


def rbp(topic: Topic, p: float) -> float:
    """Rank-biased precision with grades over the topic's highest."""
    highest = max([1, *(grade for grade in (*topic.ranking, *topic.missed) if grade is not None)])
    total, weight = 0.0, 1.0
    for grade in topic.ranking:
        if grade is not None and grade > 0:
            total += grade / highest * weight
        weight *= p
    return (1.0 - p) * total


def rbp_residual(topic: Topic, p: float) -> float:
    """The weight of what is unjudged, and of what is below the ranking, if anything in it is."""
    total, weight, unjudged = 0.0, 1.0, 0
    for grade in topic.ranking:
        if grade is None or grade < 0:
            unjudged += 1
            total += weight
        weight *= p
    return weight + (1 - p) * total if unjudged else 0.0


def unjudged_share(topic: Topic, cutoff: int) -> float:
    """How many of the top ranks hold an unjudged document, over the cut-off."""
    return sum(grade is None or grade < 0 for grade in topic.ranking[:cutoff]) / cutoff


def interpolated(topic: Topic, recall: float, dialect: int) -> float:
    """The best precision from where a recall is reached on."""
    relevant = sum(grade is not None and grade > 0 for grade in (*topic.ranking, *topic.missed))
    share = recall * relevant
    needed = int(share + 0.9) if dialect == 9 else math.floor(share + 0.5)
    best, hits = 0.0, 0
    for rank, grade in enumerate(topic.ranking, start=1):
        hits += grade is not None and grade > 0
        if hits >= max(needed, 1):
            best = max(best, hits / rank)
    return best
