"""Which pages belong to a task, for a copy of it alone."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run
from leaderboard.services import policy
from leaderboard.services.policy import Viewer


def runs_of(session: Session, viewer: Viewer, slug: str) -> frozenset[int]:
    """Ids of a task's runs, whose pages do not have its slug in their address.

    Raises NotFound where the viewer may not know of the task; of each run its page says who may see it.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    return frozenset(session.scalars(select(Run.id).where(Run.task_id == task.id)))
