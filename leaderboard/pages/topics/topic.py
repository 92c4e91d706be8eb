"""One topic: its statement, its judgments and who found them, every run's scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Evaluation, Task
from leaderboard.pages.scores import fields
from leaderboard.pages.scores.table import ComparedRun
from leaderboard.pages.topics import found_documents
from leaderboard.pages.topics.documents import Documents, documents
from leaderboard.pages.topics.found_documents import RunFinds
from leaderboard.services import policy
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.choices import RANKED_KIND
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.damaged import scores_of_runs
from leaderboard.services.evaluations.shown import FloatArray, Source, shown_edition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.runs.names import RunName
from leaderboard.services.tasks import scored_topics, topics
from leaderboard.services.tasks.head import TaskHead
from leaderboard.trec.read.lines import bytes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScore(RunName):
    """What one run got on the topic, in the order of the measures."""

    rank: int | None
    """Among the ranked runs on this topic alone; equal scores share one."""
    relevant: int
    """Relevant documents it has."""
    first: int | None
    """The rank of the first of them."""
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContrast:
    """Two runs whose rankings of this topic are worth reading side by side; differences by the measure."""

    first_id: int
    first: str
    second_id: int
    second: str
    here: float
    """First less second on this topic."""
    over_all: float | None
    """The same over all topics, where it goes the other way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPage(TaskHead):
    """One topic; judgments and scores are empty where they are held back."""

    topic_id: str
    title: str
    description: str
    narrative: str
    subtopics: tuple[dict[str, Any], ...]
    excluded: str
    grade_names: dict[int, str]
    level: int
    documents: Documents
    measure: MeasureColumn | None
    """The one the runs are in the order of; None where there is no score."""
    measures: tuple[MeasureColumn, ...]
    scores: tuple[RunScore, ...]
    contrasts: tuple[RunContrast, ...]
    previous: str | None
    following: str | None

    @property
    def place(self) -> int | None:
        """Where the measure stands among the measures."""
        return self.measures.index(self.measure) if self.measure is not None else None


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reader chose: a measure, which documents (a name of documents.KINDS), how many at most."""

    measure: str | None = None
    kind: str = ""
    limit: int | None = None


@dataclass(frozen=True, eq=False)
class _Scored:
    """The runs that have all scores of an edition: run id -> measure -> scores on all judged topics."""

    runs: tuple[ComparedRun, ...]
    arrays: dict[int, dict[str, FloatArray]]


def topic_page(
    session: Session, viewer: Viewer, slug: str, topic_id: str, choice: Choice | None = None
) -> TopicPage:
    """One topic; raises NotFound for an unknown one, UnknownMeasure, Invalid for an unknown kind."""
    choice = choice or Choice()
    task, sight = policy.visible_task(session, viewer, slug)
    topic = topics.find(session, task, topic_id)
    shown = shown_edition(session, task, sight)
    before, after = topics.neighbours(session, task, topic)
    judged, column = Documents(), None
    measures: tuple[MeasureColumn, ...] = ()
    scores: tuple[RunScore, ...] = ()
    contrasts: tuple[RunContrast, ...] = ()
    if shown.edition is not None and shown.source is not None and sight.details:
        measures = fields.columns_of(shown.edition)
        column = fields.chosen(measures, shown.edition.primary_measure, choice.measure)
        compiled = alignments.compiled_judgments(session, shown.source)
        place = compiled.index.get(bytes_of(topic_id))
        if place is not None:
            scored = _scored(session, viewer, task, sight, shown.edition)
            seen = found_documents.found(session, shown.source, scored.runs, task.level)
            judged = documents(session, task, compiled, place, scored.runs, seen, choice.kind, choice.limit)
            scores = _rows(viewer, scored, measures, column, place, seen)
            contrasts = _contrasts(scored, shown.source, column, place)
    return TopicPage(
        task=task.name,
        slug=task.slug,
        topic_id=topic.topic_id,
        title=topic.title,
        description=topic.description,
        narrative=topic.narrative,
        subtopics=tuple(topic.subtopics),
        excluded=scored_topics.why_left_out(topic.excluded, sight),
        basis=shown.basis,
        grade_names=topics.grade_names(task),
        level=task.level,
        documents=judged,
        measure=column if scores else None,
        measures=measures,
        scores=scores,
        contrasts=contrasts,
        previous=before,
        following=after,
        sight=sight,
    )


def _scored(session: Session, viewer: Viewer, task: Task, sight: Sight, edition: Edition) -> _Scored:
    """All runs with all their scores, in one statement for the scores."""
    versions = {measure["key"]: measure["version"] for measure in edition.measures}
    wanted = (
        Evaluation.revision_id == edition.revision_id,
        Evaluation.dialect == edition.dialect,
        Evaluation.measure.in_(versions),
    )
    columns = Evaluation.run_id, Evaluation.measure, Evaluation.measure_version, Evaluation.scores
    with scores_of_runs(session, *wanted):
        rows = session.execute(select(*columns).where(*wanted)).all()
    arrays: dict[int, dict[str, FloatArray]] = {}
    for row in rows:
        if versions[row.measure] == row.measure_version:
            arrays.setdefault(row.run_id, {})[row.measure] = row.scores
    runs = fields.runs_of(session, viewer, task, sight)
    return _Scored(tuple(run for run in runs if len(arrays.get(run.run_id, ())) == len(versions)), arrays)


def _rows(
    viewer: Viewer,
    scored: _Scored,
    measures: Sequence[MeasureColumn],
    by: MeasureColumn,
    place: int,
    seen: RunFinds,
) -> tuple[RunScore, ...]:
    """Every run's scores on the topic, best by the measure first."""
    values = [scored.arrays[run.run_id][by.key][place] for run in scored.runs]
    order = sorted(range(len(values)), key=lambda at: -by.sign * values[at])
    rows: list[RunScore] = []
    ranked, last, shared = 0, None, 0
    for at in order:
        run = scored.runs[at]
        mine = scored.arrays[run.run_id]
        rank = None
        if run.kind == RANKED_KIND:
            ranked += 1
            shared = shared if mine[by.key][place] == last else ranked
            rank, last = shared, mine[by.key][place]
        rows.append(
            RunScore(
                run_id=run.run_id,
                name=run.name,
                team=run.team,
                kind=run.kind,
                rank=rank,
                is_own=policy.owns(viewer, run.team_id),
                relevant=int(seen.relevant[at, place]),
                first=int(seen.first[at, place]) or None,
                scores=tuple(float(mine[measure.key][place]) for measure in measures),
            )
        )
    return tuple(rows)


def _contrasts(scored: _Scored, source: Source, by: MeasureColumn, place: int) -> tuple[RunContrast, ...]:
    """The best and the worst run here, and the two that go most against their order over all topics."""
    runs = [run for run in scored.runs if run.kind == RANKED_KIND]
    if len(runs) < 2:
        return ()
    scores = np.array([scored.arrays[run.run_id][by.key] for run in runs])
    sign = by.sign
    here = scores[:, place]
    best, worst = int((sign * here).argmax()), int((sign * here).argmin())
    if here[best] == here[worst]:
        return ()

    def pair(first: int, second: int, over_all: float | None) -> RunContrast:
        one, two = runs[first], runs[second]
        return RunContrast(
            first_id=one.run_id,
            first=one.name,
            second_id=two.run_id,
            second=two.name,
            here=float(here[first] - here[second]),
            over_all=over_all,
        )

    contrasts = [pair(best, worst, None)]
    if not source.places:
        return tuple(contrasts)
    mean = scores[:, list(source.places)].mean(axis=1)
    gain = sign * (here - mean)
    up, down = int(gain.argmax()), int(gain.argmin())
    if sign * (here[up] - here[down]) > 0 > sign * (mean[up] - mean[down]):
        contrasts.append(pair(up, down, float(mean[up] - mean[down])))
    return tuple(contrasts)
