"""The record of acts: written in the transaction of the act, each row's digest covering the row before.

What may come in bursts (refusals, downloads) is recorded once an hour, see `notice`.
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

from leaderboard.db.engine import now
from leaderboard.db.tables import Account, Audit
from leaderboard.errors import OverQuota
from leaderboard.services import throttles
from leaderboard.services.policy import Viewer

LOCK = 7_203_552
"""Key of PostgreSQL's advisory lock: one writer of the chain at a time."""


BACKUP = "backup.make"
"""What the record of acts calls a backup."""
HOUR = timedelta(hours=1)
NOTICES_AN_HOUR = 1000
"""Rows that `notice` adds in an hour, whoever causes them."""


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
    """Which acts are asked for; what is empty or None asks for all.

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
    """What checking the whole record found."""

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
        # Two writers at once would both follow the same row, and the chain would fork.
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
    """Record an act that may come in bursts: once an hour for one subject and one account or network.

    At most 1,000 rows an hour come so; where there would be more, one row audit.full says that.
    """
    who = throttles.network(viewer.ip) if viewer.account_id is None else viewer.account_id
    if not _first(session, f"audit {action} {subject} {who}", 1):
        return
    if _first(session, "audit", NOTICES_AN_HOUR):
        record(session, viewer, action, subject, **detail)
    elif _first(session, "audit full", 1):
        record(session, Viewer(), "audit.full", "audit", rows=NOTICES_AN_HOUR)


def _first(session: Session, key: str, limit: int) -> bool:
    """Whether this is among the first so many of an hour."""
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
    wanted = AuditRequest(account_id=account_id, action=action, since=since)
    yield from _rows(session, _selected(wanted).order_by(Audit.id))


def newest(
    session: Session, wanted: AuditRequest, most: int, before: int | None = None
) -> tuple[AuditRow, ...]:
    """The newest rows that are asked for, at most so many; of those before a row of that id."""
    found = _selected(wanted).order_by(Audit.id.desc()).limit(most)
    return tuple(_rows(session, found if before is None else found.where(Audit.id < before)))


def _selected(wanted: AuditRequest) -> Select[Audit, str]:
    found = select(Audit, Account.name).outerjoin(Account, Account.id == Audit.account_id)
    if wanted.account_id is not None:
        subject = f"account:{wanted.account_id}"
        found = found.where((Audit.account_id == wanted.account_id) | (Audit.subject == subject))
    if wanted.action:
        below = Audit.action.startswith(f"{wanted.action}.", autoescape=True)
        found = found.where((Audit.action == wanted.action) | below)
    if wanted.subject:
        found = found.where(Audit.subject == wanted.subject)
    if wanted.since is not None:
        found = found.where(Audit.at >= wanted.since)
    if wanted.until is not None:
        found = found.where(Audit.at < wanted.until)
    return found


def _rows(session: Session, found: Select[Audit, str]) -> Iterator[AuditRow]:
    for row, name in session.execute(found.execution_options(yield_per=1000)):
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
    """When the newest backup was made, None where there is none; looks from the newest act back."""
    return session.scalar(select(Audit.at).where(Audit.action == BACKUP).order_by(Audit.id.desc()).limit(1))


def backup_age_s(session: Session) -> float | None:
    """How many seconds ago the newest backup was made, None where there is none."""
    at = last_backup(session)
    return None if at is None else max(0.0, (now(session) - at).total_seconds())
