"""The site's front page: every task with who leads it."""

from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
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
from leaderboard.measures.grammar import parse
from leaderboard.pages.tasks import overviews
from leaderboard.pages.tasks.overviews import TaskRow
from leaderboard.pages.tasks.phases import DateRow, strip
from leaderboard.services import collections, phase_rules, policy, shown_names
from leaderboard.services.evaluations import choices
from leaderboard.services.evaluations.choices import RANKED_KIND
from leaderboard.services.evaluations.columns import column
from leaderboard.services.phase_rules import ALL_TOPICS
from leaderboard.services.pictures import pictures
from leaderboard.services.pictures.kinds import PICTURE
from leaderboard.services.pictures.pictures import PictureHead
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import changes, phases
from leaderboard.services.tasks.changes import ChangeRow
from leaderboard.services.tasks.entries import RULES
from leaderboard.tables.latex import DIGITS
from leaderboard.tables.record import Column, Files, Place, Table


@dataclass(frozen=True, slots=True)
class LeadingRun:
    """The best ranked run of an open task by its primary measure; several share the place as tied says."""

    run_id: int
    run: str
    measure: str
    value: float
    digits: int
    tied: int


@dataclass(frozen=True, slots=True)
class LeaderOfTask(LeadingRun):
    """The same with the field it leads: the means of all ranked runs, and of how many teams they are."""

    sign: int
    """-1 where lower is better."""
    means: tuple[float, ...]
    teams: int


@dataclass(frozen=True, slots=True)
class LandingRow:
    """A task on the front page; revision and leader are None where there are no scores to show."""

    task: TaskRow
    is_open: bool
    """Whether everything of it is shown: an open task, or a closed one."""
    revision: int | None
    leader: LeaderOfTask | None
    dates: tuple[DateRow, ...]

    @property
    def runs(self) -> int | None:
        """How many runs there are; None in a sealed task, where this is held back too."""
        return self.task.runs if self.is_open or self.task.visibility == "blind" else None


@dataclass(frozen=True, slots=True)
class MeasureDefinition:
    """How one measure of a task is defined."""

    key: str
    title: str
    formula: str
    citation: str
    version: int


@dataclass(frozen=True, slots=True)
class AboutPage:
    """A task's description and rules."""

    name: str
    slug: str
    description: str
    picture: PictureHead | None
    organisers: str
    collection: str
    size: int | None
    topics: int
    visibility: str
    depth: int
    level: int
    dialect: int
    measures: tuple[MeasureDefinition, ...]
    primary: str
    grade_names: dict[int, str]
    opens_at: datetime | None
    closes_at: datetime | None
    entering: str
    """How teams enter, in a sentence; empty where the first run does."""
    organises: bool
    details: bool
    """Whether scores by topic are shown to the viewer."""
    assesses: bool
    """Whether the viewer coordinates the task's assessors."""
    links: tuple[tuple[str, str], ...]
    """Title and address of each."""
    contact: str
    licence: str
    archived_at: datetime | None
    changes: tuple[ChangeRow, ...]


def landing(session: Session, viewer: Viewer) -> tuple[LandingRow, ...]:
    """All tasks the viewer may know of; four statements, and one more for each that is blind or sealed."""
    rows = overviews.listing(session, viewer)
    phases = phase_rules.rules_of_all(session)
    shown = {row.id for row in rows if not phase_rules.hidden(session, phases[row.id])}
    revisions = _revisions(session, shown)
    leaders = _leaders(
        session, viewer, {phase_rules.newest(session, phases[task_id]).id for task_id in shown}
    )
    at = now(session)
    return tuple(
        LandingRow(
            row, row.id in shown, revisions.get(row.id), leaders.get(row.id), strip(phases[row.id], at)
        )
        for row in rows
    )


def facts(rows: tuple[LandingRow, ...]) -> dict[str, Any]:
    """The tasks as plain values at full precision."""
    return {"tasks": table(rows).facts()}


def table(rows: tuple[LandingRow, ...]) -> Table[LandingRow]:
    """The tasks, each with its leader."""
    columns: list[Column[LandingRow]] = [
        Column(key="task", value=lambda row: row.task.slug, shown=Place.DATA),
        Column(key="name", head="Task", value=lambda row: row.task.name),
        Column(key="visibility", head="Shown", value=lambda row: row.task.visibility, shown=~Place.PAGE),
        Column(key="topics", head="Topics", value=lambda row: row.task.topics, digits=0),
        Column(key="runs", head="Runs", value=lambda row: row.runs, digits=0),
        Column(key="revision", head="Revision", value=lambda row: row.revision, digits=0),
        Column(key="leader", head="Leader", value=lambda row: row.leader and row.leader.run),
        Column(
            key="measure",
            head="Measure",
            value=lambda row: row.leader and row.leader.measure,
            shown=~Place.PAGE,
        ),
        Column(
            key="score",
            head="Score",
            value=lambda row: row.leader and row.leader.value,
            words=lambda row: f"{row.leader.value:.{row.leader.digits}f}" if row.leader else None,
            digits=DIGITS,
        ),
        Column(key="tied", value=lambda row: row.leader and row.leader.tied, shown=Place.DATA),
        Column(key="visibility", head="Shown", value=lambda row: row.task.visibility, shown=Place.PAGE),
        Column(key="archived", value=lambda row: row.task.archived_at is not None, shown=Place.DATA),
    ]
    caption = "Tasks, newest first, each with the best run by its primary measure."
    return Table(name="tasks", caption=caption, columns=columns, rows=rows)


FILES = Files(facts=facts, tables={"tasks": table})


def about(session: Session, viewer: Viewer, slug: str) -> AboutPage:
    """What a task is and by which rules it runs."""
    task, sight = policy.visible_task(session, viewer, slug)
    row = next(row for row in overviews.listing(session, viewer) if row.id == task.id)
    collection = collections.by_id(session, task.collection_id)
    phase = phases.of_task(session, task.id)[0]
    return AboutPage(
        name=task.name,
        slug=task.slug,
        description=task.description,
        picture=pictures.heads(session, task.id).get(PICTURE.name),
        organisers=task.organisers,
        collection=collection.name,
        size=collection.size,
        topics=row.topics,
        visibility=task.visibility,
        depth=task.depth,
        level=task.level,
        dialect=task.dialect,
        measures=tuple(_definition(key) for key in task.measures),
        primary=task.primary_measure,
        grade_names={int(grade): str(name) for grade, name in task.grade_names.items()},
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        organises=sight.organises,
        entering=RULES[task.entry_rule] if task.entry_rule != "free" or task.agreement else "",
        details=sight.details,
        assesses=task.id in viewer.coordinates,
        links=tuple((link["title"], link["address"]) for link in task.links),
        contact=task.contact,
        licence=task.licence,
        archived_at=task.archived_at,
        changes=changes.of_task(session, task.id),
    )


def measures(page: AboutPage) -> Table[MeasureDefinition]:
    """How a task's measures are defined."""
    columns: list[Column[MeasureDefinition]] = [
        Column(key="key", head="Measure", value=lambda row: row.key),
        Column(key="title", head="What it is", value=lambda row: row.title),
        Column(key="formula", head="Formula", value=lambda row: row.formula),
        Column(key="version", head="Version", value=lambda row: row.version, digits=0),
    ]
    caption = (
        f"How each measure is computed for one topic. The board ranks by {page.primary} unless asked for "
        "another; a topic that a run misses scores as an empty ranking."
    )
    return Table(name=f"{page.slug}-measures", caption=caption, columns=columns, rows=page.measures)


def _definition(key: str) -> MeasureDefinition:
    measure = parse(key).measure
    return MeasureDefinition(
        key=key,
        title=measure.title,
        formula=measure.formula,
        citation=measure.citation,
        version=measure.version,
    )


def _revisions(session: Session, task_ids: set[int]) -> dict[int, int]:
    rows = session.execute(
        select(Edition.task_id, QrelsRevision.number)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .where(Edition.task_id.in_(task_ids), Edition.state == "current")
    )
    return {task_id: number for task_id, number in rows}


def _leaders(session: Session, viewer: Viewer, phase_ids: set[int]) -> dict[int, LeaderOfTask]:
    rows = session.execute(
        select(
            Task.id,
            Task.naming,
            Run.id,
            Run.name,
            Run.team_id,
            Edition.measures,
            Evaluation.measure,
            Evaluation.measure_version,
            EvaluationMean.mean,
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
            Run.kind == RANKED_KIND,
            Run.withdrawn_at.is_(None),
            or_(
                TopicSet.id == Phase.topic_set_id,
                Phase.topic_set_id.is_(None) & (TopicSet.name == ALL_TOPICS),
            ),
        )
    ).all()
    masking = {row.id for row in rows if row.naming != "names"}
    named = {
        task_id: shown_names.shown_names(session, viewer, session.get_one(Task, task_id))
        for task_id in masking
    }
    runs = [
        (named[task_id].run(run_id, name) if task_id in named else name, run_id, task_id, *scored)
        for task_id, _, run_id, name, *scored in rows
    ]
    left_out = _left_out(session, phase_ids)
    ranked: dict[int, list[_Ranked]] = {}
    for name, run_id, task_id, team_id, measures, key, version, mean in sorted(runs, key=itemgetter(0)):
        if run_id not in left_out and {"key": key, "version": version} in measures:
            ranked.setdefault(task_id, []).append(_Ranked(run_id, name, team_id, key, mean))
    return {task_id: _leader(found) for task_id, found in ranked.items()}


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A ranked run by its task's primary measure."""

    run_id: int
    name: str
    team_id: int
    measure: str
    mean: float


def _leader(ranked: list[_Ranked]) -> LeaderOfTask:
    """The best of a task's ranked runs; of several the first."""
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
        means=tuple(run.mean for run in ranked),
        teams=len({run.team_id for run in ranked}),
    )


def _left_out(session: Session, phase_ids: set[int]) -> frozenset[int]:
    """The official runs of the tasks that do not count; one statement, and four for a task that chooses."""
    choosing = select(Task).join(Phase, Phase.task_id == Task.id).where(Phase.id.in_(phase_ids))
    choosing = choosing.where(Task.final_runs.is_not(None))
    return frozenset[int]().union(*(choices.not_chosen(session, task) for task in session.scalars(choosing)))
