"""One topic: statement, judgments with the runs that found them, and scores of all runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.boards.page.scores import table
from leaderboard.boards.page.scores.table import ComparedRun
from leaderboard.core import policy
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.tables import Edition, Evaluation, Task
from leaderboard.errors import Invalid
from leaderboard.measures.judged import IntArray
from leaderboard.qrels.page.topics import judgments as topics_judgments
from leaderboard.qrels.page.topics.judgments import NOBODY, SEVERAL, RunFinds
from leaderboard.scoring.ops import collections, rankings, scored_topics
from leaderboard.scoring.ops.evaluations.shown import (
    FloatArray,
    ShownEdition,
    Source,
    computed_as,
    shown_edition,
    stored_scores,
)
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, MeasureColumn, TopicHead
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from
from leaderboard.trec.qrels.align import CompiledJudgments


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScore(RunName):
    """Scores of one run on the topic, in measure order; None for an unjudged answer."""

    rank: int | None
    """Rank among ranked runs on this topic alone; ties share a rank."""
    relevant: int | None
    """Number of relevant documents retrieved; None for answers."""
    first: int | None
    """Rank of the first relevant document."""
    scores: tuple[float | None, ...]


@dataclass(frozen=True, eq=False)
class ScoredRuns:
    """Runs with all scores of an edition: run id -> measure -> scores on all judged topics."""

    runs: tuple[ComparedRun, ...]
    arrays: dict[int, dict[str, FloatArray]]


def scored_runs(
    session: Session, viewer: Viewer, task: Task, access: TaskAccess, edition: Edition
) -> ScoredRuns:
    """All runs with all their scores, in one statement for the scores."""
    versions = {measure["key"]: measure["version"] for measure in edition.measures}
    conditions = (
        Evaluation.revision_id == edition.revision_id,
        Evaluation.dialect == edition.dialect,
        Evaluation.measure.in_(versions),
    )
    arrays: dict[int, dict[str, FloatArray]] = {}
    for row in stored_scores(session, *conditions):
        if versions[row.measure] == row.measure_version:
            arrays.setdefault(row.run_id, {})[row.measure] = row.scores
    runs = table.runs_of(session, viewer, task, access)
    return ScoredRuns(tuple(run for run in runs if len(arrays.get(run.run_id, ())) == len(versions)), arrays)


def in_order(
    viewer: Viewer,
    scored: ScoredRuns,
    measures: Sequence[MeasureColumn],
    by: MeasureColumn,
    place: int,
    seen: RunFinds | None,
) -> tuple[RunScore, ...]:
    """Scores of all runs on the topic at an index, best first, missing ones last.

    seen: judged documents found by the runs; None for answers.
    """
    values = [_run_scores_score(scored.arrays[run.run_id][by.key][place]) for run in scored.runs]

    def worse(at: int) -> tuple[bool, float]:
        value = values[at]
        return value is None, 0.0 if value is None else -by.sign * value

    rows: list[RunScore] = []
    ranked, last, shared = 0, None, 0
    for at in sorted(range(len(values)), key=worse):
        run, rank = scored.runs[at], None
        if run.kind == RANKED_KIND and values[at] is not None:
            ranked += 1
            shared = shared if values[at] == last else ranked
            rank, last = shared, values[at]
        mine = scored.arrays[run.run_id]
        rows.append(
            RunScore(
                run_id=run.run_id,
                name=run.name,
                team=run.team,
                kind=run.kind,
                rank=rank,
                is_own=policy.owns(viewer, run.team_id),
                relevant=None if seen is None else int(seen.relevant[at, place]),
                first=None if seen is None else int(seen.first[at, place]) or None,
                scores=tuple(_run_scores_score(mine[measure.key][place]) for measure in measures),
            )
        )
    return tuple(rows)


def _run_scores_score(value: float) -> float | None:
    # nan means not judged, which is not 0.
    return None if math.isnan(value) else float(value)


KINDS = {
    "": "all judged",
    "relevant": "relevant",
    "missed": "relevant, not found",
    "far": "relevant, in no top 100",
    "near": "relevant, in no top 10",
    "alone": "relevant, found by one team",
}
"""Document filters, by name in the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A judged document with its retrieval by the runs."""

    docno: Annotated[str, Shown("Document")]
    grade: Annotated[int, Shown(digits=None)]
    title: str
    runs: int
    teams: int
    best: Annotated[int | None, Shown(key="best_rank")]
    """Best rank in any run."""
    best_run: Annotated[str, Shown("By")]
    best_run_id: int | None
    only_team: str
    """The only team that found it; empty if none or several did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeCount:
    """The documents of one grade: their number, and how many were found."""

    grade: Annotated[int, Shown(digits=None)]
    documents: int
    near: int
    """In some run's top 10."""
    far: int
    """In some run's top 100."""
    found: int
    """By any run at all."""
    alone: int
    """By one team only."""
    share: Annotated[float, Shown(digits=None, shown=Place.PAGE)]
    """Of the grade with most documents, from 0 to 1."""

    @property
    def missed(self) -> int:
        """Number not found by any run."""
        return self.documents - self.found


@dataclass(frozen=True, slots=True)
class Documents:
    """A topic's judged documents: counts by grade, highest first, and filtered documents."""

    grades: tuple[GradeCount, ...] = ()
    kind: str = ""
    kinds: tuple[tuple[str, str, int], ...] = ()
    """(name, words, documents) of every kind."""
    total: int = 0
    """Number of matching documents; rows has the requested number."""
    rows: tuple[FoundDocument, ...] = ()
    runs: int = 0
    """Number of runs searched."""
    teams: int = 0

    def count(self, kind: str) -> int:
        """Number of the topic's documents that match a filter."""
        return next((count for name, _, count in self.kinds if name == kind), 0)

    @property
    def relevant(self) -> int:
        """Number of relevant documents, regardless of the filter."""
        return self.count("relevant")

    @property
    def judged(self) -> int:
        """All documents of the topic."""
        return sum(row.documents for row in self.grades)


def documents(
    session: Session,
    task: Task,
    compiled: CompiledJudgments,
    place: int,
    runs: Sequence[ComparedRun],
    finds: RunFinds,
    kind: str,
    limit: int | None,
) -> Documents:
    """Judged documents of the topic at an index, by grade, then by number of runs that found them.

    Raises Invalid for an unknown filter.
    """
    if kind not in KINDS:
        raise Invalid(f"Unknown document filter {kind!r}; choose one of {', '.join(KINDS)}.")
    judgments = compiled.judgments
    start, end = rankings.listed(compiled, place)
    here = np.arange(start, end)
    grade = judgments.grades[here]
    relevant = grade >= task.level
    teams = len({run.team_id for run in runs})
    chosen = {
        "": np.ones(len(here), dtype=np.bool_),
        "relevant": relevant,
        "missed": relevant & (finds.runs[here] == 0),
        "far": relevant & (finds.far[here] == 0),
        "near": relevant & (finds.near[here] == 0),
        "alone": relevant & (finds.teams[here] == 1) & (teams > 1),
    }
    listed = here[chosen[kind]]
    order = np.lexsort((listed, -finds.runs[listed], -judgments.grades[listed]))
    return Documents(
        grades=_by_grade(finds, here, grade),
        kind=kind,
        kinds=tuple((name, KINDS[name], int(mask.sum())) for name, mask in chosen.items()),
        total=len(listed),
        rows=_rows(session, task, compiled, listed[order][:limit], runs, finds),
        runs=len(runs),
        teams=teams,
    )


def _by_grade(finds: RunFinds, here: IntArray, grade: IntArray) -> tuple[GradeCount, ...]:
    grades, counts = np.unique(grade, return_counts=True)
    most = int(counts.max())
    rows = []
    for value, count in zip(grades.tolist(), counts.tolist(), strict=True):
        those = here[grade == value]
        rows.append(
            GradeCount(
                grade=value,
                documents=count,
                near=int(np.count_nonzero(finds.near[those])),
                far=int(np.count_nonzero(finds.far[those])),
                found=int(np.count_nonzero(finds.runs[those])),
                alone=int(np.count_nonzero(finds.teams[those] == 1)),
                share=count / most,
            )
        )
    return tuple(reversed(rows))


def _rows(
    session: Session,
    task: Task,
    compiled: CompiledJudgments,
    listed: IntArray,
    runs: Sequence[ComparedRun],
    finds: RunFinds,
) -> tuple[FoundDocument, ...]:
    docnos = rankings.docnos_of(compiled, listed)
    texts = collections.texts(session, task.collection_id, docnos)
    teams = {run.team_id: run.team for run in runs} | {NOBODY: "", SEVERAL: ""}
    columns = (compiled.judgments.grades, finds.runs, finds.teams, finds.best, finds.best_run, finds.team)
    rows = []
    for docno, *facts in zip(docnos, *(column[listed].tolist() for column in columns), strict=True):
        grade, count, of_teams, best, best_run, team = facts
        leader = runs[best_run] if best_run >= 0 else None
        rows.append(
            FoundDocument(
                docno=docno,
                grade=grade,
                title=texts[docno].title if docno in texts else "",
                runs=count,
                teams=of_teams,
                best=best or None,
                best_run=leader.name if leader else "",
                best_run_id=leader.run_id if leader else None,
                only_team=teams[team],
            )
        )
    return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContrast:
    """Two runs with contrasting rankings of this topic; differences by the measure."""

    first_id: int
    first: str
    second_id: int
    second: str
    here: float
    """First minus second on this topic."""
    over_all: float | None
    """The same over all topics, if reversed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPage(TopicHead):
    """One topic; judgments and scores are empty while hidden."""

    subtopics: tuple[dict[str, Any], ...]
    takes: str
    """The kind of the task's runs."""
    grade_names: dict[int, str]
    documents: Documents
    measure: MeasureColumn | None
    """The measure that orders the runs; None without scores."""
    measures: tuple[MeasureColumn, ...]
    scores: tuple[RunScore, ...]
    contrasts: tuple[RunContrast, ...]

    @property
    def place(self) -> int | None:
        """Index of the measure among the measures."""
        return self.measures.index(self.measure) if self.measure is not None else None


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings from the address: measure, document filter (a key of KINDS), maximum number."""

    measure: str | None = None
    kind: str = ""
    limit: int | None = None


def topic_page(
    session: Session, viewer: Viewer, slug: str, topic_id: str, choice: Choice | None = None
) -> TopicPage:
    """One topic; raises NotFound for an unknown one, UnknownMeasure, Invalid for an unknown filter."""
    choice = choice or Choice()
    task, access = policy.visible_task(session, viewer, slug)
    placed = scored_topics.placed_topic(session, task, topic_id)
    shown = shown_edition(session, task, access)
    judged, column = Documents(), None
    measures: tuple[MeasureColumn, ...] = ()
    scores: tuple[RunScore, ...] = ()
    contrasts: tuple[RunContrast, ...] = ()
    if shown.edition is not None and shown.source is not None and access.details:
        measures = table.fields_columns_of(shown.edition)
        column = table.chosen(measures, shown.edition.primary_measure, choice.measure)
        place = _place(shown, topic_id)
        # Judges are compared on separate pages.
        if place is not None and task.kind != "judges":
            scored = scored_runs(session, viewer, task, access, shown.edition)
            seen = None
            if task.kind == "rankings":
                compiled = rankings.compiled_judgments(session, shown.source)
                seen = topics_judgments.documents_found(session, shown.source, scored.runs, task.level)
                judged = documents(
                    session, task, compiled, place, scored.runs, seen, choice.kind, choice.limit
                )
                contrasts = _contrasts(scored, shown.source, column, place)
            scores = in_order(viewer, scored, measures, column, place, seen)
    return TopicPage(
        **scored_topics.task_head(task, placed, access, shown),
        subtopics=tuple(placed[0].subtopics),
        takes=task.kind,
        grade_names=scored_topics.grade_names(task),
        documents=judged,
        measure=column if scores else None,
        measures=measures,
        scores=scores,
        contrasts=contrasts,
    )


def _place(shown: ShownEdition, topic_id: str) -> int | None:
    """Index of the topic in stored scores; None if unjudged."""
    judged = shown.revision.topics if shown.revision is not None else []
    return judged.index(topic_id) if topic_id in judged else None


def _contrasts(scored: ScoredRuns, source: Source, by: MeasureColumn, place: int) -> tuple[RunContrast, ...]:
    """The best and worst run here, and the pair with the largest reversal of the overall order."""
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
        compared_run, two = runs[first], runs[second]
        return RunContrast(
            first_id=compared_run.run_id,
            first=compared_run.name,
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


def topic_facts(page: TopicPage) -> dict[str, Any]:
    """The topic as plain values at full precision."""
    keys = [measure.key for measure in page.measures]
    return {
        "task": page.slug,
        "topic": page.topic_id,
        "title": page.title,
        "description": page.description,
        "narrative": page.narrative,
        "subtopics": list(page.subtopics),
        "revision": page.basis.revision if page.basis else None,
        "measure": page.measure.key if page.measure else None,
        "judgments": {row.docno: row.grade for row in page.documents.rows},
        "documents": [
            {
                "docno": row.docno,
                "grade": row.grade,
                "runs": row.runs,
                "teams": row.teams,
                "best_rank": row.best,
                "best_run": row.best_run,
                "only_team": row.only_team or None,
            }
            for row in page.documents.rows
        ],
        "rows": [
            {
                "run": row.name,
                "run_id": row.run_id,
                "team": row.team,
                "rank": row.rank,
                **({"relevant": row.relevant, "first": row.first} if page.takes == "rankings" else {}),
                "scores": dict(zip(keys, row.scores, strict=True)),
            }
            for row in page.scores
        ],
    }


def scores_table(page: TopicPage) -> Table[RunScore]:
    """Table of the scores of all runs on the topic."""
    return Table(
        f"{page.slug}-{page.topic_id}",
        _caption(page),
        columns_from(
            RunScore,
            "rank name run_id team",
            *(_tables_score(page, measure, at) for at, measure in enumerate(page.measures)),
            *(_FOUND if page.takes == "rankings" else ()),
        ),
        page.scores,
    )


def documents_table(page: TopicPage) -> Table[FoundDocument]:
    """Table of the judged documents that match the filter."""
    return Table(
        f"{page.slug}-{page.topic_id}-documents",
        f"Judged documents of topic {page.topic_id} of {page.task}{_under(page)}.",
        columns_from(
            FoundDocument,
            "grade docno runs teams best best_run",
            Column("only_team", lambda row: row.only_team or None, shown=Place.DATA),
        ),
        page.documents.rows,
    )


def grades_table(page: TopicPage) -> Table[GradeCount]:
    """Table of documents by grade, with the numbers found by runs."""
    by_team = Place.EVERYWHERE if page.documents.teams > 1 else Place.DATA
    return Table(
        f"{page.slug}-{page.topic_id}-grades",
        f"Judged documents of topic {page.topic_id} of {page.task} by grade{_under(page)}.",
        columns_from(
            GradeCount,
            "grade documents share",
            _found(page, "near", "In a top 10", "in the top 10 of at least one run"),
            _found(page, "far", "In a top 100", "in the top 100 of at least one run"),
            _found(page, "found", "Found"),
            _found(page, "alone", "By one team", shown=by_team),
            _found(page, "missed", "Not found"),
        ),
        page.documents.grades,
    )


_FOUND: tuple[Column[RunScore], ...] = (
    Column("relevant", lambda row: row.relevant, "Found", digits=0),
    Column(
        "first relevant",
        lambda row: row.first,
        "First at",
        digits=0,
        title="rank of the first relevant document",
    ),
)
TOPIC_FILES = Files(
    facts=topic_facts, tables={"scores": scores_table, "documents": documents_table, "grades": grades_table}
)


def _tables_score(page: TopicPage, measure: MeasureColumn, at: int) -> Column[RunScore]:
    return Column(
        measure.key,
        lambda row: row.scores[at],
        measure.short,
        digits=measure.digits,
        title=measure.title,
        group="sorted by" if measure == page.measure else "measure",
    )


def _found(
    page: TopicPage, key: str, head: str, title: str = "", shown: Place = Place.EVERYWHERE
) -> Column[GradeCount]:
    """Column of a count that is known once a run is scored."""
    are_scored = bool(page.documents.runs)
    return Column(
        key, lambda row: getattr(row, key) if are_scored else None, head, digits=0, title=title, shown=shown
    )


def _under(page: TopicPage) -> str:
    return f", {page.basis.qrels}" if page.basis else ""


def _caption(page: TopicPage) -> str:
    name = f"topic {page.topic_id} of {page.task}"
    if page.basis is None or page.measure is None:
        return f"Runs on {name}: no scores are shown."
    return (
        f"Scores on {name} under {page.basis.qrels}{computed_as(page.basis.dialect)}, "
        f"ordered by {page.measure.key}."
    )
