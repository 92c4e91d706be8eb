"""The members of the teams in a task, as its organisers see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.boards.ops import board
from leaderboard.boards.ops.board import Group
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import Viewer, own_task
from leaderboard.db.tables import Account, Entry, Member, Run, Team
from leaderboard.scoring.ops.scored_topics import OfTask
from leaderboard.tables.record import Column, Files, Place, Table, columns_from
from leaderboard.tasks.ops import reset_links


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """An account in a team that has entered the task."""

    account_id: int
    name: str
    team: str
    role: str
    joined_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberList(OfTask):
    """The members of all teams in a task, by team."""

    rows: tuple[MemberRow, ...]


def member_list(session: Session, viewer: Viewer, slug: str) -> MemberList:
    """The members of its teams; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
    task = own_task(session, viewer, slug)
    rows = session.execute(
        reset_links.members(task.id)
        .join(Team, Team.id == Member.team_id)
        .with_only_columns(Account.id, Account.name, Team.name, Member.role, Member.joined_at)
        .order_by(Team.canonical, Member.joined_at, Account.id)
    )
    return MemberList(
        of=task,
        rows=tuple(
            MemberRow(account_id=account_id, name=name, team=team, role=role, joined_at=joined_at)
            for account_id, name, team, role, joined_at in rows
        ),
    )


def table(page: MemberList) -> Table[MemberRow]:
    """The members, team by team."""
    columns = columns_from(
        MemberRow, "name team role", Column("joined_at", lambda row: row.joined_at.isoformat(), "Since")
    )
    return Table("members", "Members of the teams in this task", columns, page.rows)


def _facts(page: MemberList) -> dict[str, Any]:
    return {"task": page.task, "members": table(page).facts()}


FILES: Files[MemberList] = Files(_facts, {"members": table})


@dataclass(frozen=True, slots=True)
class GroupsPage(OfTask):
    """A task's groups; teams and runs are those that can be chosen, by name."""

    groups: tuple[Group, ...]
    teams: dict[int, str]
    runs: dict[int, str]
    is_masked: bool
    """Whether teams currently have pseudonyms."""

    def names(self, group: Group) -> str:
        """The members of a group by name."""
        by_id = self.teams if group.kind == board.TEAMS else self.runs
        return ", ".join(sorted(by_id[member] for member in group.members if member in by_id))


def groups_page(session: Session, viewer: Viewer, slug: str) -> GroupsPage:
    """The page; raises NotFound, SignInNeeded or Forbidden unless the viewer organises the task."""
    task = policy.own_task(session, viewer, slug)
    teams = session.execute(
        select(Team.id, Team.name)
        .join(Entry, Entry.team_id == Team.id)
        .where(Entry.task_id == task.id)
        .order_by(Team.canonical)
    )
    runs = session.execute(select(Run.id, Run.name).where(Run.task_id == task.id).order_by(Run.name, Run.id))
    return GroupsPage(
        of=task,
        groups=board.of_task(session, task),
        teams={row.id: row.name for row in teams},
        runs={row.id: row.name for row in runs},
        is_masked=not shown_names.shows_names(session, task),
    )


def groups_table(page: GroupsPage) -> Table[Group]:
    """The groups by name."""
    return Table(
        f"{page.slug}-groups",
        f"Groups of {page.task}. Early: declared before the first score, so significance is tested within "
        "the group.",
        [
            Column("group", lambda row: row.name, "Group"),
            Column("declared", lambda row: row.declared_at.isoformat(), "Declared"),
            Column("early", lambda row: row.is_early, "Early"),
            Column("kind", lambda row: row.kind, "Of"),
            Column("members", page.names, "Members"),
            Column("remove", lambda row: row.id, "Remove", shown=Place.PAGE),
        ],
        page.groups,
    )
