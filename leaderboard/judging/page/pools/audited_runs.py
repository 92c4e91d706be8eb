"""The runs and measure of an audit of a task's judgments, and which runs were pooled."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.answers.page.nuggets.facts import require_rankings
from leaderboard.boards.page.scores import table
from leaderboard.boards.page.scores.table import ComparedRun, comparable
from leaderboard.core import policy
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.tables import Assessment, Pool, Run, Task
from leaderboard.errors import UnknownMeasure
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged
from leaderboard.scoring.ops import rankings
from leaderboard.scoring.ops.evaluations.shown import FloatArray, Source, scores_of, shown_edition
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.procedures.pool_reusability import NEEDS

VERSION = 1
DEEPEST = 100
"""Deepest rank to search for the pool depth."""
ENOUGH = 0.95
"""The pool depth is where the median run has this share of its top judged."""
POOLED_KINDS = ("official", "baseline")


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditedTask(TaskHead):
    """Input of an audit: scored runs by id, their values, which were pooled, and the pool depth."""

    source: Source | None
    measure: MeasureColumn | None
    measures: tuple[MeasureColumn, ...]
    runs: tuple[ComparedRun, ...]
    pooled: tuple[bool, ...]
    pools: tuple[int, ...]
    """Numbers of the pools that determine the pooled runs; empty if kinds of runs are used instead."""
    why: str
    """Why there is nothing to audit; empty if there is."""

    @property
    def rests_on(self) -> tuple[Source, MeasureColumn]:
        """Judgments and measure, if there is something to audit."""
        assert self.source is not None, "an empty `why` implies a source and a measure"
        assert self.measure is not None, "an empty `why` implies a source and a measure"
        return self.source, self.measure

    @property
    def run_by_run(self) -> bool:
        """Whether one team submitted all pooled runs, so that each run counts as a team."""
        pairs = zip(self.runs, self.pooled, strict=True)
        return len({run.team_id for run, pooled in pairs if pooled}) == 1

    @property
    def teams(self) -> tuple[int, ...]:
        """The team of every pooled run, a number from 0 by first appearance, -1 for other runs."""
        by_run, numbers = self.run_by_run, dict[int, int]()
        return tuple(
            numbers.setdefault(run.run_id if by_run else run.team_id, len(numbers)) if pooled else -1
            for run, pooled in zip(self.runs, self.pooled, strict=True)
        )

    @property
    def team_names(self) -> tuple[str, ...]:
        """Names of the teams with a pooled run, by number; the run's name if it counts as a team."""
        by_run = self.run_by_run
        names = {
            team: run.name if by_run else run.team
            for run, team in zip(self.runs, self.teams, strict=True)
            if team >= 0
        }
        return tuple(names[team] for team in sorted(names))


def audited(session: Session, viewer: Viewer, slug: str, measure: str | None) -> AuditedTask:
    """The input of an audit of a task, by a measure or, by default, its primary one.

    Raises NotFound for an unknown task and while judgments are hidden, UnknownMeasure for a measure that
    is not on the board or that cannot be computed from fewer judgments.
    """
    task, access = policy.visible_task(session, viewer, slug)
    require_rankings(task)
    table.require_details(access)
    shown = shown_edition(session, task, access)
    if shown.edition is None or shown.basis is None or shown.source is None:
        return _nothing(task, access, f"{task.name} has no judgments yet, so there is nothing to audit.")
    columns = tuple(
        column
        for column in comparable(table.fields_columns_of(shown.edition))
        if parse(column.key).measure.needs <= NEEDS
    )
    column = _chosen(columns, shown.edition.primary_measure, measure)
    if column is None:
        return _nothing(
            task, access, "None of this leaderboard’s measures can be computed from fewer judgments."
        )
    runs = sorted(table.runs_of(session, viewer, task, access), key=lambda run: run.run_id)
    scored = scores_of(session, shown.source, column.key, column.version, [run.run_id for run in runs])
    kept = tuple(run for run in runs if run.run_id in scored)
    pools, members = _pooled(session, task)
    is_pooled = [run.run_id in members if pools else run.kind in POOLED_KINDS for run in kept]
    return AuditedTask(
        of=task,
        access=access,
        basis=shown.basis,
        source=shown.source,
        measure=column,
        measures=columns,
        runs=kept,
        pooled=tuple(is_pooled),
        pools=pools,
        why="" if any(is_pooled) else "No pooled run has scores yet, so there is nothing to audit.",
    )


def pool_depth(session: Session, audited: AuditedTask) -> int:
    """Estimate the pool depth of the judgments, from the judged documents of the median pooled run.

    The deepest rank, up to DEEPEST, down to which it has ENOUGH of its top documents judged; DEEPEST if
    not even its first ranks are.
    """
    shares = judged_by_depth(session, audited)[np.array(audited.pooled)]
    deep = np.flatnonzero(np.nanmedian(shares, axis=0) >= ENOUGH) if len(shares) else np.empty(0, np.int64)
    return int(deep[-1]) + 1 if len(deep) else DEEPEST


def judged_by_depth(session: Session, audited: AuditedTask) -> FloatArray:
    """Share of judged documents in every run's top 1 to DEEPEST ranks, (runs, DEEPEST); cached."""
    source, _ = audited.rests_on
    # Covers everything the shares depend on, so that they stay cached while none of it changes.
    facts = (
        "judged by depth",
        VERSION,
        source.revision_sha256,
        source.dialect,
        source.topics,
        [(run.run_id, run.ranking_sha256) for run in audited.runs],
    )
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    arrays = requests.kept.get(digest)
    if arrays is None:
        hits = rankings.alignments(session, source, [run.run_id for run in audited.runs])
        shares = [_shares(hits[run.run_id], source) for run in audited.runs]
        arrays = requests.kept.put(digest, {"shares": np.array(shares).reshape(len(audited.runs), DEEPEST)})
    return arrays["shares"].astype(np.float64, copy=False)


def orders_differ(session: Session, audited: AuditedTask) -> dict[int, bool]:
    """Run id -> whether 32-bit scores order some topic of the run differently."""
    rows = session.execute(
        select(Run.id, Run.order_differs).where(Run.id.in_([run.run_id for run in audited.runs]))
    )
    return {run_id: differs for run_id, differs in rows}


def better(audited: AuditedTask, values: FloatArray) -> FloatArray:
    """Values with higher better."""
    _, measure = audited.rests_on
    return measure.sign * values


def _shares(run: Judged, source: Source) -> FloatArray:
    places = np.array(source.places, dtype=np.int64)
    on_top = (run.grade >= 0) & (run.rank <= DEEPEST)
    judged = np.zeros((len(run.judgments), DEEPEST))
    judged[run.topic[on_top], run.rank[on_top] - 1] = 1.0
    depths = np.arange(1, DEEPEST + 1)
    sizes = np.minimum(run.retrieved[:, None], depths)
    retrieved = places[run.retrieved[places] > 0]
    if not len(retrieved):
        return np.full(DEEPEST, np.nan)
    shares: FloatArray = (judged.cumsum(axis=1)[retrieved] / sizes[retrieved]).mean(axis=0)
    return shares


def _pooled(session: Session, task: Task) -> tuple[tuple[int, ...], frozenset[int]]:
    """Numbers of the pools with judged documents, and the runs they were made from."""
    judged = select(Assessment.id).where(Assessment.pool_id == Pool.id).exists()
    rows = session.execute(
        select(Pool.number, Pool.run_ids).where(Pool.task_id == task.id, judged).order_by(Pool.number)
    )
    pooled = [(row.number, row.run_ids) for row in rows if row.run_ids]
    return tuple(number for number, _ in pooled), frozenset(run for _, ids in pooled for run in ids)


def _chosen(columns: Sequence[MeasureColumn], primary: str, measure: str | None) -> MeasureColumn | None:
    key = primary if measure is None else parse(measure).key
    by_key = {column.key: column for column in columns}
    if measure is not None and key not in by_key:
        keys = ", ".join(by_key) or "none"
        raise UnknownMeasure(f"Judgments cannot be audited by {key}. Choose {keys}.")
    return by_key.get(key, columns[0] if columns else None)


def _nothing(task: Task, access: TaskAccess, why: str) -> AuditedTask:
    return AuditedTask(
        of=task,
        access=access,
        basis=None,
        source=None,
        measure=None,
        measures=(),
        runs=(),
        pooled=(),
        pools=(),
        why=why,
    )
