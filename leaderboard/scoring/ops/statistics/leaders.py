"""Leaders of many tasks at once, for a page that does not wait for results.

For large boards, an evaluator stored the leader and its place. Small boards are compared immediately within a
time budget, from scores read by one statement; cached results are free. Remaining boards have no place until
their own page is opened.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Evaluation, Statistic
from leaderboard.errors import Damaged
from leaderboard.memory import Kept
from leaderboard.scoring.ops.evaluations.shown import stored_scores
from leaderboard.scoring.ops.statistics import requests, standings
from leaderboard.scoring.ops.statistics.requests import Request
from leaderboard.stats.arrays import Arrays, unpack
from leaderboard.stats.pairs.methods import method
from leaderboard.stats.standing import verdicts

log = logging.getLogger(__name__)

AT_ONCE_S = 0.03
"""Estimated time budget for comparing boards in one request."""
LEAST_S = 0.002
"""Minimum time of a board, however small."""


@dataclass(frozen=True, slots=True)
class ComparedField:
    """The ranked runs of a task by one measure, and the id of its leader; sign -1: lower is better."""

    request: Request
    sign: int
    leader: int

    @property
    def key(self) -> tuple[str, tuple[int, ...], int, int]:
        """The cache key of its place."""
        return self.request.digest, self.request.run_ids, self.sign, self.leader


@dataclass(frozen=True, slots=True)
class LeaderPlace:
    """Confidence of a lead: number of runs that may be the best, and the leader's rank range."""

    may_be_best: int
    rank_low: int
    rank_high: int


@dataclass(frozen=True, slots=True)
class BoardLeaders:
    """Stored facts of a large board: the leaders and a summary of the field.

    quantiles: of the means of all ranked runs, from the lowest to the highest. places: those of the leaders.
    """

    run_ids: tuple[int, ...]
    value: float
    runs: int
    teams: int
    quantiles: tuple[float, ...]
    places: tuple[LeaderPlace, ...]


def stored(session: Session, asked: Mapping[int, Request]) -> dict[int, BoardLeaders]:
    """Task id -> stored facts of its current board, if available; one statement.

    Damaged rows are omitted: the page then reads the runs.
    """
    by_digest = {request.digest: task_id for task_id, request in asked.items()}
    query = select(Statistic.digest, Statistic.result)
    rows = session.execute(query.where(Statistic.digest.in_(by_digest), Statistic.result.is_not(None)))
    leaders = {}
    for digest, result in rows:
        try:
            leaders[by_digest[digest]] = _stored_leaders(unpack(result or b""))
        except Damaged as error:
            log.warning("a stored leader is left out: %s", error.message)
    return leaders


def _stored_leaders(arrays: Arrays) -> BoardLeaders:
    fields = {name: values.tolist() for name, values in arrays.items()}
    ranges = zip(fields.get("rank_low", ()), fields.get("rank_high", ()), strict=True)
    return BoardLeaders(
        run_ids=tuple(fields["leaders"]),
        value=fields["value"],
        runs=fields["runs"],
        teams=fields["teams"],
        quantiles=tuple(fields["quantiles"]),
        places=tuple(LeaderPlace(fields["may_be_best"], low, high) for low, high in ranges),
    )


_places: Kept[LeaderPlace] = Kept(__name__)


def places(session: Session, fields: Mapping[int, ComparedField]) -> dict[int, LeaderPlace]:
    """Task id -> place of its leader, if known or fast to compute; at most two statements."""
    keys = {task_id: field.key for task_id, field in fields.items()}
    by_task = {task_id: place for task_id, key in keys.items() if (place := _places.get(key))}
    others = {task_id: field for task_id, field in fields.items() if task_id not in by_task}
    results = _results(session, others.values()) if others else {}
    for task_id, field in others.items():
        if (result := results.get(field.request.digest)) is not None:
            by_task[task_id] = _places.put(keys[task_id], _place(result, field))
    return by_task


def _results(session: Session, fields: Iterable[ComparedField]) -> dict[str, Arrays]:
    """Digest -> comparison, for cached or small ones."""
    asked = {field.request.digest: field for field in fields}
    results = {digest: arrays for digest in asked if (arrays := requests.kept.get(digest)) is not None}
    left = [field for digest, field in asked.items() if digest not in results]
    try:
        results |= _computed(session, _small(left))
    except Damaged as error:
        # The task's own board reports the error; other tasks are still shown.
        log.warning("a leader's place is left out: %s", error.message)
    return results


def _small(fields: Iterable[ComparedField]) -> list[ComparedField]:
    """The first fields that a page may compute within its time budget."""
    chosen, left = [], AT_ONCE_S
    for field in fields:
        takes = max(field.request.seconds, LEAST_S)
        if takes <= left:
            chosen.append(field)
            left -= takes
    return chosen


def _computed(session: Session, fields: list[ComparedField]) -> dict[str, Arrays]:
    """The comparisons of some fields, from scores that one statement reads."""
    if not fields:
        return {}
    rows = stored_scores(session, or_(*(_scores_of(field.request) for field in fields)))
    scores = {(row.revision_id, row.run_id): row.scores for row in rows}
    results = {}
    for field in fields:
        request, source = field.request, field.request.source
        vectors = [scores[source.revision_id, run_id] for run_id in request.run_ids]
        better = field.sign * np.array(vectors)[:, np.array(source.places, dtype=np.int64)]
        result = standings.compute(request, better)
        results[request.digest] = requests.kept.put(request.digest, result)
    return results


def _scores_of(request: Request) -> ColumnElement[bool]:
    source = request.source
    return and_(
        Evaluation.revision_id == source.revision_id,
        Evaluation.dialect == source.dialect,
        Evaluation.measure == request.measure,
        Evaluation.measure_version == request.measure_version,
        Evaluation.run_id.in_(request.run_ids),
    )


def _place(result: Arrays, field: ComparedField) -> LeaderPlace:
    of_all = verdicts(standings.pair_table(result, field.request, method(field.request.method)))
    at = field.request.run_ids.index(field.leader)
    return LeaderPlace(
        int(np.count_nonzero(of_all.may_be_best)), int(of_all.rank_low[at]), int(of_all.rank_high[at])
    )
