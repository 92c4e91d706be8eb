"""Who leads many tasks at once, for a page that waits for none of them.

Of large boards an evaluator stored the leader and its place. Small boards are compared at once, as far as the
time goes, from scores that one statement reads; what is in memory costs nothing. A board that is left has no
place until its own page was opened.
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
from leaderboard.services.evaluations.score import stored_scores
from leaderboard.services.statistics import requests, standings
from leaderboard.services.statistics.requests import Request
from leaderboard.stats.arrays import Arrays, unpack
from leaderboard.stats.pairs.methods import method
from leaderboard.stats.standing import verdicts

log = logging.getLogger(__name__)

AT_ONCE_S = 0.03
"""What comparing boards may take of one visit, by estimate."""
LEAST_S = 0.002
"""A small board takes that, however small it is."""


@dataclass(frozen=True, slots=True)
class ComparedField:
    """The ranked runs of a task by one measure, and the id of its leader; sign -1: lower is better."""

    request: Request
    sign: int
    leader: int

    @property
    def key(self) -> tuple[str, tuple[int, ...], int, int]:
        """What its place is kept under."""
        return self.request.digest, self.request.run_ids, self.sign, self.leader


@dataclass(frozen=True, slots=True)
class LeaderPlace:
    """How sure a lead is: how many runs may be the best, and the range of the leader's rank."""

    may_be_best: int
    rank_low: int
    rank_high: int


@dataclass(frozen=True, slots=True)
class BoardLeaders:
    """What is stored of a large board: the runs that share the lead, and what is said of the field.

    quantiles: of the means of all ranked runs, from the lowest to the highest. places: those of the leaders.
    """

    run_ids: tuple[int, ...]
    value: float
    runs: int
    teams: int
    quantiles: tuple[float, ...]
    places: tuple[LeaderPlace, ...]


def stored(session: Session, asked: Mapping[int, Request]) -> dict[int, BoardLeaders]:
    """Task id -> what evaluators stored of its board as it is, where they did; one statement.

    What is damaged is left out: the page then reads the runs.
    """
    by_digest = {request.digest: task_id for task_id, request in asked.items()}
    query = select(Statistic.digest, Statistic.result)
    rows = session.execute(query.where(Statistic.digest.in_(by_digest), Statistic.result.is_not(None)))
    found = {}
    for digest, result in rows:
        try:
            found[by_digest[digest]] = _stored_leaders(unpack(result or b""))
        except Damaged as error:
            log.warning("a stored leader is left out: %s", error.message)
    return found


def _stored_leaders(arrays: Arrays) -> BoardLeaders:
    said = {name: values.tolist() for name, values in arrays.items()}
    ranges = zip(said.get("rank_low", ()), said.get("rank_high", ()), strict=True)
    return BoardLeaders(
        run_ids=tuple(said["leaders"]),
        value=said["value"],
        runs=said["runs"],
        teams=said["teams"],
        quantiles=tuple(said["quantiles"]),
        places=tuple(LeaderPlace(said["may_be_best"], low, high) for low, high in ranges),
    )


_places: Kept[LeaderPlace] = Kept(__name__)


def places(session: Session, fields: Mapping[int, ComparedField]) -> dict[int, LeaderPlace]:
    """Task id -> the place of its leader, where it is known or quickly worked out; at most two statements."""
    keys = {task_id: field.key for task_id, field in fields.items()}
    found = {task_id: place for task_id, key in keys.items() if (place := _places.get(key))}
    others = {task_id: field for task_id, field in fields.items() if task_id not in found}
    results = _results(session, others.values()) if others else {}
    for task_id, field in others.items():
        if (result := results.get(field.request.digest)) is not None:
            found[task_id] = _places.put(keys[task_id], _place(result, field))
    return found


def _results(session: Session, fields: Iterable[ComparedField]) -> dict[str, Arrays]:
    """Digest -> the comparison, of those that are in memory or small."""
    asked = {field.request.digest: field for field in fields}
    results = {digest: known for digest in asked if (known := requests.kept.get(digest)) is not None}
    left = [field for digest, field in asked.items() if digest not in results]
    try:
        results |= _computed(session, _small(left))
    except Damaged as error:
        # The task's own board tells its readers; the others are shown all the same.
        log.warning("a leader's place is left out: %s", error.message)
    return results


def _small(fields: Iterable[ComparedField]) -> list[ComparedField]:
    """The first of those that a page may compute, as far as the time goes."""
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
