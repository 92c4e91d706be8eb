"""A team: description, members, and the runs visible to a viewer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops.teams import CAPTAIN, TeamChanges
from leaderboard.core import phase_rules, policy, shown_names
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Account, Entry, Member, Run, Task, Team, Upload
from leaderboard.errors import NotFound, SignInNeeded
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.tables.record import Column, Place, Shown, Table, columns_from
from leaderboard.tasks.ops import entries
from leaderboard.tasks.ops.entries import FiledRuns


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member of a team."""

    account_id: int
    name: str
    role: str
    joined_at: Annotated[datetime, Shown(key="since")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamRun(RunName):
    """A run of the team."""

    slug: str
    task: str
    is_withdrawn: bool
    created_at: datetime
    is_filed: bool
    """Whether organisers or an import filed it."""
    is_agents: bool
    """Whether an agent submitted it."""
    is_agreed: bool
    """Whether the public page shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPage:
    """A team as a viewer may know it; members are named to the team and to organisers of its tasks alone."""

    id: int
    name: str
    details: TeamChanges
    size: int
    members: tuple[MemberRow, ...]
    runs: tuple[TeamRun, ...]
    is_member: bool
    is_captain: bool
    filed: tuple[FiledRuns, ...] = ()
    """For members: the filed runs waiting for a member's agreement."""


def team_page(session: Session, viewer: Viewer, team_id: int) -> TeamPage:
    """The team, or the one it was merged into.

    Its members and the organisers of its tasks can see the page. Others need a visible run under its name:
    the page of a team with pseudonyms everywhere would reveal its name.
    Raises NotFound, or SignInNeeded for a visitor, who may be a member: both as for an unknown team.
    """
    team = session.get(Team, team_id)
    if team is not None and team.merged_into_id is not None:
        team = session.get(Team, team.merged_into_id)
    runs = _runs(session, viewer, team.id) if team is not None else ()
    if team is None or not (runs or _is_insider(session, viewer, team.id)):
        if viewer.account_id is None:
            raise SignInNeeded("Sign in first.")
        raise NotFound(f"Team {team_id} does not exist or is not visible to you.", team=team_id)
    is_insider = _is_insider(session, viewer, team.id)
    members = _members(session, team.id)
    is_member = policy.owns(viewer, team.id)
    return TeamPage(
        id=team.id,
        name=team.name,
        details=TeamChanges(team.affiliation, team.country, team.home_page),
        size=len(members),
        members=members if is_insider else (),
        runs=runs,
        is_member=is_member,
        filed=entries.waiting_filed(session, [team.id]) if is_member else (),
        is_captain=any(row.role == CAPTAIN and row.account_id == viewer.account_id for row in members),
    )


def members_table(page: TeamPage) -> Table[MemberRow]:
    """A team's members; its captain may remove the others."""
    columns = columns_from(MemberRow, "name role joined_at")
    if page.is_captain:
        columns.append(Column("lead", lambda row: row.account_id, "Captain"))
        columns.append(Column("remove", lambda row: row.account_id, "Remove"))
    return Table("members", "Members", columns, page.members)


def runs_table(page: TeamPage) -> Table[TeamRun]:
    """A team's runs by task, newest first."""
    columns: list[Column[TeamRun]] = [
        Column("run", lambda row: row.name, "Run"),
        Column("run_id", lambda row: row.run_id, shown=Place.DATA),
        Column("task", lambda row: row.task, "Task"),
        Column("kind", lambda row: "withdrawn" if row.is_withdrawn else row.kind, "Kind"),
        Column(
            key="filed",
            head="Filed",
            value=lambda row: row.is_filed,
            # Of the task next to it.
            words=lambda row: "by the organisers" if row.is_filed else "",
        ),
        Column("agent", lambda row: row.is_agents, "Agent", words=lambda row: "agent" * row.is_agents),
        Column("sent", lambda row: row.created_at.isoformat(), "Submitted", shown=~Place.PRINT),
    ]
    return Table("runs", f"Runs of {page.name} by task", columns, page.runs)


def _is_insider(session: Session, viewer: Viewer, team_id: int) -> bool:
    """Whether the viewer is in the team, or organises a task that it is in."""
    if viewer.is_operator or policy.owns(viewer, team_id):
        return True
    entered = exists().where(
        Entry.team_id == team_id, Entry.task_id.in_(viewer.organises), entries.takes_part()
    )
    return bool(viewer.organises) and bool(session.scalar(select(entered)))


def _members(session: Session, team_id: int) -> tuple[MemberRow, ...]:
    rows = session.execute(
        select(Account.id, Account.name, Member.role, Member.joined_at)
        .join(Member, Member.account_id == Account.id)
        .where(Member.team_id == team_id)
        .order_by(Member.joined_at, Account.id)
    )
    return tuple(MemberRow(*row) for row in rows)


def _runs(session: Session, viewer: Viewer, team_id: int) -> tuple[TeamRun, ...]:
    """The team's runs in tasks where the viewer knows it by its name, and may know of its runs."""
    is_own = policy.owns(viewer, team_id) or viewer.is_operator
    tasks = session.scalars(
        select(Task).where(Task.id.in_(select(Run.task_id).where(Run.team_id == team_id)))
    ).all()
    by_id = {task.id: task for task in (tasks if is_own else _known(session, viewer, tasks, team_id))}
    rows = session.execute(
        select(
            *(Run.id, Run.name, Run.kind, Run.task_id, Run.withdrawn_at, Run.created_at, Run.filed),
            Upload.agent,
            entries.is_agreed().label("is_agreed"),
        )
        .join(Upload, Upload.id == Run.upload_id)
        .where(Run.team_id == team_id, Run.task_id.in_(by_id))
        .order_by(Run.task_id.desc(), Run.id.desc())
    )
    return tuple(
        TeamRun(
            run_id=row.id,
            name=row.name,
            team="",
            kind=row.kind,
            is_own=is_own,
            slug=by_id[row.task_id].slug,
            task=by_id[row.task_id].name,
            is_withdrawn=row.withdrawn_at is not None,
            created_at=row.created_at,
            is_filed=row.filed,
            is_agents=row.agent,
            is_agreed=row.is_agreed,
        )
        for row in rows
        if is_own or policy.organises(viewer, row.task_id) or (row.withdrawn_at is None and row.is_agreed)
    )


def _known(session: Session, viewer: Viewer, tasks: Sequence[Task], team_id: int) -> Iterator[Task]:
    """The tasks where the viewer knows the team by its name; two statements for all of them."""
    teams = shown_names.shown_teams_of(session, viewer, tasks, team_id)
    rules = phase_rules.rules_of_all(session, [task.id for task in tasks])
    for task in tasks:
        shown = teams[task.id].get(team_id)
        is_shown = task.published_at is not None and shown is not None and not shown.masked
        if policy.organises(viewer, task.id) or (
            is_shown and policy.access_by_rules(session, viewer, task, rules[task.id]).means
        ):
            yield task
