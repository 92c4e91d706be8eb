"""What an organiser asks a pool to be made of: a method, runs, and what a judgment costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.pooling.choosing import chosen_runs
from leaderboard.pooling.methods import DEFAULT, BoundMethod, method
from leaderboard.services import kinds, shown_names
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import marks
from leaderboard.services.runs.names import RunName

OFFICIAL, ALL, CHOSEN = "official", "all", "chosen"
WHICH = {OFFICIAL: "All official runs", ALL: "All runs", CHOSEN: "Those chosen below"}
SECONDS, MOST_SECONDS = 30, 3600
LARGEST_SEED = 2**31 - 1
MOST_PER_TEAM = 1000


@dataclass(frozen=True, slots=True)
class Plan:
    """A pool to be: spec as pooling.methods takes it; chosen counts where runs is `chosen`.

    cap: the most runs of a team; overlap: the share of documents that two assessors judge, which counts for
    the hours only.
    """

    spec: Mapping[str, Any] = field(default_factory=lambda: dict(DEFAULT))
    runs: str = OFFICIAL
    chosen: tuple[int, ...] = ()
    primary_first: bool = False
    cap: int | None = None
    reuse: bool = True
    seed: int = 1
    seconds: int = SECONDS
    overlap: float = 0.0

    def hours(self, documents: int) -> float:
        """How long one person takes to judge n documents, those judged twice counted twice.

        >>> Plan(seconds=30, overlap=0.2).hours(1200)
        12.0
        """
        return documents * (1.0 + self.overlap) * self.seconds / 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledRun(RunName):
    """A run that is pooled."""

    team_id: int
    primary: bool
    ranking_sha256: str


def require_fitting(task: Task, bound: BoundMethod) -> None:
    """Raise Conflict where a method is not one for what the task's runs are."""
    kind = kinds.of(task.kind)
    if bound.method.name not in kind.pool_methods:
        raise Conflict(
            f"{task.name} takes {task.kind}; a pool is made of {kind.pooled}. "
            f"Choose {' or '.join(kind.pool_methods)}."
        )


def check(plan: Plan) -> None:
    """Raise Invalid naming the field where a number of the plan is out of range."""
    _within("runs", plan.runs in WHICH, f"is one of {', '.join(WHICH)}", plan.runs)
    _within("seconds", 1 <= plan.seconds <= MOST_SECONDS, f"are from 1 to {MOST_SECONDS}", plan.seconds)
    _within("overlap", 0.0 <= plan.overlap <= 1.0, "is from 0 to 1", plan.overlap)
    _within("seed", 0 <= plan.seed <= LARGEST_SEED, f"is a whole number up to {LARGEST_SEED}", plan.seed)
    cap = 1 if plan.cap is None else plan.cap
    _within("cap", 1 <= cap <= MOST_PER_TEAM, f"is from 1 to {MOST_PER_TEAM}", cap)


def candidates(session: Session, viewer: Viewer, task: Task) -> tuple[PooledRun, ...]:
    """The runs of a task that may be pooled, in stored order; withdrawn ones may not."""
    rows = session.execute(
        select(Run.id, Run.name, Run.team_id, Run.kind, Run.ranking_sha256)
        .where(Run.task_id == task.id, Run.withdrawn_at.is_(None))
        .order_by(Run.id)
    ).all()
    primary, names = marks.marked(session, task), shown_names.shown_names(session, viewer, task)
    return tuple(
        PooledRun(
            run_id=row.id,
            name=names.run(row.id, row.name),
            team_id=row.team_id,
            team=names.team(row.team_id),
            kind=row.kind,
            primary=row.id in primary,
            ranking_sha256=row.ranking_sha256,
        )
        for row in rows
    )


def pooled_runs(plan: Plan, offered: Sequence[PooledRun]) -> tuple[PooledRun, ...]:
    """The runs of the plan in the order that breaks ties.

    Raises Invalid where a chosen run is not offered, Conflict where none is left.
    """
    known = {run.run_id for run in offered}
    if plan.runs == CHOSEN and (lost := set(plan.chosen) - known):
        raise Invalid(f"There is no run {', '.join(map(str, sorted(lost)))} to be pooled.")
    chosen = [
        run
        for run in offered
        if plan.runs == ALL
        or (plan.runs == OFFICIAL and run.kind == "official")
        or (plan.runs == CHOSEN and run.run_id in plan.chosen)
    ]
    if not chosen:
        what = "Choose at least one run." if plan.runs == CHOSEN else "There is no run to pool yet."
        raise Conflict(what)
    primary = [run.primary for run in chosen] if plan.primary_first else ()
    order = chosen_runs([run.team_id for run in chosen], primary=primary, cap=plan.cap)
    return tuple(chosen[place] for place in order)


def bound(plan: Plan, runs: Sequence[PooledRun]) -> BoundMethod:
    """The plan's method; without priorities of runs, teams' primary ones come before the others.

    Raises Invalid with a sentence that says what may be written.
    """
    spec = dict(plan.spec)
    if spec.get("name") == "priority" and not spec.get("priorities"):
        spec["priorities"] = [1 if run.primary else 2 for run in runs]
    try:
        return method(spec)
    except ValueError as error:
        raise Invalid(sentence(error)) from None


def strata(method_: BoundMethod) -> tuple[str, ...]:
    """What the strata of a pool are called: its stages, a sample's numbers, nothing where it is one.

    >>> strata(method({"name": "staged", "then": {"name": "rrf"}})), strata(method({"name": "rrf"}))
    (('depth', 'rrf'), ('',))
    """
    last = method_.last
    drawn: Any = last.values["strata"] if last.samples else ()
    own = tuple(str(number) for number, _ in enumerate(drawn, start=1)) or (
        (last.method.name,) if method_.then else ("",)
    )
    return ("depth", *own) if method_.then else own


def sentence(error: ValueError) -> str:
    """What a method says of a spec, as a sentence.

    >>> sentence(ValueError("a budget is a whole number"))
    'A budget is a whole number.'
    """
    text = str(error)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _within(name: str, holds: bool, rule: str, value: object) -> None:
    if not holds:
        problem = Problem(f"{rule}.", field=name, value=str(value)[:40])
        raise Invalid(f"The {name} cannot be used: what is given {rule}.", [problem])
