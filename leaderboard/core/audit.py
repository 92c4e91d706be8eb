"""The audit log: written in the transaction of the act, each row's digest covering the row before.

Events that may come in bursts (refusals, downloads) are recorded once an hour, see `notice`.
A changed, removed or inserted row breaks the chain after it; cutting rows off at the end is seen only
by someone who kept the last digest.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from leaderboard.core import throttles
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Account, Audit
from leaderboard.errors import OverQuota

LOCK = 7_203_552
"""Key of PostgreSQL's advisory lock: one writer of the chain at a time."""


BACKUP = "backup.make"
"""Action of a backup in the audit log."""
HOUR = timedelta(hours=1)
NOTICES_AN_HOUR = 1000
"""Maximum rows that `notice` adds per hour, in total."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One act on record; account is the name of who did it, empty for visitors and the operator."""

    id: int
    at: datetime
    account_id: int | None
    account: str
    ip: str
    action: str
    subject: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """Filter for the audit log; empty and None match everything.

    account_id: what that account did and what was done to it; action: a noun (account) or a noun and verb
    (account.sign_in); until is a moment that is not in it any more.
    """

    account_id: int | None = None
    action: str = ""
    subject: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditChain:
    """Result of verifying the whole audit log."""

    rows: int
    digest: str
    """Digest of the last row: keep it elsewhere to notice rows cut off at the end."""
    broken_at: int | None
    """Id of the first row that does not follow from the one before; None where all do."""


def record(session: Session, viewer: Viewer, action: str, subject: str, **detail: Any) -> None:
    """Add one act to the record.

    action is noun.verb (team.create); subject names what it was done to (team:7). detail must be JSON.
    """
    if session.get_bind().dialect.name == "postgresql":
        # Locked, because two simultaneous writers would fork the chain.
        session.execute(select(func.pg_advisory_xact_lock(LOCK)))
    session.flush()
    if viewer.token_id is not None:
        detail["token"] = viewer.token_id
    before = session.scalar(select(Audit.digest).order_by(Audit.id.desc()).limit(1)) or ""
    row = Audit(
        at=now(session),
        account_id=viewer.account_id,
        ip=viewer.ip,
        action=action,
        subject=subject,
        detail=json.loads(json.dumps(detail)),
    )
    row.digest = _digest(before, row)
    session.add(row)
    session.flush()


def notice(session: Session, viewer: Viewer, action: str, subject: str, **detail: Any) -> None:
    """Record an event that may come in bursts: once an hour for one subject and one account or network.

    That gives at most 1,000 rows per hour; where there would be more, one row audit.full says that.
    """
    who = throttles.network(viewer.ip) if viewer.account_id is None else viewer.account_id
    if not _first(session, f"audit {action} {subject} {who}", 1):
        return
    if _first(session, "audit", NOTICES_AN_HOUR):
        record(session, viewer, action, subject, **detail)
    elif _first(session, "audit full", 1):
        record(session, Viewer(), "audit.full", "audit", rows=NOTICES_AN_HOUR)


def _first(session: Session, key: str, limit: int) -> bool:
    """Whether this entry is within the hourly limit."""
    try:
        throttles.spend(session, key, limit, HOUR)
    except OverQuota:
        return False
    return True


def rows(
    session: Session, *, account_id: int | None = None, action: str = "", since: datetime | None = None
) -> Iterator[AuditRow]:
    """The record, oldest first.

    account_id: what that account did and what was done to it; action: a noun (account) or a noun and verb
    (account.sign_in).
    """
    request = AuditRequest(account_id=account_id, action=action, since=since)
    yield from _rows(session, _selected(request).order_by(Audit.id))


def newest(
    session: Session, request: AuditRequest, most: int, before: int | None = None
) -> tuple[AuditRow, ...]:
    """The newest matching rows, up to a maximum; before the row with this id, if given."""
    query = _selected(request).order_by(Audit.id.desc()).limit(most)
    return tuple(_rows(session, query if before is None else query.where(Audit.id < before)))


def _selected(request: AuditRequest) -> Select[Audit, str]:
    query = select(Audit, Account.name).outerjoin(Account, Account.id == Audit.account_id)
    if request.account_id is not None:
        subject = f"account:{request.account_id}"
        query = query.where((Audit.account_id == request.account_id) | (Audit.subject == subject))
    if request.action:
        below = Audit.action.startswith(f"{request.action}.", autoescape=True)
        query = query.where((Audit.action == request.action) | below)
    if request.subject:
        query = query.where(Audit.subject == request.subject)
    if request.since is not None:
        query = query.where(Audit.at >= request.since)
    if request.until is not None:
        query = query.where(Audit.at < request.until)
    return query


def _rows(session: Session, query: Select[Audit, str]) -> Iterator[AuditRow]:
    for row, name in session.execute(query.execution_options(yield_per=1000)):
        yield AuditRow(
            *(row.id, row.at, row.account_id, name or "", row.ip, row.action, row.subject, row.detail)
        )


def verify(session: Session) -> AuditChain:
    """Whether every row of the record follows from the one before."""
    before, count = "", 0
    rows = session.scalars(select(Audit).order_by(Audit.id).execution_options(yield_per=1000))
    with closing(rows):
        for row in rows:
            if row.digest != _digest(before, row):
                return AuditChain(count, before, row.id)
            before, count = row.digest, count + 1
    return AuditChain(count, before, None)


def _digest(before: str, row: Audit) -> str:
    parts = [before, row.at.isoformat(), row.account_id, row.ip, row.action, row.subject, row.detail]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def last_backup(session: Session) -> datetime | None:
    """The time of the newest backup, None without one; searches from the newest entry backwards."""
    return session.scalar(select(Audit.at).where(Audit.action == BACKUP).order_by(Audit.id.desc()).limit(1))


def backup_age_s(session: Session) -> float | None:
    """The age of the newest backup in seconds, None without one."""
    at = last_backup(session)
    return None if at is None else max(0.0, (now(session) - at).total_seconds())
