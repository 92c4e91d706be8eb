"""The members of the teams in a task, as its organisers see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Member, Team
from leaderboard.services.policy import Viewer, own_task
from leaderboard.services.tasks import reset_links
from leaderboard.services.tasks.head import OfTask
from leaderboard.tables.record import Column, Files, Table, columns_from


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
    """Who is in its teams; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
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
