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
from leaderboard.stats.combined import measures
from leaderboard.stats.combined.labels import IntArray, Labels
from leaderboard.stats.combined.measures import NOWHERE, discounts
from leaderboard.stats.combined.sample import DEPTH

VERSION = 1
"""Of the estimates; a new one makes what is kept of an older one unused."""
MOST_RANKS = 1_000
"""Ranks that are looked at by measures without a cutoff."""
MOST_PLACES = 40_000_000
"""Runs times topics times ranks that are gone through while a reader waits."""

Rectify = Callable[..., FloatArray]
_BY_NAME: Mapping[str, Rectify] = {
    "P": measures.precision,
    "nDCG": measures.ndcg,
    "DCG": measures.dcg,
    "RBP": measures.rank_biased,
    "RR": measures.reciprocal_rank,
    "ERR": measures.expected_reciprocal_rank,
    "AP": measures.average_precision,
}
_PLAIN = {"dcg": "log2", "gains": None, "ideal": "judged", "judged_only": False}
"""Parameters that must have these values: no other form has been worked out."""


@dataclass(frozen=True, slots=True, eq=False)
class CombinedScores:
    """Scores (runs, topics) on the topics that are done, the runs in the order asked for.

    outside: (runs,) the share of the weight of a run's top that lies outside of the machine's pool, where
    nothing was drawn. rankings: (runs, topics, ranks) places in the labels.
    """

    combined: FloatArray
    people: FloatArray
    """By people's sample alone: what is expected of a document does not depend on the machine."""
    outside: FloatArray
    rankings: IntArray


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
    rankings, outside = _rankings(session, sample, run_ids, max(depth_of(bound), DEPTH), top_of(bound))
    digests = ",".join(digest for _, digest in runs)
    facts = sample.digest, bound.key, bound.measure.version
    key = run_digest("combined", VERSION, sample.source, digests, *facts)
    kept = requests.kept.get(key)
    if kept is None:
        blind = replace(sample.labels, machine=np.zeros_like(sample.labels.machine))
        kept = requests.kept.put(
            key,
            {"combined": _scores(sample.labels, rankings, bound), "people": _scores(blind, rankings, bound)},
        )
    return CombinedScores(
        kept["combined"].astype(np.float64, copy=False),
        kept["people"].astype(np.float64, copy=False),
        outside,
        rankings,
    )


def _scores(labels: Labels, rankings: IntArray, bound: BoundMeasure) -> FloatArray:
    given = {name: value for name, value in bound.params.items() if name not in _PLAIN}
    if given.get("cutoff", 0) is None:
        given["cutoff"] = rankings.shape[-1]
    return _BY_NAME[bound.measure.name](labels, rankings, **given)


def _rankings(
    session: Session, sample: JudgedSample, run_ids: Sequence[int], depth: int, top: int
) -> tuple[IntArray, FloatArray]:
    """Where the runs have the documents of the labels, and how much of their tops is outside of the pool."""
    source = sample.source
    column = np.full(int(max(source.places, default=-1)) + 2, -1, dtype=np.int64)
    column[list(source.places)] = np.arange(len(source.places))
    rankings = np.full((len(run_ids), len(source.topics), depth), NOWHERE, dtype=np.int64)
    outside = np.zeros(len(run_ids))
    for at, judged in enumerate(alignments.alignments(session, source, run_ids).values()):
        _place(sample, judged, column, rankings[at])
        outside[at] = _outside(judged, source.places, rankings[at, :, :top])
    return rankings, outside


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
