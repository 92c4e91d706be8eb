"""The record of acts: written in the transaction of the act, each row's digest covering the row before.

A changed, removed or inserted row breaks the chain after it; cutting rows off at the end is seen only
by someone who kept the last digest.
"""

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Audit
from leaderboard.services.policy import Viewer

LOCK = 7_203_552
"""Key of PostgreSQL's advisory lock: one writer of the chain at a time."""


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
