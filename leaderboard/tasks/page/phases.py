"""The phases of a task as its readers see them, and its dates as a strip."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from leaderboard import zones
from leaderboard.core import phase_rules, policy
from leaderboard.core.phase_rules import PhaseRule
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Phase, Run, Task, TaskChange, Topic, TopicSet
from leaderboard.scoring.ops.scored_topics import TaskHead
from leaderboard.tables.record import Column, Files, Shown, Table, columns_from, day_and_time, utc_time
from leaderboard.tasks.ops import phases
from leaderboard.tasks.ops.phases import PhasePlan

if TYPE_CHECKING:
    from icalendar import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    """One phase with what everybody may know of it."""

    plan: PhasePlan
    """As it is; ids of listed topics and the stamp for its organisers only."""
    state: Annotated[str, Shown("Runs")]
    topics: int
    visibility: str
    runs: int | None
    """For its organisers only."""

    @property
    def name(self) -> Annotated[str, Shown(key="phase")]:
        """The name of the phase."""
        return self.plan.name


@dataclass(frozen=True, slots=True)
class PhasesPage(TaskHead):
    """The data of a task's phases page."""

    rows: tuple[PhaseRow, ...]
    warning: str = ""
    """For organisers: a warning on phases whose scores are never shown; empty if absent."""


@dataclass(frozen=True, slots=True)
class DateRow:
    """One phase in the strip under a task's title: its name if there are several, and the next date."""

    name: str
    words: str
    at: datetime | None
    days: int

    @property
    def text(self) -> str:
        """The strip entry as text, in UTC."""
        name = f"{self.name}: " if self.name else ""
        return f"{name}{self.words}" + (f" {utc_time(self.at)}" if self.at else "")


def phases_page(session: Session, viewer: Viewer, slug: str) -> PhasesPage:
    """The phases of a task; raises NotFound where the viewer may not know of it."""
    task, access = policy.visible_task(session, viewer, slug)
    at = now(session)
    in_all = session.scalar(select(func.count(Topic.id)).where(Topic.task_id == task.id)) or 0
    counts = _runs(session, task) if access.organises else {}
    sets = {row.id: row for row in session.scalars(select(TopicSet).where(TopicSet.task_id == task.id))}
    rows = tuple(
        _row(task, phase, sets.get(phase.topic_set_id or 0), at, in_all, access.organises, counts)
        for phase in phases.of_task(session, task.id)
    )
    warning = phase_rules.without_end(phase_rules.rules_of(session, task)) if access.organises else ""
    return PhasesPage(of=task, access=access, rows=rows, warning=warning)


def strip(rules: Iterable[PhaseRule], at: datetime) -> tuple[DateRow, ...]:
    """The dates under the title of every page of a task; empty if it has none."""
    rules = list(rules)
    rows = [_date_row(phase, at, len(rules) > 1) for phase in rules]
    return tuple(row for row in rows if row is not None)


def at_present(phases: Iterable[PhaseRule], at: datetime) -> tuple[str, PhaseRule | None]:
    """The state of a task, `open`, `soon` or `closed`, and the phase whose date matters now.

    That is the open phase that closes first, else the next one to open, else the one that closed last.
    """
    listed = list(phases)
    is_open = [phase for phase in listed if _has_begun(phase, at) and not _has_closed(phase, at)]
    to_come = [phase for phase in listed if not _has_begun(phase, at)]
    if is_open or not listed:
        return "open", min(is_open, key=lambda phase: phase.closes_at or _NEVER, default=None)
    if to_come:
        return "soon", min(to_come, key=lambda phase: phase.opens_at or _NEVER)
    return "closed", max(listed, key=lambda phase: phase.closes_at or at)


_NEVER = datetime.max.replace(tzinfo=UTC)


def _has_begun(phase: PhaseRule, at: datetime) -> bool:
    return phase.opens_at is None or phase.opens_at <= at


def _has_closed(phase: PhaseRule, at: datetime) -> bool:
    return phase.closes_at is not None and phase.closes_at <= at


def facts(page: PhasesPage) -> dict[str, Any]:
    """The phases as plain values."""
    return {"task": page.slug, "phases": table(page).facts()}


def table(page: PhasesPage) -> Table[PhaseRow]:
    """The phases in their order."""
    columns = columns_from(
        PhaseRow,
        "name state plan.opens_at plan.closes_at topics",
        Column("seed", lambda row: row.plan.seed or None, "Seed"),
        Column("visibility", _shown, "Scores"),
        Column("kinds", lambda row: ", ".join(row.plan.kinds) or "all", "Kinds"),
        Column("limits", _limits, "Limits"),
        "plan.ranked",
    )
    caption = f"Phases of {page.task}; times are UTC."
    return Table(f"{page.slug}-phases", caption, columns, page.rows)


FILES = Files(facts=facts, tables={"phases": table})


def _shown(row: PhaseRow) -> str:
    if row.visibility == "open":
        return "open"
    until = "its close"
    if row.plan.at_close == "sealed":
        until = utc_time(row.plan.reveal_at) if row.plan.reveal_at else "shown by the organisers"
    return f"{row.visibility} until {until}"


def _limits(row: PhaseRow) -> str:
    limits = (
        (row.plan.runs_per_day, "per team per day"),
        (row.plan.runs_in_all, "per team in total"),
        (row.plan.account_runs_per_day, "per account per day"),
        (row.plan.account_runs_in_all, "per account in total"),
        (row.plan.agent_runs_per_day, "by agents per team per day"),
    )
    phrases = [f"{limit} runs {words}" for limit, words in limits if limit is not None]
    phrases += ["runs by agents held for review"] if row.plan.agent_review else []
    return "; ".join(phrases) or "none"


def _row(
    task: Task,
    phase: Phase,
    topic_set: TopicSet | None,
    at: datetime,
    in_all: int,
    organises: bool,
    counts: dict[int, int],
) -> PhaseRow:
    plan = phases.plan_of(phase, topic_set)
    return PhaseRow(
        plan=plan if organises else replace(plan, topic_list="", seen=""),
        state=_state(phase, at),
        topics=in_all if topic_set is None or topic_set.topics is None else len(topic_set.topics),
        visibility=phase.visibility or task.visibility,
        runs=counts.get(phase.id, 0) if organises else None,
    )


def _state(phase: Phase, at: datetime) -> str:
    if phase.opens_at is not None and phase.opens_at > at:
        return "soon"
    return "open" if phases.is_open(phase, at) else "closed"


def _runs(session: Session, task: Task) -> dict[int, int]:
    counted = select(Run.phase_id, func.count()).where(Run.task_id == task.id).group_by(Run.phase_id)
    return {phase_id: count for phase_id, count in session.execute(counted)}


def _date_row(phase: PhaseRule, at: datetime, is_named: bool) -> DateRow | None:
    if phase.opens_at is not None and phase.opens_at > at:
        words, moment = "accepts runs from", phase.opens_at
    elif phase.closes_at is not None:
        words, moment = ("accepts runs until" if phase.closes_at > at else "closed"), phase.closes_at
    elif is_named:
        return DateRow(phase.name, "accepts runs", None, 0)
    else:
        return None
    return DateRow(phase.name if is_named else "", words, moment, (moment - at) // timedelta(days=1))


def anywhere(moment: datetime) -> str:
    """An instant anywhere on Earth, as deadlines of conferences are written.

    >>> anywhere(datetime.fromisoformat("2026-12-01T11:59Z"))
    '2026-11-30 23:59 AoE'
    """
    return f"{day_and_time(moment.astimezone(zones.AOE_ZONE))} AoE"


MOVES = ("dates of ", "phase ", "scores of ")
"""Prefixes of recorded changes that may move a date."""
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
    from icalendar import Calendar

    by_id = {task.id: task for task in tasks}
    moved: Counter[int] = Counter()
    last = {task.id: task.published_at or task.created_at for task in tasks}
    is_move = or_(*(TaskChange.what.startswith(word) for word in MOVES))
    changes = select(TaskChange).where(TaskChange.task_id.in_(by_id), is_move).order_by(TaskChange.id)
    for change in session.scalars(changes):
        moved[change.task_id] += 1
        last[change.task_id] = max(last[change.task_id], change.created_at)
    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", "-//leaderboard//dates//EN")
    phases = select(Phase).where(Phase.task_id.in_(by_id)).order_by(Phase.task_id, Phase.position, Phase.id)
    for phase in session.scalars(phases):
        task = by_id[phase.task_id]
        for event in _events(task, phase):
            event.add("dtstamp", last[task.id])
            event.add("sequence", moved[task.id])
            event.add("url", address(task.slug))
            calendar.add_component(event)
    return str(calendar.to_ical(), "utf-8")


def _events(task: Task, phase: Phase) -> "Iterator[Event]":
    """The dates of one phase; they keep their names when they move."""
    from icalendar import Event

    moments = (
        ("opens", phase.opens_at, "accepts runs"),
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
