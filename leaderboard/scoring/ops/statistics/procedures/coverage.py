"""Judged shares of the runs of a large board, computed once from their judged hits and stored."""

from collections.abc import Callable, Sequence

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import UNJUDGED, Judged, ratio
from leaderboard.scoring.ops.evaluations import alignments
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.stats.arrays import Arrays

PROCEDURE, VERSION = "coverage", 1
TOP = 10
"""The depth at which a run is classified as outside the pool."""
LEAST_RUNS = 30
"""Smaller boards are computed on request: a run takes a third of a millisecond."""
Progress = Callable[[float], None]


def depth(bound: BoundMeasure) -> int | None:
    """The rank cutoff of a measure; None if it uses all retrieved documents."""
    cutoff = bound.params.get("cutoff")
    return cutoff if isinstance(cutoff, int) else None


def shares(judged: Judged, source: Source, cutoff: int | None) -> tuple[float, float]:
    """The share of unjudged documents down to the cutoff, and of judged ones in the top ten, 0 to 1."""
    unjudged = _unjudged(judged, source, cutoff)
    return unjudged, 1.0 - (unjudged if cutoff == TOP else _unjudged(judged, source, TOP))


def compute(
    session: Session, source: Source, run_ids: Sequence[int], measure: str, method: str, progress: Progress
) -> Arrays:
    """The shares of every run, (runs, 2); method is the cutoff, or `None`."""
    cutoff = None if method == str(None) else int(method)
    aligned = alignments.alignments(session, source, run_ids)
    return {"shares": np.array([shares(aligned[run_id], source, cutoff) for run_id in run_ids])}


def _unjudged(judged: Judged, source: Source, cutoff: int | None) -> float:
    """The mean share of unjudged documents in the top ranks over the topics that have any; nan without."""
    is_judged = judged.grade != UNJUDGED
    looked_at = judged.retrieved
    if cutoff is not None:
        is_judged &= judged.rank <= cutoff
        looked_at = np.minimum(looked_at, cutoff)
    count = np.bincount(judged.topic[is_judged], minlength=len(judged.judgments))
    places = np.array(source.places, dtype=np.int64)
    of_topics = ratio(looked_at - count, looked_at)[places][looked_at[places] > 0]
    return float(of_topics.mean()) if len(of_topics) else float("nan")
