"""A task's board: runs ranked by a measure under one edition, as one viewer may see it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import (
    Edition,
    Evaluation,
    EvaluationMean,
    Job,
    Qrels,
    QrelsRevision,
    Run,
    Task,
)
from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.measures.grammar import BoundMeasure, parse
from leaderboard.services import jobs, policy
from leaderboard.services.policy import Sight, Viewer

RANKED_KIND = "official"


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A measure as a column's head: its canonical key, a longer title, and how its values are shown."""

    key: str
    title: str
    direction: str
    digits: int
    version: int
    aggregate: str
    """mean or sum: what a run's value is of its topics' scores."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run on the board; rank is None for baselines, late and unscored runs."""

    rank: int | None
    run_id: int
    run: str
    team: str
    team_id: int
    kind: str
    scores: dict[str, float | None]
    state: str
    order_differs: bool = False


@dataclass(frozen=True, slots=True)
class Rescoring:
    """A newer edition on its way: how many of its runs are scored, how many failed."""

    revision: int
    done: int
    failed: int
    total: int


@dataclass(frozen=True, slots=True)
class Basis:
    """What all scores of one edition rest on."""

    edition: int
    revision: int
    revision_id: int
    revision_note: str
    revision_at: datetime
    revision_sha256: str
    origin: str
    origin_name: str
    dialect: int
    topics: int
    is_current: bool


@dataclass(frozen=True, slots=True)
class Board:
    """What a board page shows; basis is None while a task has no judgments."""

    task: str
    slug: str
    description: str
    visibility: str
    is_draft: bool
    basis: Basis | None
    measures: tuple[MeasureColumn, ...]
    primary: str
    sorted_by: str
    ranked_by: str
    """The ranking value in words, such as `mean AP`."""
    rows: tuple[Row, ...]
    rescoring: Rescoring | None
    sight: Sight
    editions: tuple[int, ...] = field(default=())


def board(
    session: Session, viewer: Viewer, slug: str, measure: str | None = None, edition: int | None = None
) -> Board:
    """The task's board, ranked by a measure (its primary one unless said otherwise).

    edition is the number of an earlier edition; the shown one unless said otherwise. Raises
    NotFound for an unknown task or edition, UnknownMeasure for one that is no column or has no
    better and worse.
    """
    task, sight = policy.visible_task(session, viewer, slug)
    found = shown_edition(session, task, sight, edition)
    shown = found.edition
    keys = [each["key"] for each in shown.measures] if shown is not None else task.measures
    measures = tuple(column(parse(key)) for key in keys if not sight.hides(key))
    primary = shown.primary_measure if shown is not None else task.primary_measure
    sorted_by = _sort_measure(measures, measure, primary)
    rows = _rows(session, viewer, task, sight, shown, measures)
    return Board(
        task=task.name,
        slug=task.slug,
        description=task.description,
        visibility=task.visibility,
        is_draft=task.published_at is None,
        basis=found.basis,
        measures=measures,
        primary=primary,
        sorted_by=sorted_by.key,
        ranked_by=_ranked_by(sorted_by),
        rows=rank(rows, sorted_by),
        rescoring=_rescoring(session, found) if edition is None else None,
        sight=sight,
        editions=found.numbers,
    )


def _ranked_by(column: MeasureColumn) -> str:
    words = {"mean": f"mean {column.key}", "sum": f"{column.key}, summed over topics"}
    words["geometric"] = f"{column.key}, the geometric mean over topics"
    words["micro"] = f"{column.key}, all topics pooled"
    return words.get(column.aggregate, column.key)


def as_json(shown: Board) -> dict[str, Any]:
    """The board as plain values at full precision."""
    basis = shown.basis
    return {
        "task": shown.slug,
        "revision": basis.revision if basis else None,
        "topics": basis.topics if basis else None,
        "primary": shown.primary,
        "measures": [each.key for each in shown.measures],
        "sorted_by": shown.sorted_by,
        "edition": basis.edition if basis else None,
        "dialect": basis.dialect if basis else None,
        "origin": basis.origin if basis else None,
        "revision_sha256": (basis.revision_sha256 or None) if basis else None,
        "measure_versions": {each.key: each.version for each in shown.measures},
        "rows": [
            {
                "rank": row.rank,
                "run": row.run,
                "team": row.team,
                "scores": row.scores,
                "state": row.state,
                "run_id": row.run_id,
                "kind": row.kind,
            }
            for row in shown.rows
        ],
    }


def table(shown: Board) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the board, for CSV."""
    header = ["rank", "run", "team", "kind", *[each.key for each in shown.measures], "state"]
    rows = [
        [row.rank, row.run, row.team, row.kind, *[row.scores[each.key] for each in shown.measures], row.state]
        for row in shown.rows
    ]
    return header, rows


def column(bound: BoundMeasure) -> MeasureColumn:
    """A measure as a column's head."""
    measure = bound.measure
    return MeasureColumn(
        bound.key, measure.title, measure.direction, measure.digits, measure.version, measure.aggregate
    )


def rank(rows: Iterable[Row], by: MeasureColumn) -> tuple[Row, ...]:
    """The rows in order, with ranks: equal values share one (1, 2, 2, 4), inner order by name.

    Only scored official runs are ranked; baselines and late runs stand where their score puts
    them, runs without a score at the end.
    """
    sign = -1.0 if by.direction == "higher" else 1.0
    scored = [row for row in rows if row.scores.get(by.key) is not None]
    unscored = [row for row in rows if row.scores.get(by.key) is None]
    scored.sort(key=lambda row: (sign * _value(row, by), row.run))
    unscored.sort(key=lambda row: row.run)
    ranked: list[Row] = []
    place, last, last_rank = 0, None, 0
    for row in scored:
        if row.kind != RANKED_KIND:
            ranked.append(replace(row, rank=None))
            continue
        place += 1
        value = _value(row, by)
        if value != last:
            last, last_rank = value, place
        ranked.append(replace(row, rank=last_rank))
    return (*ranked, *(replace(row, rank=None) for row in unscored))


def means(
    session: Session, edition: Edition, topic_set: str, run_ids: Iterable[int] | None = None
) -> dict[int, dict[str, float]]:
    """Run id -> measure -> aggregate over the topic set; one statement, empty where the set is none."""
    chosen = edition.topic_sets.get(topic_set)
    if chosen is None:
        return {}
    versions = {each["key"]: each["version"] for each in edition.measures}
    wanted = select(
        Evaluation.run_id, Evaluation.measure, Evaluation.measure_version, EvaluationMean.mean
    ).join(EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id)
    wanted = wanted.where(
        Evaluation.revision_id == edition.revision_id,
        Evaluation.dialect == edition.dialect,
        Evaluation.measure.in_(versions),
        EvaluationMean.topic_set_id == chosen["id"],
    )
    if run_ids is not None:
        wanted = wanted.where(Evaluation.run_id.in_(list(run_ids)))
    found: dict[int, dict[str, float]] = {}
    for row in session.execute(wanted):
        if versions[row.measure] == row.measure_version:
            found.setdefault(row.run_id, {})[row.measure] = row.mean
    return found


def basis_of(edition: Edition, revision: QrelsRevision, qrels: Qrels, sight: Sight) -> Basis:
    """What the scores of an edition rest on; a digest of held-back judgments would confirm guesses."""
    return Basis(
        edition=edition.number,
        revision=revision.number,
        revision_id=revision.id,
        revision_note=revision.note,
        revision_at=revision.created_at,
        revision_sha256=revision.sha256 if sight.details else "",
        origin=qrels.origin,
        origin_name=qrels.origin_name,
        dialect=edition.dialect,
        topics=len(edition.topic_sets.get(sight.topic_set, {"topics": ()})["topics"]),
        is_current=edition.state == "current",
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """The edition to show, what it rests on, the numbers of all that were ever shown, the one being built."""

    edition: Edition | None
    basis: Basis | None
    numbers: tuple[int, ...]
    building: int | None
    building_revision: int


def shown_edition(session: Session, task: Task, sight: Sight, number: int | None = None) -> Shown:
    """What to show of a task's editions, in one statement; raises NotFound for an unknown number."""
    rows = session.execute(
        select(Edition, QrelsRevision, Qrels)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Edition.task_id == task.id)
        .order_by(Edition.number)
    ).all()
    past = {row.Edition.number: row for row in rows if row.Edition.shown_from is not None}
    if number is not None and (number not in past or not sight.means):
        raise NotFound(f"There is no edition {number} of this board.")
    current = next((row for row in rows if row.Edition.state == "current"), None)
    chosen = past[number] if number is not None else current
    if chosen is None or not sight.means:
        return Shown(None, None, (), None, 0)
    building = next((row for row in rows if row.Edition.state == "building"), None)
    return Shown(
        chosen.Edition,
        basis_of(*chosen, sight),
        tuple(past),
        building.Edition.id if building else None,
        building.QrelsRevision.number if building else 0,
    )


def _sort_measure(measures: tuple[MeasureColumn, ...], wanted: str | None, primary: str) -> MeasureColumn:
    columns = {each.key: each for each in measures}
    key = primary if wanted is None else parse(wanted).key
    chosen = columns.get(key)
    if chosen is None:
        raise UnknownMeasure(f"{key} is not on this board; its measures are {', '.join(columns)}.")
    if chosen.direction == "none":
        raise UnknownMeasure(f"{key} has no better or worse, so the board cannot be ranked by it.")
    return chosen


def _rows(
    session: Session,
    viewer: Viewer,
    task: Task,
    sight: Sight,
    edition: Edition | None,
    measures: tuple[MeasureColumn, ...],
) -> list[Row]:
    ended = edition.shown_to if edition is not None else None
    there: ColumnElement[bool] = Run.withdrawn_at.is_(None)
    if ended is not None:
        # A past edition stays as it was shown: with runs withdrawn since, without runs sent since.
        there = or_(there, Run.withdrawn_at > ended) & (Run.created_at <= ended)
    shown_runs = select(Run.id, Run.name, Run.team_id, Run.kind, Run.order_differs)
    runs = list(session.execute(shown_runs.where(Run.task_id == task.id, there)))
    if not sight.means:
        runs = [run for run in runs if policy.owns(viewer, run.team_id)]
    scores = means(session, edition, sight.topic_set) if edition is not None and sight.means else {}
    keys = [each.key for each in measures]
    unscored = [run.id for run in runs if not scores.get(run.id)]
    states = jobs.run_states(session, unscored) if unscored and sight.means else {}
    names = policy.team_names(session, viewer, task)
    return [
        Row(
            rank=None,
            run_id=run.id,
            run=run.name,
            team=names.get(run.team_id, ""),
            team_id=run.team_id,
            kind=run.kind,
            scores=_rounded(scores.get(run.id, {}), keys, sight.decimals),
            state="valid" if not sight.means else states[run.id].state if run.id in states else "done",
            order_differs=run.order_differs and sight.details,
        )
        for run in runs
    ]


def _rounded(
    scores: Mapping[str, float], keys: Iterable[str], decimals: int | None
) -> dict[str, float | None]:
    """The scores of all columns, rounded before anything is ordered by them, so that order tells no more."""
    found = {key: scores.get(key) for key in keys}
    if decimals is None:
        return found
    return {key: None if value is None else round(value, decimals) for key, value in found.items()}


def _value(row: Row, by: MeasureColumn) -> float:
    value = row.scores[by.key]
    assert value is not None, "only scored rows are compared"
    return value


def _rescoring(session: Session, shown: Shown) -> Rescoring | None:
    if shown.building is None:
        return None
    states = session.scalars(
        select(Job.state).where(Job.edition_id == shown.building, Job.state != "superseded")
    ).all()
    return Rescoring(shown.building_revision, states.count("done"), states.count("failed"), len(states))
