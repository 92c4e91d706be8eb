"""The dates of a task, and of all tasks, as an iCalendar file (RFC 5545)."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC

from icalendar import Calendar, Event
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Phase, Task, TaskChange
from leaderboard.services import policy
from leaderboard.services.policy import Viewer

MOVES = ("dates of ", "phase ", "scores of ")
"""How changes begin that may move a date."""
Address = Callable[[str], str]
"""The address of a task's dates by its slug."""


def of_task(session: Session, viewer: Viewer, slug: str, address: Address) -> str:
    """The dates of a task; raises NotFound where the viewer may not know of it."""
    task, _ = policy.visible_task(session, viewer, slug)
    return _written(session, [task], address)


def of_site(session: Session, address: Address) -> str:
    """The dates of all published tasks that are not archived."""
    shown = select(Task).where(Task.published_at.is_not(None), Task.archived_at.is_(None))
    return _written(session, session.scalars(shown.order_by(Task.id)).all(), address)


def _written(session: Session, tasks: Sequence[Task], address: Address) -> str:
    known = {task.id: task for task in tasks}
    moved: Counter[int] = Counter()
    last = {task.id: task.published_at or task.created_at for task in tasks}
    is_move = or_(*(TaskChange.what.startswith(word) for word in MOVES))
    changes = select(TaskChange).where(TaskChange.task_id.in_(known), is_move).order_by(TaskChange.id)
    for change in session.scalars(changes):
        moved[change.task_id] += 1
        last[change.task_id] = max(last[change.task_id], change.created_at)
    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", "-//leaderboard//dates//EN")
    phases = select(Phase).where(Phase.task_id.in_(known)).order_by(Phase.task_id, Phase.position, Phase.id)
    for phase in session.scalars(phases):
        task = known[phase.task_id]
        for event in _events(task, phase):
            event.add("dtstamp", last[task.id])
            event.add("sequence", moved[task.id])
            event.add("url", address(task.slug))
            calendar.add_component(event)
    return str(calendar.to_ical(), "utf-8")


def _events(task: Task, phase: Phase) -> Iterator[Event]:
    """The dates of one phase; they keep their names when they move."""
    moments = (
        ("opens", phase.opens_at, "takes runs"),
        ("closes", phase.closes_at, "closes"),
        ("shows", phase.reveal_at, "shows its scores"),
    )
    for kind, moment, words in moments:
        if moment is not None:
            event = Event()
            event.add("uid", f"task{task.id}-phase{phase.id}-{kind}@leaderboard")
            event.add("dtstart", moment.astimezone(UTC))
            event.add("summary", f"{task.name}: {phase.name} {words}")
            yield event
