"""Computation of comparisons by an evaluator; pages find the results by `requests`."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from leaderboard.checksums import damaged
from leaderboard.core import kinds
from leaderboard.db.engine import Database
from leaderboard.db.tables import Statistic
from leaderboard.measures.naming import parse
from leaderboard.measures.record import refusal
from leaderboard.scoring.ops import board_measures
from leaderboard.scoring.ops.evaluations.shown import FloatArray, scores_of
from leaderboard.scoring.ops.statistics.procedures import (
    document_orders,
    field_leaders,
    pool_reusability,
    pool_simulations,
    ranking_overlaps,
    revision_scores,
)
from leaderboard.scoring.ops.statistics.requests import Request, request_of
from leaderboard.stats import process
from leaderboard.stats.arrays import Arrays, pack, unpack

log = logging.getLogger(__name__)


PROGRESS_EVERY_S = 1.0
_OF_HITS = {
    pool_reusability.PROCEDURE: pool_reusability.compute,
    pool_simulations.PROCEDURE: pool_simulations.compute,
    board_measures.PROCEDURE: board_measures.compute,
}
"""Procedures on the runs' judged hits, with options as method."""


def compute(database: Database, statistic_id: int) -> bytes:
    """The packed result of a stored request, computed in a separate process with recorded progress."""
    reported = time.monotonic()

    def progress(share: float) -> None:
        nonlocal reported
        if time.monotonic() - reported > PROGRESS_EVERY_S:
            reported = time.monotonic()
            _tell_progress(database, statistic_id, share)

    with database.read() as session:
        row = session.get_one(Statistic, statistic_id)
        if not row.is_whole:
            raise damaged(f"comparison {statistic_id}", "the checksum of what it compares does not match")
        request = request_of(row.request)
        if request.procedure == ranking_overlaps.PROCEDURE:
            return pack(ranking_overlaps.compute(session, request.run_ids, request.source, progress))
        if request.procedure == document_orders.PROCEDURE:
            return pack(document_orders.compute(session, request.run_ids, request.source.dialect, progress))
        if request.procedure == revision_scores.PROCEDURE:
            facts = request.source.revision_id, request.run_ids, request.measure, request.source.dialect
            return pack(revision_scores.compute(session, *facts, progress))
        if (computed := kinds.procedure(request.procedure)) is not None:
            return pack(computed(session, request.source, request.run_ids, progress))
        if request.procedure in _OF_HITS:
            return pack(computed_from_hits(session, request, progress))
        if request.procedure == field_leaders.PROCEDURE:
            return pack(_leaders(session, request, progress))
        scores = _scores(session, request)
    return process.run(request.procedure, scores, request.options, progress)


def _tell_progress(database: Database, statistic_id: int, share: float) -> None:
    """Record the progress, unless the database is busy: progress must not cost the work."""
    try:
        with database.write(PROGRESS_EVERY_S) as session:
            if (row := session.get(Statistic, statistic_id)) is not None and row.is_whole:
                row.progress = share
    except OperationalError as error:
        log.info("the progress of statistic %d was not written: %s", statistic_id, error.orig)


def computed_from_hits(session: Session, request: Request, progress: Callable[[float], None]) -> Arrays:
    """The result of a procedure on judged hits, computed synchronously."""
    of_hits = _OF_HITS[request.procedure]
    return of_hits(session, request.source, request.run_ids, request.measure, request.method, progress)


def _leaders(session: Session, request: Request, progress: Callable[[float], None]) -> Arrays:
    """Leaders of a board, with the places of all its runs if they can be compared."""
    field = field_leaders.field(session, request.source, request.measure, request.run_ids)
    places: Arrays = {}
    if field.is_ranked and len(request.source.topics) > 1 and not refusal(parse(request.measure).measure):
        pairs = replace(
            request,
            procedure="pairs",
            method=field.comparison,
            run_ids=field.run_ids,
            rankings=field.rankings,
        )
        places = unpack(
            process.run(field_leaders.PROCEDURE, _scores(session, pairs), pairs.options, progress)
        )
    return field_leaders.summary(field, places)


def _scores(session: Session, request: Request) -> FloatArray:
    by_run = scores_of(session, request.source, request.measure, request.measure_version, request.run_ids)
    scores = np.array([by_run[run_id] for run_id in request.run_ids])
    return -scores if parse(request.measure).measure.direction == "lower" else scores
