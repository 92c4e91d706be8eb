"""What people see of their own account, its signed-in browsers and their teams."""

from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Account, Member, Run, SecondFactor, Team, WebSession
from leaderboard.services.accounts import accounts, second_factors, sessions
from leaderboard.services.accounts.accounts import MadeLink
from leaderboard.services.policy import Viewer, require_account
from leaderboard.tables.record import Column, Shown, Table, columns_from


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage:
    """An account as its owner sees it."""

    name: str
    has_password: bool
    is_organiser: bool
    has_second_factor: bool
    issuers: frozenset[str]
    """The providers' issuers by which it signs in too."""
    browsers: tuple[WebSession, ...]
    current: int | None
    """Which of its sessions asks."""
    links_made: tuple[MadeLink, ...]
    """The newest sign-in links that others made for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFactorPage:
    """A second factor as its owner sees it: on, begun (with a secret and its otpauth link) or off."""

    is_on: bool
    has_password: bool
    secret: str
    link: str
    recovery_codes_left: int


@dataclass(frozen=True, slots=True)
class TeamRow:
    """One of the viewer's teams."""

    id: int
    name: Annotated[str, Shown(key="team")]
    role: Annotated[str, Shown("You are")]
    members: int
    runs: int


def account_page(session: Session, viewer: Viewer, token: str) -> AccountPage:
    """The viewer's own account; `token` tells which of its sessions is this one."""
    account = session.get_one(Account, require_account(viewer))
    browsers, asking = _browsers(session, account.id), sessions.digest(token)
    return AccountPage(
        name=account.name,
        has_password=account.password_hash is not None,
        is_organiser=account.is_organiser,
        has_second_factor=second_factors.is_on(session, account.id),
        issuers=sessions.issuers_of(session, account.id),
        browsers=browsers,
        current=next((one.id for one in browsers if one.token_sha256 == asking), None),
        links_made=accounts.links_made(session, account.id),
    )


def second_factor_page(session: Session, viewer: Viewer, issuer: str) -> SecondFactorPage:
    """The viewer's second factor; issuer is what its authenticator is to call this site."""
    account = session.get_one(Account, require_account(viewer))
    found = session.get(SecondFactor, account.id)
    is_on = found is not None and found.confirmed_at is not None
    secret = found.secret if found is not None and not is_on else ""
    return SecondFactorPage(
        is_on=is_on,
        has_password=account.password_hash is not None,
        secret=secret,
        link=second_factors.link(secret, account.name, issuer) if secret else "",
        recovery_codes_left=second_factors.recovery_codes_left(session, account.id),
    )


def browsers(page: AccountPage) -> Table[WebSession]:
    """The browsers an account is signed in with, newest first."""
    columns: list[Column[WebSession]] = [
        Column("browser", lambda row: row.agent or "unknown", "Browser"),
        Column("address", lambda row: row.ip or "unknown", "Address"),
        Column("since", lambda row: row.created_at, "Since"),
        Column("seen", lambda row: row.seen_at, "Last seen"),
        Column("end", lambda row: row.id, "End it"),
    ]
    caption = (
        f"Sessions end by themselves after {sessions.IDLE.days} days unused and {sessions.LIFETIME.days} "
        f"days in all; of more than {sessions.MOST} the oldest ends"
    )
    return Table("browsers", caption, columns, page.browsers)


def own_teams(session: Session, viewer: Viewer) -> tuple[TeamRow, ...]:
    """The viewer's teams by name."""
    members = select(func.count()).where(Member.team_id == Team.id).correlate(Team).scalar_subquery()
    runs = select(func.count(Run.id)).where(Run.team_id == Team.id).correlate(Team).scalar_subquery()
    own = select(Member.team_id, Member.role).where(Member.account_id == require_account(viewer)).subquery()
    rows = session.execute(
        select(Team.id, Team.name, own.c.role, members, runs)
        .join(own, own.c.team_id == Team.id)
        .order_by(Team.canonical)
    )
    return tuple(TeamRow(*row) for row in rows)


def teams_table(rows: tuple[TeamRow, ...]) -> Table[TeamRow]:
    """The viewer's teams."""
    columns = columns_from(TeamRow, "name role members runs")
    caption = "Runs belong to a team, even where it has one member"
    return Table("teams", caption, columns, rows)


def _browsers(session: Session, account_id: int) -> tuple[WebSession, ...]:
    at = now(session)
    signed_in = select(WebSession).where(
        WebSession.account_id == account_id,
        WebSession.created_at >= at - sessions.LIFETIME,
        WebSession.seen_at >= at - sessions.IDLE,
    )
    return tuple(session.scalars(signed_in.order_by(WebSession.id.desc())))
