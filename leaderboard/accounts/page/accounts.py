"""Records of the account page: sessions and teams of the viewer."""

from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import accounts, second_factors, sessions
from leaderboard.accounts.ops.accounts import MadeLink
from leaderboard.core.policy import Viewer, require_account
from leaderboard.db.engine import now
from leaderboard.db.tables import Account, Member, Run, SecondFactor, Team, WebSession
from leaderboard.tables.record import Column, Shown, Table, columns_from

# Browsers name others that they are like, so the first that is found counts.
BROWSERS = {"Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
SYSTEMS = {
    **{"Windows": "Windows", "Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Mac OS X": "macOS"},
    **{"CrOS": "ChromeOS", "Linux": "Linux"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage:
    """An account as its owner sees it."""

    name: str
    has_password: bool
    is_organiser: bool
    has_second_factor: bool
    issuers: frozenset[str]
    """The providers' issuers with which it can also sign in."""
    browsers: tuple[WebSession, ...]
    current: int | None
    """The session that makes this request."""
    links_made: tuple[MadeLink, ...]
    """The newest sign-in links that others made for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFactorPage:
    """A second factor as its owner sees it: on, started (with a secret and its otpauth link) or off."""

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
    role: Annotated[str, Shown("Your role")]
    members: int
    runs: int


def account_page(session: Session, viewer: Viewer, token: str) -> AccountPage:
    """The viewer's own account; `token` identifies the current session."""
    account = session.get_one(Account, require_account(viewer))
    browsers, asking = _browsers(session, account.id), sessions.digest(token)
    return AccountPage(
        name=account.name,
        has_password=account.password_hash is not None,
        is_organiser=account.is_organiser,
        has_second_factor=second_factors.is_on(session, account.id),
        issuers=sessions.issuers_of(session, account.id),
        browsers=browsers,
        current=next((browser.id for browser in browsers if browser.token_sha256 == asking), None),
        links_made=accounts.links_made(session, account.id),
    )


def second_factor_page(session: Session, viewer: Viewer, issuer: str) -> SecondFactorPage:
    """The viewer's second factor; issuer is what its authenticator is to call this site."""
    account = session.get_one(Account, require_account(viewer))
    factor = session.get(SecondFactor, account.id)
    is_on = factor is not None and factor.confirmed_at is not None
    secret = factor.secret if factor is not None and not is_on else ""
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
        Column("browser", lambda row: row.agent or "unknown", "Browser", words=lambda row: called(row.agent)),
        Column("address", lambda row: row.ip or "unknown", "Address"),
        Column("since", lambda row: row.created_at, "Since"),
        Column("seen", lambda row: row.seen_at, "Last seen"),
        Column("end", lambda row: row.id, "End it"),
    ]
    caption = (
        f"Sessions end after {sessions.IDLE.days} days without use or {sessions.LIFETIME.days} "
        f"days in all; with more than {sessions.MOST}, the oldest ends"
    )
    return Table("browsers", caption, columns, page.browsers)


def called(agent: str) -> str:
    """Browser and system of a User-Agent header by their usual names; its first word for others.

    >>> called("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0")
    'Chrome 131 on Linux'
    >>> called("curl/8.5.0")
    'curl/8.5.0'
    """
    mark = next((mark for mark in BROWSERS if mark in agent), None)
    if mark is None:
        return agent.split(" ")[0][:40] or "unknown"
    version = agent.partition("Version/" if mark == "Safari/" else mark)[2].partition(".")[0]
    system = next((name for part, name in SYSTEMS.items() if part in agent), "")
    return f"{BROWSERS[mark]}{f' {version}' if version.isdigit() else ''}{f' on {system}' if system else ''}"


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
    caption = "Runs belong to a team, even a team of one"
    return Table("teams", caption, columns, rows)


def _browsers(session: Session, account_id: int) -> tuple[WebSession, ...]:
    at = now(session)
    signed_in = select(WebSession).where(
        WebSession.account_id == account_id,
        WebSession.created_at >= at - sessions.LIFETIME,
        WebSession.seen_at >= at - sessions.IDLE,
    )
    return tuple(session.scalars(signed_in.order_by(WebSession.id.desc())))
