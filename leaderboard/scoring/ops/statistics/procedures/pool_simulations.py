"""Simulation of a pooling method on the judged documents, from the stored hits of runs.

Computed by a job; SciPy is not needed here: evaluators import this module.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged, Judgments
from leaderboard.pooling.candidates import FloatArray, IntArray
from leaderboard.pooling.methods import method as pooling_method
from leaderboard.pooling.simulation import area, judged_after, judging_order, recall
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.scoring.ops.rankings import alignments, compiled_judgments, topic_seed
from leaderboard.scoring.ops.statistics.procedures.pool_reusability import ReducedJudgments, score
from leaderboard.stats.arrays import Arrays

PROCEDURE = "pool_simulation"
SHARES = np.linspace(0.0, 1.0, 21)
"""Shares of the judging effort at which recall is reported."""
ORDERED_AT = (0.1, 0.2, 0.3)
"""Shares at which the order of runs is compared with the full one."""
SEED = 1
Progress = Callable[[float], None]


def options(spec: Mapping[str, Any], depth: int, level: int) -> str:
    """Inputs of the simulation other than rankings, as the method of a request."""
    return json.dumps(
        {"spec": dict(spec), "depth": depth, "level": level}, separators=(",", ":"), sort_keys=True
    )


def seconds(runs: int, topics: int) -> float:
    """Estimated time on one core."""
    return 0.02 + runs * topics * 1e-3


def compute(
    session: Session, source: Source, run_ids: Sequence[int], measure: str, method: str, progress: Progress
) -> Arrays:
    """Simulate how a method finds the judged documents in the top ranks of the runs.

    recall (shares,): of their relevant documents at SHARES of the judging of every topic; area: under it.
    full (runs,): scores under all judgments; at_share (shares, runs): with what is judged at ORDERED_AT.
    documents, relevant: their numbers. Unjudged documents are skipped at no cost.
    """
    options = json.loads(method)
    judgments = compiled_judgments(session, source).judgments
    hits = alignments(session, source, run_ids)
    runs = [hits[run_id] for run_id in run_ids]
    after = _after(judgments, runs, options, lambda share: progress(0.7 * share))
    pooled = ~np.isnan(after)
    relevant = judgments.grades[pooled] >= options["level"]
    bound = parse(measure)
    full = np.array([score(bound, run, source.places) for run in runs])
    at_share = []
    for at, share in enumerate(ORDERED_AT, start=1):
        reduced = ReducedJudgments(judgments, ~(after <= share + 1e-9))
        at_share.append([score(bound, reduced.judged(run), source.places) for run in runs])
        progress(0.7 + 0.1 * at)
    return {
        "recall": recall(after[pooled], relevant, SHARES + 1e-9),
        "area": np.array(area(after[pooled], relevant)),
        "full": full,
        "at_share": np.array(at_share),
        "documents": np.array(int(pooled.sum())),
        "relevant": np.array(int(relevant.sum())),
    }


def _after(
    judgments: Judgments, runs: Sequence[Judged], options: Mapping[str, Any], progress: Progress
) -> FloatArray:
    """Share of the topic's judging effort after which each document is judged, nan outside the pool."""
    bound = pooling_method(options["spec"])
    after = np.full(len(judgments.grades), np.nan)
    named = judgments.named
    for topic, name in enumerate(judgments.topics):
        start = int(judgments.starts[topic])
        rankings = [_top(run, topic, options["depth"], named) - start for run in runs]
        places = np.unique(np.concatenate(rankings)) if rankings else np.empty(0, np.int64)
        grades = dict(zip(places.tolist(), judgments.grades[start + places].tolist(), strict=True))
        judged = np.array([place for place in places.tolist() if grades[place] >= 0], dtype=np.int64)
        if len(judged):
            order = judging_order(
                bound, rankings, grades, seed=topic_seed(SEED, name), level=options["level"]
            )
            after[start + judged] = judged_after(order, judged)
        progress((topic + 1) / len(judgments))
    return after


def _top(run: Judged, topic: int, depth: int, named: Any) -> IntArray:
    """A topic's judged documents of a run down to a rank, best first."""
    starts = run.starts
    end = int(starts[topic + 1]) if topic + 1 < len(starts) else len(run.topic)
    own = slice(int(starts[topic]), end)
    document = run.document[own]
    top: IntArray = document[(run.rank[own] <= depth) & named[document]]
    return top
