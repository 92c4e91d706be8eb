"""A run's curves beside those of the ranked runs: precision by recall, precision and gain by rank."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.measures.by_rank import ideal_gain, mean_gain, mean_precision
from leaderboard.measures.interpolated import ELEVEN, interpolated_precision
from leaderboard.measures.judged import FloatArray, IntArray, Judged
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.alignments import alignments, compiled_judgments
from leaderboard.services.evaluations.digests import ranking_key, run_digest
from leaderboard.services.evaluations.shown import Source
from leaderboard.services.statistics import requests
from leaderboard.stats.arrays import Arrays

VERSION = 1
"""Of what is kept of each run; a new one makes the old unused."""
DEEPEST = 100
"""Ranks that curves by rank are kept for."""
LEAST = 10


@dataclass(frozen=True, slots=True)
class CurveLines:
    """The same curve of several kinds, each over the points.

    highest and median are taken at each point by itself over the ranked runs: neither is one run's
    curve. leader is the run ranked first. None where there is none, or it is the run itself.
    """

    points: tuple[float, ...]
    mine: tuple[float, ...]
    leader: tuple[float, ...] | None
    median: tuple[float, ...] | None
    highest: tuple[float, ...] | None
    ideal: tuple[float, ...] | None = None
    """Of rankings as good as the judgments allow."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Means over topics; a topic's ranking that ends before a rank has nothing relevant behind its end."""

    leader: str
    leader_id: int | None
    ranked: int
    topics: int
    recall: CurveLines
    """Interpolated precision at recall 0, 0.1, ... 1."""
    precision: CurveLines
    """P@k at ranks 1, 2, ..."""
    gain: CurveLines
    """Cumulated gain, a document's being its grade, at ranks 1, 2, ..."""


def curves(
    session: Session, source: Source, mine: Row, ranked: Sequence[Row], level: int, deepest: int
) -> Curves:
    """The curves of a run and of the ranked runs, the leader first; level is the lowest relevant grade.

    deepest: documents of the run's longest ranking, as far as curves by rank go. What is computed of a run
    is kept, so a page of another run, or with one run more, reads and computes little.
    """
    rows = {row.run_id: row for row in (mine, *ranked)}
    found = _of_runs(session, source, rows, level)
    leader = ranked[0] if ranked and ranked[0].run_id != mine.run_id else None
    depth = min(max(deepest, LEAST), DEEPEST)
    ideal = _ideal(session, source)

    def lines(name: str, points: tuple[float, ...], best: FloatArray | None = None) -> CurveLines:
        field = np.array([found[row.run_id][name][: len(points)] for row in ranked])
        return CurveLines(
            points=points,
            mine=_plain(found[mine.run_id][name][: len(points)]),
            leader=_plain(found[leader.run_id][name][: len(points)]) if leader else None,
            median=_plain(np.median(field, axis=0)) if len(field) > 1 else None,
            highest=_plain(field.max(axis=0)) if len(field) > 1 else None,
            ideal=None if best is None else _plain(best[: len(points)]),
        )

    ranks = tuple(float(rank) for rank in range(1, depth + 1))
    return Curves(
        leader=leader.run if leader else "",
        leader_id=leader.run_id if leader else None,
        ranked=len(ranked),
        topics=len(source.topics),
        recall=lines("recall", ELEVEN),
        precision=lines("precision", ranks),
        gain=lines("gain", ranks, ideal),
    )


def _of_runs(
    session: Session, source: Source, rows: Mapping[int, Row], level: int
) -> dict[int, dict[str, FloatArray]]:
    """Run id -> its curves by name; judged hits are read of those runs only that are not kept."""
    digests = {run_id: _digest(source, row, level) for run_id, row in rows.items()}
    kept = {run_id: requests.kept.get(digest) for run_id, digest in digests.items()}
    missing = [run_id for run_id, found in kept.items() if found is None]
    places = np.array(source.places, dtype=np.int64)
    for run_id, judged in (alignments(session, source, missing) if missing else {}).items():
        kept[run_id] = requests.kept.put(digests[run_id], _computed(judged, places, level))
    return {run_id: _floats(found) for run_id, found in kept.items() if found is not None}


def _digest(source: Source, row: Row, level: int) -> str:
    key = ranking_key(source, row.run_id, row.ranking_sha256, row.order_differs)
    return run_digest("curves", VERSION, source, key, level)


def _computed(judged: Judged, places: IntArray, level: int) -> Arrays:
    at_recall = [interpolated_precision(judged, recall=each, rel=level)[places].mean() for each in ELEVEN]
    return {
        "recall": np.array(at_recall),
        "precision": mean_precision(judged, places, DEEPEST, rel=level),
        "gain": mean_gain(judged, places, DEEPEST),
    }


def _ideal(session: Session, source: Source) -> FloatArray:
    places = np.array(source.places, dtype=np.int64)
    digest = run_digest("ideal gain", VERSION, source, "")
    kept = requests.kept.get(digest)
    if kept is None:
        made = ideal_gain(compiled_judgments(session, source).judgments, places, DEEPEST)
        kept = requests.kept.put(digest, {"gain": made})
    return _floats(kept)["gain"]


def _floats(found: Arrays) -> dict[str, FloatArray]:
    return {name: values.astype(np.float64, copy=False) for name, values in found.items()}


def _plain(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.tolist())
