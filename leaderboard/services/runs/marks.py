"""The runs that a team marks: those it wants counted at the end, or, where all count, its primary one."""

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_key, lock_row, now
from leaderboard.db.tables import Phase, Run, Task
from leaderboard.errors import Closed, Conflict
from leaderboard.services import audit, policy
from leaderboard.services.evaluations.choices import RANKED_KIND, is_over
from leaderboard.services.policy import Viewer


def most(task: Task) -> int:
    """How many runs a team may mark in each phase of the task."""
    return task.final_runs or 1


def mark(session: Session, viewer: Viewer, run_id: int, why: str = "") -> None:
    """Mark a run of one's team; where only one may be marked, in place of any other.

    Raises NotFound for an unknown run, Forbidden for one of another team, Conflict for a run that has no
    rank (withdrawn or not official) and where as many are marked as may be, Closed once the choice is final;
    an operator may change it then and says why.
    """
    run, task = _held(session, viewer, run_id, why)
    if run.withdrawn_at is not None or run.kind != RANKED_KIND:
        raise Conflict(f"{run.name} has no rank, so it cannot stand for its team; choose an official run.")
    if run.final_at is not None:
        return
    others = marked_besides(session, run)
    if len(others) >= most(task):
        if most(task) > 1:
            names = ", ".join(other.name for other in others)
            raise Conflict(
                f"At most {most(task)} runs of a team count, and as many are marked: {names}. "
                "Unmark one first."
            )
        for other in others:
            other.final_at = other.final_by = None
    run.final_at, run.final_by = now(session), viewer.account_id
    audit.record(session, viewer, "run.mark", f"run:{run.id}", task=task.slug, **_reason(why))


def unmark(session: Session, viewer: Viewer, run_id: int, why: str = "") -> None:
    """Take the mark of a run back; raises as `mark` does, and changes nothing of a run without a mark."""
    run, task = _held(session, viewer, run_id, why)
    if run.final_at is None:
        return
    run.final_at = run.final_by = None
    audit.record(session, viewer, "run.unmark", f"run:{run.id}", task=task.slug, **_reason(why))


def marked(session: Session, task: Task) -> frozenset[int]:
    """The runs of the task that their teams marked, without withdrawn ones."""
    return frozenset(session.scalars(_marked(task)))


def shown(session: Session, task: Task) -> frozenset[int]:
    """The marked runs that everybody may know of: where marks decide what counts, none before they do."""
    if task.final_runs is None:
        return marked(session, task)
    over = _marked(task).join(Phase, Phase.id == Run.phase_id).where(Phase.closes_at <= now(session))
    return frozenset(session.scalars(over))


def _marked(task: Task) -> Select[int]:
    return select(Run.id).where(Run.task_id == task.id, Run.final_at.is_not(None), Run.withdrawn_at.is_(None))


def marked_besides(session: Session, run: Run) -> list[Run]:
    """The other runs of its team in its phase that are marked and not withdrawn, in order of arrival."""
    others = select(Run).where(
        Run.phase_id == run.phase_id,
        Run.team_id == run.team_id,
        Run.id != run.id,
        Run.final_at.is_not(None),
        Run.withdrawn_at.is_(None),
    )
    return list(session.scalars(others.order_by(Run.id)))


def hold(session: Session, run: Run) -> None:
    """Hold what a team has marked in a task, and the run itself as it is now, until the transaction ends."""
    # Two members who mark at once would both find room for one more.
    lock_key(session, f"marks {run.task_id} {run.team_id}")
    lock_row(session, Run, run.id)


def _reason(why: str) -> dict[str, str]:
    return {"why": why.strip()} if why.strip() else {}


def _held(session: Session, viewer: Viewer, run_id: int, why: str) -> tuple[Run, Task]:
    run, task, _ = policy.visible_run(session, viewer, run_id)
    policy.require_member(viewer, run.team_id)
    hold(session, run)
    is_decided = task.final_runs is not None and is_over(session, run.phase_id)
    if is_decided and not (viewer.is_operator and why.strip()):
        remedy = " Say why it changes (--why)." if viewer.is_operator else ""
        raise Closed(f"{task.name} is closed: which runs count was chosen before.{remedy}")
    return run, task
