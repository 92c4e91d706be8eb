"""Operator actions for stolen or abandoned accounts: close, reopen and sign out."""

from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Column, DateTime, Table, delete, func, or_, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import accounts, invitations, teams, tokens
from leaderboard.accounts.ops.accounts import AccountCredentials
from leaderboard.core import audit
from leaderboard.core.actions import Action
from leaderboard.core.policy import Viewer, require_account, require_operator
from leaderboard.db.engine import UtcDateTime, lock_key, lock_row, now
from leaderboard.db.tables import (
    Account,
    ApiToken,
    Audit,
    Identity,
    Mail,
    Member,
    PartialUpload,
    Run,
    SecondFactor,
    Task,
    TaskRole,
    Team,
    Token,
    Webhook,
    WebSession,
    metadata,
)
from leaderboard.errors import Conflict, NotFound


def close(session: Session, viewer: Viewer, account_id: int) -> None:
    """Close an account: end its sessions, links and invitations and block sign-in; its runs stay.

    Raises Forbidden unless the viewer is an operator, Conflict for their own or an already closed account.
    """
    account = _account(session, viewer, account_id)
    _require_other(viewer, account)
    if account.disabled_at is not None:
        raise Conflict(f"The account {account.name!r} is already closed.")
    account.disabled_at = now(session)
    accounts.sign_out_everywhere(session, account.id)
    accounts.end_links(session, account.id)
    invitations.end_made_by(session, account.id)
    audit.record(session, viewer, "account.close", f"account:{account.id}")


def reopen(session: Session, viewer: Viewer, account_id: int) -> None:
    """Let the account's password, or a new link, sign in again; raises Conflict where it is not closed."""
    account = _account(session, viewer, account_id)
    if account.disabled_at is None:
        raise Conflict(f"The account {account.name!r} is not closed.")
    account.disabled_at = None
    audit.record(session, viewer, "account.reopen", f"account:{account.id}")


def set_organiser(session: Session, viewer: Viewer, account_id: int, is_organiser: bool) -> None:
    """Say whether the account may create tasks; what it organises already stays its own."""
    account = _account(session, viewer, account_id)
    _require_other(viewer, account)
    account.is_organiser = is_organiser
    accounts.end_links(session, account.id)
    audit.record(session, viewer, "account.organiser", f"account:{account.id}", organiser=is_organiser)


def sign_out(session: Session, viewer: Viewer, account_id: int) -> None:
    """End every session and token of the account and forget its devices."""
    account = _account(session, viewer, account_id)
    accounts.sign_out_everywhere(session, account.id)
    audit.record(session, viewer, "account.sign_out", f"account:{account.id}")


def sign_out_everybody(session: Session, viewer: Viewer) -> int:
    """End every session and token of the site and say how many sessions there were; for the operator only."""
    require_operator(viewer)
    tokens.end_all(session)
    ended = session.scalars(delete(WebSession).returning(WebSession.id)).all()
    audit.record(session, viewer, "account.sign_out", "account:all", sessions=len(ended))
    return len(ended)


_operating = partial(Action, may=lambda _, viewer, *__: require_operator(viewer))
CLOSE = _operating(
    name="close",
    summary="Close an account: sign it out everywhere and block sign-in; its runs and teams stay",
    form="/site/accounts/<id:account_id>/close",
    act=close,
)
REOPEN = _operating(
    name="reopen",
    summary="Reopen a closed account; its password works as before",
    form="/site/accounts/<id:account_id>/reopen",
    act=reopen,
)
SIGN_OUT = _operating(
    name="sign_out",
    summary="End all sessions of an account",
    form="/site/accounts/<id:account_id>/sign-out",
    act=sign_out,
)


def _account(session: Session, viewer: Viewer, account_id: int) -> Account:
    require_operator(viewer)
    account = session.get(Account, account_id, with_for_update=True, populate_existing=True)
    if account is None or account.deleted_at is not None:
        raise NotFound(f"There is no account {account_id}.", account=account_id)
    return account


def _require_other(viewer: Viewer, account: Account) -> None:
    if account.id == viewer.account_id:
        raise Conflict("You would lock yourself out. Ask another operator, or use the command line.")


OWN = frozenset(
    (
        *("account", "session", "second_factor", "token", "identity", "member", "task_role"),
        *("invitation", "invitation_use", "upload", "upload_batch", "partial_upload", "mail"),
        *("api_token", "device_request", "webhook"),
    )
)
"""Tables whose rows are about the account; of others, such as drafts of judgments, only ids and times."""
SECRET = frozenset(("password_hash", "token_sha256", "secret", "old_secret", "idempotency_key", "user_code"))


def export_of(session: Session, viewer: Viewer) -> dict[str, Any]:
    """The viewer's account as facts: every row of every table that names it, its acts, its teams' runs.

    Found by the foreign keys of the tables, so that none can be forgotten. No secrets and no contents that
    the viewer may no longer see.
    """
    account_id = require_account(viewer)
    facts: dict[str, Any] = {
        table.name: rows
        for table in metadata.sorted_tables
        if (rows := _rows(session, table, account_id)) is not None
    }
    return {**facts, "teams": _teams(session, viewer), "acts": _acts(session, account_id)}


def _rows(session: Session, table: Table, account_id: int) -> list[dict[str, Any]] | None:
    """The table's rows that name the account; None where it can name none."""
    naming = [key.parent for key in table.foreign_keys if key.column is Account.__table__.c.id]
    if table is Account.__table__:
        naming = [table.c.id]
    if not naming:
        return None
    columns = [column for column in table.columns if _is_given(table, column)]
    query = select(*columns).where(or_(*(column == account_id for column in naming)))
    rows = session.execute(query.order_by(*table.primary_key.columns))
    return [{key: _plain(value) for key, value in row._mapping.items()} for row in rows]


def _is_given(table: Table, column: Column[Any]) -> bool:
    if table.name in OWN:
        return column.name not in SECRET
    is_moment = isinstance(column.type, (UtcDateTime, DateTime))
    return column.primary_key or is_moment or column.name == "task_id"


def _teams(session: Session, viewer: Viewer) -> list[dict[str, Any]]:
    """The viewer's teams by name, with their runs by task and name."""
    runs: dict[int, list[dict[str, Any]]] = {team_id: [] for team_id in viewer.team_ids}
    rows = session.execute(
        select(Run.team_id, Run.id, Run.name, Task.name)
        .join(Task, Task.id == Run.task_id)
        .where(Run.team_id.in_(viewer.team_ids))
        .order_by(Run.id)
    )
    for team_id, run_id, name, task in rows:
        runs[team_id].append({"id": run_id, "name": name, "task": task})
    teams = session.execute(select(Team.id, Team.name).where(Team.id.in_(viewer.team_ids)).order_by(Team.id))
    return [{"id": team_id, "name": name, "runs": runs[team_id]} for team_id, name in teams]


def _acts(session: Session, account_id: int) -> list[dict[str, Any]]:
    """Actions by the account and on it; other people's names are left out as their data."""
    subject = f"account:{account_id}"
    rows = session.scalars(
        select(Audit).where(or_(Audit.account_id == account_id, Audit.subject == subject)).order_by(Audit.id)
    )
    return [
        {"at": _plain(row.at), "action": row.action, "subject": row.subject}
        | ({"ip": row.ip, "detail": row.detail} if row.account_id == account_id else {})
        for row in rows
    ]


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def delete_account(session: Session, viewer: Viewer, checked: AccountCredentials) -> None:
    """Permanently delete the viewer's name, address, password, factors, sessions, links, teams and roles.

    Its runs stay under the team, also where the team has no member left. checked is what the password
    matched. Raises Conflict for the last organiser of a task or of the site: somebody has to decide there.
    """
    account_id = require_account(viewer)
    account = session.get_one(Account, account_id, with_for_update=True, populate_existing=True)
    if account.password_hash != checked.password_hash:
        raise Conflict("The password was changed elsewhere in the meantime. Try again.")
    _require_successors(session, account)
    for team_id in sorted(session.scalars(select(Member.team_id).where(Member.account_id == account_id))):
        teams.step_down(session, team_id, account_id)
    invitations.end_made_by(session, account_id)
    accounts.sign_out_everywhere(session, account_id)
    for table in (Token, ApiToken, SecondFactor, Identity, TaskRole, Mail, Webhook, PartialUpload):
        session.execute(delete(table).where(table.account_id == account_id))
    _forget(session, account)
    audit.record(session, viewer, "account.delete", f"account:{account_id}")


def _forget(session: Session, account: Account) -> None:
    account.name = f"Deleted account {account.id}"
    # Capitals, so that no canonical name of another account can be the same.
    account.canonical, account.skeleton = f"DELETED {account.id}", None
    account.email, account.email_confirmed_at, account.email_bounced_at = "", None, None
    account.password_hash, account.is_organiser = None, False
    account.deleted_at = at = now(session)
    account.disabled_at = account.disabled_at or at


def _require_successors(session: Session, account: Account) -> None:
    """Raise Conflict, naming the tasks, if the account is their only organiser."""
    own = select(TaskRole.task_id).where(TaskRole.account_id == account.id, TaskRole.role == "organiser")
    alone = []
    for task_id in sorted(session.scalars(own)):
        # Otherwise the last two organisers could leave at the same time.
        lock_row(session, Task, task_id)
        if not _organisers(session, task_id):
            alone.append(session.get_one(Task, task_id).name)
    if alone:
        raise Conflict(
            f"You are the only organiser of {', '.join(alone)}. First invite another organiser or discard "
            "the draft."
        )
    if account.is_organiser:
        lock_key(session, "organisers")
        others = Account.is_organiser, Account.disabled_at.is_(None), Account.id != account.id
        if not session.scalar(select(func.count()).select_from(Account).where(*others)):
            raise Conflict("You are the only organiser account of this site. First create another one.")


def _organisers(session: Session, task_id: int) -> int:
    """The number of open organiser accounts of the task, without the leaving one, whose row is locked."""
    query = (
        select(func.count())
        .select_from(TaskRole)
        .join(Account, Account.id == TaskRole.account_id)
        .where(TaskRole.task_id == task_id, TaskRole.role == "organiser", Account.disabled_at.is_(None))
    )
    return (session.scalar(query) or 0) - 1
