"""The phases of a task: when it takes runs, on which topics, who sees what they got, and the limits."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard import fields, zones
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Collection, Phase, Run, Task, TopicSet, Upload
from leaderboard.errors import Closed, Conflict, Invalid, NotFound
from leaderboard.fields import Field
from leaderboard.services import audit, kinds, phase_rules, policy
from leaderboard.services.actions import Action
from leaderboard.services.evaluations import editions
from leaderboard.services.phase_rules import ALL_TOPICS, KINDS, LEAST_MEDIAN_DEPTH, PUBLIC_TOPICS
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files as qrels
from leaderboard.services.tasks import scored_topics, setting_values
from leaderboard.tables.record import Shown
from leaderboard.tables.words import utc_time

LONGEST_NAME = 40
MOST_PHASES = 20
MOST_HOURS = 31 * 24
ALL, HALF, LIST = "all", "half", "list"
TOPIC_CHOICES = {
    ALL: "every topic of the task",
    HALF: "a random half of them, drawn by a seed that is shown",
    LIST: "the topics listed below",
}
NO_LIMIT = "Empty: no limit."
CLOSES = {"open": "everybody sees the scores", "sealed": "they stay hidden until a date or a button"}


VISIBILITY = {"": "as the task", "open": "open", "blind": "blind", "sealed": "sealed"}

Limit = int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePlan:
    """A phase as its organisers ask it to be: when it takes which runs on which topics, and who sees what."""

    name: Annotated[str, Field(title="Name", help="On the board.", longest=LONGEST_NAME, is_argument=True)]
    opens_at: Annotated[
        Annotated[
            datetime | None,
            Field(
                title="Opens",
                help="Takes runs from then on, such as 2026-05-01T12:00 or 2026-05-01.",
                option="opens",
            ),
        ],
        Shown(key="opens"),
    ] = None
    closes_at: Annotated[
        Annotated[
            datetime | None,
            Field(title="Closes", help="Takes runs until then; a day alone ends with it.", option="closes"),
        ],
        Shown(key="closes"),
    ] = None
    zone: Annotated[
        str,
        Field(
            title="Time zone",
            help="Of these dates: UTC, AoE (anywhere on Earth), or a name such as Europe/Vienna.",
            longest=40,
        ),
    ] = "UTC"
    topics: Annotated[
        str,
        Field(
            title="Topics it scores",
            help="all, half (drawn by the seed) or list.",
            choices=TOPIC_CHOICES,
            otherwise=(LIST, "topic_list"),
        ),
    ] = ALL
    topic_list: Annotated[
        str, Field(title="Topics, by their ids", help="Where they are listed.", rows=2, longest=2**20)
    ] = ""
    seed: Annotated[
        str, Field(title="Seed of the random half", help="Empty: drawn, and then shown.", longest=64)
    ] = ""
    visibility: Annotated[
        str,
        Field(
            title="Scores before the close",
            help="open, blind or sealed; empty: as the task.",
            choices=VISIBILITY,
        ),
    ] = ""
    at_close: Annotated[
        str, Field(title="At the close", help="open, or sealed until a date or the button.", choices=CLOSES)
    ] = "open"
    reveal_at: Annotated[
        datetime | None,
        Field(title="Shown from", help="Where they stay sealed; empty: by the button.", option="reveal"),
    ] = None
    kinds: Annotated[
        tuple[str, ...],
        Field(
            title="Kinds of runs",
            help="None of them: every kind.",
            choices={kind: kind for kind in KINDS},
            option="kind",
        ),
    ] = ()
    ranked: Annotated[bool, Field(title="Its runs have ranks", option="ranked/--unranked")] = True
    runs_per_day: Annotated[Limit, Field(title="Runs of a team a day", help=NO_LIMIT)] = None
    runs_in_all: Annotated[Limit, Field(title="Runs of a team in all", help=NO_LIMIT)] = None
    account_runs_per_day: Annotated[Limit, Field(title="Runs of an account a day", help=NO_LIMIT)] = None
    account_runs_in_all: Annotated[Limit, Field(title="Runs of an account in all", help=NO_LIMIT)] = None
    largest_bytes: Annotated[Limit, Field(title="Bytes of a file", help=NO_LIMIT)] = None
    seen: Annotated[str, Field(title="Seen", is_carried=True)] = ""
    """The stamp of the phase as the organiser saw it; empty: none was looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChange:
    """All of a phase as it is to be, and why."""

    phase: Annotated[PhasePlan, Field(title="Phase", help="The whole phase as it is to be.")]
    reason: Annotated[
        str, Field(title="Reason, where a deadline moves", help="Why a deadline moves; participants read it.")
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseExtension:
    """By how many hours, and why."""

    hours: Annotated[
        int, Field(title="Hours", help="How long the outage was.", most=MOST_HOURS, is_argument=True)
    ]
    reason: Annotated[str, Field(title="Reason", help="Participants read it.")]


LIMITS = {each.name: each.about.title for each in fields.of(PhasePlan) if each.kind == "number"}
ENTERED = tuple(
    each.name for each in fields.of(PhasePlan) if each.name not in ("topics", "topic_list", "seed", "seen")
)
"""What a plan says of a phase's own columns; its topics are a set of their own."""


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
    """Add a phase after the others; raises Invalid for a plan that cannot be, Conflict for a taken name."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    known = of_task(session, task.id)
    if len(known) >= MOST_PHASES:
        raise Conflict(f"{task.name} has {MOST_PHASES} phases, the most there can be.")
    phase = Phase(task_id=task.id, name="", position=max(phase.position for phase in known) + 1, kinds=[])
    _set(session, task, phase, plan, known)
    session.add(phase)
    setting_values.note_change(session, viewer, task, f"phase {phase.name}", "", "added")
    _rescore(session, task)


def change(session: Session, viewer: Viewer, slug: str, name: str, plan: PhasePlan, reason: str = "") -> None:
    """Make a phase what the plan says; moving the dates of a published task takes a reason.

    Raises as `add`, NotFound for an unknown phase, and Conflict where other topics would be scored than those
    of runs that it has already, or where it is not the phase any more that the organiser saw.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    phase = find(session, task, name)
    # Read before the lock came, it may have been changed by whoever held it.
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
    """Raise Conflict, naming who changed it, where a phase is not the one any more that was seen."""
    topics = session.get(TopicSet, phase.topic_set_id) if phase.topic_set_id else None
    if seen in ("", stamp(phase, topics)):
        return
    whats = {f"{what} {phase.name}" for what in ("phase", "dates of", "scores of")}
    said = setting_values.who_changed(session, viewer, task, whats, f"phase {phase.name}")
    raise Conflict(f"{said} {setting_values.SAVE_AGAIN}", changed=phase.name)


def stamp(phase: Phase, topics: TopicSet | None) -> str:
    """What tells later whether a phase, on these topics or on all, is still as it was shown."""
    values = [getattr(phase, column.key) for column in Phase.__table__.columns]
    return setting_values.stamp(repr([*values, topics and (topics.topics, topics.seed)]))


def remove(session: Session, viewer: Viewer, slug: str, name: str) -> None:
    """Take a phase away; raises Conflict where it has runs or is the only one."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    phase = find(session, task, name)
    if len(of_task(session, task.id)) == 1:
        raise Conflict(f"{phase.name} is the only phase of {task.name}; a task has at least one.")
    if _has_uploads(session, phase):
        raise Conflict(f"Runs were sent to {phase.name}; close it instead of taking it away.")
    topic_set = session.get(TopicSet, phase.topic_set_id) if phase.topic_set_id else None
    session.delete(phase)
    session.flush()
    if topic_set is not None:
        scored_topics.drop_topic_set(session, task, topic_set.name)
    setting_values.note_change(session, viewer, task, f"phase {name}", "was there", "taken away")


def reveal(session: Session, viewer: Viewer, slug: str, name: str) -> None:
    """Show the scores of a closed phase that stays sealed: the button; raises Conflict before its close."""
    task = policy.own_task(session, viewer, slug)
    phase = find(session, task, name)
    at = now(session)
    if phase.closes_at is None or phase.closes_at > at:
        raise Conflict(f"{phase.name} still takes runs; its scores can be shown once it is closed.")
    if phase.at_close != "sealed" or (phase.reveal_at is not None and phase.reveal_at <= at):
        return
    phase.reveal_at = at
    setting_values.note_change(
        session, viewer, task, f"scores of {phase.name}", "hidden", "shown to everybody"
    )
    audit.record(session, viewer, "phase.reveal", f"task:{task.id}", phase=phase.name)


def find(session: Session, task: Task, name: str) -> Phase:
    """The task's phase of that name; raises NotFound, naming those there are."""
    phases = of_task(session, task.id)
    phase = next((phase for phase in phases if phase.name == name), None)
    if phase is None:
        names = ", ".join(phase.name for phase in phases)
        raise NotFound(f"{task.name} has no phase {name[:64]!r}; its phases are {names}.")
    return phase


def for_runs(session: Session, viewer: Viewer, task: Task, name: str = "") -> Phase:
    """The phase that a run sent now belongs to: the one that is named, else the one that takes runs.

    Raises Closed where that one, or every phase, takes none now; Invalid where several do and none is named.
    An organiser may send to any phase at any time.
    """
    at = now(session)
    known = of_task(session, task.id)
    organises = policy.organises(viewer, task.id)
    if name or len(known) == 1:
        phase = find(session, task, name) if name else known[0]
        if not organises:
            _require_open(task, phase, len(known) > 1, at)
        return phase
    taking = [phase for phase in known if is_open(phase, at)]
    if len(taking) == 1 or (taking and organises):
        return taking[-1]
    if taking:
        names = " or ".join(phase.name for phase in taking)
        raise Invalid(f"Several phases of {task.name} take runs now; say which: {names}.")
    if organises:
        return known[-1]
    raise Closed(_why_closed(task, known, at))


def for_checks(session: Session, viewer: Viewer, task: Task) -> Phase:
    """The phase by whose rules a file is only checked: the one asked for, else one that takes runs."""
    known = of_task(session, task.id)
    if viewer.phase and len(known) > 1:
        return find(session, task, viewer.phase)
    at = now(session)
    return next((phase for phase in reversed(known) if is_open(phase, at)), known[-1])


def is_open(phase: Phase, at: datetime) -> bool:
    """Whether the phase takes runs at a moment."""
    opened = phase.opens_at is None or phase.opens_at <= at
    return opened and (phase.closes_at is None or at < phase.closes_at)


def extend(session: Session, viewer: Viewer, slug: str, hours: int, reason: str) -> int:
    """Move the closing of every phase that takes runs, or closed within those hours; how many were moved.

    For an outage of that many hours; a phase stays closed where its close showed hidden scores. Raises
    Invalid for less than one hour or more than a month.
    """
    task = policy.own_task(session, viewer, slug)
    if not 1 <= hours <= MOST_HOURS:
        raise Invalid(f"Say by how many hours: at least 1, at most {MOST_HOURS}.")
    if not reason.strip():
        raise Invalid("Say why the deadline moves; participants read it.")
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
        raise Conflict(f"No phase of {task.name} has a deadline that {hours} hours could move.")
    return moved


def _was_shown_by_closing(task: Task, phase: Phase) -> bool:
    """Whether the close has shown scores that were hidden before: nobody can unsee them."""
    return (phase.visibility or task.visibility) != "open" and phase.at_close == "open"


def _require_open(task: Task, phase: Phase, is_named: bool, at: datetime) -> None:
    what = f"The phase {phase.name} of {task.name}" if is_named else task.name
    if phase.opens_at is not None and at < phase.opens_at:
        raise Closed(f"{what} takes runs from {utc_time(phase.opens_at)} on.")
    if phase.closes_at is not None and at >= phase.closes_at:
        raise Closed(f"{what} closed at {utc_time(phase.closes_at)}.")


def _why_closed(task: Task, phases: Sequence[Phase], at: datetime) -> str:
    coming = [phase for phase in phases if phase.opens_at is not None and phase.opens_at > at]
    if coming:
        following = min(coming, key=lambda phase: phase.opens_at or at)
        return (
            f"{task.name} takes no runs now; its phase {following.name} opens at "
            f"{utc_time(following.opens_at)}."
        )
    last = max((phase for phase in phases if phase.closes_at), key=lambda phase: phase.closes_at or at)
    return f"{task.name} takes no runs any more: {last.name} closed at {utc_time(last.closes_at)}."


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
            f"The smallest run that keeps the other rules of the phase {phase.name} has about {least:,} "
            f"bytes, but it takes files of at most {phase.largest_bytes:,}. Let it take larger ones."
        )


def _require_deep(task: Task, collection: Collection, phase: Phase) -> None:
    """Raise Invalid where runs may not be as deep as a blind phase asks."""
    asked = (
        f"The phase {phase.name} is blind, so a run lists at least {LEAST_MEDIAN_DEPTH} documents for most "
        "topics"
    )
    if task.depth < LEAST_MEDIAN_DEPTH:
        raise Invalid(
            f"{asked}, but the task takes at most {task.depth}. Take at least {LEAST_MEDIAN_DEPTH} documents "
            "a topic, or show scores openly or not at all (sealed)."
        )
    if 0 < collection.stored < LEAST_MEDIAN_DEPTH:
        raise Invalid(
            f"{asked}, but the collection {collection.name} has {collection.stored}. Choose another "
            "collection, or show scores openly or not at all (sealed)."
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
        raise Conflict(f"{phase.name} has runs already, so the topics it scores stay what they are.")
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
        raise Invalid("List at least one topic, or choose every topic of the task.")
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
        raise Invalid(f"A phase has a name of 1 to {LONGEST_NAME} characters, without / ? # and &.")
    if any(other.name.casefold() == name.casefold() for other in others):
        raise Conflict(f"{task.name} has a phase {name} already; choose another name.")
    setting_values.require_order(plan.opens_at, plan.closes_at)
    zones.require_zone(plan.zone)
    if plan.topics not in TOPIC_CHOICES or plan.at_close not in CLOSES:
        raise Invalid("Choose the topics of the phase, and what happens at its close, from the lists.")
    if plan.visibility not in VISIBILITY:
        raise Invalid(f"A phase is open, blind or sealed, not {plan.visibility[:20]!r}.")
    if plan.reveal_at is not None and plan.closes_at is not None and plan.reveal_at < plan.closes_at:
        raise Invalid("The scores would be shown before the phase closes; give a later date.")
    limits = [getattr(plan, name) for name in LIMITS]
    if any(limit is not None and not 1 <= limit < fields.MOST for limit in limits):
        raise Invalid("A limit is a whole number from 1 on; leave it empty for none.")


def _has_uploads(session: Session, phase: Phase) -> bool:
    sent = select(func.count(Upload.id)).where(Upload.phase_id == phase.id, Upload.state != "rejected")
    runs = select(func.count(Run.id)).where(Run.phase_id == phase.id)
    return bool(session.scalar(sent) or session.scalar(runs))


def _described(session: Session, phase: Phase) -> str:
    """What a phase is, in words, without its dates."""
    kinds = ", ".join(phase.kinds) or "every kind of run"
    held = {title: getattr(phase, name) for name, title in LIMITS.items()}
    limits = [f"{limit} {title[0].lower()}{title[1:]}" for title, limit in held.items() if limit is not None]
    shown = phase.visibility or "as the task"
    close = (
        f", sealed after its close until {phase.reveal_at or 'a button'}"
        if phase.at_close == "sealed"
        else ""
    )
    ranked = "ranked" if phase.ranked else "not ranked"
    topics = name_of_set(session, phase)
    return "; ".join([phase.name, f"{shown}{close}", f"topics {topics}", kinds, ranked, *limits])


def _rescore(session: Session, task: Task) -> None:
    """Have means over the topics of new phases computed: a new edition, where there is one already."""
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
    """What to say of phases whose scores would never be shown."""
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
        summary="Make a phase what is said",
        more="What is left out is as in a new phase.",
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
        summary="Take a phase away that has no runs",
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
        summary="Move the deadline by the hours of an outage",
        method="POST",
        path="/tasks/<slug>/extend",
        form="/tasks/<slug>/phases/extend",
        record=PhaseExtension,
        act=lambda session, viewer, slug, asked: extend(session, viewer, slug, asked.hours, asked.reason),
        done=lambda *_: "deadline moved",
        **_HERE,
    ),
)
