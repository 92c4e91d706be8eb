"""Effectiveness and reported costs (latency, index size, energy, time) with their Pareto front."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.boards.ops.rows import Row, rank, read_rows
from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.errors import Invalid, NotShown, UnknownMeasure
from leaderboard.measures.naming import parse
from leaderboard.memory import keep
from leaderboard.scoring.ops import run_facts
from leaderboard.scoring.ops.evaluations.shown import shown_edition
from leaderboard.scoring.ops.run_facts import COST_OF, COSTS, RunName
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead, column, ranked_by
from leaderboard.stats.pareto import front
from leaderboard.tables.record import Column, Files, Place, Table
from leaderboard.trec.facts import FactField, Unit

SELF_REPORTED = "Costs are reported by the teams and have not been verified."
Order = Literal["cost", "score"]


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost with the number of scored runs that report it and its display unit."""

    field: FactField
    reported: int
    unit: Unit

    @property
    def title(self) -> str:
        """The cost with its denominator, such as `Latency per topic`."""
        return " ".join(filter(None, (self.field.title, self.field.per)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CostedRun(RunName):
    """A scored run that reports some cost; costs are in stored units."""

    rank: int | None
    score: float
    costs: dict[str, float]
    hardware: str
    on_front: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EfficiencyPage(TaskHead):
    """The efficiency page for a measure and cost; silent: number of scored runs without a cost."""

    measures: tuple[MeasureColumn, ...]
    measure: MeasureColumn
    ranked_by: str
    costs: tuple[Cost, ...]
    cost: Cost
    order: Order
    rows: tuple[CostedRun, ...]
    silent: int

    @property
    def drawn(self) -> tuple[CostedRun, ...]:
        """Runs that report the selected cost."""
        return tuple(row for row in self.rows if self.cost.field.key in row.costs)

    @property
    def shown_costs(self) -> tuple[Cost, ...]:
        """Costs reported by at least one run."""
        return tuple(cost for cost in self.costs if cost.reported)

    @property
    def machines(self) -> tuple[int, int]:
        """The number of plotted runs that state their hardware, and the number of distinct values."""
        hardware = [row.hardware for row in self.drawn if row.hardware]
        return len(hardware), len(set(hardware))


def efficiency_page(
    session: Session,
    viewer: Viewer,
    slug: str,
    measure: str | None = None,
    cost: str | None = None,
    order: str | None = None,
) -> EfficiencyPage:
    """The scored runs by a measure (the primary one) and a cost (the one most runs report).

    The Pareto front is among all scored runs of any kind that report the cost. order: `cost` (cheapest
    first) or `score`. Raises NotFound for an unknown task and while other teams' metadata is hidden,
    UnknownMeasure for a measure that is not on the board or has no direction, Invalid for an unknown cost.
    """
    task, access = policy.visible_task(session, viewer, slug)
    if not access.details:
        raise NotShown(f"{access.why} Costs are shown when it closes.")
    shown = shown_edition(session, task, access)
    edition = shown.edition
    keys = [key["key"] for key in edition.measures] if edition is not None else task.measures
    measures = tuple(column for column in map(_column, keys) if column.direction != "none")
    primary = edition.primary_measure if edition is not None else task.primary_measure
    by = _chosen(measures, primary if measure is None else parse(measure).key)
    rows = rank(read_rows(session, viewer, task, access, edition, (by,)), by)
    scored = [_costed(viewer, row, by) for row in rows if row.scores.get(by.key) is not None]
    costs = tuple(_cost(field, scored) for field in COSTS)
    chosen_cost = _chosen_cost(costs, cost)
    ordered = _ordered(_with_front(scored, chosen_cost.field.key, by), chosen_cost.field.key, order)
    return EfficiencyPage(
        of=task,
        basis=shown.basis,
        measures=measures,
        measure=by,
        ranked_by=ranked_by(by),
        costs=costs,
        cost=chosen_cost,
        order="score" if order == "score" else "cost",
        rows=ordered,
        silent=len(scored) - len(ordered),
        access=access,
    )


def facts(page: EfficiencyPage) -> dict[str, Any]:
    """The page as plain values at full precision, costs in the units of `units`."""
    basis = page.basis
    return {
        "task": page.slug,
        "measure": page.measure.key,
        "measure_version": page.measure.version,
        "direction": page.measure.direction,
        "cost": page.cost.field.key,
        "units": {cost.field.key: _kept_unit(cost) for cost in page.costs},
        "note": SELF_REPORTED,
        "edition": basis.edition if basis else None,
        "revision": basis.revision if basis else None,
        "topics": basis.topics if basis else None,
        "dialect": basis.dialect if basis else None,
        "reported": {cost.field.key: cost.reported for cost in page.costs},
        "silent": page.silent,
        "rows": [
            {
                "run": row.name,
                "run_id": row.run_id,
                "team": row.team,
                "kind": row.kind,
                "rank": row.rank,
                "score": row.score,
                "costs": {cost.field.key: row.costs.get(cost.field.key) for cost in page.costs},
                "hardware": row.hardware or None,
                "on_front": row.on_front,
            }
            for row in page.rows
        ],
    }


def table(page: EfficiencyPage) -> Table[CostedRun]:
    """Table of runs and costs, in stored units as data and in display units for people."""
    measure = page.measure
    columns = [
        Column("run", lambda row: row.name, "Run"),
        Column("run_id", lambda row: row.run_id, shown=Place.DATA),
        Column("team", lambda row: row.team, "Team"),
        Column("kind", lambda row: row.kind, shown=Place.DATA),
        Column("rank", lambda row: row.rank, shown=Place.DATA),
        Column(measure.key, lambda row: row.score, digits=measure.digits, group="measure"),
        *(_cost_as_data(cost) for cost in page.costs),
        *(_cost_as_printed(cost) for cost in page.shown_costs),
        *(_cost_in_words(cost) for cost in page.shown_costs),
        Column("hardware", lambda row: row.hardware, "Hardware", shown=Place.DATA | Place.PAGE),
        Column("on_front", lambda row: _yes(row.on_front), "Front", shown=~Place.PAGE),
    ]
    return Table(f"{page.slug}-efficiency", _caption(page), columns, page.rows)


FILES = Files(facts=facts, tables={"runs": table})


def _cost_as_data(cost: Cost) -> Column[CostedRun]:
    key = cost.field.key
    return Column(key, lambda row: row.costs.get(key), shown=Place.DATA)


def _cost_as_printed(cost: Cost) -> Column[CostedRun]:
    return Column(
        cost.field.key,
        lambda row: _scaled(row, cost),
        cost.title,
        unit=cost.unit.name,
        digits=3,
        shown=Place.PRINT,
    )


def _cost_in_words(cost: Cost) -> Column[CostedRun]:
    key, dimension = cost.field.key, cost.field.dimension
    assert dimension is not None, "a cost is a quantity"
    return Column(
        key,
        lambda row: row.costs.get(key),
        cost.title,
        words=lambda row: dimension.words(row.costs[key]) if key in row.costs else None,
        digits=3,
        shown=Place.PAGE,
        group="cost",
    )


def _caption(page: EfficiencyPage) -> str:
    lower = "; lower is better" if page.measure.lower_is_better else ""
    basis = page.basis
    on = f"{basis.topics} topics, {basis.qrels}" if basis else "no judgments"
    return (
        f"Effectiveness ({page.ranked_by}{lower}; {on}) and cost of {len(page.rows)} runs. {SELF_REPORTED} "
        f"Pareto front: no other run is at most as costly in {page.cost.field.title.lower()} and at least as "
        "good, and better in one of the two."
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _column(key: str) -> MeasureColumn:
    return column(parse(key))


def _chosen(measures: tuple[MeasureColumn, ...], key: str) -> MeasureColumn:
    chosen = next((measure for measure in measures if measure.key == key), None)
    if chosen is None:
        names = ", ".join(measure.key for measure in measures)
        raise UnknownMeasure(f"Runs on this board cannot be ordered by {key}; choose one of {names}.")
    return chosen


def _costed(viewer: Viewer, row: Row, by: MeasureColumn) -> CostedRun:
    costs, hardware = _reported(row.details)
    score = row.scores[by.key]
    assert score is not None, "only scored runs have a place here"
    return CostedRun(
        **row.named(viewer), rank=row.rank, score=score, costs=dict(costs), hardware=hardware, on_front=False
    )


@keep
def _reported(details: str) -> tuple[tuple[tuple[str, float], ...], str]:
    """Costs and hardware in stored metadata; cached, since it depends on the text alone."""
    read = json.loads(details) if details else {}
    values = [(field.key, run_facts.cost(read, field.key)) for field in COSTS]
    hardware = run_facts.fact(read, "hardware")
    costs = tuple((key, value) for key, value in values if value is not None)
    return costs, hardware.text if hardware else ""


def _cost(of: FactField, scored: list[CostedRun]) -> Cost:
    assert of.dimension is not None, "a cost is a quantity"
    values = [row.costs[of.key] for row in scored if of.key in row.costs]
    return Cost(of, len(values), of.dimension.unit(values))


def _chosen_cost(costs: tuple[Cost, ...], key: str | None) -> Cost:
    if key is None:
        return max(costs, key=lambda cost: cost.reported)
    if key not in COST_OF:
        raise Invalid(f"{key[:40]!r} is not a reported cost; choose one of {', '.join(COST_OF)}.")
    return next(cost for cost in costs if cost.field.key == key)


def _with_front(scored: list[CostedRun], key: str, by: MeasureColumn) -> list[CostedRun]:
    """Runs that report some cost, with those on the Pareto front marked."""
    reporting = [row for row in scored if row.costs]
    costs = np.array([row.costs.get(key, np.nan) for row in reporting])
    marked = front(costs, by.sign * np.array([row.score for row in reporting]))
    return [replace(row, on_front=bool(on)) for row, on in zip(reporting, marked, strict=True)]


def front_of(rows: Iterable[Row], key: str, by: MeasureColumn) -> frozenset[int]:
    """Ids of the runs on the Pareto front of a cost and a measure, among those that report the cost."""
    points = {
        row.run_id: (cost, by.sign * score)
        for row in rows
        if (score := row.scores.get(by.key)) is not None
        and (cost := dict(_reported(row.details)[0]).get(key)) is not None
    }
    costs, better = np.array(list(points.values())).reshape(-1, 2).T
    return frozenset(
        run_id for run_id, is_on in zip(points, front(costs, better).tolist(), strict=True) if is_on
    )


def _ordered(rows: list[CostedRun], key: str, order: str | None) -> tuple[CostedRun, ...]:
    """Rows by score, or by cost with ties by score and non-reporting runs last."""
    if order == "score":
        return tuple(rows)
    return tuple(sorted(rows, key=lambda row: row.costs.get(key, np.inf)))


def _scaled(row: CostedRun, cost: Cost) -> float | None:
    value = row.costs.get(cost.field.key)
    return None if value is None else value / cost.unit.factor


def _kept_unit(cost: Cost) -> str:
    assert cost.field.dimension is not None, "a cost is a quantity"
    return cost.field.dimension.kept
