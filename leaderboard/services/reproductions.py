"""Runs that reproduce other runs: which one, beside which baselines, and what is kept of the pairs."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, bindparam, or_, select
from sqlalchemy.orm import Session, aliased

from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import Reproduction, Run, Task
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound, Problem
from leaderboard.services import audit, phase_rules, policy, shown_names
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.shown_names import ShownNames
from leaderboard.services.statistics import prepared

_RUNS = select(Run, Task).join(Task, Task.id == Run.task_id)
_RUNS_WITH_PHASES = phase_rules.with_phases(_RUNS.where(Run.id.in_(bindparam("runs", expanding=True))))


@dataclass(frozen=True, slots=True)
class RunSide:
    """A run as the viewer sees it: of its task, with its names."""

    run: Run
    task: Task
    sight: Sight
    names: ShownNames

    @property
    def is_masked(self) -> bool:
        """Whether the viewer knows it by a pseudonym only."""
        return self.names.is_masked(self.run.team_id)


def side(session: Session, viewer: Viewer, run_id: int) -> RunSide | None:
    """The run; None where the viewer may not know of it."""
    try:
        run, task, sight = policy.visible_run(session, viewer, run_id)
    except (Forbidden, NotFound):
        return None
    return RunSide(run, task, sight, shown_names.shown_names(session, viewer, task))


def all_sides(session: Session, viewer: Viewer, run_ids: Collection[int]) -> dict[int, RunSide]:
    """Those of the runs that the viewer may know of, by their ids; a few statements for all."""
    seen = _visible_runs(session, viewer, run_ids)
    tasks = {task.id: task for _, task, _ in seen.values()}
    names = shown_names.shown_names_of(session, viewer, tasks.values()) if tasks else {}
    return {run_id: RunSide(run, task, sight, names[task.id]) for run_id, (run, task, sight) in seen.items()}


def _visible_runs(
    session: Session, viewer: Viewer, run_ids: Collection[int]
) -> dict[int, tuple[Run, Task, Sight]]:
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
        and (seen := policy.sight_of_run(session, viewer, rows, at)) is not None
    }


def is_open(sides: Sequence[RunSide]) -> bool:
    """Whether the page of a reproduction of one of these runs by the other is there for the viewer.

    Scores by topic of both are shown. Of two tasks neither run goes by a pseudonym: the name of the other
    may tell whose it is.
    """
    if not all(one.sight.details for one in sides):
        return False
    return len({one.task.id for one in sides}) == 1 or not any(one.is_masked for one in sides)


def is_told(viewer: Viewer, reproducing: RunSide, sides: Sequence[RunSide]) -> bool:
    """Whether the viewer may know of the reproduction: who said it, the organisers, and where it is open."""
    is_own = policy.owns(viewer, reproducing.run.team_id) or reproducing.sight.organises
    return is_own or is_open(sides)


KIND = "rankings"
"""The kind of tasks whose runs can be reproduced."""


@dataclass(frozen=True, slots=True)
class OriginalRuns:
    """What a run reproduces, by numbers of runs; the baselines are named both or neither.

    original_baseline is what the original was to be better than, baseline the same of the reproduction.
    """

    original: int
    original_baseline: int | None = None
    baseline: int | None = None

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
    """Say what a run reproduces, in place of what was said before.

    Raises NotFound for a run that the viewer may not know of, Forbidden unless the viewer is of the run's
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


def link_sent(session: Session, viewer: Viewer, run_id: int, of: OriginalRuns) -> None:
    """Say what a run reproduces that was sent so: it was checked then; nothing where a run is gone since."""
    ids = set(of.named.values())
    if len(session.scalars(select(Run.id).where(Run.id.in_(ids))).all()) < len(ids):
        return
    put_link(session, run_id, of)
    audit.record(session, viewer, "run.reproduces", f"run:{run_id}", **of.named)


def unlink(session: Session, viewer: Viewer, run_id: int) -> None:
    """Take back what a run is said to reproduce; raises as `link` does, Conflict where nothing is said."""
    run, _ = policy.own_run(session, viewer, run_id)
    before = session.get(Reproduction, run_id)
    if before is None:
        raise Conflict(f"Nothing is said of what {run.name} reproduces.")
    session.delete(before)
    session.flush()
    audit.record(session, viewer, "run.reproduces_nothing", f"run:{run_id}", was=before.original_id)


def said(session: Session, viewer: Viewer, run_id: int) -> OriginalRuns | None:
    """What a run is said to reproduce, for whom may change it; raises as `link` does."""
    policy.own_run(session, viewer, run_id)
    row = session.get(Reproduction, run_id)
    return None if row is None else stored(row)


def put_link(session: Session, run_id: int, of: OriginalRuns) -> None:
    """Store what a run reproduces."""
    made = session.get(Reproduction, run_id) or Reproduction(run_id=run_id, created_at=now(session))
    made.original_id, made.original_baseline_id = of.original, of.original_baseline
    made.baseline_id = of.baseline
    session.add(made)
    session.flush()


def require_possible(
    session: Session, viewer: Viewer, task: Task, run: Run | None, of: OriginalRuns, phase_id: int = 0
) -> None:
    """Raise unless a run of the task may be said to reproduce these; run is None for one about to be sent.

    phase_id: the phase that this one is sent to. Raises Invalid with every problem.
    """
    problems = list(_problems(session, viewer, task, run, of, run.phase_id if run else phase_id))
    if problems:
        raise Invalid("That is no reproduction.", problems)


def links_of(session: Session, task_id: int, phase_id: int | None = None) -> list[ReproductionLink]:
    """What the runs of a task, or of one phase of it, reproduce, by run; one statement."""
    in_phase = () if phase_id is None else (Run.phase_id == phase_id,)
    return _links(session, Run.task_id == task_id, *in_phase)


def links_to(session: Session, run_ids: Sequence[int]) -> list[ReproductionLink]:
    """What reproduces one of the runs, or what one of them reproduces; one statement."""
    either = Reproduction.run_id.in_(run_ids), Reproduction.original_id.in_(run_ids)
    return _links(session, or_(*either))


def stored(row: Reproduction) -> OriginalRuns:
    """What a row says; without baselines where one of both was deleted."""
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
        rule = "is not a run of rankings, or this one is not."
        yield _problem(rule, "Only rankings are reproduced, by rankings.", original.id)
        return
    if run is not None and original.id == run.id:
        yield _problem("is the run itself.", "Name the run that was there before it.", original.id)
        return
    if run is not None and run.id in _reproduced_by(session, viewer, original.id):
        yield _problem("reproduces this run already.", "Name the run that was there first.", original.id)
    if original.withdrawn_at is not None:
        yield _problem("is withdrawn.", "Name a run that is on its board.", original.id)
    if original_task.id == task.id and original.phase_id != phase_id:
        yield _problem(
            "is of another phase of the task, whose topics may differ.",
            "Name a run of its phase.",
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
        yield _problem("stands alone.", "Name both baselines, or neither.", getattr(of, named), named)
        return
    advanced = (run.id if run else 0, task.id, phase_id), (original.id, original.task_id, original.phase_id)
    for name, own in zip(("baseline", "original_baseline"), advanced, strict=True):
        one, _ = _known(session, viewer, getattr(of, name), name)
        if one.withdrawn_at is not None:
            yield _problem("is withdrawn.", "Name a run that is on its board.", one.id, name)
        elif one.id == own[0]:
            yield _problem("is the advanced run itself.", "Name another run.", one.id, name)
        elif (one.task_id, one.phase_id) != own[1:]:
            yield _problem(
                "is not of the task and phase of its advanced run.", "Name one that is.", one.id, name
            )


def _problem(rule: str, remedy: str, run_id: int, name: str = "original") -> Problem:
    return Problem(rule, remedy, field=name, value=str(run_id))


def _known(session: Session, viewer: Viewer, run_id: int, name: str = "original") -> tuple[Run, Task]:
    """A run that the viewer may know of, with its task; raises Invalid where there is none."""
    try:
        run, task, _ = policy.visible_run(session, viewer, run_id)
    except NotFound:
        rule, remedy = "is no run of this site that you may see.", "Take the number from the page of a run."
        raise Invalid("That is no reproduction.", [_problem(rule, remedy, run_id, name)]) from None
    return run, task


def _reproduced_by(session: Session, viewer: Viewer, run_id: int) -> set[int]:
    """What a run reproduces, what that one reproduces, and so on, as far as the viewer may know of it.

    A circle of which they may not know is let be: to refuse it would tell of it.
    """
    before: set[int] = set()
    here = side(session, viewer, run_id)
    while here is not None and here.run.id not in before:
        before.add(here.run.id)
        original = session.scalar(select(Reproduction.original_id).where(Reproduction.run_id == here.run.id))
        there = None if original is None else side(session, viewer, original)
        here = there if there and is_told(viewer, here, [here, there]) else None
    return before - {run_id}
