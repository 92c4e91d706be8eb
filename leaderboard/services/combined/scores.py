"""Scores of runs by people and a machine together, by people's sample alone, and how runs see the pool."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import Judged
from leaderboard.services.combined.judged import JudgedSample
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.digests import run_digest
from leaderboard.services.evaluations.shown import FloatArray
from leaderboard.services.statistics import requests
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.combined import measures, placing
from leaderboard.stats.combined.labels import IntArray, Labels, ValueOf, chance_of, gain_of, relevant_from
from leaderboard.stats.combined.measures import NOWHERE, discounts
from leaderboard.stats.combined.placing import on_judged
from leaderboard.stats.combined.sample import DEPTH

VERSION = 3
"""Of the estimates; a new one makes what is kept of an older one unused."""
MOST_RANKS = 1_000
"""Ranks that are looked at by measures without a cutoff."""
MOST_PLACES = 40_000_000
"""Runs times topics times ranks that are gone through while a reader waits."""

KEPT = ("combined", "people", "outside", "weight", "placed")
CELLS_AT_ONCE = 2**18
"""Runs times topics times ranks that are scored together: few enough to stay near the processor."""

ByRankings = Callable[..., FloatArray]
_BY_NAME: Mapping[str, tuple[ByRankings, ByRankings]] = {
    "P": (measures.precision, placing.precision),
    "nDCG": (measures.ndcg, placing.ndcg),
    "DCG": (measures.dcg, placing.dcg),
    "RBP": (measures.rank_biased, placing.rank_biased),
    "RR": (measures.reciprocal_rank, placing.reciprocal_rank),
    "ERR": (measures.expected_reciprocal_rank, placing.expected_reciprocal_rank),
    "AP": (measures.average_precision, placing.average_precision),
}
"""The scores by both, and how much each document counts in them."""
_PLAIN = {"dcg": "log2", "gains": None, "ideal": "judged", "judged_only": False}
"""Parameters that must have these values: no other form has been worked out."""


@dataclass(frozen=True, slots=True, eq=False)
class CombinedScores:
    """Scores (runs, topics) on the topics that are done, the runs in the order asked for.

    outside: (runs,) the share of the weight of a run's top that lies outside of the machine's pool, where
    nothing was drawn. weight: of each label's document, (labels,), by how near the runs have it to their
    tops. placed: how much each document that people judged counts in a run's score, (runs, judged documents).
    rankings_of: of runs, by their places here, the places of their documents in the labels, (runs,
    topics, ranks); one statement.
    """

    combined: FloatArray
    people: FloatArray
    """By people's sample alone: what is expected of a document does not depend on the machine."""
    outside: FloatArray
    weight: FloatArray
    placed: FloatArray
    rankings_of: Callable[[Sequence[int]], IntArray]


def can_be_combined(bound: BoundMeasure) -> bool:
    """Whether scores by the measure can be estimated from a sample."""
    given = {name: value for name, value in bound.params.items() if name in _PLAIN}
    return bound.measure.name in _BY_NAME and all(_PLAIN[name] == value for name, value in given.items())


def depth_of(bound: BoundMeasure) -> int:
    """Ranks that the measure looks at."""
    cutoff = bound.params.get("cutoff")
    return cutoff if isinstance(cutoff, int) else MOST_RANKS


def top_of(bound: BoundMeasure) -> int:
    """Ranks of which all but little must be in the pool for a run to have a rank."""
    cutoff = bound.params.get("cutoff")
    return cutoff if isinstance(cutoff, int) else DEPTH


def combined_scores(
    session: Session, sample: JudgedSample, bound: BoundMeasure, runs: Sequence[tuple[int, str]]
) -> CombinedScores:
    """The scores of runs, given as id and digest of their rankings; at most two statements.

    They are kept in memory by all that they depend on.
    """
    run_ids = [run_id for run_id, _ in runs]
    digests = ",".join(digest for _, digest in runs)
    facts = sample.digest, bound.key, bound.measure.version
    key = run_digest("combined", VERSION, sample.source, digests, *facts)
    kept = requests.kept.get(key)
    if kept is None:
        kept = requests.kept.put(key, _computed(session, sample, bound, run_ids))

    def rankings_of(places: Sequence[int]) -> IntArray:
        chosen = [run_ids[place] for place in places]
        found = alignments.alignments(session, sample.source, chosen).values()
        return _rankings(sample, list(found), _depth(bound))

    combined, people, outside, weight, placed = (kept[name].astype(np.float64, copy=False) for name in KEPT)
    return CombinedScores(combined, people, outside, weight, placed, rankings_of)


def worth_of(bound: BoundMeasure) -> ValueOf:
    """What a grade is worth in a measure that can be combined: its gain, or 1 where it is relevant."""
    level, highest = bound.params.get("rel", 1), bound.params.get("max_rel")
    if isinstance(highest, int):
        return chance_of(highest)
    if bound.measure.name in ("nDCG", "DCG"):
        return gain_of
    return relevant_from(level if isinstance(level, int) else 1)


def _depth(bound: BoundMeasure) -> int:
    """Ranks of every run that are looked at."""
    return max(depth_of(bound), DEPTH)


def _computed(session: Session, sample: JudgedSample, bound: BoundMeasure, run_ids: Sequence[int]) -> Arrays:
    """What is kept, by its name in `CombinedScores`."""
    blind = replace(sample.labels, machine=np.zeros_like(sample.labels.machine))
    seen = alignments.alignments(session, sample.source, run_ids)
    depth, top = _depth(bound), top_of(bound)
    step = max(1, CELLS_AT_ONCE // max(1, len(sample.source.topics) * depth))
    combined, people, outside, placed = [], [], [], []
    weight = np.zeros(len(sample.labels.people))
    for start in range(0, len(run_ids), step):
        judged = [seen[run_id] for run_id in run_ids[start : start + step]]
        rankings = _rankings(sample, judged, depth)
        combined.append(_scores(sample.labels, rankings, bound))
        people.append(_scores(blind, rankings, bound))
        placed.append(_placed(sample.labels, rankings, bound))
        outside += [
            _outside(run, sample.source.places, places[:, :top])
            for run, places in zip(judged, rankings, strict=True)
        ]
        _add_weight(weight, rankings[:, :, :DEPTH])
    made = np.concatenate(combined), np.concatenate(people), np.array(outside), weight, np.concatenate(placed)
    return dict(zip(KEPT, made, strict=True))


def _add_weight(weight: FloatArray, rankings: IntArray) -> None:
    """Add the discount of its rank to each document that the rankings hold."""
    is_held = rankings != NOWHERE
    np.add.at(
        weight, rankings[is_held], np.broadcast_to(discounts(rankings.shape[-1]), rankings.shape)[is_held]
    )


def _scores(labels: Labels, rankings: IntArray, bound: BoundMeasure) -> FloatArray:
    rectify, _ = _BY_NAME[bound.measure.name]
    return rectify(labels, rankings, **_given(bound, rankings))


def _given(bound: BoundMeasure, rankings: IntArray) -> dict[str, object]:
    """The measure's parameters; without a cutoff it looks at all ranks that are there."""
    given: dict[str, object] = {name: value for name, value in bound.params.items() if name not in _PLAIN}
    if given.get("cutoff", 0) is None:
        given["cutoff"] = rankings.shape[-1]
    return given


def _placed(labels: Labels, rankings: IntArray, bound: BoundMeasure) -> FloatArray:
    """How much each judged document counts in each run's score, (runs, judged documents)."""
    _, weigh = _BY_NAME[bound.measure.name]
    return on_judged(labels, rankings, weigh(labels, rankings, **_given(bound, rankings)))


def _rankings(sample: JudgedSample, runs: Sequence[Judged], depth: int) -> IntArray:
    """Where the runs have the documents of the labels, (runs, topics, depth)."""
    source = sample.source
    column = np.full(int(max(source.places, default=-1)) + 2, -1, dtype=np.int64)
    column[list(source.places)] = np.arange(len(source.places))
    rankings = np.full((len(runs), len(source.topics), depth), NOWHERE, dtype=np.int64)
    for judged, places in zip(runs, rankings, strict=True):
        _place(sample, judged, column, places)
    return rankings


def _place(sample: JudgedSample, judged: Judged, column: IntArray, rankings: IntArray) -> None:
    """Write the places of a run's documents into its rankings, (topics, ranks)."""
    topic = column[np.minimum(judged.topic, len(column) - 1)]
    chosen = (topic >= 0) & (judged.rank <= rankings.shape[-1])
    rankings[topic[chosen], judged.rank[chosen] - 1] = sample.places[judged.document[chosen]]


def _outside(judged: Judged, places: Sequence[int], rankings: IntArray) -> float:
    """The share of the weight of rankings, (topics, ranks), outside of the pool, the mean over topics."""
    top = rankings.shape[1]
    weight = discounts(top)
    retrieved = np.arange(top) < np.minimum(judged.retrieved[list(places)], top)[:, None]
    lost = retrieved & (rankings == NOWHERE)
    whole = retrieved @ weight
    shares = np.zeros(len(whole))
    np.divide(lost @ weight, whole, out=shares, where=whole > 0)
    return float(shares.mean()) if len(shares) else 0.0
