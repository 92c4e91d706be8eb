"""Slugs of tasks: which are free, and those a task had before, whose addresses lead to it still."""

import re

from sqlalchemy import delete
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import FormerSlug, Task
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.services import policy
from leaderboard.services.policy import Viewer

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
RESERVED = frozenset({"new", "import"})
RULE = "must be 1 to 63 lower-case letters, digits or hyphens, and not `new` or `import`."


def is_slug(text: str) -> bool:
    """Whether a task may have the slug, were it free."""
    return bool(SLUG.fullmatch(text)) and text not in RESERVED


def hold(session: Session, slug: str) -> None:
    """Hold a slug until the transaction ends: two at once would both find it free."""
    lock_key(session, f"slug {slug}")


def require_free(session: Session, viewer: Viewer, slug: str) -> None:
    """Raise Conflict where a task that the viewer may know of has the slug, or had it; hold it before."""
    if policy.known_tasks(session, viewer, slug):
        raise Conflict(f"There is a task {slug!r} already; choose another slug.")
    if session.get(FormerSlug, slug) is not None:
        raise Conflict(f"Addresses of {slug!r} lead to a task that was renamed; choose another slug.")


def rename(session: Session, viewer: Viewer, task: Task, slug: str) -> None:
    """Give the task another slug; a published task keeps the old one as an address that leads to it.

    Raises Invalid for what is no slug, Conflict for one that is taken.
    """
    if not is_slug(slug):
        problem = Problem(RULE, "Change it and save again.", field="Slug", value=slug[:63])
        raise Invalid("The task cannot have this slug.", [problem])
    for each in sorted({task.slug, slug}):
        hold(session, each)
    own = session.get(FormerSlug, slug)
    if own is not None and own.task_id == task.id:
        session.delete(own)
        session.flush()
    require_free(session, viewer, slug)
    if task.published_at is not None:
        session.add(FormerSlug(slug=task.slug, task_id=task.id, created_at=now(session)))
    task.slug = slug
    session.flush()


def forget(session: Session, task: Task) -> None:
    """Let go of the slugs a task had: nobody knows of it any more."""
    session.execute(delete(FormerSlug).where(FormerSlug.task_id == task.id))


def now_at(session: Session, slug: str) -> str | None:
    """The slug of the published task that had this one; None where none had."""
    former = session.get(FormerSlug, slug)
    task = session.get(Task, former.task_id) if former is not None else None
    return task.slug if task is not None and task.published_at is not None else None
