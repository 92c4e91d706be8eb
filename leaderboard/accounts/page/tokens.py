"""The tokens of an account, as their owner and as operators see them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import tokens
from leaderboard.core.policy import Viewer, knows, require_account, require_operator
from leaderboard.db.engine import now
from leaderboard.db.tables import Account, ApiToken, Entry, Task, Team
from leaderboard.errors import NotFound
from leaderboard.tables.record import Column, Table

ALL = "All of mine"
LIVES = (7, 30, tokens.DAYS, 365)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """One token; the secret itself is kept nowhere."""

    token: ApiToken
    bound_to: str
    """The task and team it is limited to, as text."""
    state: str

    @property
    def is_in_force(self) -> bool:
        """Whether a program can use it still."""
        return self.state == tokens.IN_FORCE


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPage:
    """The viewer's own tokens, and what a new one may be, as `choices` gives it."""

    rows: tuple[TokenRow, ...]
    offered: Mapping[str, Mapping[Any, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountTokens:
    """The tokens of an account as an operator sees them: not which task or team they are for."""

    name: str
    rows: tuple[TokenRow, ...]


@dataclass(frozen=True, slots=True)
class TokenHead:
    """The teams that a token may send runs for, and the only task that it is for; slug None: any."""

    teams: tuple[tuple[int, str], ...]
    slug: str | None


def own_tokens(session: Session, viewer: Viewer) -> TokenPage:
    """The viewer's own tokens, the newest first."""
    account_id = require_account(viewer)
    return TokenPage(rows=_rows(session, account_id, viewer), offered=choices(session, viewer))


def account_tokens(session: Session, viewer: Viewer, account_id: int) -> AccountTokens:
    """The tokens of any account, for operators; raises NotFound if the account does not exist."""
    require_operator(viewer)
    account = session.get(Account, account_id)
    if account is None or account.deleted_at is not None:
        raise NotFound(f"There is no account {account_id}.", account=account_id)
    return AccountTokens(name=account.name, rows=_rows(session, account_id, None))


def choices(session: Session, viewer: Viewer) -> dict[str, dict[Any, str]]:
    """Choices for a new token of the viewer, such as tasks and durations, by field name."""
    entered = select(Entry.task_id).where(Entry.team_id.in_(viewer.team_ids), Entry.state == "entered")
    own = viewer.organises | viewer.coordinates | viewer.reads
    tasks = session.scalars(
        select(Task).where(or_(Task.id.in_(entered), Task.id.in_(own))).order_by(Task.name, Task.id)
    )
    teams = token_head(session, viewer).teams
    endless = {0: "never"} if tokens.may_be_endless(viewer) else {}
    return {
        "slug": {"": ALL} | {task.slug: task.name for task in tasks if _is_known(viewer, task)},
        "team_id": {"": ALL} | dict(teams),
        "days": {days: f"{days} days" for days in LIVES} | endless,
    }


def token_head(session: Session, viewer: Viewer) -> TokenHead:
    """Details of a token for the program that uses it."""
    teams = session.execute(
        select(Team.id, Team.name).where(Team.id.in_(viewer.team_ids)).order_by(Team.canonical)
    )
    slug = session.scalar(select(Task.slug).where(Task.id == viewer.only_task))
    return TokenHead(tuple((row.id, row.name) for row in teams), slug)


def _rows(session: Session, account_id: int, owner: Viewer | None) -> tuple[TokenRow, ...]:
    at = now(session)
    rows = session.execute(
        select(ApiToken, Task, Team.name)
        .outerjoin(Task, Task.id == ApiToken.task_id)
        .outerjoin(Team, Team.id == ApiToken.team_id)
        .where(ApiToken.account_id == account_id)
        .order_by(ApiToken.id.desc())
    )
    return tuple(
        TokenRow(token=token, bound_to=_bound(owner, task, team), state=tokens.state(token, at))
        for token, task, team in rows
    )


def _bound(owner: Viewer | None, task: Task | None, team: str | None) -> str:
    parts = []
    if task is not None:
        parts.append(task.name if owner is not None and _is_known(owner, task) else "one task")
    if team is not None:
        parts.append(team if owner is not None else "one team")
    return ", ".join(parts) or "all"


def _is_known(viewer: Viewer, task: Task) -> bool:
    return task.published_at is not None or knows(viewer, task.id)


def table(rows: tuple[TokenRow, ...]) -> Table[TokenRow]:
    """Tokens, the newest first."""
    columns: list[Column[TokenRow]] = [
        Column("label", lambda row: row.token.label, "Label"),
        Column("prefix", lambda row: row.token.prefix, "Prefix"),
        Column("scopes", lambda row: ", ".join(row.token.scopes), "May"),
        Column("bound", lambda row: row.bound_to, "For"),
        Column("made", lambda row: row.token.created_at.isoformat(), "Created"),
        Column("used", _used, "Last used"),
        Column("expires", _until, "Expires"),
        Column("state", lambda row: row.state, "State"),
    ]
    if any(row.token.kind != tokens.PERSONAL for row in rows):
        columns.insert(2, Column("kind", lambda row: row.token.kind, "Kind"))
    return Table("tokens", "Tokens, newest first", columns, rows)


def _used(row: TokenRow) -> str | None:
    return row.token.last_used_at.isoformat() if row.token.last_used_at is not None else None


def _until(row: TokenRow) -> str | None:
    return row.token.expires_at.isoformat() if row.token.expires_at is not None else None
