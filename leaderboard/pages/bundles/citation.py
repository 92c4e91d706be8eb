"""How a task is cited, of what its pages say."""

from sqlalchemy.orm import Session

from leaderboard.db.tables import Task
from leaderboard.services import policy
from leaderboard.services.bundles.citations import TaskCitation
from leaderboard.services.policy import Viewer


def citation(session: Session, viewer: Viewer, slug: str, site: str = "") -> TaskCitation:
    """How a task that the viewer may know of is cited; site: where the site is, '' for no address."""
    return citation_of(policy.task_context(session, viewer, slug).task, site)


def citation_of(task: Task, site: str = "") -> TaskCitation:
    """How a task is cited."""
    return TaskCitation(
        slug=task.slug,
        title=task.name,
        organisers=task.organisers,
        licence=task.licence,
        description=task.description,
        address=f"{site.rstrip('/')}/tasks/{task.slug}" if site else "",
        at=task.published_at or task.created_at,
    )
