"""Saying which run a run reproduces, and taking it back: by its team or the organisers."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session, aliased

from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import Reproduction, Run, Task
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.services import audit, policy
from leaderboard.services.policy import Viewer
from leaderboard.services.reproductions import sides
from leaderboard.services.statistics import prepared

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
    run, task = _changeable(session, viewer, run_id)
    lock_key(session, "reproductions")
    require_possible(session, viewer, task, run, of)
    before = session.get(Reproduction, run_id)
    if before is not None and stored(before) == of:
        return
    put(session, run_id, of)
    prepared.prepare(session, task.id)
    was = {} if before is None else {"was": before.original_id}
    audit.record(session, viewer, "run.reproduces", f"run:{run_id}", **of.named, **was)


def link_sent(session: Session, viewer: Viewer, run_id: int, of: OriginalRuns) -> None:
    """Say what a run reproduces that was sent so: it was checked then; nothing where a run is gone since."""
    ids = set(of.named.values())
    if len(session.scalars(select(Run.id).where(Run.id.in_(ids))).all()) < len(ids):
        return
    put(session, run_id, of)
    audit.record(session, viewer, "run.reproduces", f"run:{run_id}", **of.named)


def unlink(session: Session, viewer: Viewer, run_id: int) -> None:
    """Take back what a run is said to reproduce; raises as `link` does, Conflict where nothing is said."""
    run, _ = _changeable(session, viewer, run_id)
    before = session.get(Reproduction, run_id)
    if before is None:
        raise Conflict(f"Nothing is said of what {run.name} reproduces.")
    session.delete(before)
    session.flush()
    audit.record(session, viewer, "run.reproduces_nothing", f"run:{run_id}", was=before.original_id)


def said(session: Session, viewer: Viewer, run_id: int) -> OriginalRuns | None:
    """What a run is said to reproduce, for whom may change it; raises as `link` does."""
    _changeable(session, viewer, run_id)
    row = session.get(Reproduction, run_id)
    return None if row is None else stored(row)


def put(session: Session, run_id: int, of: OriginalRuns) -> None:
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


def _changeable(session: Session, viewer: Viewer, run_id: int) -> tuple[Run, Task]:
    """The run and its task, for whom may say what it reproduces."""
    run, task, _ = policy.visible_run(session, viewer, run_id)
    if not policy.organises(viewer, task.id):
        policy.require_member(viewer, run.team_id)
    return run, task


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
    here = sides.side(session, viewer, run_id)
    while here is not None and here.run.id not in before:
        before.add(here.run.id)
        original = session.scalar(select(Reproduction.original_id).where(Reproduction.run_id == here.run.id))
        there = None if original is None else sides.side(session, viewer, original)
        here = there if there and sides.is_told(viewer, here, [here, there]) else None
    return before - {run_id}
