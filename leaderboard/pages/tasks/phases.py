"""The phases of a task as its readers see them, and its dates as a strip."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Annotated, Any

from icalendar import Calendar, Event
from sqlalchemy import func, or_, select, union_all
from sqlalchemy.orm import Session

from leaderboard import zones
from leaderboard.db.engine import now
from leaderboard.db.tables import Entry, Phase, Run, Task, TaskChange, Topic, TopicSet
from leaderboard.services import phase_rules, policy
from leaderboard.services.phase_rules import PhaseRule
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import phases
from leaderboard.services.tasks.phases import PhasePlan
from leaderboard.services.tasks.scored_topics import TaskHead
from leaderboard.tables.record import Column, Files, Shown, Table, columns_from
from leaderboard.tables.words import day_and_time, utc_time

DATES = (Phase.opens_at, Phase.closes_at, Phase.reveal_at, Task.names_at, Entry.reveal_at)
"""The dates in which a passing moment, and nobody's act, changes what visitors see."""


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
    """What the page of a task's phases shows."""

    rows: tuple[PhaseRow, ...]
    warning: str = ""
    """For organisers: phases whose scores are never shown; empty where there are none."""


@dataclass(frozen=True, slots=True)
class DateRow:
    """One phase in the strip under a task's title: its name where there are several, and the next date."""

    name: str
    words: str
    at: datetime | None
    days: int

    @property
    def said(self) -> str:
        """All of it in words, in UTC."""
        name = f"{self.name}: " if self.name else ""
        return f"{name}{self.words}" + (f" {utc_time(self.at)}" if self.at else "")


def phases_page(session: Session, viewer: Viewer, slug: str) -> PhasesPage:
    """The phases of a task; raises NotFound where the viewer may not know of it."""
    task, sight = policy.visible_task(session, viewer, slug)
    at = now(session)
    in_all = session.scalar(select(func.count(Topic.id)).where(Topic.task_id == task.id)) or 0
    counts = _runs(session, task) if sight.organises else {}
    sets = {row.id: row for row in session.scalars(select(TopicSet).where(TopicSet.task_id == task.id))}
    rows = tuple(
        _row(task, phase, sets.get(phase.topic_set_id or 0), at, in_all, sight.organises, counts)
        for phase in phases.of_task(session, task.id)
    )
    warning = phase_rules.without_end(phase_rules.rules_of(session, task)) if sight.organises else ""
    return PhasesPage(of=task, sight=sight, rows=rows, warning=warning)


def seconds_to_next_date(session: Session) -> float:
    """When the next date passes from which on visitors see something else; infinite where none is to come.

    What accounts, tokens and links may do ends by other dates, which show on no page of a visitor.
    """
    at = now(session)
    coming = union_all(*(select(column.label("at")).where(column > at) for column in DATES)).subquery()
    first = session.scalar(select(func.min(coming.c.at)))
    return inf if first is None else (first - at).total_seconds()


def strip(known: Iterable[PhaseRule], at: datetime) -> tuple[DateRow, ...]:
    """What to say of dates under the title of every page of a task: nothing where it has none."""
    known = list(known)
    rows = [_date_row(phase, at, len(known) > 1) for phase in known]
    return tuple(row for row in rows if row is not None)


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
        until = utc_time(row.plan.reveal_at) if row.plan.reveal_at else "the organisers show them"
    return f"{row.visibility} until {until}"


def _limits(row: PhaseRow) -> str:
    limits = (
        (row.plan.runs_per_day, "a team a day"),
        (row.plan.runs_in_all, "a team in all"),
        (row.plan.account_runs_per_day, "an account a day"),
        (row.plan.account_runs_in_all, "an account in all"),
    )
    return "; ".join(f"{limit} runs {words}" for limit, words in limits if limit is not None) or "none"


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
        return "not yet"
    return "taken" if phases.is_open(phase, at) else "closed"


def _runs(session: Session, task: Task) -> dict[int, int]:
    counted = select(Run.phase_id, func.count()).where(Run.task_id == task.id).group_by(Run.phase_id)
    return {phase_id: count for phase_id, count in session.execute(counted)}


def _date_row(phase: PhaseRule, at: datetime, is_named: bool) -> DateRow | None:
    if phase.opens_at is not None and phase.opens_at > at:
        words, moment = "takes runs from", phase.opens_at
    elif phase.closes_at is not None:
        words, moment = ("takes runs until" if phase.closes_at > at else "closed"), phase.closes_at
    elif is_named:
        return DateRow(phase.name, "takes runs", None, 0)
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
