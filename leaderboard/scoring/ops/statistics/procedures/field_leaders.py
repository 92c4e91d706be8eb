"""Leaders of a large board and their confidence, computed once so that no page reads all its runs.

Results are found by the state of the board, which one statement reads for many tasks. A changed board has
another state, so its earlier results are not found.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.core.phase_rules import PhaseRule
from leaderboard.db.engine import now
from leaderboard.db.tables import Edition, Phase, Run, Task
from leaderboard.measures.naming import parse
from leaderboard.scoring.ops.evaluations.shown import FloatArray, Source, means
from leaderboard.scoring.ops.scored_topics import RANKED_KIND
from leaderboard.stats.arrays import Arrays

PROCEDURE, VERSION = "leaders", 1
LEAST_RUNS = 30
"""For smaller boards, pages read all runs."""
QUANTILES = (0, 0.25, 0.5, 0.75, 1)


@dataclass(frozen=True, slots=True)
class BoardState:
    """The number of official runs of a board, and a text that changes whenever its leader may change."""

    runs: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class LeaderField:
    """The ranked runs of a board in the order of their ids, and their means."""

    run_ids: tuple[int, ...]
    rankings: tuple[str, ...]
    teams: int
    means: FloatArray
    sign: int
    """-1 where lower is better."""
    comparison: str
    is_ranked: bool


def states(
    session: Session, phases: Mapping[int, PhaseRule], editions: Mapping[int, int]
) -> dict[int, BoardState]:
    """Task id -> state of the board of its phase under its edition; one statement, and the time.

    Runs are counted and their ids and teams summed in two ways: adding, withdrawing or marking a run or
    changing its team changes some of these numbers.
    """
    shown = {task_id: phase for task_id, phase in phases.items() if task_id in editions}
    rows = session.execute(
        select(
            *(Task.id, Task.comparison, Task.final_runs, Task.unmarked, Run.phase_id, func.count()),
            *(func.sum(Run.id), func.sum((Run.id % 32749) * (Run.id % 32719)), func.sum(Run.team_id)),
            func.sum((Run.id % 32749) * (Run.team_id % 32719)),
            *(func.count(Run.final_at), func.max(Run.final_at)),
        )
        .join(Run, Run.task_id == Task.id)
        .where(
            Run.task_id.in_(shown),
            Run.phase_id.in_([phase.id for phase in shown.values()]),
            Run.kind == RANKED_KIND,
            Run.withdrawn_at.is_(None),
        )
        .group_by(Task.id, Run.phase_id)
    ).all()
    at = now(session) if any(row.final_runs is not None for row in rows) else None
    by_task = {}
    for task_id, comparison, final_runs, unmarked, phase_id, runs, *numbers, marked_at in rows:
        phase = shown[task_id]
        if phase_id != phase.id:
            continue
        is_over = at is not None and phase.closes_at is not None and phase.closes_at <= at
        facts = (
            *(editions[task_id], phase.id, phase.topic_set, phase.is_ranked),
            *(comparison, final_runs, unmarked, is_over, runs, *map(int, numbers)),
            marked_at and marked_at.isoformat(),
        )
        by_task[task_id] = BoardState(runs, json.dumps(facts))
    return by_task


def field(session: Session, source: Source, measure: str, run_ids: Sequence[int]) -> LeaderField:
    """Runs with a mean over all topics of the source."""
    edition = session.get_one(Edition, source.edition_id)
    scores = means(session, edition, source.topic_set, run_ids, (measure,))
    rows = session.execute(
        select(Run.id, Run.team_id, Run.ranking_sha256, Phase.ranked, Task.comparison)
        .join(Phase, Phase.id == Run.phase_id)
        .join(Task, Task.id == Run.task_id)
        .where(Run.id.in_(scores))
        .order_by(Run.id)
    ).all()
    return LeaderField(
        run_ids=tuple(row.id for row in rows),
        rankings=tuple(row.ranking_sha256 for row in rows),
        teams=len({row.team_id for row in rows}),
        means=np.array([scores[row.id][measure] for row in rows]),
        sign=-1 if parse(measure).measure.direction == "lower" else 1,
        comparison=rows[0].comparison,
        is_ranked=rows[0].ranked,
    )


def summary(of: LeaderField, places: Arrays) -> Arrays:
    """Ids of the leaders, a summary of the field, and the leaders' places.

    places: of every run, as `stats.procedures.places` gives them; empty where runs cannot be compared.
    """
    tied = np.flatnonzero(of.means == (of.sign * of.means).max() * of.sign)
    result: Arrays = {
        "leaders": np.array(of.run_ids)[tied],
        "value": of.means[tied[0]],
        "runs": np.array(len(of.run_ids)),
        "teams": np.array(of.teams),
        "quantiles": np.quantile(of.means, QUANTILES),
    }
    if places:
        result["may_be_best"] = np.array(np.count_nonzero(places["may_be_best"]))
        result |= {name: places[name][tied] for name in ("rank_low", "rank_high")}
    return result
