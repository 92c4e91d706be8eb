"""What the runs of a task got on one topic, best first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Evaluation, Task
from leaderboard.pages.scores import fields
from leaderboard.pages.scores.table import ComparedRun
from leaderboard.pages.topics.found_documents import RunFinds
from leaderboard.services import policy
from leaderboard.services.evaluations.choices import RANKED_KIND
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.damaged import stored_scores
from leaderboard.services.evaluations.shown import FloatArray
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.runs.names import RunName


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScore(RunName):
    """What one run got on the topic, in the order of the measures; None where its answer is not judged."""

    rank: int | None
    """Among the ranked runs on this topic alone; equal scores share one."""
    relevant: int | None
    """Relevant documents it has; None of answers."""
    first: int | None
    """The rank of the first of them."""
    scores: tuple[float | None, ...]


@dataclass(frozen=True, eq=False)
class ScoredRuns:
    """The runs that have all scores of an edition: run id -> measure -> scores on all judged topics."""

    runs: tuple[ComparedRun, ...]
    arrays: dict[int, dict[str, FloatArray]]


def scored_runs(session: Session, viewer: Viewer, task: Task, sight: Sight, edition: Edition) -> ScoredRuns:
    """All runs with all their scores, in one statement for the scores."""
    versions = {measure["key"]: measure["version"] for measure in edition.measures}
    wanted = (
        Evaluation.revision_id == edition.revision_id,
        Evaluation.dialect == edition.dialect,
        Evaluation.measure.in_(versions),
    )
    arrays: dict[int, dict[str, FloatArray]] = {}
    for row in stored_scores(session, *wanted):
        if versions[row.measure] == row.measure_version:
            arrays.setdefault(row.run_id, {})[row.measure] = row.scores
    runs = fields.runs_of(session, viewer, task, sight)
    return ScoredRuns(tuple(run for run in runs if len(arrays.get(run.run_id, ())) == len(versions)), arrays)


def in_order(
    viewer: Viewer,
    scored: ScoredRuns,
    measures: Sequence[MeasureColumn],
    by: MeasureColumn,
    place: int,
    seen: RunFinds | None,
) -> tuple[RunScore, ...]:
    """Every run's scores on the topic of that place, best by the measure first, those without one last.

    seen: what the runs found of the judged documents; None of answers.
    """
    values = [_score(scored.arrays[run.run_id][by.key][place]) for run in scored.runs]

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
                scores=tuple(_score(mine[measure.key][place]) for measure in measures),
            )
        )
    return tuple(rows)


def _score(value: float) -> float | None:
    # nan is not judged, which is not 0.
    return None if math.isnan(value) else float(value)
