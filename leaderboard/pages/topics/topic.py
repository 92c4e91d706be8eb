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
from leaderboard.pages.topics.found_documents import Found
from leaderboard.services import policy
from leaderboard.services.boards.rows import RANKED_KIND
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import Basis, FloatArray, Source, shown_edition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.tasks import topics
from leaderboard.trec.read.lines import bytes_of


@dataclass(frozen=True, slots=True)
class RunScore:
    """What one run got on the topic, in the order of the measures."""

    run_id: int
    run: str
    team: str
    kind: str
    rank: int | None
    """Among the ranked runs on this topic alone; equal scores share one."""
    is_own: bool
    relevant: int
    """Relevant documents it has."""
    first: int | None
    """The rank of the first of them."""
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two runs whose rankings of this topic are worth reading side by side; differences by the measure."""

    first_id: int
    first: str
    second_id: int
    second: str
    here: float
    """First less second on this topic."""
    over_all: float | None
    """The same over all topics, where it goes the other way."""


@dataclass(frozen=True, slots=True)
class TopicPage:
    """One topic; judgments and scores are empty where they are held back."""

    task: str
    slug: str
    topic_id: str
    title: str
    description: str
    narrative: str
    subtopics: tuple[dict[str, Any], ...]
    excluded: str
    basis: Basis | None
    grade_names: dict[int, str]
    level: int
    documents: Documents
    measure: MeasureColumn | None
    """The one the runs are in the order of; None where there is no score."""
    measures: tuple[MeasureColumn, ...]
    scores: tuple[RunScore, ...]
    contrasts: tuple[Contrast, ...]
    previous: str | None
    following: str | None
    sight: Sight

    @property
    def place(self) -> int | None:
        """Where the measure stands among the measures."""
        return self.measures.index(self.measure) if self.measure is not None else None


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reader chose: a measure, which documents (a name of topic_documents.KINDS), how many at most."""

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
    found, column = Documents(), None
    measures: tuple[MeasureColumn, ...] = ()
    scores: tuple[RunScore, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    if shown.edition is not None and shown.source is not None and sight.details:
        measures = fields.columns_of(shown.edition)
        column = fields.chosen(measures, shown.edition.primary_measure, choice.measure)
        compiled = alignments.compiled_judgments(session, shown.source)
        place = compiled.index.get(bytes_of(topic_id))
        if place is not None:
            scored = _scored(session, viewer, task, shown.edition)
            seen = found_documents.found(session, shown.source, scored.runs, task.level)
            found = documents(session, task, compiled, place, scored.runs, seen, choice.kind, choice.limit)
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
        excluded=topic.excluded if sight.details else "",
        basis=shown.basis,
        grade_names=topics.grade_names(task),
        level=task.level,
        documents=found,
        measure=column if scores else None,
        measures=measures,
        scores=scores,
        contrasts=contrasts,
        previous=before,
        following=after,
        sight=sight,
    )


def _scored(session: Session, viewer: Viewer, task: Task, edition: Edition) -> _Scored:
    """All runs with all their scores, in one statement for the scores."""
    versions = {each["key"]: each["version"] for each in edition.measures}
    rows = session.execute(
        select(Evaluation.run_id, Evaluation.measure, Evaluation.measure_version, Evaluation.scores).where(
            Evaluation.revision_id == edition.revision_id,
            Evaluation.dialect == edition.dialect,
            Evaluation.measure.in_(versions),
        )
    )
    arrays: dict[int, dict[str, FloatArray]] = {}
    for row in rows:
        if versions[row.measure] == row.measure_version:
            arrays.setdefault(row.run_id, {})[row.measure] = row.scores
    runs = fields.runs_of(session, viewer, task)
    return _Scored(tuple(run for run in runs if len(arrays.get(run.run_id, ())) == len(versions)), arrays)


def _rows(
    viewer: Viewer,
    scored: _Scored,
    measures: Sequence[MeasureColumn],
    by: MeasureColumn,
    place: int,
    seen: Found,
) -> tuple[RunScore, ...]:
    """Every run's scores on the topic, best by the measure first."""
    sign = 1 if by.direction == "lower" else -1
    order = sorted(
        range(len(scored.runs)), key=lambda at: sign * scored.arrays[scored.runs[at].run_id][by.key][place]
    )
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
                run=run.name,
                team=run.team,
                kind=run.kind,
                rank=rank,
                is_own=policy.owns(viewer, run.team_id),
                relevant=int(seen.relevant[at, place]),
                first=int(seen.first[at, place]) or None,
                scores=tuple(float(mine[each.key][place]) for each in measures),
            )
        )
    return tuple(rows)


def _contrasts(scored: _Scored, source: Source, by: MeasureColumn, place: int) -> tuple[Contrast, ...]:
    """The best and the worst run here, and the two that go most against their order over all topics."""
    runs = [run for run in scored.runs if run.kind == RANKED_KIND]
    if len(runs) < 2:
        return ()
    scores = np.array([scored.arrays[run.run_id][by.key] for run in runs])
    sign = -1 if by.direction == "lower" else 1
    here = scores[:, place]
    best, worst = int((sign * here).argmax()), int((sign * here).argmin())
    if here[best] == here[worst]:
        return ()

    def pair(first: int, second: int, over_all: float | None) -> Contrast:
        one, two = runs[first], runs[second]
        return Contrast(
            *(one.run_id, one.name, two.run_id, two.name), float(here[first] - here[second]), over_all
        )

    found = [pair(best, worst, None)]
    if not source.places:
        return tuple(found)
    mean = scores[:, list(source.places)].mean(axis=1)
    gain = sign * (here - mean)
    up, down = int(gain.argmax()), int(gain.argmin())
    if sign * (here[up] - here[down]) > 0 > sign * (mean[up] - mean[down]):
        found.append(pair(up, down, float(mean[up] - mean[down])))
    return tuple(found)


def as_json(page: TopicPage) -> dict[str, Any]:
    """The topic as plain values at full precision."""
    keys = [each.key for each in page.measures]
    return {
        "task": page.slug,
        "topic": page.topic_id,
        "title": page.title,
        "description": page.description,
        "narrative": page.narrative,
        "subtopics": list(page.subtopics),
        "revision": page.basis.revision if page.basis else None,
        "measure": page.measure.key if page.measure else None,
        "judgments": {each.docno: each.grade for each in page.documents.rows},
        "documents": [
            {
                "docno": each.docno,
                "grade": each.grade,
                "runs": each.runs,
                "teams": each.teams,
                "best_rank": each.best,
                "best_run": each.best_run,
                "only_team": each.only_team or None,
            }
            for each in page.documents.rows
        ],
        "rows": [
            {
                "run": each.run,
                "run_id": each.run_id,
                "team": each.team,
                "rank": each.rank,
                "relevant": each.relevant,
                "first": each.first,
                "scores": dict(zip(keys, each.scores, strict=True)),
            }
            for each in page.scores
        ],
    }


def table(page: TopicPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of every run's scores on the topic, for CSV and LaTeX."""
    keys = [each.key for each in page.measures]
    header = ["rank", "run", "team", *keys, "relevant", "first relevant"]
    return header, [
        [each.rank, each.run, each.team, *each.scores, each.relevant, each.first] for each in page.scores
    ]


def caption(page: TopicPage) -> str:
    """What the table says, for a printed page."""
    name = f"topic {page.topic_id} of {page.task}"
    if page.basis is None or page.measure is None:
        return f"Runs on {name}: no scores are shown."
    return (
        f"Scores on {name} under qrels revision {page.basis.revision}, as trec_eval {page.basis.dialect} "
        f"computes them, in the order of {page.measure.key}."
    )
