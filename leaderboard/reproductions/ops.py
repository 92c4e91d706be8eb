"""Links from runs to the runs they reproduce, with baselines."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sqlalchemy import ColumnElement, bindparam, or_, select
from sqlalchemy.orm import Session, aliased

from leaderboard.core import audit, phase_rules, policy, shown_names
from leaderboard.core.actions import Action
from leaderboard.core.policy import Scope, TaskAccess, Viewer
from leaderboard.core.shown_names import ShownNames
from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import Reproduction, Run, Task
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.runs.ops.uploads import read_number
from leaderboard.scoring.ops.statistics import prepared

_RUNS = select(Run, Task).join(Task, Task.id == Run.task_id)
_RUNS_WITH_PHASES = phase_rules.with_phases(_RUNS.where(Run.id.in_(bindparam("runs", expanding=True))))


@dataclass(frozen=True, slots=True)
class RunSide:
    """A run as the viewer sees it: of its task, with its names."""

    run: Run
    task: Task
    access: TaskAccess
    names: ShownNames

    @property
    def is_masked(self) -> bool:
        """Whether the viewer knows it by a pseudonym only."""
        return self.names.is_masked(self.run.team_id)


def side(session: Session, viewer: Viewer, run_id: int) -> RunSide | None:
    """The run; None where the viewer may not know of it."""
    try:
        run, task, access = policy.visible_run(session, viewer, run_id)
    except (Forbidden, NotFound):
        return None
    return RunSide(run, task, access, shown_names.shown_names(session, viewer, task))


def all_sides(session: Session, viewer: Viewer, run_ids: Collection[int]) -> dict[int, RunSide]:
    """Those of the runs that the viewer may know of, by their ids; a few statements for all."""
    seen = _visible_runs(session, viewer, run_ids)
    tasks = {task.id: task for _, task, _ in seen.values()}
    names = shown_names.shown_names_of(session, viewer, tasks.values()) if tasks else {}
    return {
        run_id: RunSide(run, task, access, names[task.id]) for run_id, (run, task, access) in seen.items()
    }


def _visible_runs(
    session: Session, viewer: Viewer, run_ids: Collection[int]
) -> dict[int, tuple[Run, Task, TaskAccess]]:
    """Those of the runs that `policy.visible_run` gives the viewer; one statement, and the time."""
    if not run_ids:
        return {}
    at = now(session)
    by_run: dict[int, list[Any]] = {}
    for row in session.execute(_RUNS_WITH_PHASES, {"runs": list(run_ids)}):
        by_run.setdefault(row.Run.id, []).append(row)
    return {
        run_id: (rows[0].Run, rows[0].Task, seen)
        for run_id, rows in by_run.items()
        if viewer.only_task in (None, rows[0].Task.id)
        and (seen := policy.access_of_run(session, viewer, rows, at)) is not None
    }


def is_open(sides: Sequence[RunSide]) -> bool:
    """Whether the viewer can open the page of a reproduction of one of these runs by the other.

    Scores by topic of both are shown. Across two tasks, neither run has a pseudonym: the other run's name
    could reveal its team.
    """
    if not all(run_side.access.details for run_side in sides):
        return False
    return len({run_side.task.id for run_side in sides}) == 1 or not any(
        run_side.is_masked for run_side in sides
    )


def is_told(viewer: Viewer, reproducing: RunSide, sides: Sequence[RunSide]) -> bool:
    """Whether the viewer can see the reproduction: its team, the organisers, and all viewers if it is
    open."""
    is_own = policy.owns(viewer, reproducing.run.team_id) or reproducing.access.organises
    return is_own or is_open(sides)


KIND = "rankings"
"""The kind of tasks whose runs can be reproduced."""


@dataclass(frozen=True, slots=True)
class OriginalRuns:
    """The reproduced run, by run number: from the same task or another one; both baselines or neither."""

    original: Annotated[
        int,
        Field(
            title="Reproduces run", help="Run number; in a form also its page’s address.", read=read_number
        ),
    ]
    original_baseline: Annotated[
        int | None,
        Field(
            title="Original baseline",
            help="The run the original was meant to outperform, from the original’s task.",
            read=read_number,
        ),
    ] = None
    baseline: Annotated[
        int | None,
        Field(
            title="Baseline here",
            help="The baseline of this run, from this task. Effects, ER and DRI need both baselines.",
            read=read_number,
        ),
    ] = None

    @property
    def named(self) -> dict[str, int]:
        """The runs that are named, by field."""
        return {name: run_id for name, run_id in asdict(self).items() if run_id is not None}


@dataclass(frozen=True, slots=True)
class ReproductionLink:
    """A run, by number, and what it reproduces; task_id and original_task_id are those of their tasks."""

    run_id: int
    task_id: int
    of: OriginalRuns
    original_task_id: int

    @property
    def is_replication(self) -> bool:
        """Whether the original is a run of another task."""
        return self.task_id != self.original_task_id

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Originals and what reproduces them: the advanced runs, then the baselines where they are named."""
        advanced = self.of.original, self.run_id
        if self.of.original_baseline is None or self.of.baseline is None:
            return (advanced,)
        return advanced, (self.of.original_baseline, self.of.baseline)


def link(session: Session, viewer: Viewer, run_id: int, of: OriginalRuns) -> None:
    """Set the run that a run reproduces; replace an earlier link.

    Raises NotFound for a run that is not visible to the viewer, Forbidden unless the viewer is in the run's
    team or organises its task, Invalid where the runs cannot be a reproduction or the viewer may not know of
    them.
    """
    run, task = policy.own_run(session, viewer, run_id)
    lock_key(session, "reproductions")
    require_possible(session, viewer, task, run, of)
    before = session.get(Reproduction, run_id)
    if before is not None and stored(before) == of:
        return
    put_link(session, run_id, of)
    prepared.prepare(session, task.id)
    was = {} if before is None else {"was": before.original_id}
    audit.record(session, viewer, "run.reproduces", f"run:{run_id}", **of.named, **was)


def link_sent(session: Session, viewer: Viewer, run_id: int, named: Mapping[str, int]) -> None:
    """Say what a run reproduces that was sent so: it was checked then; does nothing if a run is gone."""
    of = OriginalRuns(**named)
    ids = set(of.named.values())
    if len(session.scalars(select(Run.id).where(Run.id.in_(ids))).all()) < len(ids):
        return
    put_link(session, run_id, of)
    audit.record(session, viewer, "run.reproduces", f"run:{run_id}", **of.named)


def unlink(session: Session, viewer: Viewer, run_id: int) -> None:
    """Remove the link to the reproduced run; raises as `link` does, Conflict if absent."""
    run, _ = policy.own_run(session, viewer, run_id)
    before = session.get(Reproduction, run_id)
    if before is None:
        raise Conflict(f"{run.name} has no link to an original run.")
    session.delete(before)
    session.flush()
    audit.record(session, viewer, "run.reproduces_nothing", f"run:{run_id}", was=before.original_id)


_RUN: dict[str, Any] = {
    "path": "/runs/<id:run_id>/reproduces",
    "page": "runs.show",
    "scopes": (Scope.SUBMIT, Scope.ORGANISE),
    "may": policy.own_run,
}
LINK = Action(
    name="say_what_a_run_reproduces",
    summary="Set the run that a run reproduces",
    more="For its team and the organisers; replaces the earlier link.",
    method="PUT",
    form="/runs/<id:run_id>/reproduces",
    record=OriginalRuns,
    act=link,
    done=lambda of, _: f"the run reproduces run {of.original}",
    **_RUN,
)
UNLINK = Action(
    name="take_back_what_a_run_reproduces",
    summary="Remove the link to the reproduced run",
    method="DELETE",
    form="/runs/<id:run_id>/reproduces/delete",
    act=unlink,
    done="the run reproduces no run",
    **_RUN,
)
ACTIONS = (LINK, UNLINK)


def originals_of(session: Session, viewer: Viewer, run_id: int) -> OriginalRuns | None:
    """The reproduced run, for viewers who can change it; raises as `link` does."""
    policy.own_run(session, viewer, run_id)
    row = session.get(Reproduction, run_id)
    return None if row is None else stored(row)


def put_link(session: Session, run_id: int, of: OriginalRuns) -> None:
    """Store what a run reproduces."""
    reproduction = session.get(Reproduction, run_id) or Reproduction(run_id=run_id, created_at=now(session))
    reproduction.original_id, reproduction.original_baseline_id = of.original, of.original_baseline
    reproduction.baseline_id = of.baseline
    session.add(reproduction)
    session.flush()


def require_possible(
    session: Session, viewer: Viewer, task: Task, run: Run | None, of: OriginalRuns, phase_id: int = 0
) -> None:
    """Raise unless a run of the task can reproduce these runs; run is None before submission.

    phase_id: the phase of this run. Raises Invalid with every problem.
    """
    problems = list(_problems(session, viewer, task, run, of, run.phase_id if run else phase_id))
    if problems:
        raise Invalid("The reproduction is not valid.", problems)


def require_sendable(
    session: Session, viewer: Viewer, task: Task, phase_id: int, named: Mapping[str, int]
) -> None:
    """Raise unless a run submitted to the phase can reproduce the named runs."""
    require_possible(session, viewer, task, None, OriginalRuns(**named), phase_id)


def links_of(session: Session, task_id: int, phase_id: int | None = None) -> list[ReproductionLink]:
    """The links of a task's runs, or of one of its phases, by run; one statement."""
    in_phase = () if phase_id is None else (Run.phase_id == phase_id,)
    return _links(session, Run.task_id == task_id, *in_phase)


def links_to(session: Session, run_ids: Sequence[int]) -> list[ReproductionLink]:
    """The links to and from the runs; one statement."""
    either = Reproduction.run_id.in_(run_ids), Reproduction.original_id.in_(run_ids)
    return _links(session, or_(*either))


def stored(row: Reproduction) -> OriginalRuns:
    """The stored link; without baselines if one of them was deleted."""
    if row.original_baseline_id is None or row.baseline_id is None:
        return OriginalRuns(row.original_id)
    return OriginalRuns(row.original_id, row.original_baseline_id, row.baseline_id)


def _links(session: Session, *conditions: ColumnElement[bool]) -> list[ReproductionLink]:
    original = aliased(Run)
    rows = session.execute(
        select(Reproduction, Run.task_id, original.task_id.label("original_task_id"))
        .join(Run, Run.id == Reproduction.run_id)
        .join(original, original.id == Reproduction.original_id)
        .where(*conditions)
        .order_by(Reproduction.run_id)
    )
    return [
        ReproductionLink(row.Reproduction.run_id, row.task_id, stored(row.Reproduction), row.original_task_id)
        for row in rows
    ]


def _problems(
    session: Session, viewer: Viewer, task: Task, run: Run | None, of: OriginalRuns, phase_id: int
) -> Iterator[Problem]:
    original, original_task = _known(session, viewer, of.original)
    if not task.kind == original_task.kind == KIND:
        rule = "must be a run of rankings, and so must this run."
        yield _problem(rule, "Only rankings can reproduce rankings.", original.id)
        return
    if run is not None and original.id == run.id:
        yield _problem("is the run itself.", "Name an earlier run.", original.id)
        return
    if run is not None and run.id in _reproduced_by(session, viewer, original.id):
        yield _problem("already reproduces this run.", "Name the earlier run as the original.", original.id)
    if original.withdrawn_at is not None:
        yield _problem("is withdrawn.", "Name a run that is on its board.", original.id)
    if original_task.id == task.id and original.phase_id != phase_id:
        yield _problem(
            "is from another phase of the task, which may have other topics.",
            "Name a run from the same phase.",
            original.id,
        )
    yield from _baseline_problems(session, viewer, run, original, of, phase_id, task)


def _baseline_problems(
    session: Session,
    viewer: Viewer,
    run: Run | None,
    original: Run,
    of: OriginalRuns,
    phase_id: int,
    task: Task,
) -> Iterator[Problem]:
    if of.baseline is None and of.original_baseline is None:
        return
    if of.baseline is None or of.original_baseline is None:
        named = "original_baseline" if of.baseline is None else "baseline"
        yield _problem(
            "is given without the other baseline.",
            "Name both baselines, or neither.",
            getattr(of, named),
            named,
        )
        return
    advanced = (run.id if run else 0, task.id, phase_id), (original.id, original.task_id, original.phase_id)
    for name, own in zip(("baseline", "original_baseline"), advanced, strict=True):
        baseline, _ = _known(session, viewer, getattr(of, name), name)
        if baseline.withdrawn_at is not None:
            yield _problem("is withdrawn.", "Name a run that is on its board.", baseline.id, name)
        elif baseline.id == own[0]:
            yield _problem("is the advanced run itself.", "Name another run.", baseline.id, name)
        elif (baseline.task_id, baseline.phase_id) != own[1:]:
            yield _problem(
                "is not from the same task and phase as its advanced run.",
                "Name a run from that task and phase.",
                baseline.id,
                name,
            )


def _problem(rule: str, remedy: str, run_id: int, name: str = "original") -> Problem:
    return Problem(rule, remedy, field=name, value=str(run_id))


def _known(session: Session, viewer: Viewer, run_id: int, name: str = "original") -> tuple[Run, Task]:
    """A run visible to the viewer, with its task; raises Invalid if absent."""
    try:
        run, task, _ = policy.visible_run(session, viewer, run_id)
    except NotFound:
        rule, remedy = "is not a run on this site that you can see.", "Use the number from the run’s page."
        raise Invalid("The reproduction is not valid.", [_problem(rule, remedy, run_id, name)]) from None
    return run, task


def _reproduced_by(session: Session, viewer: Viewer, run_id: int) -> set[int]:
    """The run that a run reproduces, the run that one reproduces, and so on, as visible to the viewer.

    An invisible circle is accepted: refusing it would reveal it.
    """
    before: set[int] = set()
    run_side = side(session, viewer, run_id)
    while run_side is not None and run_side.run.id not in before:
        before.add(run_side.run.id)
        original = session.scalar(
            select(Reproduction.original_id).where(Reproduction.run_id == run_side.run.id)
        )
        there = None if original is None else side(session, viewer, original)
        run_side = there if there and is_told(viewer, run_side, [run_side, there]) else None
    return before - {run_id}
