"""Rank changes from public to hidden topics of a blind task, and information revealed by its board."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.boards.page.view import values_by
from leaderboard.core import policy
from leaderboard.core.phase_rules import public_part
from leaderboard.core.policy import ANONYMOUS, BLIND_DECIMALS, TaskAccess, Viewer
from leaderboard.db.tables import Edition, Evaluation, Run, Task
from leaderboard.errors import NotFound
from leaderboard.measures.naming import parse
from leaderboard.qrels.page.revisions import rank_changes
from leaderboard.qrels.page.revisions.rank_changes import RankChange, RankChanges, scored_runs
from leaderboard.scoring.ops.evaluations.shown import Source, means, seen_means, shown_edition, stored_scores
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead, column_of
from leaderboard.stats import budgets
from leaderboard.tables.record import Column, Files, Place, Table, columns_from


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBudget:
    """Information revealed by the board of a blind task so far: counts and upper bounds."""

    answers: int
    """Number of scored team runs, including withdrawn ones, counted for every qrels revision."""
    teams: int
    measures: int
    decimals: int
    bits: float
    error: float
    """Maximum error of any public mean relative to a run's true one (95 %)."""
    hidden_order: int
    """Information in the ranking, in bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevealPage(TaskHead):
    """The runs of a blind task on its public and its hidden topics."""

    is_closed: bool
    """Whether it is public; until the task closes only organisers can see it."""
    measure: MeasureColumn
    public_topics: int
    hidden_topics: int
    ranks: RankChanges
    board_ranks: dict[int, float] = field(default_factory=dict)
    """Run id -> score on all topics, which ranks the board."""
    as_shown: dict[int, float] = field(default_factory=dict)
    """Run id -> public score as shown to participants."""
    budget: AnswerBudget | None = None
    """For organisers."""


def reveal_page(session: Session, viewer: Viewer, slug: str) -> RevealPage:
    """The page of a blind task; raises NotFound for other tasks, and while hidden topics are secret."""
    task, access = policy.visible_task(session, viewer, slug)
    shown = shown_edition(session, task, access)
    edition, source = shown.edition, shown.source
    phase = access.rule
    assert phase is not None, "a task has a phase"
    if phase.visibility != "blind" or edition is None or source is None or not access.details:
        raise NotFound(f"{task.name} has no public and hidden topics to compare. {access.why}".strip())
    key = edition.primary_measure
    by = column_of(key)
    public = values_by(means(session, edition, public_part(access.topic_set), keys=(key,)), key)
    whole = values_by(means(session, edition, access.topic_set, keys=(key,)), key)
    hidden_topics = [topic for topic in source.topics if topic not in _public_topics(edition, access)]
    hidden = _hidden(session, source, by, hidden_topics, whole)
    runs = scored_runs(session, viewer, task, access, whole)
    ranked = {run.run_id for run in runs}
    as_public = policy.access(ANONYMOUS, task, phase, (phase,))
    return RevealPage(
        of=task,
        access=access,
        basis=shown.basis,
        is_closed=policy.is_shown(session, task),
        measure=by,
        public_topics=len(source.topics) - len(hidden_topics),
        hidden_topics=len(hidden_topics),
        ranks=rank_changes.rank_changes(runs, public, hidden, by),
        board_ranks={run_id: value for run_id, value in whole.items() if run_id in ranked},
        as_shown=values_by(seen_means(session, edition, as_public, keys=(key,)), key),
        budget=_budget(session, task, edition, as_public, len(runs)) if access.organises else None,
    )


def facts(page: RevealPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    budget = page.budget
    return {
        "task": page.slug,
        "measure": page.measure.key,
        "public_topics": page.public_topics,
        "hidden_topics": page.hidden_topics,
        "tau": page.ranks.tau,
        "tau_ap": page.ranks.tau_ap,
        "runs": table(page).facts(),
        **({"budget": {row.key: row.value for row in budget_rows(budget)}} if budget else {}),
    }


def table(page: RevealPage) -> Table[RankChange]:
    """Table of the runs, ordered by the hidden topics."""
    digits = page.measure.digits

    def score(key: str, head: str, values: dict[int, float], shown: int) -> Column[RankChange]:
        return Column(key, lambda row: values.get(row.run.run_id), head, digits=shown)

    return Table(
        f"{page.slug}-reveal",
        f"Runs of {page.task} by {page.measure.key}, on {page.public_topics} public and "
        f"{page.hidden_topics} hidden topics; ranks are among the ranked runs.",
        columns_from(
            RankChange,
            "new_rank run.name run.team run.run_id run.kind old_rank moved",
            Column("hidden", lambda row: row.new, "Hidden", digits=digits),
            Column("public", lambda row: row.old, "Public", digits=digits),
            score("shown", "Public, as shown", page.as_shown, BLIND_DECIMALS),
            score("all", "All", page.board_ranks, digits),
        ),
        page.ranks.rows,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRow:
    """One figure of a budget."""

    key: str
    what: str
    value: float
    digits: int = 0
    note: str = ""


def budget_rows(budget: AnswerBudget) -> tuple[BudgetRow, ...]:
    """The figures of a budget, with their meaning."""
    per_answer = f"{budget.measures} measures, {budget.decimals} decimals"
    return (
        BudgetRow(key="answers", what="Answers so far", value=budget.answers, note=per_answer),
        BudgetRow(key="teams", what="Teams with answers", value=budget.teams),
        BudgetRow(key="bits", what="Bits revealed (upper bound)", value=budget.bits),
        BudgetRow(
            key="order_bits",
            what="Bits in the ranking",
            value=budget.hidden_order,
            note="the information needed to know the ranking, starting from nothing",
        ),
        BudgetRow(
            key="error",
            what="Maximum error of a public mean",
            value=budget.error,
            digits=2,
            note="with 95% confidence, however teams used the answers; 1 or more guarantees nothing",
        ),
    )


def budget_table(page: RevealPage) -> Table[BudgetRow]:
    """Table of the answer budget; without rows for non-organisers."""
    columns: list[Column[BudgetRow]] = [
        Column("key", lambda row: row.key, shown=Place.DATA),
        Column("what", lambda row: row.what, "What"),
        Column(
            "value",
            lambda row: row.value,
            "Value",
            words=lambda row: f"{row.value:,.{row.digits}f}",
            digits=2,
        ),
        Column("note", lambda row: row.note, "Meaning", shown=~Place.PRINT),
    ]
    caption = f"Information revealed by the public scores of {page.task}; visible to its organisers only."
    return Table(f"{page.slug}-budget", caption, columns, budget_rows(page.budget) if page.budget else ())


FILES = Files(facts=facts, tables={"runs": table, "budget": budget_table})


def _public_topics(edition: Edition, access: TaskAccess) -> Collection[str]:
    return set(edition.topic_sets.get(public_part(access.topic_set), {"topics": ()})["topics"])


def _hidden(
    session: Session, source: Source, by: MeasureColumn, topics: Collection[str], runs: Collection[int]
) -> dict[int, float]:
    """Run id -> aggregate over the hidden topics; one statement."""
    places = np.array(
        [place for topic, place in zip(source.topics, source.places, strict=True) if topic in topics],
        dtype=np.int64,
    )
    if not len(places):
        return {}
    conditions = (
        Evaluation.revision_id == source.revision_id,
        Evaluation.dialect == source.dialect,
        Evaluation.measure == by.key,
        Evaluation.measure_version == by.version,
        Evaluation.run_id.in_(runs),
    )
    bound = parse(by.key)
    return {
        run_id: bound.aggregate(
            scores[places], None if parts is None else parts.reshape(-1, len(scores))[:, places]
        )
        for run_id, *_, scores, parts in stored_scores(session, *conditions)
    }


def _budget(session: Session, task: Task, edition: Edition, public: TaskAccess, runs: int) -> AnswerBudget:
    """Information shown to participants; baselines belong to organisers and reveal nothing."""
    counts = session.scalars(
        select(func.count())
        .select_from(Evaluation)
        .join(Run, Run.id == Evaluation.run_id)
        .where(
            Run.task_id == task.id,
            Run.kind != "baseline",
            Evaluation.measure == edition.primary_measure,
            Evaluation.dialect == edition.dialect,
        )
        .group_by(Run.team_id)
    ).all()
    keys = [measure["key"] for measure in edition.measures if not public.hides(measure["key"])]
    decimals = public.decimals or BLIND_DECIMALS
    topics = len(edition.topic_sets.get(public.topic_set, {"topics": ()})["topics"])
    bits = budgets.answer_bits(counts, len(keys), decimals)
    return AnswerBudget(
        answers=sum(counts),
        teams=len(counts),
        measures=len(keys),
        decimals=decimals,
        bits=bits,
        error=budgets.error_bound(bits, topics) if topics else 1.0,
        hidden_order=round(float(np.log2(np.arange(1, runs + 1)).sum())),
    )
