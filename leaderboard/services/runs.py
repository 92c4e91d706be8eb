"""One run as a reader sees it: what it is, where its scores come from, what it got on every topic."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, QrelsRevision, Run, Task, Topic, Upload
from leaderboard.errors import Problem
from leaderboard.measures.grammar import parse
from leaderboard.services import boards, evaluations, jobs, policy, primary_runs
from leaderboard.services.boards import Board, MeasureColumn
from leaderboard.services.jobs import RunState
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.shown_editions import Basis, shown_edition
from leaderboard.services.standings import Place
from leaderboard.stats.methods import method
from leaderboard.trec.check import Report


@dataclass(frozen=True, slots=True)
class MeasureValue:
    """A measure, the run's aggregate, its place among the ranked runs, and the best run's value."""

    column: MeasureColumn
    value: float | None
    rank: int | None
    ranked: int
    best: float | None


@dataclass(frozen=True, slots=True)
class TopicScores:
    """One topic's scores, in the order of the measures."""

    topic_id: str
    title: str
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the numbers come from."""

    file_name: str
    sha256: str
    size: int
    uploaded_at: datetime
    evaluator: str
    tag: str
    ranking_sha256: str


@dataclass(frozen=True, slots=True)
class RunPage:
    """What a run's page shows; scores are empty where they are held back, not there yet or withdrawn."""

    id: int
    name: str
    team: str
    kind: str
    description: str
    details: dict[str, Any]
    task: str
    slug: str
    topics_run: int
    entries: int
    deepest: int
    order_differs: bool
    withdrawn_at: datetime | None
    withdrawn_why: str
    state: RunState
    basis: Basis | None
    primary: str
    measures: tuple[MeasureValue, ...]
    topics: tuple[TopicScores, ...]
    provenance: Provenance | None
    """None for whom the file's facts are not shown."""
    warnings: tuple[Problem, ...]
    upload_id: int | None
    is_own: bool
    may_withdraw: bool
    is_primary: bool
    """Whether its team declared it its primary run."""
    may_declare: bool
    place: Place | None
    """Among the ranked runs by the primary measure; None where that cannot be said."""
    comparison: str
    """The test and correction of place, in words."""
    sight: Sight

    @property
    def primary_place(self) -> int | None:
        """Where the primary measure stands among the measures."""
        keys = [each.column.key for each in self.measures]
        return keys.index(self.primary) if self.primary in keys else None


def run_page(session: Session, viewer: Viewer, run_id: int) -> RunPage:
    """The run's page; raises NotFound where there is none or the viewer may not know of it."""
    run, task, sight = policy.visible_run(session, viewer, run_id)
    is_own = policy.owns(viewer, run.team_id) or sight.organises
    upload = session.get_one(Upload, run.upload_id)
    shown = shown_edition(session, task, sight)
    measures: tuple[MeasureValue, ...] = ()
    topics: tuple[TopicScores, ...] = ()
    evaluator = comparison = ""
    place = None
    is_primary = primary_runs.is_declared(session, run)
    if shown.edition is not None and run.withdrawn_at is None:
        board = boards.board(session, viewer, task.slug)
        measures = _measures(board, run)
        place = board.places.get(run.id)
        comparison = method(board.comparison).title
        if sight.details:
            topics, evaluator = _topics(session, task, run, shown.edition)
    report = Report.from_json(upload.report) if upload.report is not None and is_own else None
    state = jobs.run_states(session, [run.id])[run.id]
    if not sight.means and state.state != "withdrawn":
        state = RunState("valid")
    return RunPage(
        id=run.id,
        name=run.name,
        team=policy.team_names(session, viewer, task).get(run.team_id, ""),
        kind=run.kind,
        description=run.description,
        details=run.details if sight.details or is_own else {},
        task=task.name,
        slug=task.slug,
        topics_run=run.topics,
        entries=run.entries,
        deepest=run.deepest,
        order_differs=run.order_differs and (sight.details or is_own),
        withdrawn_at=run.withdrawn_at,
        withdrawn_why=run.withdrawn_why,
        state=state,
        basis=shown.basis,
        primary=shown.edition.primary_measure if shown.edition is not None else task.primary_measure,
        measures=measures,
        topics=topics,
        provenance=_provenance(run, upload, evaluator) if sight.details or is_own else None,
        warnings=report.warnings if report else (),
        upload_id=upload.id if is_own else None,
        is_own=is_own,
        may_withdraw=is_own and run.withdrawn_at is None,
        is_primary=is_primary and (sight.means or is_own),
        may_declare=primary_runs.may_declare(viewer, run) and not is_primary,
        place=place,
        comparison=comparison,
        sight=sight,
    )


def topic_columns(page: RunPage) -> tuple[str, ...]:
    """The keys of the per-topic scores, in their order."""
    return tuple(each.column.key for each in page.measures)


def as_json(page: RunPage) -> dict[str, Any]:
    """The run as plain values at full precision."""
    keys = topic_columns(page)
    basis = page.basis
    return {
        "run": page.name,
        "run_id": page.id,
        "team": page.team,
        "kind": page.kind,
        "task": page.slug,
        "state": page.state.state,
        "position": page.state.position,
        "message": page.state.message,
        "revision": basis.revision if basis else None,
        "dialect": basis.dialect if basis else None,
        "topics": basis.topics if basis else None,
        "measure_versions": {each.column.key: each.column.version for each in page.measures},
        "scores": {each.column.key: each.value for each in page.measures},
        **boards.place_facts(page.place),
        "ranks": {each.column.key: each.rank for each in page.measures},
        "per_topic": {topic.topic_id: dict(zip(keys, topic.scores, strict=True)) for topic in page.topics},
        "file_sha256": page.provenance.sha256 if page.provenance else None,
        "evaluator": page.provenance.evaluator if page.provenance else None,
    }


def table(page: RunPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the per-topic scores, with `all` for the aggregate, for CSV."""
    keys = topic_columns(page)
    rows: list[list[Any]] = [[topic.topic_id, *topic.scores] for topic in page.topics]
    return ["topic", *keys], [*rows, ["all", *[each.value for each in page.measures]]]


def _measures(board: Board, run: Run) -> tuple[MeasureValue, ...]:
    """The run's aggregates with its rank by each of them: the board's own rule, applied to its own rows."""
    values = []
    for column in board.measures:
        ranked = boards.rank(board.rows, column) if column.direction != "none" else ()
        mine = next((row for row in board.rows if row.run_id == run.id), None)
        place = next((row.rank for row in ranked if row.run_id == run.id), None)
        best = next((row.scores[column.key] for row in ranked if row.rank == 1), None)
        values.append(
            MeasureValue(
                column,
                mine.scores[column.key] if mine else None,
                place,
                sum(row.rank is not None for row in ranked),
                best,
            )
        )
    return tuple(values)


def _topics(session: Session, task: Task, run: Run, edition: Edition) -> tuple[tuple[TopicScores, ...], str]:
    """Scores on every judged topic of the task, in the task's order, and the evaluator's version."""
    arrays, evaluator = {}, ""
    for evaluation in evaluations.stored(session, run.id, edition).values():
        arrays[evaluation.measure] = evaluation.scores
        evaluator = evaluation.evaluator
    keys = [each["key"] for each in edition.measures]
    if any(key not in arrays for key in keys):
        return (), ""
    order = session.get_one(QrelsRevision, edition.revision_id).topics
    place = {topic: index for index, topic in enumerate(order)}
    counted = set(edition.topic_sets[policy.ALL_TOPICS]["topics"])
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(Topic.task_id == task.id).order_by(Topic.position)
    )
    return (
        tuple(
            TopicScores(
                row.topic_id, row.title, tuple(float(arrays[key][place[row.topic_id]]) for key in keys)
            )
            for row in rows
            if row.topic_id in counted
        ),
        evaluator,
    )


def topic_scores(
    session: Session, run_id: int, edition: Edition, topic_id: str
) -> tuple[tuple[MeasureColumn, float], ...]:
    """What a run got on one topic, in the order of the measures; empty where it is not scored or judged."""
    order = session.get_one(QrelsRevision, edition.revision_id).topics
    if topic_id not in order:
        return ()
    place = order.index(topic_id)
    scored = evaluations.stored(session, run_id, edition)
    found = {measure: float(each.scores[place]) for measure, each in scored.items()}
    columns = measure_columns([each["key"] for each in edition.measures])
    return tuple((column, found[column.key]) for column in columns if column.key in found)


def _provenance(run: Run, upload: Upload, evaluator: str) -> Provenance:
    return Provenance(
        upload.file_name,
        upload.sha256,
        upload.bytes,
        upload.created_at,
        evaluator,
        run.tag,
        run.ranking_sha256,
    )


def measure_columns(keys: list[str]) -> tuple[MeasureColumn, ...]:
    """Column heads of the measures."""
    return tuple(boards.column(parse(key)) for key in keys)
