"""Visibility rules of the phases of a task, read with the task in one statement."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any

from sqlalchemy import func, select, union_all
from sqlalchemy.orm import Bundle, Session

from leaderboard.core import kinds
from leaderboard.db.engine import now
from leaderboard.db.tables import Entry, Phase, Task, TopicSet
from leaderboard.errors import Invalid
from leaderboard.tables.record import utc_time

KINDS = ("official", "baseline", "late", "unofficial")
"""Of runs, by who may send them and whether they are ranked."""
ALL_TOPICS = "all"
PUBLIC_TOPICS = "public"
LEAST_MEDIAN_DEPTH = 10
"""Documents that a run of a blind phase lists for most topics at least; shallower ones are probes."""


@dataclass(frozen=True, slots=True)
class PhaseRule:
    """Visibility rule of one phase for the scores of its runs."""

    id: int
    name: str
    visibility: str
    topic_set: str
    """Name of the set of topics that its runs are scored on."""
    is_ranked: bool
    opens_at: datetime | None
    closes_at: datetime | None
    stays_sealed: bool
    """Whether it is hidden after its close too, until reveal_at."""
    reveal_at: datetime | None

    def is_shown(self, at: datetime) -> bool:
        """Whether its scores are public: from the start, its close or a later date on."""
        if self.visibility == "open":
            return True
        if self.closes_at is None or self.closes_at > at:
            return False
        return not self.stays_sealed or (self.reveal_at is not None and self.reveal_at <= at)

    @property
    def until(self) -> str:
        """When its scores are shown, as text."""
        if not self.stays_sealed:
            return "it closes"
        if self.reveal_at is not None:
            return utc_time(self.reveal_at)
        return "the organisers reveal its scores"


def with_phases(selected: Any) -> Any:
    """A statement over tasks with their phases in order: rows end in a phase and its topic set's name."""
    return (
        selected.add_columns(Phase, TopicSet.name)
        .join(Phase, Phase.task_id == Task.id)
        .outerjoin(TopicSet, TopicSet.id == Phase.topic_set_id)
        .order_by(Phase.position, Phase.id)
    )


_TASK_OF_RULE = Bundle[Any]("task", Task.id, Task.visibility, Task.kind)
_PHASE_OF_RULE = Bundle[Any](
    "phase",
    *(Phase.id, Phase.name, Phase.visibility, Phase.ranked, Phase.opens_at, Phase.closes_at),
    *(Phase.at_close, Phase.reveal_at),
)


def rules(task: Task, rows: Iterable[Any]) -> tuple[PhaseRule, ...]:
    """The rules in rows of `with_phases`."""
    return tuple(_rule(task, row[-2], row[-1]) for row in rows)


def require_held_back(task: Task, visibility: str) -> None:
    """Raise Invalid where a judge task would be open: what its reference says waits for the close."""
    if visibility == "open" and not kinds.of(task.kind).may_be_open:
        raise Invalid("The reference of a judge task stays hidden until the close. Choose blind or sealed.")


def rules_of(session: Session, task: Task) -> tuple[PhaseRule, ...]:
    """The rules of a task's phases in their order; one statement."""
    return rules(task, session.execute(with_phases(select(Task.id).where(Task.id == task.id))))


def rules_of_all(session: Session, only: Collection[int] | None = None) -> dict[int, tuple[PhaseRule, ...]]:
    """Task id -> the rules of its phases, of all tasks or of those of some ids; one statement."""
    by_task: dict[int, tuple[PhaseRule, ...]] = {}
    # Whole rows of all tasks of a site take ten times as long.
    asked = (
        select(_TASK_OF_RULE, _PHASE_OF_RULE, TopicSet.name)
        .join(Phase, Phase.task_id == Task.id)
        .outerjoin(TopicSet, TopicSet.id == Phase.topic_set_id)
        .order_by(Phase.position, Phase.id)
    )
    if only is not None:
        asked = asked.where(Task.id.in_(only))
    for task, phase, topic_set in session.execute(asked):
        by_task[task.id] = (*by_task.get(task.id, ()), _rule(task, phase, topic_set))
    return by_task


def closed(session: Session, task_ids: Collection[int], moment: datetime | None = None) -> set[int]:
    """The tasks that are closed: the closing time of every phase has passed; one statement."""
    closing: dict[int, list[datetime | None]] = {}
    phases = select(Phase.task_id, Phase.closes_at).where(Phase.task_id.in_(task_ids))
    for task_id, closes_at in session.execute(phases):
        closing.setdefault(task_id, []).append(closes_at)
    if all(None in dates for dates in closing.values()):
        return set()
    at = moment or now(session)
    return {task_id for task_id, dates in closing.items() if are_over(dates, at)}


def are_over(closing: Collection[datetime | None], at: datetime) -> bool:
    """Whether phases with these closing times, at least one, are all over at a moment; None never is."""
    return bool(closing) and all(closes is not None and closes <= at for closes in closing)


def hidden(
    session: Session, phases: Sequence[PhaseRule], at: datetime | None = None
) -> tuple[PhaseRule, ...]:
    """The phases hidden from the public at a time; the time is not read if all are open."""
    if all(phase.visibility == "open" for phase in phases):
        return ()
    moment = at or now(session)
    return tuple(phase for phase in phases if not phase.is_shown(moment))


def newest(session: Session, phases: Sequence[PhaseRule], at: datetime | None = None) -> PhaseRule:
    """The last ranked phase that has opened, whose leaderboard a task shows by default."""
    if len(phases) == 1:
        return phases[0]
    moment = at or now(session)
    opened = [phase for phase in phases if phase.opens_at is None or phase.opens_at <= moment]
    ranked = [phase for phase in opened if phase.is_ranked]
    return ranked[-1] if ranked else phases[0]


def without_end(phases: Iterable[PhaseRule]) -> str:
    """A sentence for organisers on phases that hold scores back without a closing date, else empty."""
    names = ", ".join(
        phase.name for phase in phases if phase.visibility != "open" and phase.closes_at is None
    )
    return f"Without a closing date, scores would stay hidden forever. Set one for {names}." if names else ""


def public_part(topic_set: str) -> str:
    """Name of the topics of a set that a blind phase shows means over.

    >>> public_part("all"), public_part("tests")
    ('public', 'tests (public)')
    """
    return PUBLIC_TOPICS if topic_set == ALL_TOPICS else f"{topic_set} ({PUBLIC_TOPICS})"


def why(phase: PhaseRule) -> str:
    """A sentence on what a hidden phase withholds, and until when."""
    if phase.visibility == "blind":
        means = "only means over its public topics are shown, to three decimals"
        return f"This task is blind until {phase.until}: {means}."
    return f"This task is sealed: no scores are shown until {phase.until}."


def until_all_show(hidden: Sequence[PhaseRule]) -> str:
    """A sentence on what other phases withhold while these are hidden."""
    names = ", ".join(phase.name for phase in hidden)
    return f"Only means are shown, to three decimals. Scores by topic are shown with the scores of {names}."


def _rule(task: Any, phase: Any, topic_set: str | None) -> PhaseRule:
    visibility = phase.visibility or task.visibility
    if visibility == "open" and not kinds.of(task.kind).may_be_open:
        # What the reference contains is hidden until the close, regardless of later settings.
        visibility = "blind"
    return PhaseRule(
        id=phase.id,
        name=phase.name,
        visibility=visibility,
        topic_set=topic_set or ALL_TOPICS,
        is_ranked=phase.ranked,
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        stays_sealed=phase.at_close == "sealed",
        reveal_at=phase.reveal_at,
    )


DATES = (Phase.opens_at, Phase.closes_at, Phase.reveal_at, Task.names_at, Entry.reveal_at)
"""Dates at which the public view changes by time alone, without any action."""


def seconds_to_next_date(session: Session) -> float:
    """The next date that changes what visitors see; infinite if none follows.

    What accounts, tokens and links may do ends by other dates, which show on no page of a visitor.
    """
    at = now(session)
    coming = union_all(*(select(column.label("at")).where(column > at) for column in DATES)).subquery()
    first = session.scalar(select(func.min(coming.c.at)))
    return inf if first is None else (first - at).total_seconds()
