"""The phases of a task: dates, topics, visibility of scores, and limits."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard import fields, zones
from leaderboard.core import audit, kinds, phase_rules, policy
from leaderboard.core.actions import Action
from leaderboard.core.phase_rules import ALL_TOPICS, KINDS, LEAST_MEDIAN_DEPTH, PUBLIC_TOPICS
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Collection, Phase, Run, Task, TopicSet, Upload
from leaderboard.errors import Closed, Conflict, Invalid, NotFound
from leaderboard.fields import Field
from leaderboard.scoring.ops import scored_topics, setting_values
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.qrels import files as qrels
from leaderboard.tables.record import Shown, utc_time

LONGEST_NAME = 40
MOST_PHASES = 20
MOST_HOURS = 31 * 24
ALL, HALF, LIST = "all", "half", "list"
TOPIC_CHOICES = {
    ALL: "all topics of the task",
    HALF: "a random half, drawn with a visible seed",
    LIST: "the topics listed below",
}
NO_LIMIT = "Leave empty for no limit."
CLOSES = {
    "open": "scores are shown to everybody",
    "sealed": "scores stay hidden until a date or until shown by an organiser",
}


VISIBILITY = {"": "as for the task", "open": "open", "blind": "blind", "sealed": "sealed"}

Limit = int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePlan:
    """The settings of a phase: dates, kinds of runs, topics, and visibility."""

    name: Annotated[
        str, Field(title="Name", help="Shown on the board.", longest=LONGEST_NAME, is_argument=True)
    ]
    opens_at: Annotated[
        Annotated[
            datetime | None,
            Field(
                title="Opens",
                help="When submissions open, such as 2026-05-01T12:00 or 2026-05-01.",
                option="opens",
            ),
        ],
        Shown(key="opens"),
    ] = None
    closes_at: Annotated[
        Annotated[
            datetime | None,
            Field(
                title="Closes",
                help="When submissions close; a date alone means the end of that day.",
                option="closes",
            ),
        ],
        Shown(key="closes"),
    ] = None
    zone: Annotated[
        str,
        Field(
            title="Time zone",
            help="Time zone of these dates: UTC, AoE (anywhere on Earth) or a name such as Europe/Vienna.",
            longest=40,
        ),
    ] = "UTC"
    topics: Annotated[
        str,
        Field(
            title="Scored topics",
            help="all, half (drawn with the seed) or list.",
            choices=TOPIC_CHOICES,
            otherwise=(LIST, "topic_list"),
        ),
    ] = ALL
    topic_list: Annotated[
        str, Field(title="Topic ids", help="The ids, if the topics are listed.", rows=2, longest=2**20)
    ] = ""
    seed: Annotated[
        str,
        Field(
            title="Random seed",
            help="For the random half. Leave empty to draw a seed; it is then shown.",
            longest=64,
        ),
    ] = ""
    visibility: Annotated[
        str,
        Field(
            title="Scores before the deadline",
            help="open, blind or sealed. Leave empty to use the task's setting.",
            choices=VISIBILITY,
        ),
    ] = ""
    at_close: Annotated[
        str,
        Field(
            title="Scores after the deadline",
            help="open, or sealed until a date or until an organiser shows them.",
            choices=CLOSES,
        ),
    ] = "open"
    reveal_at: Annotated[
        datetime | None,
        Field(
            title="Scores shown from", help="If sealed. Leave empty to show scores by hand.", option="reveal"
        ),
    ] = None
    kinds: Annotated[
        tuple[str, ...],
        Field(
            title="Kinds of runs",
            help="Select none to accept every kind.",
            choices={kind: kind for kind in KINDS},
            option="kind",
        ),
    ] = ()
    ranked: Annotated[bool, Field(title="Rank the runs of this phase", option="ranked/--unranked")] = True
    runs_per_day: Annotated[Limit, Field(title="Runs per team per day", help=NO_LIMIT)] = None
    runs_in_all: Annotated[Limit, Field(title="Runs per team in total", help=NO_LIMIT)] = None
    account_runs_per_day: Annotated[Limit, Field(title="Runs per account per day", help=NO_LIMIT)] = None
    account_runs_in_all: Annotated[Limit, Field(title="Runs per account in total", help=NO_LIMIT)] = None
    agent_runs_per_day: Annotated[
        Limit,
        Field(
            title="Runs by agents per team per day",
            help="Within the limits above; also per account. Leave empty for no separate limit.",
        ),
    ] = None
    agent_review: Annotated[
        bool,
        Field(
            title="Hold runs by agents for review",
            help="They are scored and ranked once an organiser accepts them.",
            option="agent-review/--no-agent-review",
        ),
    ] = False
    largest_bytes: Annotated[Limit, Field(title="Maximum file size in bytes", help=NO_LIMIT)] = None
    seen: Annotated[str, Field(title="Seen", is_carried=True)] = ""
    """The stamp of the phase as the organiser saw it; empty: not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChange:
    """All settings of a phase, and the reason for the change."""

    phase: Annotated[PhasePlan, Field(title="Phase", help="The complete new phase.")]
    reason: Annotated[
        str,
        Field(
            title="Reason for moving the deadline",
            help="Required if a deadline moves; shown to participants.",
        ),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseExtension:
    """By how many hours, and why."""

    hours: Annotated[
        int, Field(title="Hours", help="Length of the outage.", most=MOST_HOURS, is_argument=True)
    ]
    reason: Annotated[str, Field(title="Reason", help="Shown to participants.")]


LIMITS = {each.name: each.about.title for each in fields.of(PhasePlan) if each.kind == "number"}
ENTERED = tuple(
    each.name for each in fields.of(PhasePlan) if each.name not in ("topics", "topic_list", "seed", "seen")
)
"""The plan fields that are columns of a phase; its topics are a separate set."""


def plan_of(phase: Phase, topics: TopicSet | None) -> PhasePlan:
    """A phase, on these topics or on all, as a plan that would make it."""
    entered = {name: getattr(phase, name) for name in ENTERED}
    choice = ALL if topics is None else HALF if topics.seed else LIST
    return PhasePlan(
        **{**entered, "kinds": tuple(phase.kinds), "visibility": phase.visibility or ""},
        topics=choice,
        topic_list=" ".join(topics.topics or ()) if topics is not None and choice == LIST else "",
        seed=topics.seed if topics is not None else "",
        seen=stamp(phase, topics),
    )


def of_task(session: Session, task_id: int) -> list[Phase]:
    """The phases of a task in their order; at least one."""
    query = select(Phase).where(Phase.task_id == task_id).order_by(Phase.position, Phase.id)
    return list(session.scalars(query))


def add(session: Session, viewer: Viewer, slug: str, plan: PhasePlan) -> None:
    """Add a phase after the others; raises Invalid for an invalid plan, Conflict for a name in use."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    phases = of_task(session, task.id)
    if len(phases) >= MOST_PHASES:
        raise Conflict(f"{task.name} has {MOST_PHASES} phases, which is the maximum.")
    phase = Phase(task_id=task.id, name="", position=max(phase.position for phase in phases) + 1, kinds=[])
    _set(session, task, phase, plan, phases)
    session.add(phase)
    setting_values.note_change(session, viewer, task, f"phase {phase.name}", "", "added")
    _rescore(session, task)


def change(session: Session, viewer: Viewer, slug: str, name: str, plan: PhasePlan, reason: str = "") -> None:
    """Replace the settings of a phase with the plan; moving the dates of a published task needs a reason.

    Raises as `add`, NotFound for an unknown phase, and Conflict if the scored topics of existing runs would
    change, or if it is no longer the phase that the organiser saw.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    phase = find(session, task, name)
    # Read before it was locked, it may have been changed by an earlier holder of the lock.
    session.refresh(phase)
    _refuse_unseen(session, viewer, task, phase, plan.seen)
    before = setting_values.described_dates(phase)
    moves = (phase.opens_at, phase.closes_at) != (plan.opens_at, plan.closes_at)
    if moves:
        setting_values.require_reason(task, phase, plan.closes_at, reason)
    old = _described(session, phase)
    others = [other for other in of_task(session, task.id) if other.id != phase.id]
    _set(session, task, phase, plan, others)
    if moves:
        setting_values.note_dates(session, viewer, task, phase, before, reason)
    setting_values.note_change(
        session, viewer, task, f"phase {phase.name}", old, _described(session, phase), reason
    )
    _rescore(session, task)


def _refuse_unseen(session: Session, viewer: Viewer, task: Task, phase: Phase, seen: str) -> None:
    """Raise Conflict, naming who changed it, if a phase has changed since it was shown."""
    topics = session.get(TopicSet, phase.topic_set_id) if phase.topic_set_id else None
    if seen in ("", stamp(phase, topics)):
        return
    whats = {f"{what} {phase.name}" for what in ("phase", "dates of", "scores of")}
    sentence = setting_values.who_changed(session, viewer, task, whats, f"phase {phase.name}")
    raise Conflict(f"{sentence} {setting_values.SAVE_AGAIN}", changed=phase.name)


def stamp(phase: Phase, topics: TopicSet | None) -> str:
    """The stamp that tells whether a phase, on these topics or on all, has changed since it was shown."""
    values = [getattr(phase, column.key) for column in Phase.__table__.columns]
    return setting_values.stamp(repr([*values, topics and (topics.topics, topics.seed)]))


def remove(session: Session, viewer: Viewer, slug: str, name: str) -> None:
    """Delete a phase; raises Conflict where it has runs or is the only one."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    phase = find(session, task, name)
    if len(of_task(session, task.id)) == 1:
        raise Conflict(f"{phase.name} is the only phase of {task.name}; a task needs at least one.")
    if _has_uploads(session, phase):
        raise Conflict(f"{phase.name} has submitted runs; close it instead of removing it.")
    topic_set = session.get(TopicSet, phase.topic_set_id) if phase.topic_set_id else None
    session.delete(phase)
    session.flush()
    if topic_set is not None:
        scored_topics.drop_topic_set(session, task, topic_set.name)
    setting_values.note_change(session, viewer, task, f"phase {name}", "was there", "removed")


def reveal(session: Session, viewer: Viewer, slug: str, name: str) -> None:
    """Show the scores of a closed phase that stays sealed: the button; raises Conflict before its close."""
    task = policy.own_task(session, viewer, slug)
    phase = find(session, task, name)
    at = now(session)
    if phase.closes_at is None or phase.closes_at > at:
        raise Conflict(f"{phase.name} still accepts runs; its scores can be shown once it is closed.")
    if phase.at_close != "sealed" or (phase.reveal_at is not None and phase.reveal_at <= at):
        return
    phase.reveal_at = at
    setting_values.note_change(
        session, viewer, task, f"scores of {phase.name}", "hidden", "shown to everybody"
    )
    audit.record(session, viewer, "phase.reveal", f"task:{task.id}", phase=phase.name)


def find(session: Session, task: Task, name: str) -> Phase:
    """The task's phase of that name; raises NotFound, naming the existing phases."""
    phases = of_task(session, task.id)
    phase = next((phase for phase in phases if phase.name == name), None)
    if phase is None:
        names = ", ".join(phase.name for phase in phases)
        raise NotFound(f"{task.name} has no phase {name[:64]!r}; its phases are {names}.")
    return phase


def for_runs(session: Session, viewer: Viewer, task: Task, name: str = "") -> Phase:
    """The phase of a run submitted now: the named phase, else the open phase.

    Raises Closed where that one, or every phase, accepts none now; Invalid where several do and none is
    named. An organiser may send to any phase at any time.
    """
    at = now(session)
    phases = of_task(session, task.id)
    organises = policy.organises(viewer, task.id)
    if name or len(phases) == 1:
        phase = find(session, task, name) if name else phases[0]
        if not organises:
            _require_open(task, phase, len(phases) > 1, at)
        return phase
    taking = [phase for phase in phases if is_open(phase, at)]
    if len(taking) == 1 or (taking and organises):
        return taking[-1]
    if taking:
        names = " or ".join(phase.name for phase in taking)
        raise Invalid(f"Several phases of {task.name} are open now; choose one of them: {names}.")
    if organises:
        return phases[-1]
    raise Closed(_why_closed(task, phases, at))


def for_checks(session: Session, viewer: Viewer, task: Task, name: str = "") -> Phase:
    """The phase whose rules apply to a check-only file: that of a run submitted now, else a closed one.

    Raises as `for_runs` does, but not Closed: then it is the named phase, or the last.
    """
    try:
        return for_runs(session, viewer, task, name)
    except Closed:
        return find(session, task, name) if name else of_task(session, task.id)[-1]


def is_open(phase: Phase, at: datetime) -> bool:
    """Whether the phase accepts runs at a moment."""
    opened = phase.opens_at is None or phase.opens_at <= at
    return opened and (phase.closes_at is None or at < phase.closes_at)


def extend(session: Session, viewer: Viewer, slug: str, hours: int, reason: str) -> int:
    """Extend the deadline of every phase that is open or closed within those hours; return the number moved.

    For an outage of that many hours; a phase stays closed where its close showed hidden scores. Raises
    Invalid for less than one hour or more than a month.
    """
    task = policy.own_task(session, viewer, slug)
    if not 1 <= hours <= MOST_HOURS:
        raise Invalid(f"Enter the number of hours, from 1 to {MOST_HOURS}.")
    if not reason.strip():
        raise Invalid("Give the reason for moving the deadline; it is shown to participants.")
    at, more = now(session), timedelta(hours=hours)
    moved = 0
    for phase in of_task(session, task.id):
        if phase.closes_at is None or phase.closes_at + more <= at:
            continue
        if phase.opens_at is not None and phase.opens_at > at:
            continue
        if phase.closes_at <= at and _was_shown_by_closing(task, phase):
            continue
        before = setting_values.described_dates(phase)
        phase.closes_at += more
        setting_values.note_dates(session, viewer, task, phase, before, reason.strip())
        moved += 1
    if not moved:
        raise Conflict(f"No phase of {task.name} has a deadline that can be extended by {hours} hours.")
    return moved


def _was_shown_by_closing(task: Task, phase: Phase) -> bool:
    """Whether the deadline has revealed hidden scores, which cannot be hidden again."""
    return (phase.visibility or task.visibility) != "open" and phase.at_close == "open"


def _require_open(task: Task, phase: Phase, is_named: bool, at: datetime) -> None:
    what = f"The phase {phase.name} of {task.name}" if is_named else task.name
    if phase.opens_at is not None and at < phase.opens_at:
        raise Closed(f"{what} opens at {utc_time(phase.opens_at)}.")
    if phase.closes_at is not None and at >= phase.closes_at:
        raise Closed(f"{what} closed at {utc_time(phase.closes_at)}.")


def _why_closed(task: Task, phases: Sequence[Phase], at: datetime) -> str:
    coming = [phase for phase in phases if phase.opens_at is not None and phase.opens_at > at]
    if coming:
        following = min(coming, key=lambda phase: phase.opens_at or at)
        return (
            f"{task.name} accepts no runs now; its phase {following.name} opens at "
            f"{utc_time(following.opens_at)}."
        )
    last = max((phase for phase in phases if phase.closes_at), key=lambda phase: phase.closes_at or at)
    return f"{task.name} no longer accepts runs: {last.name} closed at {utc_time(last.closes_at)}."


def _set(session: Session, task: Task, phase: Phase, plan: PhasePlan, others: Sequence[Phase]) -> None:
    _require_valid(task, plan, others)
    phase_rules.require_held_back(task, plan.visibility)
    for name in ENTERED:
        setattr(phase, name, getattr(plan, name))
    phase.name, phase.kinds = plan.name.strip(), list(plan.kinds)
    phase.visibility = plan.visibility or None
    phase.reveal_at = plan.reveal_at if plan.at_close == "sealed" else None
    _choose_topics(session, task, phase, plan)
    _require_possible(session, task, phase)
    if (phase.visibility or task.visibility) == "blind":
        scored_topics.put_public(session, task, name_of_set(session, phase))


def require_possible(session: Session, task: Task) -> None:
    """Raise Invalid where no run could keep all rules of a phase: settings that exclude each other."""
    for phase in of_task(session, task.id):
        _require_possible(session, task, phase)


def _require_possible(session: Session, task: Task, phase: Phase) -> None:
    is_deep = kinds.of(task.kind).ranks_documents and (phase.visibility or task.visibility) == "blind"
    if is_deep:
        _require_deep(task, session.get_one(Collection, task.collection_id), phase)
    if phase.largest_bytes is None:
        return
    least = _least_bytes(session, task, phase, LEAST_MEDIAN_DEPTH if is_deep else 1)
    if phase.largest_bytes < least:
        raise Invalid(
            f"The smallest run that meets the other rules of the phase {phase.name} has about {least:,} "
            f"bytes, but the phase accepts files of at most {phase.largest_bytes:,} bytes. Raise the "
            "maximum file size."
        )


def _require_deep(task: Task, collection: Collection, phase: Phase) -> None:
    """Raise Invalid where runs may not be as deep as a blind phase asks."""
    asked = (
        f"The phase {phase.name} is blind, so a run lists at least {LEAST_MEDIAN_DEPTH} documents for most "
        "topics"
    )
    if task.depth < LEAST_MEDIAN_DEPTH:
        raise Invalid(
            f"{asked}, but the task accepts at most {task.depth}. Allow at least {LEAST_MEDIAN_DEPTH} "
            "documents per topic, or make the phase open or sealed."
        )
    if 0 < collection.stored < LEAST_MEDIAN_DEPTH:
        raise Invalid(
            f"{asked}, but the collection {collection.name} has {collection.stored}. Choose another "
            "collection, or make the phase open or sealed."
        )


def _least_bytes(session: Session, task: Task, phase: Phase, deep: int) -> int:
    """About how many bytes the smallest plain file has that keeps the rules of a phase."""
    chosen = session.get_one(TopicSet, phase.topic_set_id).topics if phase.topic_set_id else None
    topics = scored_topics.topic_set_ids(session, task) if chosen is None else chosen
    return sum(len(topic.encode()) + kinds.of(task.kind).shortest for topic in topics) * deep


def _choose_topics(session: Session, task: Task, phase: Phase, plan: PhasePlan) -> None:
    """Give the phase the topics of its plan; a set with runs on it keeps them."""
    before = session.get(TopicSet, phase.topic_set_id) if phase.topic_set_id else None
    chosen, seed = _chosen(session, task, plan, before)
    if chosen == (before.topics if before else None):
        return
    if phase.id is not None and _has_uploads(session, phase):
        raise Conflict(f"{phase.name} already has runs, so its scored topics cannot be changed.")
    if chosen is None:
        phase.topic_set_id = None
        session.flush()
        if before is not None:
            scored_topics.drop_topic_set(session, task, before.name)
        return
    if before is not None:
        scored_topics.put_topic_set(session, task, before.name, chosen, seed)
        return
    phase.topic_set_id = scored_topics.put_topic_set(
        session, task, _free_name(session, task, plan.name), chosen, seed
    ).id


def _chosen(
    session: Session, task: Task, plan: PhasePlan, before: TopicSet | None
) -> tuple[list[str] | None, str]:
    if plan.topics == ALL:
        return None, ""
    if plan.topics == HALF:
        seed = plan.seed.strip() or (before.seed if before else "") or secrets.token_hex(4)
        return scored_topics.half(seed, scored_topics.topic_set_ids(session, task)), seed
    listed = scored_topics.read_topic_set(session, task, plan.topic_list)
    if not listed:
        raise Invalid("List at least one topic, or choose all topics of the task.")
    return listed, ""


def _free_name(session: Session, task: Task, name: str) -> str:
    """A name for a phase's topics that no other set has."""
    taken = set(session.scalars(select(TopicSet.name).where(TopicSet.task_id == task.id)))
    number, free = 1, name.strip()
    while free in taken or free in (ALL_TOPICS, PUBLIC_TOPICS):
        number += 1
        free = f"{name.strip()} {number}"
    return free


def name_of_set(session: Session, phase: Phase) -> str:
    """The name of the set of topics that a phase scores."""
    return session.get_one(TopicSet, phase.topic_set_id).name if phase.topic_set_id else ALL_TOPICS


def _require_valid(task: Task, plan: PhasePlan, others: Sequence[Phase]) -> None:
    name = plan.name.strip()
    if not 1 <= len(name) <= LONGEST_NAME or any(character in "/?#&" for character in name):
        raise Invalid(f"A phase name must have 1 to {LONGEST_NAME} characters, without / ? # and &.")
    if any(other.name.casefold() == name.casefold() for other in others):
        raise Conflict(f"{task.name} already has a phase {name}; choose another name.")
    setting_values.require_order(plan.opens_at, plan.closes_at)
    zones.require_zone(plan.zone)
    if plan.topics not in TOPIC_CHOICES or plan.at_close not in CLOSES:
        raise Invalid("Choose the scored topics and the scores after the deadline from the lists.")
    if plan.visibility not in VISIBILITY:
        raise Invalid(f"A phase must be open, blind or sealed, not {plan.visibility[:20]!r}.")
    if plan.reveal_at is not None and plan.closes_at is not None and plan.reveal_at < plan.closes_at:
        raise Invalid("The scores would be shown before the phase closes; give a later date.")
    limits = [getattr(plan, name) for name in LIMITS]
    if any(limit is not None and not 1 <= limit < fields.MOST for limit in limits):
        raise Invalid("A limit must be a whole number of at least 1; leave it empty for no limit.")


def _has_uploads(session: Session, phase: Phase) -> bool:
    sent = select(func.count(Upload.id)).where(Upload.phase_id == phase.id, Upload.state != "rejected")
    runs = select(func.count(Run.id)).where(Run.phase_id == phase.id)
    return bool(session.scalar(sent) or session.scalar(runs))


def _described(session: Session, phase: Phase) -> str:
    """The description of a phase as text, without its dates."""
    kinds = ", ".join(phase.kinds) or "every kind of run"
    values = ((getattr(phase, name), title) for name, title in LIMITS.items())
    limits = [f"{limit} {title[0].lower()}{title[1:]}" for limit, title in values if limit is not None]
    shown = phase.visibility or "as for the task"
    close = (
        f", sealed after its close until {phase.reveal_at or 'a button'}"
        if phase.at_close == "sealed"
        else ""
    )
    ranked = "ranked" if phase.ranked else "not ranked"
    review = ["runs by agents held for review"] if phase.agent_review else []
    topics = name_of_set(session, phase)
    return "; ".join([phase.name, f"{shown}{close}", f"topics {topics}", kinds, ranked, *limits, *review])


def _rescore(session: Session, task: Task) -> None:
    """Request means over the topics of new phases: a new edition, if the board has one."""
    session.flush()
    revision = qrels.newest(session, task.id)
    if task.published_at is None or revision is None or editions.knows(session, task, revision):
        return
    editions.build(session, task, revision)


def _as_it_is(session: Session, viewer: Viewer, slug: str, name: str) -> PhaseChange:
    phase = find(session, policy.own_task(session, viewer, slug), name)
    topics = session.get(TopicSet, phase.topic_set_id) if phase.topic_set_id else None
    return PhaseChange(phase=plan_of(phase, topics))


def _unending(session: Session, viewer: Viewer, slug: str, *_: str) -> str:
    """The warning on phases whose scores would never be shown."""
    return phase_rules.without_end(phase_rules.rules_of(session, policy.own_task(session, viewer, slug)))


def _span(plan: PhasePlan) -> str:
    return zones.span(plan.opens_at, plan.closes_at, plan.zone)


_HERE: Any = {"page": "phases.show", "warning": _unending}
_NAMED: Any = {**_HERE, "named": {"name": "phase"}}
ACTIONS = (
    Action(
        name="add_phase",
        summary="Add a phase",
        method="POST",
        path="/tasks/<slug>/phases",
        form="/tasks/<slug>/phases",
        record=PhasePlan,
        act=add,
        done=lambda plan, _: f"phase added, {_span(plan)}",
        status=201,
        **_HERE,
    ),
    Action(
        name="change_phase",
        summary="Replace the settings of a phase",
        more="Omitted fields get the defaults of a new phase.",
        method="PUT",
        path="/tasks/<slug>/phases/<name>",
        form="/tasks/<slug>/phases/change",
        record=PhaseChange,
        act=lambda session, viewer, slug, name, asked: change(
            session, viewer, slug, name, asked.phase, asked.reason
        ),
        now=_as_it_is,
        done=lambda asked, _: f"phase changed, {_span(asked.phase)}",
        **_NAMED,
    ),
    Action(
        name="remove_phase",
        summary="Remove a phase without runs",
        method="DELETE",
        path="/tasks/<slug>/phases/<name>",
        form="/tasks/<slug>/phases/remove",
        act=remove,
        done=lambda *_: "phase removed",
        **_NAMED,
    ),
    Action(
        name="reveal_phase",
        summary="Show the scores of a closed phase",
        method="POST",
        path="/tasks/<slug>/phases/<name>/reveal",
        form="/tasks/<slug>/phases/reveal",
        act=reveal,
        done=lambda *_: "scores shown",
        **_NAMED,
    ),
    Action(
        name="extend_deadline",
        summary="Extend the deadline after an outage",
        method="POST",
        path="/tasks/<slug>/extend",
        form="/tasks/<slug>/phases/extend",
        record=PhaseExtension,
        act=lambda session, viewer, slug, asked: extend(session, viewer, slug, asked.hours, asked.reason),
        done=lambda *_: "deadline extended",
        **_HERE,
    ),
)
