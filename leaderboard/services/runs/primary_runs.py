"""A team's primary run in a task: the one it wants to be known by."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Entry, Task
from leaderboard.errors import Conflict
from leaderboard.services import audit, policy
from leaderboard.services.policy import Viewer

DECLARED_KIND = "official"


def declare(session: Session, viewer: Viewer, run_id: int) -> None:
    """Make a run its team's primary one in its task, in place of any other.

    Raises NotFound for an unknown run, Forbidden for one of another team, Conflict for a run that has no
    rank: one withdrawn or not official.
    """
    run, task, _ = policy.visible_run(session, viewer, run_id)
    policy.require_member(viewer, run.team_id)
    if run.withdrawn_at is not None or run.kind != DECLARED_KIND:
        raise Conflict(f"{run.name} has no rank, so it cannot stand for its team; choose an official run.")
    entry = session.scalar(
        select(Entry).where(Entry.task_id == task.id, Entry.team_id == run.team_id).with_for_update()
    )
    assert entry is not None, "a team with a run has an entry"
    entry.primary_run_id = run.id
    audit.record(session, viewer, "run.primary", f"run:{run.id}", task=task.slug)


def declared(session: Session, task: Task) -> frozenset[int]:
    """The runs that teams declared their primary ones."""
    run_ids = session.scalars(select(Entry.primary_run_id).where(Entry.task_id == task.id))
    return frozenset(run_id for run_id in run_ids if run_id is not None)
