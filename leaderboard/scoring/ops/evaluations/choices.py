"""Selection of the runs that count after a task closes: marked ones, else best or newest."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import phase_rules
from leaderboard.core.phase_rules import PhaseRule
from leaderboard.db.engine import now
from leaderboard.db.tables import Edition, Phase, Run, Task, Upload
from leaderboard.measures.grammar import BoundMeasure
from leaderboard.measures.naming import parse
from leaderboard.scoring.ops.evaluations.shown import means
from leaderboard.tables.record import Place, Shown


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A measure as a column: canonical key, long title and number format."""

    key: Annotated[str, Shown(key="measure")]
    title: str
    direction: Annotated[str, Shown(shown=Place.DATA)]
    digits: int
    version: Annotated[int, Shown(shown=Place.DATA)]
    aggregate: str
    """mean or sum: how topic scores are aggregated."""

    @property
    def short(self) -> str:
        """The short name, by default the key."""
        return short_name(self.key)

    @property
    def lower_is_better(self) -> bool:
        """Whether lower values are better."""
        return self.direction == "lower"

    @property
    def sign(self) -> int:
        """Factor that makes higher values better: -1 if lower is better, else 1."""
        return -1 if self.lower_is_better else 1


def column(bound: BoundMeasure) -> MeasureColumn:
    """A measure as a column."""
    measure = bound.measure
    return MeasureColumn(
        bound.key, measure.title, measure.direction, measure.digits, measure.version, measure.aggregate
    )


@lru_cache(maxsize=1024)
def column_of(key: str) -> MeasureColumn:
    """The column of a measure key; cached, since a key always means the same."""
    return column(parse(key))


@lru_cache(maxsize=1024)
def short_name(key: str) -> str:
    """The short name of a measure of answers with parameters; its key if it has none.

    >>> short_name("NuggetRecall(set='vital',strict=1)"), short_name("P(rel=2)@5")
    ('V_strict', 'P(rel=2)@5')
    """
    if "(" not in key:
        return key
    called = getattr(parse(key).measure, "called", ())
    return next((name for name, form in called if parse(form).key == key), key)


def ranked_by(by: MeasureColumn) -> str:
    """A run's value by the measure as text, such as `mean AP`."""
    words = {"mean": f"mean {by.short}", "sum": f"{by.short}, summed over topics"}
    words["geometric"] = f"{by.short}, the geometric mean over topics"
    words["micro"] = f"{by.short}, all topics pooled"
    return words.get(by.aggregate, by.short)


RANKED_KIND = "official"
NOT_CHOSEN = "not chosen"
"""Kind shown for an official run that does not count and is therefore unranked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRun:
    """A candidate run: team, whether it is marked, public score (higher is better).

    is_late: received after the close; counts only if too few runs were in time.
    """

    run_id: int
    team_id: int
    is_marked: bool = False
    score: float | None = None
    is_late: bool = False


def counting(runs: Iterable[ChosenRun], most: int | None, unmarked: str) -> frozenset[int]:
    """The runs that count, at most `most` of a team (None: all of them).

    If a team marked runs, these count. Otherwise its best by score count (unmarked is `best`; ties in order
    of submission, unscored runs last) or its newest (`newest`). With too many marked runs, the same rule
    selects among them. Late runs fill the remaining places.
    """
    if most is None:
        return frozenset(run.run_id for run in runs)
    order: Callable[[ChosenRun], tuple[Any, ...]] = _best_first if unmarked == "best" else _newest_first
    teams: dict[int, list[ChosenRun]] = {}
    for run in runs:
        teams.setdefault(run.team_id, []).append(run)
    chosen: set[int] = set()
    for own in teams.values():
        in_time = _of_team([run for run in own if not run.is_late], order)[:most]
        late = _of_team([run for run in own if run.is_late], order)[: most - len(in_time)]
        chosen.update(run.run_id for run in (*in_time, *late))
    return frozenset(chosen)


def _of_team(own: list[ChosenRun], order: Callable[[ChosenRun], tuple[Any, ...]]) -> list[ChosenRun]:
    return sorted([run for run in own if run.is_marked] or own, key=order)


def _best_first(run: ChosenRun) -> tuple[bool, float, int]:
    return run.score is None, -(run.score or 0.0), run.run_id


def _newest_first(run: ChosenRun) -> tuple[int]:
    return (-run.run_id,)


def is_over(session: Session, phase_id: int, at: datetime | None = None) -> bool:
    """Whether the closing time of a phase has passed, at a given time or now."""
    closes = session.scalar(select(Phase.closes_at).where(Phase.id == phase_id))
    return closes is not None and closes <= (at or now(session))


def not_chosen(session: Session, task: Task, at: datetime | None = None) -> frozenset[int]:
    """Official runs on the board that do not count; empty before their phase closes.

    Teams choose per phase. At most four statements, none if all runs of the task count.
    """
    if task.final_runs is None:
        return frozenset()
    is_late = (Upload.created_at >= Phase.closes_at).label("is_late")
    runs = session.execute(
        select(Run.id, Run.team_id, Run.phase_id, Run.final_at, is_late)
        .join(Phase, Phase.id == Run.phase_id)
        .join(Upload, Upload.id == Run.upload_id)
        .where(
            Run.task_id == task.id,
            Run.kind == RANKED_KIND,
            Run.withdrawn_at.is_(None),
            Phase.closes_at <= (at or now(session)),
        )
    ).all()
    scores = _public_scores(session, task) if runs and task.unmarked == "best" else {}
    phases: dict[int, list[ChosenRun]] = {}
    for run in runs:
        is_marked, score = run.final_at is not None, scores.get(run.phase_id, {}).get(run.id)
        candidate = ChosenRun(
            run_id=run.id, team_id=run.team_id, is_marked=is_marked, score=score, is_late=run.is_late
        )
        phases.setdefault(run.phase_id, []).append(candidate)
    chosen = (counting(candidates, task.final_runs, task.unmarked) for candidates in phases.values())
    return frozenset(run.id for run in runs) - frozenset[int]().union(*chosen)


def shown_kind(run_id: int, kind: str, left_out: frozenset[int]) -> str:
    """The kind shown for a run, given the runs that do not count."""
    return NOT_CHOSEN if run_id in left_out else kind


def rule_in_words(task: Task) -> str:
    """The rule for the runs that count, as a sentence for participants; empty if all count."""
    if task.final_runs is None:
        return ""
    is_one = task.final_runs == 1
    marked = "the run that it marked" if is_one else f"up to {task.final_runs} runs that it marked"
    qualifier = "by the public score" if task.unmarked == "best" else "that it sent"
    which = {"best": "best", "newest": "newest"}[task.unmarked]
    others = f"its {which} {qualifier}" if is_one else f"its {task.final_runs} {which} {qualifier}"
    return f"At the end count, of each team, {marked} before the close; of a team that marked none, {others}."


def _public_scores(session: Session, task: Task) -> dict[int, dict[int, float]]:
    """Phase id -> run id -> score (higher is better), on the public topics of a blind phase, else on all."""
    edition = session.scalar(select(Edition).where(Edition.task_id == task.id, Edition.state == "current"))
    if edition is None:
        return {}
    key = edition.primary_measure
    sign = column_of(key).sign
    sets = {rule.id: _scored_on(rule, edition) for rule in phase_rules.rules_of(session, task)}
    scores = {
        name: {
            run_id: sign * values[key]
            for run_id, values in means(session, edition, name, keys=(key,)).items()
        }
        for name in set(sets.values())
    }
    return {phase_id: scores[name] for phase_id, name in sets.items()}


def _scored_on(rule: PhaseRule, edition: Edition) -> str:
    public = phase_rules.public_part(rule.topic_set)
    return public if rule.visibility == "blind" and public in edition.topic_sets else rule.topic_set
