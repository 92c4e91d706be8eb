"""What waits, runs or failed: of one task, or of the whole site."""

from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Edition, Job, Statistic, Upload
from leaderboard.services.jobs import queue
from leaderboard.tables.record import Shown

WORDS = {
    queue.CHECK: "check of a file",
    queue.EVALUATE: "scores of a run",
    queue.COMPARE: "comparison of runs",
    queue.MAIL: "mail",
    queue.WEBHOOK: "webhooks",
    queue.MOVE: "move of a file",
}
STATES = {"queued": "waits", "leased": "runs", "failed": "failed"}


@dataclass(frozen=True, slots=True)
class JobCount:
    """How many jobs of one kind are in one state, and how old the oldest of them is."""

    kind: Annotated[str, Shown("Work")]
    state: str
    jobs: int
    oldest_s: float


def unfinished(session: Session, task_id: int | None = None) -> tuple[JobCount, ...]:
    """Unfinished jobs by kind and state, of one task (mail is of none) or of all."""
    wanted = (
        select(Job.kind, Job.state, func.count(), func.min(Job.created_at))
        .where(Job.state.in_(queue.UNFINISHED))
        .group_by(Job.kind, Job.state)
        .order_by(Job.kind, Job.state)
    )
    if task_id is not None:
        wanted = (
            wanted.outerjoin(Statistic, (Statistic.id == Job.subject_id) & (Job.kind == queue.COMPARE))
            .outerjoin(Edition, Edition.id == func.coalesce(Job.edition_id, Statistic.edition_id))
            .outerjoin(Upload, (Upload.id == Job.subject_id) & (Job.kind == queue.CHECK))
            .where(or_(Edition.task_id == task_id, Upload.task_id == task_id))
        )
    at = now(session)
    return tuple(
        JobCount(WORDS.get(kind, kind), STATES[state], jobs, max(0.0, (at - oldest).total_seconds()))
        for kind, state, jobs, oldest in session.execute(wanted)
    )
