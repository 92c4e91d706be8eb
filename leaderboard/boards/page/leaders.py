"""Leaders of the listed tasks, with their confidence."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from leaderboard.core import shown_names
from leaderboard.core.phase_rules import ALL_TOPICS, PhaseRule
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import (
    Edition,
    Evaluation,
    EvaluationMean,
    Phase,
    QrelsRevision,
    Run,
    Task,
    TopicSet,
)
from leaderboard.measures.naming import parse
from leaderboard.measures.record import refusal
from leaderboard.scoring.ops import scored_topics
from leaderboard.scoring.ops.evaluations import shown
from leaderboard.scoring.ops.evaluations.shown import MEANS, Source, source_of, whole_editions, whole_means
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, column, short_name
from leaderboard.scoring.ops.statistics import leaders as places
from leaderboard.scoring.ops.statistics.leaders import BoardLeaders, ComparedField, LeaderPlace
from leaderboard.scoring.ops.statistics.prepared import LEAST_COMPARED
from leaderboard.scoring.ops.statistics.procedures import field_leaders
from leaderboard.scoring.ops.statistics.requests import Request, of_leaders


@dataclass(frozen=True, slots=True)
class LeadingRun:
    """The best ranked run of an open task by its primary measure; tied: number of runs that share rank 1."""

    run_id: int
    run: str
    measure: str
    value: float
    digits: int
    tied: int

    @property
    def short(self) -> str:
        """The short name of the measure."""
        return short_name(self.measure)


@dataclass(frozen=True, slots=True)
class LeaderOfTask(LeadingRun):
    """A leader with its field: the number of ranked runs and teams."""

    sign: int
    """-1 where lower is better."""
    runs: int
    quantiles: tuple[float, ...]
    """Of the means of all ranked runs: the lowest, the quarters, the highest."""
    teams: int
    place: LeaderPlace | None = None
    """Confidence of the lead; None if undefined or not computed at once."""


@dataclass(frozen=True, slots=True)
class ShownBasis:
    """The basis of a task's board: the revision number and the source of the scores.

    measure: the primary measure; version: its version in the edition.
    is_lazy: whether runs may be judged on only some topics, as answers are.
    """

    revision: int
    source: Source
    measure: str
    version: int
    is_lazy: bool = False

    def holds(self, run: "_Ranked") -> bool:
        """Whether the run's mean uses this measure version and covers all of its topics."""
        is_whole = not self.is_lazy or run.topics >= len(self.source.topics)
        return run.version == self.version and is_whole


def bases(session: Session, phases: Mapping[int, PhaseRule]) -> dict[int, ShownBasis]:
    """Task id -> basis of the board of its phase, if it has judgments; one statement."""
    rows = whole_editions(
        session,
        select(Edition, QrelsRevision)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .where(Edition.task_id.in_(phases), Edition.state == "current"),
    )
    return {
        edition.task_id: ShownBasis(
            revision.number,
            shown.narrowed(
                source_of(edition, revision, phases[edition.task_id].topic_set),
                edition,
                edition.primary_measure,
            ),
            edition.primary_measure,
            entry["version"],
            "left_out" in entry,
        )
        for edition, revision in rows
        for entry in edition.measures
        if entry["key"] == edition.primary_measure
    }


def leaders(
    session: Session, viewer: Viewer, phases: Mapping[int, PhaseRule], rests_on: Mapping[int, ShownBasis]
) -> dict[int, LeaderOfTask]:
    """Task id -> leader of the public board of the given phase.

    Large boards use results stored by evaluators; small or changed boards read all runs.
    """
    stored = _stored(session, viewer, phases, rests_on)
    others = {task_id: phase for task_id, phase in phases.items() if task_id not in stored}
    bases_of_others = {task_id: basis for task_id, basis in rests_on.items() if task_id in others}
    ranked = _ranked(session, viewer, {phase.id for phase in others.values()}, bases_of_others)
    leading = {task_id: _leader(runs) for task_id, runs in ranked.items()}
    fields = {
        task_id: field
        for task_id, runs in ranked.items()
        if phases[task_id].is_ranked
        and (field := _field(runs, rests_on[task_id].source, leading[task_id])) is not None
    }
    leader_places = places.places(session, fields)
    return stored | {
        task_id: replace(leader, place=leader_places.get(task_id)) for task_id, leader in leading.items()
    }


def _stored(
    session: Session, viewer: Viewer, phases: Mapping[int, PhaseRule], rests_on: Mapping[int, ShownBasis]
) -> dict[int, LeaderOfTask]:
    """Leaders of large boards; at most three statements, plus those for names."""
    editions = {task_id: basis.source.edition_id for task_id, basis in rests_on.items()}
    asked = {
        task_id: of_leaders(basis.source, basis.measure, basis.version, state.text)
        for task_id, state in field_leaders.states(session, phases, editions).items()
        if state.runs >= field_leaders.LEAST_RUNS and (basis := rests_on[task_id])
    }
    by_task = places.stored(session, asked) if asked else {}
    run_ids = [run_id for stored in by_task.values() for run_id in stored.run_ids]
    runs = (
        session.execute(
            select(Run.id, Run.name, Task).join(Task, Task.id == Run.task_id).where(Run.id.in_(run_ids))
        ).all()
        if run_ids
        else ()
    )
    tasks = {run.Task.id: run.Task for run in runs if run.Task.naming != "names"}
    named = {task_id: shown_names.shown_names(session, viewer, task) for task_id, task in tasks.items()}
    names = {
        run.id: named[run.Task.id].run(run.id, run.name) if run.Task.id in named else run.name for run in runs
    }
    return {
        task_id: _of_stored(stored, rests_on[task_id].measure, names) for task_id, stored in by_task.items()
    }


def _of_stored(stored: BoardLeaders, measure: str, names: Mapping[int, str]) -> LeaderOfTask:
    by = column(parse(measure))
    at = min(range(len(stored.run_ids)), key=lambda at: names[stored.run_ids[at]])
    return LeaderOfTask(
        run_id=stored.run_ids[at],
        run=names[stored.run_ids[at]],
        measure=measure,
        value=stored.value,
        digits=by.digits,
        tied=len(stored.run_ids),
        sign=by.sign,
        runs=stored.runs,
        quantiles=stored.quantiles,
        teams=stored.teams,
        place=stored.places[at] if stored.places else None,
    )


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A ranked run by its task's primary measure."""

    run_id: int
    name: str
    team_id: int
    ranking_sha256: str
    comparison: str
    measure: str
    version: int
    mean: float
    topics: int
    """The number of topics on which it has a score."""


def _ranked(
    session: Session, viewer: Viewer, phase_ids: set[int], rests_on: Mapping[int, ShownBasis]
) -> dict[int, list[_Ranked]]:
    """Task id -> ranked runs of its phase that the board is based on, by name."""
    if not rests_on:
        return {}
    rows = session.execute(
        select(
            Task.id, Task.naming, Run.id, Run.name, Run.team_id, Run.ranking_sha256, Task.comparison, *MEANS
        )
        .join(Edition, (Edition.task_id == Task.id) & (Edition.state == "current"))
        .join(
            Evaluation,
            (Evaluation.revision_id == Edition.revision_id)
            & (Evaluation.measure == Edition.primary_measure)
            & (Evaluation.dialect == Edition.dialect),
        )
        .join(Run, Run.id == Evaluation.run_id)
        .join(Phase, Phase.id == Run.phase_id)
        .join(TopicSet, TopicSet.task_id == Task.id)
        .join(
            EvaluationMean,
            (EvaluationMean.evaluation_id == Evaluation.id) & (EvaluationMean.topic_set_id == TopicSet.id),
        )
        .where(
            Phase.id.in_(phase_ids),
            Run.task_id == Task.id,
            # The condition on tasks lets the database find the runs of a few tasks by index.
            Run.task_id.in_(rests_on),
            Run.kind == RANKED_KIND,
            Run.withdrawn_at.is_(None),
            or_(
                TopicSet.id == Phase.topic_set_id,
                Phase.topic_set_id.is_(None) & (TopicSet.name == ALL_TOPICS),
            ),
        )
    ).all()
    masking = {row[0] for row in rows if row.naming != "names"}
    named = {
        task_id: shown_names.shown_names(session, viewer, session.get_one(Task, task_id))
        for task_id in masking
    }
    left_out = _left_out(session, phase_ids)
    ranked: dict[int, list[_Ranked]] = {}
    for row, mean, topics in whole_means(session, rows):
        task_id, _, run_id, name, team_id, ranking_sha256, comparison = row[:7]
        run = _Ranked(
            run_id=run_id,
            name=named[task_id].run(run_id, name) if task_id in named else name,
            team_id=team_id,
            ranking_sha256=ranking_sha256,
            comparison=comparison,
            measure=row.measure,
            version=row.measure_version,
            mean=mean,
            topics=topics,
        )
        if run_id not in left_out and rests_on[task_id].holds(run):
            ranked.setdefault(task_id, []).append(run)
    return {task_id: sorted(runs, key=lambda run: run.name) for task_id, runs in ranked.items()}


def _leader(ranked: list[_Ranked]) -> LeaderOfTask:
    """The best of a task's ranked runs; the first one if tied."""
    by = column(parse(ranked[0].measure))
    best = max(ranked, key=lambda run: by.sign * run.mean)
    return LeaderOfTask(
        run_id=best.run_id,
        run=best.name,
        measure=best.measure,
        value=best.mean,
        digits=by.digits,
        tied=sum(run.mean == best.mean for run in ranked),
        sign=by.sign,
        runs=len(ranked),
        quantiles=tuple(np.quantile([run.mean for run in ranked], field_leaders.QUANTILES).tolist()),
        teams=len({run.team_id for run in ranked}),
    )


def _field(ranked: list[_Ranked], source: Source, leader: LeaderOfTask) -> ComparedField | None:
    """The standing of the runs on their board; None if they are not compared."""
    if min(len(ranked), len(source.topics)) < LEAST_COMPARED or refusal(parse(leader.measure).measure):
        return None
    runs = sorted(ranked, key=lambda run: run.run_id)
    request = Request(
        procedure="pairs",
        method=runs[0].comparison,
        source=source,
        measure=leader.measure,
        measure_version=runs[0].version,
        run_ids=tuple(run.run_id for run in runs),
        rankings=tuple(run.ranking_sha256 for run in runs),
    )
    return ComparedField(request, leader.sign, leader.run_id)


def _left_out(session: Session, phase_ids: set[int]) -> frozenset[int]:
    """Official runs that do not count; one statement, plus four per task that selects runs."""
    choosing = select(Task).join(Phase, Phase.task_id == Task.id).where(Phase.id.in_(phase_ids))
    choosing = choosing.where(Task.final_runs.is_not(None))
    return frozenset[int]().union(
        *(scored_topics.not_chosen(session, task) for task in session.scalars(choosing))
    )
