"""Assessors of a task: people who judge by a personal link, machines whose labels were imported."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Assessor, Task
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.services import audit, policy
from leaderboard.services.accounts import names, sessions
from leaderboard.services.policy import Viewer
from leaderboard.tables.record import Place, Shown

HUMAN, MACHINE = "human", "machine"
ASSESSOR, ADJUDICATOR = "assessor", "adjudicator"
MOST_AT_ONCE = 500
LINK_DAYS = 180
DEAD_LINK = "This link does not work, or no longer; ask the organisers for a new one."


@dataclass(frozen=True, slots=True)
class PersonalLink:
    """The link an assessor gets, once: nobody can look it up later."""

    assessor_id: int
    name: str
    token: Annotated[str, Shown(key="link", shown=Place.PAGE)]


def add(
    session: Session,
    viewer: Viewer,
    slug: str,
    new_names: Sequence[str],
    role: str = ASSESSOR,
    days: int = LINK_DAYS,
) -> tuple[PersonalLink, ...]:
    """New assessors of a task with their links, which end after so many days; 0 is never.

    Raises Invalid for a bad name, Conflict for one that is taken.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    if role not in (ASSESSOR, ADJUDICATOR):
        raise Invalid(f"An assessor's role is {ASSESSOR} or {ADJUDICATOR}, not {role!r}.")
    tidy = [names.displayed(name, "an assessor") for name in new_names if name.strip()]
    if not tidy or len(tidy) > MOST_AT_ONCE:
        problem = Problem(f"takes 1 to {MOST_AT_ONCE} names.", "Write one name a line.", field="names")
        raise Invalid("Nobody was added.", [problem])
    _refuse_taken(session, task, tidy)
    made = []
    for name in tidy:
        token = sessions.new_token()
        ends, facts = _end(session, days), {"task": slug, "name": name}
        assessor = _made(
            session, viewer, task, facts, role=role, token_sha256=sessions.digest(token), expires_at=ends
        )
        made.append(PersonalLink(assessor.id, name, token))
    return tuple(made)


def renew(
    session: Session, viewer: Viewer, slug: str, assessor_id: int, days: int = LINK_DAYS
) -> PersonalLink:
    """Give an assessor a new link and revoke the old one; raises NotFound, Conflict for a machine."""
    assessor = _own_assessor(session, viewer, slug, assessor_id)
    if assessor.origin == MACHINE:
        raise Conflict(f"{assessor.name} is a machine: its labels are imported, it has no link.")
    token = sessions.new_token()
    assessor.token_sha256, assessor.revoked_at = sessions.digest(token), None
    assessor.expires_at = _end(session, days)
    audit.record(session, viewer, "assessor.renew", f"assessor:{assessor.id}")
    return PersonalLink(assessor.id, assessor.name, token)


def prolong(session: Session, viewer: Viewer, slug: str, assessor_id: int, days: int = LINK_DAYS) -> None:
    """Let an assessor's link work so many days from now, also one that has ended; Conflict without a link."""
    assessor = _own_assessor(session, viewer, slug, assessor_id)
    if assessor.token_sha256 is None:
        raise Conflict(f"{assessor.name} has no link; make a new one.")
    assessor.expires_at = _end(session, days)
    audit.record(session, viewer, "assessor.prolong", f"assessor:{assessor.id}", days=days)


def _end(session: Session, days: int) -> datetime | None:
    return now(session) + timedelta(days=days) if days else None


def revoke(session: Session, viewer: Viewer, slug: str, assessor_id: int) -> None:
    """Revoke an assessor's link; the judgments stay."""
    assessor = _own_assessor(session, viewer, slug, assessor_id)
    if assessor.token_sha256 is not None:
        assessor.token_sha256, assessor.revoked_at = None, now(session)
        audit.record(session, viewer, "assessor.revoke", f"assessor:{assessor.id}")


def is_link(session: Session, token: str) -> ColumnElement[bool]:
    """That an assessor has this link and it has not ended."""
    lasts = or_(Assessor.expires_at.is_(None), Assessor.expires_at > now(session))
    return (Assessor.token_sha256 == sessions.digest(token)) & lasts


def by_token(session: Session, token: str) -> Assessor:
    """The assessor whose link it is; raises NotFound where it is nobody's, was revoked or has ended."""
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
    """Id -> name of a task's assessors who can be asked: people whose personal link works."""
    return {
        assessor.id: assessor.name
        for assessor in of_task(session, task_id)
        if assessor.origin == HUMAN and assessor.token_sha256 is not None
    }


def of_name(session: Session, task_id: int, name: str) -> Assessor | None:
    """The assessor of a task with a name like this one; None where there is none."""
    canonical = names.canonical(name)
    return next(
        (assessor for assessor in of_task(session, task_id) if names.canonical(assessor.name) == canonical),
        None,
    )


def ensure(
    session: Session, viewer: Viewer, task: Task, name: str, origin: str, origin_name: str = ""
) -> Assessor:
    """The assessor of that name whose labels come as a file, made without a link where there is none.

    Raises Conflict where the name is of one of the other origin or of another machine, Invalid for a
    machine that is not named.
    """
    shown = names.displayed(name, "an assessor")
    origin_name = origin_name.strip()[: names.MAX_CHARACTERS]
    if origin not in (HUMAN, MACHINE):
        raise Invalid(f"Labels come from a {HUMAN} or a {MACHINE}, not from {origin!r}.")
    if origin == MACHINE and not origin_name:
        problem = Problem("says which machine it was.", "Name model and version.", field="machine")
        raise Invalid("Labels of a machine need its name.", [problem])
    assessor = of_name(session, task.id, shown)
    if assessor is None:
        machine = origin_name if origin == MACHINE else ""
        facts = {"name": shown, "origin": origin}
        assessor = _made(session, viewer, task, facts, origin=origin, origin_name=machine)
    elif assessor.origin != origin or (origin == MACHINE and assessor.origin_name != origin_name):
        what = f"the machine {assessor.origin_name}" if assessor.origin == MACHINE else "a person"
        raise Conflict(f"{assessor.name} is {what} in this task; choose another name for these labels.")
    return assessor


def adjudicator_of(session: Session, viewer: Viewer, task: Task) -> Assessor:
    """The assessor whose labels are the viewer's decisions, made at the first one; it has no link."""
    name = f"{viewer.name or 'operator'} (adjudicator)"
    # Two first decisions at once would make two assessors of one name.
    lock_row(session, Task, task.id)
    adjudicator = of_name(session, task.id, name)
    if adjudicator is None:
        facts = {"task": task.slug, "name": name}
        adjudicator = _made(session, viewer, task, facts, role=ADJUDICATOR)
    if adjudicator.role != ADJUDICATOR:
        raise Conflict(f"{name} is an assessor of this task; decisions need a name of their own.")
    return adjudicator


def _made(session: Session, viewer: Viewer, task: Task, told: dict[str, str], **columns: Any) -> Assessor:
    """A new assessor with the name that is told to the audit."""
    assessor = Assessor(task_id=task.id, name=told["name"], created_at=now(session), **columns)
    session.add(assessor)
    session.flush()
    audit.record(session, viewer, "assessor.add", f"assessor:{assessor.id}", **told)
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
            raise Conflict(f"There is an assessor {name!r} in this task already; choose another name.")
        taken.add(names.canonical(name))
