"""Shared by all judging: assessors and their links, the event log, and labels.

An event changes in one way only: it is withdrawn, permanently. For each assessor and place, the last event
that was not withdrawn is in force.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Annotated, Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import names, sessions
from leaderboard.core import audit, policy, throttles
from leaderboard.core.actions import Action
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import AnswerLabel, Assessment, Assessor, SideBySide, Task, Topic, WrittenNugget
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.judging.ops.pools import pools
from leaderboard.settings import Settings
from leaderboard.stats.assessors import RuleKey, Settled, settle
from leaderboard.tables import record
from leaderboard.tables.record import Place as RecordPlace
from leaderboard.tables.record import Shown

HUMAN, MACHINE = "human", "machine"
ASSESSOR, ADJUDICATOR = "assessor", "adjudicator"
ROLES = {ASSESSOR: "judge", ADJUDICATOR: "judge and adjudicate disagreements"}
MOST_AT_ONCE = 500
LINK_DAYS = 180
DEAD_LINK = "This link is invalid or has expired. Ask the organisers for a new one."


@dataclass(frozen=True, slots=True)
class PersonalLink:
    """An assessor's link, returned once because it cannot be looked up later."""

    assessor_id: int
    name: str
    token: Annotated[str, Shown(key="link", shown=RecordPlace.PAGE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of people."""

    names: Annotated[
        tuple[str, ...],
        Field(
            title="Names, one per line",
            help="Assessors belong to the task, so its other pages can use them too.",
            typed="lines",
            rows=4,
            most=MOST_AT_ONCE,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAssessors(Names):
    """Names of people; role: assessor or adjudicator."""

    role: Annotated[
        str, Field(title="Role", help="An adjudicator decides disagreements too.", choices=ROLES)
    ] = ASSESSOR


def add_link(
    session: Session,
    viewer: Viewer,
    slug: str,
    new_names: Sequence[str],
    *,
    role: str = ASSESSOR,
    days: int = LINK_DAYS,
) -> tuple[PersonalLink, ...]:
    """Add assessors to a task and return their links, which expire after a number of days; 0 is never.

    Raises Invalid for an invalid name, Conflict for a name in use.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    tidy = [names.displayed(name, "an assessor") for name in new_names if name.strip()]
    if not tidy or len(tidy) > MOST_AT_ONCE:
        problem = Problem(f"takes 1 to {MOST_AT_ONCE} names.", "Write one name per line.", field="names")
        raise Invalid("No assessors were added.", [problem])
    _refuse_taken(session, task, tidy)
    links = []
    for name in tidy:
        token = sessions.new_token()
        ends, facts = _end(session, days), {"task": slug, "name": name}
        assessor = _made(
            session, viewer, task, facts, role=role, token_sha256=sessions.digest(token), expires_at=ends
        )
        links.append(PersonalLink(assessor.id, name, token))
    return tuple(links)


def renew_link(
    session: Session, viewer: Viewer, slug: str, assessor_id: int, days: int = LINK_DAYS
) -> PersonalLink:
    """Replace an assessor's link and revoke the old one; raises NotFound, Conflict for a machine."""
    assessor = _own_assessor(session, viewer, slug, assessor_id)
    if assessor.origin == MACHINE:
        raise Conflict(f"{assessor.name} is a machine. Its labels are imported, so it has no link.")
    token = sessions.new_token()
    assessor.token_sha256, assessor.revoked_at = sessions.digest(token), None
    assessor.expires_at = _end(session, days)
    audit.record(session, viewer, "assessor.renew", f"assessor:{assessor.id}")
    return PersonalLink(assessor.id, assessor.name, token)


def prolong_link(
    session: Session, viewer: Viewer, slug: str, assessor_id: int, days: int = LINK_DAYS
) -> None:
    """Extend an assessor's link, also an expired one, to a number of days from now; Conflict without one."""
    assessor = _own_assessor(session, viewer, slug, assessor_id)
    if assessor.token_sha256 is None:
        raise Conflict(f"{assessor.name} has no link. Create a new one.")
    assessor.expires_at = _end(session, days)
    audit.record(session, viewer, "assessor.prolong", f"assessor:{assessor.id}", days=days)


def _end(session: Session, days: int) -> datetime | None:
    return now(session) + timedelta(days=days) if days else None


def revoke_link(session: Session, viewer: Viewer, slug: str, assessor_id: int) -> None:
    """Revoke an assessor's link; the judgments are kept."""
    assessor = _own_assessor(session, viewer, slug, assessor_id)
    if assessor.token_sha256 is not None:
        assessor.token_sha256, assessor.revoked_at = None, now(session)
        audit.record(session, viewer, "assessor.revoke", f"assessor:{assessor.id}")


def _link_days(settings: Settings) -> dict[str, int]:
    return {"days": settings.assessor_link_days}


def _add_to_pool(
    session: Session, viewer: Viewer, slug: str, number: int, new: NewAssessors, days: int
) -> tuple[PersonalLink, ...]:
    return add_link(session, viewer, slug, new.names, role=new.role, days=days)


def adding(name: str, **declared: Any) -> Action:
    """The action that adds assessors on a page that is not of a pool."""

    def act(session: Session, viewer: Viewer, slug: str, new: Names, days: int) -> tuple[PersonalLink, ...]:
        return add_link(session, viewer, slug, new.names, days=days)

    return Action(
        name=name,
        summary="Add assessors for comparisons",
        more="Each gets a personal link, which is returned only once.",
        act=act,
        record=Names,
        site=_link_days,
        status=201,
        **declared,
    )


def _of_pool(change: Callable[..., Any], **declared: Any) -> Action:
    """An action on an assessor from the page of a pool, which must exist."""

    def act(session: Session, viewer: Viewer, slug: str, number: int, assessor_id: int, **site: int) -> Any:
        return change(session, viewer, slug, assessor_id, **site)

    return Action(page="assessors.show", may=pools.own_pool, act=act, **declared)


_ASSESSORS = "/tasks/<slug>/pools/<id:number>/assessors"
_ASSESSOR = f"{_ASSESSORS}/<id:assessor_id>"
ACTIONS = (
    Action(
        name="add_assessors",
        summary="Add assessors",
        more="Each gets a personal link, which is returned only once: send it to them.",
        path=_ASSESSORS,
        form=_ASSESSORS,
        page="assessors.show",
        may=pools.own_pool,
        act=_add_to_pool,
        record=NewAssessors,
        site=_link_days,
        status=201,
    ),
    _of_pool(
        renew_link,
        name="renew_link",
        summary="Replace an assessor's link",
        more="The old link stops working.",
        path=f"{_ASSESSOR}/link",
        form=f"{_ASSESSOR}/link",
        site=_link_days,
        status=201,
    ),
    _of_pool(
        prolong_link,
        name="prolong_link",
        summary="Extend an assessor's link",
        path=f"{_ASSESSOR}/prolong",
        form=f"{_ASSESSOR}/prolong",
        site=_link_days,
        done="prolonged",
    ),
    _of_pool(
        revoke_link,
        name="revoke_link",
        summary="Revoke an assessor's link",
        more="The judgments are kept.",
        method="DELETE",
        path=_ASSESSOR,
        form=f"{_ASSESSOR}/revoke",
        done="revoked",
    ),
)


def is_link(session: Session, token: str) -> ColumnElement[bool]:
    """Condition that an assessor has this link and it has not expired."""
    lasts = or_(Assessor.expires_at.is_(None), Assessor.expires_at > now(session))
    return (Assessor.token_sha256 == sessions.digest(token)) & lasts


def by_token(session: Session, token: str) -> Assessor:
    """The assessor with a link; raises NotFound if it is unknown, revoked or expired."""
    assessor = session.scalar(select(Assessor).where(is_link(session, token)))
    if assessor is None:
        raise NotFound(DEAD_LINK)
    return assessor


def of_task(session: Session, task_id: int) -> tuple[Assessor, ...]:
    """All assessors of a task: people first, then machines, by name."""
    assessors = session.scalars(select(Assessor).where(Assessor.task_id == task_id))
    return tuple(
        sorted(assessors, key=lambda assessor: (assessor.origin == MACHINE, names.canonical(assessor.name)))
    )


def able(session: Session, task_id: int) -> dict[int, str]:
    """Id -> name of available assessors of a task: people with a valid personal link."""
    return {
        assessor.id: assessor.name
        for assessor in of_task(session, task_id)
        if assessor.origin == HUMAN and assessor.token_sha256 is not None
    }


def of_name(session: Session, task_id: int, name: str) -> Assessor | None:
    """The assessor of a task with an equivalent name; None if absent."""
    canonical = names.canonical(name)
    return next(
        (assessor for assessor in of_task(session, task_id) if names.canonical(assessor.name) == canonical),
        None,
    )


def ensure(
    session: Session, viewer: Viewer, task: Task, name: str, origin: str, origin_name: str = ""
) -> Assessor:
    """The assessor of that name for imported labels, created without a link if absent.

    Raises Conflict if the name belongs to another origin or another machine, Invalid for a
    machine without a name.
    """
    shown = names.displayed(name, "an assessor")
    origin_name = origin_name.strip()[: names.MAX_CHARACTERS]
    if origin not in (HUMAN, MACHINE):
        raise Invalid(f"Labels must come from a {HUMAN} or a {MACHINE}, not {origin!r}.")
    if origin == MACHINE and not origin_name:
        problem = Problem("must identify the machine.", "Enter the model and version.", field="machine")
        raise Invalid("Labels by a machine need its name.", [problem])
    assessor = of_name(session, task.id, shown)
    if assessor is None:
        machine = origin_name if origin == MACHINE else ""
        facts = {"name": shown, "origin": origin}
        assessor = _made(session, viewer, task, facts, origin=origin, origin_name=machine)
    elif assessor.origin != origin or (origin == MACHINE and assessor.origin_name != origin_name):
        what = f"the machine {assessor.origin_name}" if assessor.origin == MACHINE else "a person"
        raise Conflict(f"{assessor.name} is {what} in this task. Choose another name for these labels.")
    return assessor


def adjudicator_of(session: Session, viewer: Viewer, task: Task) -> Assessor:
    """The assessor for the viewer's decisions, created at the first one; it has no link."""
    name = f"{viewer.name or 'operator'} (adjudicator)"
    # Two simultaneous first decisions would create two assessors of one name.
    lock_row(session, Task, task.id)
    adjudicator = of_name(session, task.id, name)
    if adjudicator is None:
        facts = {"task": task.slug, "name": name}
        adjudicator = _made(session, viewer, task, facts, role=ADJUDICATOR)
    if adjudicator.role != ADJUDICATOR:
        raise Conflict(f"{name} is an assessor of this task. Decisions need a different name.")
    return adjudicator


def _made(session: Session, viewer: Viewer, task: Task, facts: dict[str, str], **columns: Any) -> Assessor:
    """A new assessor, with its name for the audit log."""
    assessor = Assessor(task_id=task.id, name=facts["name"], created_at=now(session), **columns)
    session.add(assessor)
    session.flush()
    audit.record(session, viewer, "assessor.add", f"assessor:{assessor.id}", **facts)
    return assessor


def _own_assessor(session: Session, viewer: Viewer, slug: str, assessor_id: int) -> Assessor:
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    assessor = session.get(Assessor, assessor_id)
    if assessor is None or assessor.task_id != task.id:
        raise NotFound(f"{task.name} has no assessor {assessor_id}.")
    return assessor


def _refuse_taken(session: Session, task: Task, new_names: Sequence[str]) -> None:
    taken = {names.canonical(assessor.name) for assessor in of_task(session, task.id)}
    for name in new_names:
        if names.canonical(name) in taken:
            raise Conflict(f"This task already has an assessor {name!r}. Choose another name.")
        taken.add(names.canonical(name))


WHOSE = {"human": "people", "machine": "machines", "all": "people and machines together"}
"""Origin of labels by its name in addresses -> label in forms."""
Place = tuple[str, str]
"""Topic and document, or the name of an item within its topic."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A person or machine with labels, or asked for them."""

    id: int
    name: Annotated[str, Shown(key="assessor")]
    is_machine: bool
    machine: Annotated[str, Shown(shown=~record.Place.PAGE)]
    """Name of the machine; empty for people."""
    is_adjudicator: bool

    @property
    def origin(self) -> Annotated[str, Shown(shown=~record.Place.PAGE)]:
        """`machine` or `human`."""
        return MACHINE if self.is_machine else HUMAN

    def is_of(self, whose: str) -> bool:
        """Whether this judge is included in `human`, `machine` or `all`."""
        return whose == "all" or self.is_machine == (whose == "machine")


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """A judge's label in force; grade None if it was skipped or the judge could not decide."""

    topic_id: Annotated[str, Shown(key="topic")]
    docno: Annotated[str, Shown("Document")]
    judge: Judge
    grade: Annotated[int | None, Shown(digits=None)]
    saved_at: datetime
    note: str = ""
    seconds: float | None = None

    @property
    def assessor(self) -> str:
        """The judge's name."""
        return self.judge.name

    @property
    def place(self) -> Place:
        """The place that is labelled."""
        return self.topic_id, self.docno


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedLabels:
    """All labels, with adjudicators' labels separate."""

    judges: tuple[Judge, ...]
    labels: tuple[GivenLabel, ...]
    """Labels by assessors."""
    decisions: tuple[GivenLabel, ...]
    """Labels by adjudicators."""

    def labels_of(self, whose: str) -> tuple[GivenLabel, ...]:
        """Labels by assessors: people, machines, or both."""
        return tuple(label for label in self.labels if label.judge.is_of(whose))

    def decided(self) -> dict[Place, GivenLabel]:
        """Place -> the last decision of adjudicators."""
        by_time = sorted(self.decisions, key=lambda label: label.saved_at)
        return {label.place: label for label in by_time if label.grade is not None}


def judges_of(session: Session, task: Task) -> tuple[Judge, ...]:
    """The judges of a task: people first, then machines, by name; one statement."""
    return tuple(
        Judge(
            id=assessor.id,
            name=assessor.name,
            is_machine=assessor.origin == MACHINE,
            machine=assessor.origin_name,
            is_adjudicator=assessor.role == ADJUDICATOR,
        )
        for assessor in of_task(session, task.id)
    )


def by_place(labels: Iterable[GivenLabel]) -> dict[Place, list[GivenLabel]]:
    """Place -> its labels, in the order given."""
    grouped: dict[Place, list[GivenLabel]] = {}
    for label in labels:
        grouped.setdefault(label.place, []).append(label)
    return grouped


def grades_of(labels: Iterable[GivenLabel]) -> set[int]:
    """The grades that some labels give."""
    return {label.grade for label in labels if label.grade is not None}


def settled_by(labels: Collection[GivenLabel], rule: RuleKey) -> Settled:
    """One grade per place by a rule of RULES."""
    adjudicators = {label.assessor for label in labels if label.judge.is_adjudicator}
    return settle(labels, rule, adjudicators=adjudicators)


KEY_CHARACTERS = 64
NOTE_CHARACTERS = 2000
Event = TypeVar("Event", Assessment, AnswerLabel, SideBySide)
Given = TypeVar("Given", bound=NamedTuple)


def store_lines(
    session: Session,
    event: Assessment | AnswerLabel | SideBySide | WrittenNugget,
    same: Collection[str] = (),
    another: str = "",
) -> bool:
    """Store an event or its withdrawal; return whether it is new. Repeated requests are stored once.

    same: columns that a repeated event must share. Raises Conflict with the message `another`
    if a different event has its key.
    """
    model, values = type(event), {name: getattr(event, name) for name in same}
    of_key = select(model).where(model.assessor_id == event.assessor_id, model.key == event.key)
    stored: Any = session.scalar(of_key)
    if stored is None:
        try:
            with session.begin_nested():
                session.add(event)
            return True
        except IntegrityError:
            # The same event arrived by another connection at the same moment.
            stored = session.scalar(of_key)
    if stored is None or any(getattr(stored, name) != value for name, value in values.items()):
        raise Conflict(another)
    if getattr(event, "undone", False):
        stored.undone = True
    return False


def undo_last(session: Session, model: type[Event], *where: ColumnElement[bool]) -> Event | None:
    """Withdraw the last of some events; None if absent."""
    query = select(model).where(model.undone.is_(False), *where)
    last = session.scalar(query.order_by(model.saved_at.desc(), model.id.desc()).limit(1))
    if last is not None:
        last.undone = True
        session.flush()
    return last


def in_force(
    session: Session,
    model: type[Event],
    record: type[Given],
    place: Callable[[Given], Hashable],
    *where: ColumnElement[bool],
) -> tuple[Given, ...]:
    """For each place, the last event that was not withdrawn, as records of columns."""
    query = select(*(getattr(model, name) for name in record._fields)).where(model.undone.is_(False), *where)
    last: dict[Hashable, Given] = {}
    for row in session.execute(query.order_by(model.saved_at, model.id)):
        given = record._make(row)
        last[place(given)] = given
    return tuple(last.values())


def spend(session: Session, what: str, assessor_id: int, a_minute: int) -> None:
    """Count one action of an assessor; raises OverQuota above the limit per minute."""
    throttles.spend(session, f"{what}:{assessor_id}", a_minute, timedelta(minutes=1))


def key_problems(key: str, remedy: str = "") -> list[Problem]:
    """The problem with an event's key, if any."""
    if key.isprintable() and 1 <= len(key) <= KEY_CHARACTERS:
        return []
    return [Problem(f"must be 1 to {KEY_CHARACTERS} characters.", remedy, field="key")]


def note_problems(note: str) -> list[Problem]:
    """The problem with a note, if any."""
    if len(note) <= NOTE_CHARACTERS:
        return []
    return [Problem(f"may have at most {NOTE_CHARACTERS:,} characters.", "Shorten it.", field="note")]


def shared_out(topics: Sequence[str], people: Sequence[int], n: int | None) -> dict[int, list[str]]:
    """Assign topics evenly: assessor -> topics, with n assessors per topic (all if n is None).

    >>> shared_out(["a", "b", "c"], [1, 2], 1)
    {1: ['a', 'c'], 2: ['b']}
    >>> shared_out(["a", "b", "c"], [1, 2, 3], 2)
    {1: ['a', 'b'], 2: ['a', 'c'], 3: ['b', 'c']}
    """
    count = len(people) if n is None else min(n, len(people))
    shares: dict[int, list[str]] = {person: [] for person in people}
    for place, topic in enumerate(topics):
        for step in range(count):
            shares[people[(place * count + step) % len(people)]].append(topic)
    return {person: mine for person, mine in shares.items() if mine}


def keyed(key: bytes, *facts: object, size: int = 8) -> bytes:
    """A keyed digest of facts, which cannot be guessed without the key; deterministic."""
    return blake2b("\n".join(map(str, facts)).encode(), key=key, digest_size=size).digest()


def unknown_people(session: Session, task_id: int, chosen: Sequence[int]) -> Iterator[Problem]:
    """The problem of unavailable assessors, if any."""
    return unknown("assessor", chosen, able(session, task_id), "Choose assessors with valid links.")


def unknown_topics(session: Session, task_id: int, chosen: Sequence[str]) -> Iterator[Problem]:
    """The problem of unknown topics, if any."""
    topics = set(session.scalars(select(Topic.topic_id).where(Topic.task_id == task_id)))
    return unknown("topics", chosen, topics, "Enter ids as in the topics file.")


def missing_people(chosen: Sequence[int]) -> Iterator[Problem]:
    """The problem of an empty or duplicate choice, if any."""
    if not chosen or len(set(chosen)) < len(chosen):
        yield Problem("must be at least one assessor.", "Choose at least one assessor.", field="assessor")


def unknown(field: str, chosen: Sequence[Any], allowed: Collection[Any], remedy: str) -> Iterator[Problem]:
    """The problem of an unavailable choice in a field, if any."""
    for value in chosen:
        if value not in allowed:
            yield Problem("is not available.", remedy, field=field, value=str(value)[:40])
