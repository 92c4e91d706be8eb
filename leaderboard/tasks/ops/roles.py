"""Roles in a task: organisers, coordinators of its assessors, readers of everything."""

from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import accounts
from leaderboard.accounts.ops.invitations import ROLES as INVITED
from leaderboard.core import audit, policy
from leaderboard.core.actions import Action
from leaderboard.core.policy import ORGANISER, ROLES, Viewer
from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Account, Task, TaskRole
from leaderboard.errors import Conflict, Invalid, NotFound
from leaderboard.fields import Field

MEANINGS = {role: INVITED[role] for role in ROLES}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleBody:
    """An account by its name, and its role: organiser, coordinator or reader."""

    account: Annotated[str, Field(title="Name of an account of this site", longest=100)]
    role: Annotated[str, Field(title="Role", help="The account's permissions in the task.", choices=MEANINGS)]


def give(session: Session, viewer: Viewer, slug: str, account_name: str, role: str) -> None:
    """Give an account a role in the task, in the place of one it has; raises NotFound for an unknown name."""
    policy.own_task(session, viewer, slug)
    put(session, viewer, slug, accounts.find(session, account_name), role)


def put(session: Session, viewer: Viewer, slug: str, account_id: int, role: str) -> None:
    """The same for an account's id. Raises Conflict where the task would be left without an organiser."""
    task = _locked_task(session, viewer, slug)
    _check(role)
    if session.get(Account, account_id) is None:
        raise NotFound("This account does not exist.")
    before = _of(session, task.id, account_id)
    if before == [role]:
        return
    if role != ORGANISER:
        _refuse_last(session, task, account_id)
    _drop(session, task.id, account_id)
    session.add(TaskRole(task_id=task.id, account_id=account_id, role=role))
    _record(session, viewer, task, account_id, before, role)


def remove(session: Session, viewer: Viewer, slug: str, account_id: int) -> None:
    """Remove an account's role; raises NotFound if it has none, Conflict for the last organiser."""
    task = _locked_task(session, viewer, slug)
    before = _of(session, task.id, account_id)
    if not before:
        raise NotFound(f"That account has no role in {task.name}.")
    _refuse_last(session, task, account_id)
    _drop(session, task.id, account_id)
    _record(session, viewer, task, account_id, before, "")


def adopt(session: Session, viewer: Viewer) -> int:
    """Make the site's only organiser account the organiser of tasks without one; return their number.

    A task created by command has no organiser in the browser; with several accounts, the operator names
    one.
    """
    own = (Account.is_organiser, Account.disabled_at.is_(None))
    organisers = session.scalars(select(Account.id).where(*own).limit(2)).all()
    if len(organisers) != 1:
        return 0
    run_by_somebody = select(TaskRole.task_id).where(TaskRole.role == ORGANISER)
    orphans = session.scalars(select(Task).where(Task.id.not_in(run_by_somebody))).all()
    for task in orphans:
        _drop(session, task.id, organisers[0])
        session.add(TaskRole(task_id=task.id, account_id=organisers[0], role=ORGANISER))
        _record(session, viewer, task, organisers[0], [], ORGANISER)
    return len(orphans)


def _locked_task(session: Session, viewer: Viewer, slug: str) -> Task:
    task = policy.own_task(session, viewer, slug)
    # Of two organisers who remove each other at once, one stays.
    lock_row(session, Task, task.id)
    return task


def _check(role: str) -> None:
    if role not in ROLES:
        raise Invalid(f"The role must be one of {', '.join(ROLES)}, not {role[:40]!r}.")


def _of(session: Session, task_id: int, account_id: int) -> list[str]:
    own = (TaskRole.task_id == task_id, TaskRole.account_id == account_id)
    return list(session.scalars(select(TaskRole.role).where(*own)))


def _drop(session: Session, task_id: int, account_id: int) -> None:
    session.execute(delete(TaskRole).where(TaskRole.task_id == task_id, TaskRole.account_id == account_id))


def _refuse_last(session: Session, task: Task, account_id: int) -> None:
    others = select(func.count()).where(
        TaskRole.task_id == task.id, TaskRole.role == ORGANISER, TaskRole.account_id != account_id
    )
    if ORGANISER in _of(session, task.id, account_id) and not session.scalar(others):
        raise Conflict(f"This is the last organiser of {task.name}; add another organiser first.")


def _record(
    session: Session, viewer: Viewer, task: Task, account_id: int, before: list[str], after: str
) -> None:
    old = " ".join(before)
    audit.record(session, viewer, "task.role", f"task:{task.id}", account=account_id, before=old, after=after)


GIVE = Action(
    name="give_role",
    summary="Assign a role in a task to an account",
    method="PUT",
    path="/tasks/<slug>/people",
    form="/tasks/<slug>/people",
    page="people.show",
    record=RoleBody,
    act=lambda session, viewer, slug, asked: give(session, viewer, slug, asked.account, asked.role),
)
REMOVE = Action(
    name="remove_role",
    summary="Remove an account's role in a task",
    more="The last organiser cannot be removed.",
    method="DELETE",
    path="/tasks/<slug>/people/<id:account_id>",
    form="/tasks/<slug>/people/<id:account_id>/remove",
    page="people.show",
    act=remove,
    done="role removed",
)
