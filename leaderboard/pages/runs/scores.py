"""What a run got by every measure of its board, and where that puts it among the ranked runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Evaluation, EvaluationMean, Run
from leaderboard.measures.judged import FloatArray
from leaderboard.pages.runs.head import SeenRun
from leaderboard.services.boards.rows import of_phase
from leaderboard.services.evaluations import judged_topics
from leaderboard.services.evaluations.choices import RANKED_KIND
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.damaged import MEANS, whole_means
from leaderboard.services.statistics import requests, standings
from leaderboard.services.statistics.standings import Place, RankedRun, Standing
from leaderboard.stats.pairs.methods import method


@dataclass(frozen=True, slots=True)
class FieldSpread:
    """How a measure spreads over the ranked runs: smallest, quartiles, largest value."""

    low: float
    lower: float
    median: float
    upper: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureValue:
    """A measure, the run's aggregate, its place among the ranked runs, and how these spread."""

    column: MeasureColumn
    value: float | None
    rank: int | None
    ranked: int
    best: float | None
    spread: FieldSpread | None
    """None where the measure has no better and worse, or no run is ranked."""
    digits: int
    """Decimals of its values for readers."""

    def shown(self, value: float | None) -> str | None:
        """A value by the measure as readers get it."""
        return None if value is None else f"{value:.{self.digits}f}"

    @property
    def reaches(self) -> tuple[float | None, ...]:
        """The spread from the best end to the worst."""
        spread = self.spread
        if spread is None:
            return (None,) * 5
        ends = spread.high, spread.upper, spread.median, spread.lower, spread.low
        return ends[::-1] if self.column.lower_is_better else ends


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalRun:
    """A scored run, or the run of the page itself; values are as the reader sees them, by measure."""

    run_id: int
    name: str
    ranking_sha256: str
    is_ranked: bool
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding:
    """Where a run stands: its values, its place by one measure, and the run that leads by it.

    place and interval, of its mean by that measure, are None where they cannot be said, leader where
    that is the run itself or no run is ranked.
    """

    measures: tuple[MeasureValue, ...]
    place: Place | None
    interval: tuple[float, float] | None
    leader: RivalRun | None


def stand(session: Session, seen: SeenRun, key: str) -> RunStanding:
    """Where a run stands among the ranked runs by a measure, by the board's own rule; one statement."""
    edition, columns = seen.shown.edition, seen.columns
    rivals = _rivals(session, seen, edition if columns else None)
    by = next((column for column in columns if column.key == key), None)
    ranked = _ranked(rivals, by) if by else []
    standing = _standing(session, seen, by, ranked) if by else None
    return RunStanding(
        measures=tuple(_value(rivals, column, seen) for column in columns),
        place=standing.places.get(seen.run.id) if standing else None,
        interval=_interval(seen.run.id, standing, by, ranked) if standing and by else None,
        leader=ranked[0] if ranked and ranked[0].run_id != seen.run.id else None,
    )


def spread_of(values: FloatArray) -> FieldSpread:
    """The five numbers of at least one value; quartiles between two values are interpolated.

    >>> spread_of(np.array([0.4, 0.1, 0.2, 0.3, 0.9]))
    FieldSpread(low=0.1, lower=0.2, median=0.3, upper=0.4, high=0.9)
    """
    return FieldSpread(*np.percentile(values, (0, 25, 50, 75, 100)).tolist())


def _rivals(session: Session, seen: SeenRun, edition: Edition | None) -> list[RivalRun]:
    """The run, and beside it the runs that may be ranked under the edition.

    Values are rounded before anything is ordered by them, so that order tells no more.
    """
    if edition is None:
        return []
    facts = Run.id, Run.name, Run.kind, Run.ranking_sha256
    statement = _with_means(select(*facts, *MEANS), edition, seen.sight.topic_set)
    ranked = and_(Run.kind == RANKED_KIND, Run.withdrawn_at.is_(None), *of_phase(seen.sight))
    rows = session.execute(
        statement.where(Run.task_id == seen.task.id, (Run.id == seen.run.id) | ranked)
    ).all()
    versions = {measure["key"]: measure["version"] for measure in edition.measures}
    needed = judged_topics.needed(edition, seen.sight.topic_set)
    decimals = seen.sight.decimals
    values: dict[int, dict[str, float]] = {row.id: {} for row in rows}
    for row, mean, topics in whole_means(session, rows):
        if versions[row.measure] == row.measure_version and judged_topics.is_whole(
            needed, row.measure, topics
        ):
            values[row.id][row.measure] = mean if decimals is None else round(mean, decimals)
    rivals = {row.id: _rival(row, values.get(row.id, {}), seen) for row in rows}
    return list(rivals.values())


def _with_means(selected: Any, edition: Edition, topic_set: str) -> Any:
    """The selected runs joined with their means under an edition; runs without any stay."""
    keys = [measure["key"] for measure in edition.measures]
    is_score = (
        (Evaluation.run_id == Run.id)
        & (Evaluation.revision_id == edition.revision_id)
        & (Evaluation.dialect == edition.dialect)
        & Evaluation.measure.in_(keys)
    )
    # A set that the edition does not know has no means: no set has the id 0.
    set_id = edition.topic_sets.get(topic_set, {"id": 0})["id"]
    is_mean = (EvaluationMean.evaluation_id == Evaluation.id) & (EvaluationMean.topic_set_id == set_id)
    return selected.outerjoin(Evaluation, is_score).outerjoin(EvaluationMean, is_mean)


def _rival(row: Any, values: Mapping[str, float], seen: SeenRun) -> RivalRun:
    may_rank = seen.sight.is_ranked and row.id not in seen.left_out
    return RivalRun(
        run_id=row.id,
        name=seen.names.run(row.id, row.name),
        ranking_sha256=row.ranking_sha256,
        is_ranked=may_rank and row.kind == RANKED_KIND,
        values=values,
    )


def _ranked(rivals: Sequence[RivalRun], by: MeasureColumn) -> list[RivalRun]:
    """The ranked runs by a measure, the best first, equal ones by name."""
    ranked = [rival for rival in rivals if rival.is_ranked and by.key in rival.values]
    return sorted(ranked, key=lambda rival: (-by.sign * rival.values[by.key], rival.name))


def explained(column: MeasureColumn) -> str:
    """What a measure is, and what a run's value is of its topics' scores where it is not their mean."""
    return f"{column.title}, summed over topics" if column.aggregate == "sum" else column.title


def _value(rivals: Sequence[RivalRun], column: MeasureColumn, seen: SeenRun) -> MeasureValue:
    mine = next(rival for rival in rivals if rival.run_id == seen.run.id)
    value = mine.values.get(column.key)
    ordered = _ranked(rivals, column) if column.direction != "none" else []
    values = np.array([rival.values[column.key] for rival in ordered])
    place = None
    if value is not None and mine.is_ranked and ordered:
        place = 1 + int(np.count_nonzero(column.sign * values > column.sign * value))
    return MeasureValue(
        column=column,
        value=value,
        rank=place,
        ranked=len(ordered),
        best=float(values[0]) if ordered else None,
        spread=spread_of(values) if ordered else None,
        digits=seen.sight.decimals or column.digits,
    )


def _standing(
    session: Session, seen: SeenRun, by: MeasureColumn, ranked: Sequence[RivalRun]
) -> Standing | None:
    """What the board says of the ranked runs; None where it says nothing, or nothing yet."""
    source = seen.shown.source
    is_compared = by.direction != "none" and by.aggregate in requests.COMPARED_AGGREGATES
    if source is None or not seen.sight.details or not is_compared or not ranked:
        return None
    runs = [RankedRun(run.run_id, run.ranking_sha256, run.name, run.values[by.key]) for run in ranked]
    compared = method(seen.task.comparison)
    standing = standings.of_runs(session, source, (by.key, by.version), by.sign, runs, compared)
    return standing if isinstance(standing, Standing) else None


def _interval(
    run_id: int, standing: Standing, by: MeasureColumn, ranked: Sequence[RivalRun]
) -> tuple[float, float] | None:
    """The 95% interval of a ranked run's mean, as the board draws it; of a sum that of the sum."""
    value = next((run.values[by.key] for run in ranked if run.run_id == run_id), None)
    half = standing.half_widths.get(run_id)
    if value is None or half is None:
        return None
    reach = half * (standing.topics if by.aggregate == "sum" else 1)
    return value - reach, value + reach
