"""Dates of a task: what they must be, and why they move."""

from datetime import datetime

from leaderboard import zones
from leaderboard.db.tables import Phase, Task
from leaderboard.errors import Invalid


def require_order(opens_at: datetime | None, closes_at: datetime | None) -> None:
    """Raise Invalid where something would close before it opens."""
    if opens_at is not None and closes_at is not None and closes_at <= opens_at:
        raise Invalid("The task would close before it opens; give a later closing time.")


def require_reason(task: Task, phase: Phase, closes_at: datetime | None, reason: str) -> None:
    """Raise Invalid where a deadline that participants know of is moved without a reason."""
    is_known = task.published_at is not None and phase.closes_at is not None
    if is_known and phase.closes_at != closes_at and not reason.strip():
        raise Invalid("Say why the deadline moves; participants read it.")


def described(phase: Phase) -> str:
    """From when to when a phase takes runs, in words."""
    return zones.span(phase.opens_at, phase.closes_at, "UTC")
