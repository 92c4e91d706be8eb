"""A run's curves and those of the ranked runs: precision by recall, precision and gain by rank."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.boards.ops.rows import Row
from leaderboard.measures.interpolated import ELEVEN, precision_at_recalls
from leaderboard.measures.judged import FloatArray, IntArray, Judged, ideal_gain, mean_gain, mean_precision
from leaderboard.runs.page.head import RunHead, ScoredRun, board_rows, caption, head_facts
from leaderboard.scoring.ops.evaluations.shown import Source, ranking_key, run_digest
from leaderboard.scoring.ops.rankings import alignments, compiled_judgments
from leaderboard.scoring.ops.statistics import requests
from leaderboard.stats.arrays import Arrays
from leaderboard.tables.record import Column, Files, Place, Table

VERSION = 1
"""Version of the data kept per run; a new version invalidates the old data."""
DEEPEST = 100
"""Ranks that curves by rank are kept for."""
LEAST = 10
Kind = Literal["mine", "leader", "median", "highest", "ideal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
COMPARED = KINDS[:4]
"""The kinds of line that every curve may have."""


@dataclass(frozen=True, slots=True)
class CurveLines:
    """One curve in several variants, each over the points.

    highest and median are taken at each point separately over the ranked runs: neither is the curve of one
    run. leader is the run ranked first; None if absent or it is the run itself.
    """

    points: tuple[float, ...]
    mine: tuple[float, ...]
    leader: tuple[float, ...] | None
    median: tuple[float, ...] | None
    highest: tuple[float, ...] | None
    ideal: tuple[float, ...] | None = None
    """The curve of the ideal rankings."""

    def line(self, kind: Kind) -> tuple[float, ...] | None:
        """The values of one variant at the points; None if absent."""
        values: tuple[float, ...] | None = getattr(self, kind)
        return values


NO_LINES = CurveLines(points=(), mine=(), leader=None, median=None, highest=None)


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

    def names(self, run: str) -> dict[Kind, str]:
        """The names of the variants in a table; the run's own curve by its name."""
        return {
            "mine": run,
            "leader": self.leader or "leader",
            "median": "Median",
            "highest": "Highest",
            "ideal": "ideal",
        }


NO_CURVES = Curves("", None, 0, 0, NO_LINES, NO_LINES, NO_LINES)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvesPage(RunHead):
    """A run's curves and those of the ranked runs; primary is the ranking measure."""

    curves: Curves
    primary: str


@dataclass(frozen=True, slots=True)
class Point:
    """All lines at one recall or rank; None for absent lines."""

    at: float
    precision: Mapping[Kind, float | None]
    gain: Mapping[Kind, float | None]


def curves_page(session: Session, scored: ScoredRun) -> CurvesPage:
    """The curves of a run and of the ranked runs.

    Results of a run are kept, so a page of another run, or with one run more, reads and computes little.
    """
    head = scored.seen.head(by_topic=True)
    return CurvesPage(**head, curves=_curves(session, scored), primary=scored.primary)


def facts(page: CurvesPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    return {**head_facts(page), "curves": curve_facts(page)}


def curve_facts(page: CurvesPage) -> dict[str, Any]:
    """The points and lines of every curve."""
    curves = page.curves
    named = {"recall": curves.recall, "precision": curves.precision, "gain": curves.gain}
    return {
        "leader": curves.leader or None,
        **{
            name: {"points": lines.points, **{kind: lines.line(kind) for kind in KINDS}}
            for name, lines in named.items()
        },
    }


def recall_table(page: CurvesPage) -> Table[Point]:
    """Interpolated precision at eleven levels of recall."""
    lines = page.curves.recall
    return Table(
        f"{page.name}-recall",
        caption(page, "Interpolated precision by recall"),
        [
            Column("recall", lambda row: row.at, "Recall", digits=1),
            *(_precision(page, lines, kind) for kind in COMPARED),
        ],
        [
            Point(at, {kind: _at(lines, kind, place) for kind in COMPARED}, {})
            for place, at in enumerate(lines.points)
        ],
    )


def ranks_table(page: CurvesPage) -> Table[Point]:
    """Precision and cumulated gain at every rank."""
    precision, gain = page.curves.precision, page.curves.gain
    return Table(
        f"{page.name}-ranks",
        caption(page, "Precision and cumulated gain by rank"),
        [
            Column("rank", lambda row: int(row.at), "Rank", digits=0),
            *(_precision(page, precision, kind, by_rank=True) for kind in COMPARED),
            *(_gain(page, gain, kind) for kind in KINDS),
        ],
        [
            Point(
                at,
                {kind: _at(precision, kind, place) for kind in COMPARED},
                {kind: _at(gain, kind, place) for kind in KINDS},
            )
            for place, at in enumerate(precision.points)
        ],
    )


FILES = Files(facts=facts, tables={"recall": recall_table, "ranks": ranks_table})


def _precision(page: CurvesPage, lines: CurveLines, kind: Kind, *, by_rank: bool = False) -> Column[Point]:
    name = page.curves.names(page.name)[kind]
    return Column(
        f"precision_{kind}" if by_rank else kind,
        lambda row: row.precision[kind],
        f"P, {name}" if by_rank else name,
        digits=4,
        shown=_where(lines, kind),
    )


def _gain(page: CurvesPage, lines: CurveLines, kind: Kind) -> Column[Point]:
    return Column(
        f"gain_{kind}",
        lambda row: row.gain[kind],
        f"CG, {page.curves.names(page.name)[kind]}",
        digits=2,
        shown=_where(lines, kind),
    )


def _where(lines: CurveLines, kind: Kind) -> Place:
    """A line that is not there has an empty column in data, and none where people read."""
    return Place.DATA if lines.line(kind) is None else Place.EVERYWHERE


def _at(lines: CurveLines, kind: Kind, place: int) -> float | None:
    values = lines.line(kind)
    return None if values is None else values[place]


def _curves(session: Session, scored: ScoredRun) -> Curves:
    """The curves over the topics of the source; those by rank end with the run's longest ranking."""
    source, run_id = scored.source, scored.run.id
    rows = board_rows(session, scored)
    ranked = [row for row in rows if row.rank is not None]
    leader = ranked[0] if ranked and ranked[0].run_id != run_id else None
    drawn = {row.run_id: row for row in rows if row.rank is not None or row.run_id == run_id}
    computed = _of_runs(session, source, drawn, scored.seen.task.level)
    field = [computed[row.run_id] for row in ranked]
    first = computed[leader.run_id] if leader else None
    depth = min(max(scored.run.deepest, LEAST), DEEPEST)
    ranks = tuple(float(rank) for rank in range(1, depth + 1))
    mine, ideal = computed[run_id], _ideal(session, source)
    return Curves(
        leader=leader.run if leader else "",
        leader_id=leader.run_id if leader else None,
        ranked=len(ranked),
        topics=len(source.topics),
        recall=_lines("recall", ELEVEN, mine, first, field),
        precision=_lines("precision", ranks, mine, first, field),
        gain=_lines("gain", ranks, mine, first, field, ideal),
    )


def _lines(
    name: str,
    points: tuple[float, ...],
    mine: Mapping[str, FloatArray],
    leader: Mapping[str, FloatArray] | None,
    ranked: Sequence[Mapping[str, FloatArray]],
    ideal: FloatArray | None = None,
) -> CurveLines:
    """One curve of the run, of the leader and of the ranked runs, each given by the names of curves."""
    field = np.array([run[name][: len(points)] for run in ranked])
    return CurveLines(
        points=points,
        mine=_plain(mine[name][: len(points)]),
        leader=_plain(leader[name][: len(points)]) if leader else None,
        median=_plain(np.median(field, axis=0)) if len(field) > 1 else None,
        highest=_plain(field.max(axis=0)) if len(field) > 1 else None,
        ideal=None if ideal is None else _plain(ideal[: len(points)]),
    )


def _of_runs(
    session: Session, source: Source, rows: Mapping[int, Row], level: int
) -> dict[int, dict[str, FloatArray]]:
    """Run id -> its curves by name; judged hits are read of those runs only that are not kept."""
    digests = {run_id: _digest(source, row, level) for run_id, row in rows.items()}
    kept = {run_id: requests.kept.get(digest) for run_id, digest in digests.items()}
    missing = [run_id for run_id, curves in kept.items() if curves is None]
    places = np.array(source.places, dtype=np.int64)
    for run_id, judged in (alignments(session, source, missing) if missing else {}).items():
        kept[run_id] = requests.kept.put(digests[run_id], _computed(judged, places, level))
    return {run_id: _floats(curves) for run_id, curves in kept.items() if curves is not None}


def _digest(source: Source, row: Row, level: int) -> str:
    key = ranking_key(source, row.run_id, row.ranking_sha256, row.order_differs)
    return run_digest("curves", VERSION, source, key, level)


def _computed(judged: Judged, places: IntArray, level: int) -> Arrays:
    at_recalls = precision_at_recalls(judged, ELEVEN, rel=level)
    return {
        "recall": np.array([precision[places].mean() for precision in at_recalls]),
        "precision": mean_precision(judged, places, DEEPEST, rel=level),
        "gain": mean_gain(judged, places, DEEPEST),
    }


def _ideal(session: Session, source: Source) -> FloatArray:
    places = np.array(source.places, dtype=np.int64)
    digest = run_digest("ideal gain", VERSION, source, "")
    kept = requests.kept.get(digest)
    if kept is None:
        gain = ideal_gain(compiled_judgments(session, source).judgments, places, DEEPEST)
        kept = requests.kept.put(digest, {"gain": gain})
    return _floats(kept)["gain"]


def _floats(arrays: Arrays) -> dict[str, FloatArray]:
    return {name: values.astype(np.float64, copy=False) for name, values in arrays.items()}


def _plain(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.tolist())
