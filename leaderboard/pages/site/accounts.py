"""All accounts of the site, as its operators see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Member, SecondFactor, WebSession
from leaderboard.pages import invitations as invited
from leaderboard.pages.invitations import InvitationRow
from leaderboard.services.accounts.invitations import SITE
from leaderboard.services.accounts.names import canonical
from leaderboard.services.policy import Viewer, require_operator
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from

SHOWN = 200
"""Rows of the page; files have all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """One account."""

    id: Annotated[int, Shown(shown=Place.DATA)]
    name: str
    created_at: datetime
    seen_at: datetime | None
    """When it was last here, as far as its sessions tell."""
    teams: int
    is_organiser: Annotated[bool, Shown(key="organiser")]
    has_second_factor: Annotated[bool, Shown(key="second_factor")]
    state: str
    """open, closed or deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountList:
    """The accounts that a search gives, the newest first, and the invitations to the site."""

    query: str
    rows: tuple[AccountRow, ...]
    invitations: tuple[InvitationRow, ...]

    @property
    def shown(self) -> tuple[AccountRow, ...]:
        """Those that are on the page."""
        return self.rows[:SHOWN]


def account_list(session: Session, viewer: Viewer, query: str = "") -> AccountList:
    """All accounts, or those whose name has the query in it; for operators only."""
    require_operator(viewer)
    teams = select(func.count()).where(Member.account_id == Account.id).scalar_subquery()
    seen = select(func.max(WebSession.seen_at)).where(WebSession.account_id == Account.id).scalar_subquery()
    rows = session.execute(
        select(Account, teams, seen, SecondFactor.confirmed_at)
        .outerjoin(SecondFactor, SecondFactor.account_id == Account.id)
        .where(*_matching(query))
        .order_by(Account.id.desc())
    )
    return AccountList(
        query=query,
        rows=tuple(_row(*row) for row in rows),
        invitations=invited.invitation_rows(session, SITE),
    )


def _matching(query: str) -> list[ColumnElement[bool]]:
    return [Account.canonical.contains(canonical(query), autoescape=True)] if query.strip() else []


def _row(account: Account, teams: int, seen: datetime | None, confirmed: datetime | None) -> AccountRow:
    closed = "closed" if account.disabled_at is not None else "open"
    return AccountRow(
        id=account.id,
        name=account.name,
        created_at=account.created_at,
        seen_at=seen,
        teams=teams,
        is_organiser=account.is_organiser,
        has_second_factor=confirmed is not None,
        state="deleted" if account.deleted_at is not None else closed,
    )


def table(page: AccountList) -> Table[AccountRow]:
    """The accounts, the newest first."""
    columns = columns_from(
        AccountRow,
        "name id state",
        Column("created_at", lambda row: row.created_at.isoformat(), "Since"),
        Column("seen_at", lambda row: row.seen_at and row.seen_at.isoformat(), "Last seen"),
        "teams is_organiser has_second_factor",
    )
    return Table("accounts", "Accounts, the newest first", columns, page.rows)


def _facts(page: AccountList) -> dict[str, Any]:
    return {"accounts": table(page).facts(), "invitations": invited.table(page.invitations).facts()}


FILES: Files[AccountList] = Files(_facts, {"accounts": table})
