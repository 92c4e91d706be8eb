"""The invitations to a team, a task or the site, for those who may make more."""

from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import invitations
from leaderboard.db.tables import Account, Invitation, InvitationUse
from leaderboard.tables.record import Column, Place, Shown, Table, columns_from, counted


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRow:
    """An invitation and who used it; the link itself is kept nowhere."""

    invitation: Invitation
    inviter: Annotated[str, Shown("Created by")]
    used_by: tuple[str, ...]
    state: str

    @property
    def is_open(self) -> bool:
        """Whether it can still be used."""
        return self.state == invitations.OPEN


def invitation_rows(
    session: Session, kind: str, *, team_id: int | None = None, task_id: int | None = None
) -> tuple[InvitationRow, ...]:
    """The invitations of a team, a task or the site, newest first; the caller has checked the viewer."""
    where = Invitation.kind == kind, Invitation.team_id.is_not_distinct_from(team_id)
    rows = session.execute(
        select(Invitation, Account.name)
        .outerjoin(Account, Account.id == Invitation.created_by)
        .where(*where, Invitation.task_id.is_not_distinct_from(task_id))
        .order_by(Invitation.id.desc())
    ).all()
    users = _users(session, [row.id for row, _ in rows])
    return tuple(
        InvitationRow(
            invitation=row,
            inviter=name or "the operator",
            used_by=users.get(row.id, ()),
            state=invitations.state(session, row, len(users.get(row.id, ()))),
        )
        for row, name in rows
    )


def _users(session: Session, ids: list[int]) -> dict[int, tuple[str, ...]]:
    rows = session.execute(
        select(InvitationUse.invitation_id, Account.name)
        .join(Account, Account.id == InvitationUse.account_id)
        .where(InvitationUse.invitation_id.in_(ids))
        .order_by(InvitationUse.used_at, Account.id)
    )
    users: dict[int, tuple[str, ...]] = {}
    for invitation_id, name in rows:
        users[invitation_id] = (*users.get(invitation_id, ()), name)
    return users


def table(rows: tuple[InvitationRow, ...]) -> Table[InvitationRow]:
    """Invitations, the newest first."""
    columns = columns_from(
        InvitationRow,
        "inviter state",
        Column("note", lambda row: row.invitation.note, "Why"),
        Column("used_by", lambda row: ", ".join(row.used_by), "Used by", words=_used),
        Column("expires_at", _until, "Expires (UTC)"),
        Column("invitation", lambda row: row.invitation.id, "Invitation", digits=0, shown=Place.DATA),
    )
    if any(row.invitation.role for row in rows):
        columns.insert(1, Column("role", lambda row: row.invitation.role or "participant", "As"))
    return Table("invitations", "Invitations, newest first", columns, rows)


def _until(row: InvitationRow) -> str | None:
    return row.invitation.expires_at.isoformat() if row.invitation.expires_at is not None else None


def _used(row: InvitationRow) -> str:
    of = "unlimited" if row.invitation.uses_allowed is None else f"{row.invitation.uses_allowed}"
    return f"{', '.join(row.used_by) or 'no one yet'} ({counted(len(row.used_by), 'use')} of {of})"
