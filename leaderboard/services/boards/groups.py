"""Groups of teams and families of runs that have boards of their own.

A group that was declared before the first score of its task asks a question of its own, so its runs are
ranked and tested within it. One that was put together by somebody who could look at scores keeps no error
rate: the two furthest apart always win. Its board has ranks and no verdict.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Entry, Evaluation, GroupedRun, GroupedTeam, Run, RunGroup, Task
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.services import audit, policy
from leaderboard.services.accounts import names
from leaderboard.services.actions import Action
from leaderboard.services.policy import Viewer

TEAMS, RUNS = "teams", "runs"
MOST_GROUPS = 50


@dataclass(frozen=True, slots=True)
class Group:
    """A group: its members are ids of teams or of runs, by kind."""

    id: int
    name: str
    kind: str
    declared_at: datetime
    is_early: bool
    """Whether it was declared before the first score of the task, so that it is tested within."""
    members: frozenset[int]

    def has(self, team_id: int, run_id: int) -> bool:
        """Whether a run is in the group."""
        return (team_id if self.kind == TEAMS else run_id) in self.members


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBody:
    """A group's name, and the teams or the runs in it."""

    name: Annotated[str, Field(title="Name", help="The name of a group there is gives it other members.")]
    teams: Annotated[tuple[int, ...], Field(title="Teams")] = ()
    runs: Annotated[tuple[int, ...], Field(title="Or runs, one by one")] = ()


def declare(
    session: Session,
    viewer: Viewer,
    slug: str,
    name: str,
    *,
    teams: Sequence[int] = (),
    runs: Sequence[int] = (),
) -> Group:
    """Make a group of teams, or of runs, or give the group of that name other members.

    It counts as declared at its last change, unless that only added members without a score. Raises Invalid
    for members that are not in the task and for teams and runs at once, Conflict for a name that looks like
    another group's and for more than fifty groups.
    """
    task = policy.own_task(session, viewer, slug)
    shown = names.displayed(name, "a group")
    kind, members = (TEAMS, set(teams)) if teams else (RUNS, set(runs))
    _check(session, task, teams, runs)
    # Two organisers at once could both make the group.
    lock_row(session, Task, task.id)
    group = _named(session, task, shown)
    if group is None:
        group = RunGroup(task_id=task.id, name=shown, kind=kind, declared_at=now(session))
        session.add(group)
        session.flush()
    else:
        _require_kind(group, kind)
        before = _members(session, group)
        if before - members or _are_scored(session, task, kind, members - before):
            group.declared_at = now(session)
    _store(session, group, members)
    facts = {"group": group.id, "name": shown, "kind": kind, "members": sorted(members)}
    audit.record(session, viewer, "group.declare", f"task:{task.id}", **facts)
    return _read(session, group, _first_score(session, task))


def remove(session: Session, viewer: Viewer, slug: str, group_id: int) -> None:
    """Take a group and its board away; raises NotFound for one that is not this task's."""
    task = policy.own_task(session, viewer, slug)
    group = session.get(RunGroup, group_id)
    if group is None or group.task_id != task.id:
        raise NotFound(f"{task.name} has no group {group_id}.", group=group_id)
    audit.record(session, viewer, "group.remove", f"task:{task.id}", group=group.id, name=group.name)
    _clear(session, group)
    session.delete(group)
    session.flush()


def names_of(session: Session, task: Task) -> tuple[str, ...]:
    """The names of a task's groups; one statement."""
    groups = session.scalars(select(RunGroup.name).where(RunGroup.task_id == task.id))
    return tuple(sorted(groups, key=str.casefold))


def of_task(session: Session, task: Task) -> tuple[Group, ...]:
    """A task's groups by name."""
    groups = session.scalars(select(RunGroup).where(RunGroup.task_id == task.id)).all()
    first = _first_score(session, task) if groups else None
    return tuple(
        sorted((_read(session, group, first) for group in groups), key=lambda group: group.name.casefold())
    )


def find(session: Session, task: Task, name: str) -> Group:
    """The group of that name; raises NotFound."""
    group = session.scalar(select(RunGroup).where(RunGroup.task_id == task.id, RunGroup.name == name))
    if group is None:
        raise NotFound(f"{task.name} has no group {name[:80]!r}.", group=name[:80])
    return _read(session, group, _first_score(session, task))


def _read(session: Session, group: RunGroup, first: datetime | None) -> Group:
    is_early = first is None or group.declared_at < first
    members = frozenset(_members(session, group))
    return Group(group.id, group.name, group.kind, group.declared_at, is_early, members)


def _first_score(session: Session, task: Task) -> datetime | None:
    """When the first run of a task was scored."""
    scored = select(func.min(Evaluation.created_at)).join(Run, Run.id == Evaluation.run_id)
    return session.scalar(scored.where(Run.task_id == task.id))


def _members(session: Session, group: RunGroup) -> set[int]:
    if group.kind == TEAMS:
        members = select(GroupedTeam.team_id).where(GroupedTeam.group_id == group.id)
    else:
        members = select(GroupedRun.run_id).where(GroupedRun.group_id == group.id)
    return set(session.scalars(members))


def _store(session: Session, group: RunGroup, members: Collection[int]) -> None:
    _clear(session, group)
    for member in sorted(members):
        if group.kind == TEAMS:
            session.add(GroupedTeam(group_id=group.id, team_id=member))
        else:
            session.add(GroupedRun(group_id=group.id, run_id=member))
    session.flush()


def _clear(session: Session, group: RunGroup) -> None:
    session.execute(delete(GroupedTeam).where(GroupedTeam.group_id == group.id))
    session.execute(delete(GroupedRun).where(GroupedRun.group_id == group.id))


def _are_scored(session: Session, task: Task, kind: str, members: Collection[int]) -> bool:
    """Whether one of the members has a run with a score."""
    column = Run.team_id if kind == TEAMS else Run.id
    scored = select(Evaluation.id).join(Run, Run.id == Evaluation.run_id)
    return session.scalar(scored.where(Run.task_id == task.id, column.in_(members)).limit(1)) is not None


def _named(session: Session, task: Task, name: str) -> RunGroup | None:
    groups = session.scalars(select(RunGroup).where(RunGroup.task_id == task.id)).all()
    same = next((group for group in groups if group.name == name), None)
    alike = next((group.name for group in groups if names.skeleton(group.name) == names.skeleton(name)), None)
    if same is None and alike is not None:
        raise Conflict(f"{name} looks like the group {alike}; choose another name.")
    if same is None and len(groups) >= MOST_GROUPS:
        raise Conflict(f"A task has at most {MOST_GROUPS} groups; remove one first.")
    return same


def _require_kind(group: RunGroup, kind: str) -> None:
    if group.kind != kind:
        raise Conflict(f"{group.name} is a group of {group.kind}; remove it first to make it one of {kind}.")


def _check(session: Session, task: Task, teams: Sequence[int], runs: Sequence[int]) -> None:
    if bool(teams) == bool(runs):
        _refuse("teams", "", "must be teams or runs.", "Choose at least one team, or at least one run.")
    entered = set(session.scalars(select(Entry.team_id).where(Entry.task_id == task.id)))
    sent = set(session.scalars(select(Run.id).where(Run.task_id == task.id)))
    for field, chosen, known in (("team", teams, entered), ("run", runs, sent)):
        if lost := set(chosen) - known:
            _refuse(
                f"{field}s", str(min(lost)), f"is no {field} of this task.", f"Choose a {field} of this task."
            )


def _refuse(field: str, value: str, rule: str, remedy: str) -> None:
    raise Invalid("No group was declared.", [Problem(rule, remedy, field=field, value=value[:40])])


_here = partial(Action, page="groups.show")
ACTIONS = (
    _here(
        name="declare_group",
        summary="Declare a group of teams or runs, or give one other members",
        more="Each has a board of its own.",
        method="PUT",
        path="/tasks/<slug>/groups",
        form="/tasks/<slug>/groups",
        record=GroupBody,
        act=lambda session, viewer, slug, asked: declare(
            session, viewer, slug, asked.name, teams=asked.teams, runs=asked.runs
        ),
    ),
    _here(
        name="remove_group",
        summary="Take a group away",
        method="DELETE",
        path="/tasks/<slug>/groups/<id:group_id>",
        form="/tasks/<slug>/groups/<id:group_id>/remove",
        act=remove,
        done="group removed",
    ),
)
