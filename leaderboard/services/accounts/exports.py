"""All that the site holds on one account, for its owner to take along."""

from datetime import datetime
from typing import Any

from sqlalchemy import Column, DateTime, Table, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.base import UtcDateTime
from leaderboard.db.tables import Account, Audit, Run, Task, Team, metadata
from leaderboard.services.policy import Viewer, require_account

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
    wanted = select(*columns).where(or_(*(column == account_id for column in naming)))
    rows = session.execute(wanted.order_by(*table.primary_key.columns))
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
    """What the account did, and that something was done to it: not by whom, which is theirs."""
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
