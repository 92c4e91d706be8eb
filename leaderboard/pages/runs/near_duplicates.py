"""Runs of a task that are nearly the same as one of them: same rankings, same scores, or much overlap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run
from leaderboard.pages.runs.head import ScoredRun, board_rows
from leaderboard.pages.runs.topics import looked_at
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.shown import FloatArray, Source
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.procedures import ranking_overlaps
from leaderboard.services.statistics.requests import Request
from leaderboard.tables.record import Place, Shown
from leaderboard.trec.runs.fingerprints import similarity

SAME_SCORE = 1e-5
"""Scores of a topic that differ by no more are taken for equal: four decimals do not show it."""
OVERLAP = 0.95
"""Mean rank-biased overlap from which on two runs are nearly the same."""
SCREENED = 0.7
"""Estimated share of the top ten documents in common below which an overlap that large is out of reach."""
MOST = 8
"""Pairs whose overlap is computed while a reader waits: those that look most alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicate:
    """Another run, and what makes it nearly the same."""

    run_id: Annotated[int, Shown(shown=Place.DATA)]
    run: str
    team: str
    same_team: Annotated[bool, Shown(shown=Place.DATA)]
    same_ranking: bool
    """All rankings hold the same documents in the same order."""
    same_scores: bool
    """The scores by the measure agree on every topic."""
    overlap: Annotated[float | None, Shown(digits=3)]
    """Mean rank-biased overlap of the rankings; None where it was not computed."""
    shared: float
    """Estimated share of all top ten documents in common."""


def near_duplicates(
    session: Session, scored: ScoredRun, measure: str | None = None
) -> tuple[NearDuplicate, ...]:
    """The runs nearly the same as one, likest first; organisers are told of those of other teams too.

    measure: by which scores are held against each other, the primary one unless said otherwise. A pair of
    runs of two teams may be chance, a shared baseline or copying: that is for the organisers to find out, so
    others are not told.
    """
    source, rows = scored.source, board_rows(session, scored)
    run = next(row for row in rows if row.run_id == scored.run.id)
    all_teams = scored.seen.sight.organises
    chosen = [row for row in rows if row.run_id != run.run_id and (all_teams or row.team_id == run.team_id)]
    if not chosen:
        return ()
    looked = looked_at(session, scored, rows, measure)
    scores = looked.scores if looked else {}
    alike = _alike(session, run, chosen)
    closest = sorted(
        (row for row in chosen if alike[row.run_id] >= SCREENED), key=lambda row: -alike[row.run_id]
    )
    overlaps = {row.run_id: _overlap(session, source, run, row) for row in closest[:MOST]}
    pairs = [
        NearDuplicate(
            run_id=row.run_id,
            run=row.run,
            team=row.team,
            same_team=row.team_id == run.team_id,
            same_ranking=row.ranking_sha256 == run.ranking_sha256,
            same_scores=_same_scores(scores, run.run_id, row.run_id),
            overlap=overlaps.get(row.run_id),
            shared=alike[row.run_id],
        )
        for row in chosen
    ]
    near = [pair for pair in pairs if _is_near(pair)]
    return tuple(
        sorted(near, key=lambda pair: (not pair.same_ranking, -(pair.overlap or pair.shared), pair.run))
    )


def _is_near(pair: NearDuplicate) -> bool:
    """By overlap where it was computed, else by the estimate."""
    overlap = pair.shared if pair.overlap is None else pair.overlap
    return pair.same_ranking or pair.same_scores or overlap >= OVERLAP


def _alike(session: Session, run: Row, others: Sequence[Row]) -> dict[int, float]:
    """Run id -> estimated share of top documents in common with the run; one statement."""
    ids = [run.run_id, *(row.run_id for row in others)]
    sketches = {
        row.id: row.sketch for row in session.execute(select(Run.id, Run.sketch).where(Run.id.in_(ids)))
    }
    mine = sketches[run.run_id]
    return {row.run_id: similarity(mine, sketches[row.run_id]) for row in others}


def _same_scores(scores: dict[int, FloatArray], run_id: int, other: int) -> bool:
    """Whether both have scores, equal on all topics; two runs that found nothing are not alike for that."""
    if run_id not in scores or other not in scores:
        return False
    mine, its = scores[run_id], scores[other]
    return bool(mine.any() and np.all(np.abs(mine - its) <= SAME_SCORE))


def _overlap(session: Session, source: Source, run: Row, other: Row) -> float | None:
    """The mean overlap of two runs' rankings; None where it takes too long and is not there yet."""
    pair = sorted((run, other), key=lambda row: row.run_id)
    request = Request(
        procedure=ranking_overlaps.PROCEDURE,
        method="",
        source=source,
        measure="",
        measure_version=0,
        run_ids=tuple(row.run_id for row in pair),
        rankings=tuple(row.ranking_sha256 for row in pair),
    )
    kept = requests.kept.get(request.digest)
    if kept is None:
        if request.seconds * MOST > requests.AT_ONCE_S:
            return None
        made = ranking_overlaps.compute(session, request.run_ids, source, lambda _: None)
        kept = requests.kept.put(request.digest, made)
    return float(kept["rbo"][0])
