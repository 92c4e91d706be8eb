"""How much of each run is judged, and between which ends its score lies however the rest would be judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.measures.binding import BoundMeasure, like
from leaderboard.measures.bounds.ndcg import NDCG_MAX, NDCG_MIN
from leaderboard.measures.bounds.scores import AP_MAX, AP_MIN, P_MAX, RR_MAX
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.rank_biased import RBP_RESIDUAL
from leaderboard.measures.record import Measure
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.digests import ranking_key, run_digest
from leaderboard.services.evaluations.shown import Source
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.procedures import coverage as shares_of_runs
from leaderboard.services.statistics.requests import WaitingResult

VERSION = 1
WELL_JUDGED = 0.9
"""Where at least this share of its top is judged, a run counts as pooled whatever the others are."""
APART = 0.05
"""By how much a run's share must be below the median run's: half a document of the top ten."""
FIELD_JUDGED = 0.8
"""Where less of the median run's top is judged, judgments are thin for all, and none is called outside."""

_ENDS: dict[str, tuple[Measure | None, Measure]] = {
    "AP": (AP_MIN, AP_MAX),
    "P": (None, P_MAX),
    "RR": (None, RR_MAX),
    "nDCG": (NDCG_MIN, NDCG_MAX),
    "RBP": (None, RBP_RESIDUAL),
}
"""Measure -> what gives its lowest value, None where that is the value itself, and its highest."""
_ADDED = frozenset({"RBP"})
"""Measures whose highest value is given as what may come on top."""


@dataclass(frozen=True, slots=True)
class CoveredRun:
    """A run as a board has it: id, digest of its rankings, whether 32-bit scores order them differently."""

    run_id: int
    ranking_sha256: str
    order_differs: bool


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one run, means over the topics that it ranks documents for."""

    unjudged: float
    """The share of unjudged documents down to the measure's depth, 0 to 1."""
    judged_top: float
    """The share of judged documents in the top ten, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The lowest and highest mean that a run could have if its unjudged documents were judged."""

    low: float
    high: float


def coverage(
    session: Session, source: Source, bound: BoundMeasure, runs: Sequence[CoveredRun]
) -> dict[int, Coverage]:
    """Run id -> how much of it is judged; runs that rank nothing on these topics are left out.

    At most two statements, none where it is in memory.
    """
    cutoff = shares_of_runs.depth(bound)
    shares = _stored(session, source, cutoff, runs) if len(runs) >= shares_of_runs.LEAST_RUNS else None
    if shares is None:
        compute = partial(shares_of_runs.shares, source=source, cutoff=cutoff)
        shares = _of_runs(session, source, f"coverage@{cutoff}", runs, compute)
    return {run_id: Coverage(*of_run) for run_id, of_run in shares.items() if not np.isnan(of_run[0])}


def _stored(
    session: Session, source: Source, cutoff: int | None, runs: Sequence[CoveredRun]
) -> dict[int, tuple[float, float]] | None:
    """What an evaluator computed of the whole board; None where it did not yet, or not of these runs."""
    keys = {
        run.run_id: ranking_key(source, run.run_id, run.ranking_sha256, run.order_differs) for run in runs
    }
    request = requests.of_coverage(source, cutoff, keys)
    result = requests.find(session, request)
    if isinstance(result, WaitingResult):
        return None
    return dict(zip(request.run_ids, map(tuple, result["shares"].tolist()), strict=True))


def outside_the_pool(coverages: dict[int, Coverage]) -> frozenset[int]:
    """The runs of which clearly less is judged than of the others, so that their scores are likely too low.

    Which runs were pooled is not known here, so what the judgments show is taken for it: a run is outside
    when less than nine tenths of its top ten is judged, and its share is more than .05 below the median
    run's. All of the top of a pooled run is judged where the pool is at least ten deep. Half a document of
    ten, if half of such documents are relevant, moves P@10 by .025. Where the median run has less than
    eight tenths judged, none is outside: with thin judgments the share tells how good a run is, not whether
    it was pooled. That unpooled runs lose by it is measured by Büttcher, Clarke, Yeung and Soboroff,
    Reliable Information Retrieval Evaluation with Incomplete and Biased Judgements, SIGIR 2007.

    >>> shares = {1: 1.0, 2: 0.97, 3: 0.71}
    >>> outside_the_pool({run: Coverage(0.0, share) for run, share in shares.items()})
    frozenset({3})
    """
    middle = median(coverage.judged_top for coverage in coverages.values()) if coverages else 0.0
    if middle < FIELD_JUDGED:
        return frozenset()
    limit = min(WELL_JUDGED, middle - APART)
    return frozenset(run_id for run_id, coverage in coverages.items() if coverage.judged_top < limit)


def has_bounds(bound: BoundMeasure) -> bool:
    """Whether it is known how low and high a score by the measure could be."""
    plain = bound.params.get("gains") is None and bound.params.get("ideal", "judged") == "judged"
    return bound.measure.name in _ENDS and plain and not bound.params.get("judged_only")


def bounds(
    session: Session, source: Source, bound: BoundMeasure, runs: Sequence[CoveredRun]
) -> dict[int, Bounds]:
    """Run id -> between which ends its mean lies; empty where the measure has none.

    An unjudged document may turn out to be of any grade up to the highest one that was given. At most two
    statements, none where it is in memory; else about two milliseconds a run.
    """
    if not has_bounds(bound):
        return {}
    places = np.array(source.places, dtype=np.int64)

    def compute(judged: Judged) -> tuple[float, float]:
        low, high = _ends(bound, judged)
        return float(low[places].mean()), float(high[places].mean())

    facts = f"bounds {bound.key} {bound.measure.version}"
    ends = _of_runs(session, source, facts, runs, compute)
    return {run_id: Bounds(*of_run) for run_id, of_run in ends.items()}


def _ends(bound: BoundMeasure, judged: Judged) -> tuple[FloatArray, FloatArray]:
    lowest, highest = _ENDS[bound.measure.name]
    grade = max(1, int(judged.judgments.grades.max(initial=1)))
    own = bound.compute(judged)
    low = own if lowest is None else like(bound, lowest, grade).compute(judged)
    high = like(bound, highest, grade).compute(judged)
    if bound.measure.name in _ADDED:
        high = own + high
    return low, np.maximum(low, high)


def _of_runs(
    session: Session,
    source: Source,
    what: str,
    runs: Sequence[CoveredRun],
    compute: Callable[[Judged], tuple[float, float]],
) -> dict[int, tuple[float, float]]:
    """Run id -> two numbers of each run, computed once for its rankings under these judgments."""
    prefix = run_digest("coverage", VERSION, source, "", what)
    keys = {
        run.run_id: f"{prefix} {ranking_key(source, run.run_id, run.ranking_sha256, run.order_differs)}"
        for run in runs
    }
    numbers: dict[int, tuple[float, float]] = {}
    for run_id, key in keys.items():
        if (known := requests.kept.get(key)) is not None:
            numbers[run_id] = tuple(known["values"].tolist())
    missing = [run_id for run_id in keys if run_id not in numbers]
    if missing:
        for run_id, judged in alignments.alignments(session, source, missing).items():
            numbers[run_id] = compute(judged)
            requests.kept.put(keys[run_id], {"values": np.array(numbers[run_id])})
    return numbers
