"""A task's board: runs ranked by a measure under one edition, as one viewer may see it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Job, Run, Task
from leaderboard.errors import UnknownMeasure
from leaderboard.measures.grammar import BoundMeasure, parse
from leaderboard.services import jobs, policy, primary_runs, standings
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.shown_editions import Basis, Shown, Source, means, shown_edition
from leaderboard.services.standing_words import sentences
from leaderboard.services.standings import PairOfRuns, Place, Ranked, Standing
from leaderboard.services.statistics import Waiting, refusal
from leaderboard.stats.methods import method

RANKED_KIND = "official"
PLACE_FACTS = tuple(each.name for each in fields(Place))


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
    ranking_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Rescoring:
    """A newer edition on its way: how many of its runs are scored, how many failed."""

    revision: int
    done: int
    failed: int
    total: int


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
    editions: tuple[int, ...] = ()
    standing: Standing | Waiting | None = field(default=None, compare=False)
    """How the ranked runs stand to each other; None where it is held back or cannot be said."""
    sentences: tuple[str, ...] = ()
    """What the standing says, in words; or why there is none."""
    comparison: str = ""
    """Key of the test and correction the runs are compared by."""
    one_per_team: bool = False
    source: Source | None = None
    """Where the scores by topic are, for a viewer who may see them."""

    @property
    def places(self) -> dict[int, Place]:
        """Run id -> its place among the ranked runs; empty where there is no standing."""
        return self.standing.places if isinstance(self.standing, Standing) else {}


def board(
    session: Session,
    viewer: Viewer,
    slug: str,
    measure: str | None = None,
    edition: int | None = None,
    *,
    one_per_team: bool = False,
) -> Board:
    """The task's board, ranked by a measure (its primary one unless said otherwise).

    edition is the number of an earlier edition; the shown one unless said otherwise. one_per_team
    leaves of each team's official runs the one it declared its primary run, else its best. Raises
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
    rows = rank(_rows(session, viewer, task, sight, shown, measures), sorted_by)
    if one_per_team and sight.means:
        rows = rank(_one_per_team(rows, primary_runs.declared(session, task)), sorted_by)
    standing, said = _standing(session, task, sight, found, sorted_by, rows)
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
        rows=rows,
        rescoring=_rescoring(session, found) if edition is None else None,
        sight=sight,
        editions=found.numbers,
        standing=standing,
        sentences=said,
        comparison=task.comparison,
        one_per_team=one_per_team,
        source=found.source if sight.details else None,
    )


def differences(session: Session, shown: Board, reference: int) -> dict[int, PairOfRuns]:
    """Run id -> each other ranked run less the reference, a ranked run or any that is scored.

    Empty where there is no standing; at most one statement.
    """
    standing = shown.standing
    if not isinstance(standing, Standing) or shown.source is None or standing.topics < 2:
        return {}
    others = [run_id for run_id in standing.run_ids if run_id != reference]
    if reference in standing.run_ids:
        return {run_id: standing.pair(run_id, reference) for run_id in others}
    by = next(each for each in shown.measures if each.key == shown.sorted_by)
    measure = by.key, by.version
    return standings.against(session, shown.source, measure, standing.sign, others, reference)


def _standing(
    session: Session,
    task: Task,
    sight: Sight,
    found: Shown,
    by: MeasureColumn,
    rows: tuple[Row, ...],
) -> tuple[Standing | Waiting | None, tuple[str, ...]]:
    """How the ranked runs stand to each other, and what that says in words."""
    ranked = [
        Ranked(row.run_id, row.ranking_sha256, row.run, _value(row, by))
        for row in rows
        if row.rank is not None
    ]
    if found.source is None or not sight.details or not ranked:
        return None, ()
    if said := refusal(parse(by.key).measure):
        return None, (said,)
    sign = -1 if by.direction == "lower" else 1
    standing = standings.of_runs(
        session, found.source, (by.key, by.version), sign, ranked, method(task.comparison)
    )
    if isinstance(standing, Waiting):
        return standing, ()
    return standing, sentences(standing, ranked, _ranked_by(by), by.digits)


def _one_per_team(rows: tuple[Row, ...], primary: frozenset[int]) -> list[Row]:
    """Of each team's ranked runs the primary one, else the first; runs that have no rank stay."""
    chosen = {row.team_id: row.run_id for row in reversed(rows) if row.rank is not None}
    chosen.update({row.team_id: row.run_id for row in rows if row.rank is not None and row.run_id in primary})
    return [row for row in rows if row.rank is None or chosen[row.team_id] == row.run_id]


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
        "comparison": shown.comparison if shown.places else None,
        "sentences": list(shown.sentences),
        "one_per_team": shown.one_per_team,
        "rows": [
            {
                "rank": row.rank,
                "run": row.run,
                "team": row.team,
                "scores": row.scores,
                "state": row.state,
                "run_id": row.run_id,
                "kind": row.kind,
                **place_facts(shown.places.get(row.run_id)),
            }
            for row in shown.rows
        ],
    }


def place_facts(place: Place | None) -> dict[str, Any]:
    """A run's place as plain values, each None where there is none."""
    return {name: None if place is None else getattr(place, name) for name in PLACE_FACTS}


def table(shown: Board) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the board, for CSV."""
    keys = [each.key for each in shown.measures]
    header = ["rank", "run", "team", "kind", *keys, "state", *PLACE_FACTS]
    rows = [
        [
            *(row.rank, row.run, row.team, row.kind, *(row.scores[key] for key in keys), row.state),
            *place_facts(shown.places.get(row.run_id)).values(),
        ]
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
    shown_runs = select(Run.id, Run.name, Run.team_id, Run.kind, Run.order_differs, Run.ranking_sha256)
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
            ranking_sha256=run.ranking_sha256,
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
