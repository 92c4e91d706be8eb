"""What changed about a task: on record for the operator, and in words for its participants."""

import hashlib
from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Phase, Task, TaskChange
from leaderboard.services import audit
from leaderboard.services.audit import AuditRequest, AuditRow
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import dates
from leaderboard.services.webhooks import events

CHANGE = "task.change"
LONGEST = 1000
"""Characters of a value that are kept; a longer one says how many it had."""
SAVE_AGAIN = "Nothing was saved; save again to put yours in its place."
LOOKED_AT = 500
"""Changes among which `who_changed` looks for the last one of a thing."""


def note(
    session: Session, viewer: Viewer, task: Task, what: str, before: str, after: str, reason: str = ""
) -> None:
    """Keep that a setting was changed: in the audit, and for participants once the task is published.

    what names the setting in words, such as `closing of test`; before and after never hold a secret.
    A value that stays as it was is no change.
    """
    if before == after:
        return
    old, new = _short(before), _short(after)
    audit.record(session, viewer, CHANGE, _subject(task), what=what, before=old, after=new, reason=reason)
    if task.published_at is not None:
        session.add(
            TaskChange(
                task_id=task.id,
                account_id=viewer.account_id,
                what=what,
                before=old,
                after=new,
                reason=reason,
                created_at=now(session),
            )
        )


def note_dates(session: Session, viewer: Viewer, task: Task, phase: Phase, before: str, reason: str) -> None:
    """Keep that a phase opens or closes at another time, and tell webhooks; before is what was described."""
    after = dates.described(phase)
    note(session, viewer, task, f"dates of {phase.name}", before, after, reason)
    if before != after:
        events.dates_changed(session, task, phase)


def of_task(session: Session, task_id: int) -> tuple[TaskChange, ...]:
    """What participants are told, the latest change first."""
    wanted = select(TaskChange).where(TaskChange.task_id == task_id)
    return tuple(session.scalars(wanted.order_by(TaskChange.id.desc())))


def stamp(value: str) -> str:
    """What a form carries of a value it shows: 12 hex digits, other ones for another value."""
    return hashlib.sha256(value.encode()).hexdigest()[:12]


def who_changed(session: Session, viewer: Viewer, task: Task, whats: Collection[str], name: str) -> str:
    """Who changed a thing last, and when, as a sentence; whats: the words it may be on record by."""
    rows = audit.newest(session, AuditRequest(action=CHANGE, subject=_subject(task)), LOOKED_AT)
    last = next((row for row in rows if row.detail["what"] in whats), None)
    if last is None:
        return f"The {name} was changed after you opened this form."
    who = _who(last, viewer)
    return f"{who} changed the {name} at {last.at:%Y-%m-%d %H:%M} UTC, after you opened this form."


def _who(row: AuditRow, viewer: Viewer) -> str:
    if row.account_id is None:
        return "The operator of this site"
    return "You" if row.account_id == viewer.account_id else row.account or "Somebody"


def _subject(task: Task) -> str:
    return f"task:{task.id}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"
