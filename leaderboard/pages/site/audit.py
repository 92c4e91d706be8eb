"""The record of acts as operators search it."""

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.errors import Invalid, Problem
from leaderboard.services import audit, policy
from leaderboard.services.accounts import accounts
from leaderboard.services.audit import AuditRequest, AuditRow
from leaderboard.services.policy import Viewer
from leaderboard.tables.record import Column, Files, Table

A_PAGE = 100
MOST_EXPORTED = 50_000
"""Rows that a file may have: more are asked for by days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSearch:
    """What an operator looks for; days are the first and the last one, as moments at which they begin."""

    account: str = ""
    action: str = ""
    subject: str = ""
    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Acts that were found, newest first; older is the id to go on from, None at the end."""

    rows: tuple[AuditRow, ...]
    older: int | None


def audit_page(session: Session, viewer: Viewer, wanted: AuditSearch, before: int | None) -> AuditPage:
    """One page of what is looked for, for operators; raises NotFound for an account that there is none of."""
    found = audit.newest(session, _request(session, viewer, wanted), A_PAGE + 1, before)
    older = found[A_PAGE - 1].id if len(found) > A_PAGE else None
    return AuditPage(found[:A_PAGE], older)


def whole_audit(session: Session, viewer: Viewer, wanted: AuditSearch) -> AuditPage:
    """All of what is looked for, for a file; raises Invalid where that is too much for one."""
    found = audit.newest(session, _request(session, viewer, wanted), MOST_EXPORTED + 1)
    if len(found) > MOST_EXPORTED:
        rule, remedy = f"A file has at most {MOST_EXPORTED:,} acts.", "Ask for fewer days."
        raise Invalid(f"{rule} {remedy}", [Problem(rule, remedy, field="from")])
    return AuditPage(found, None)


def _request(session: Session, viewer: Viewer, wanted: AuditSearch) -> AuditRequest:
    policy.require_operator(viewer)
    request = AuditRequest(action=wanted.action, subject=wanted.subject, since=wanted.first)
    if wanted.account:
        request = replace(request, account_id=accounts.find(session, wanted.account))
    return request if wanted.last is None else replace(request, until=wanted.last + timedelta(days=1))


def audit_table(page: AuditPage) -> Table[AuditRow]:
    """Acts, newest first."""
    columns: list[Column[AuditRow]] = [
        Column("id", lambda row: row.id, "Row", digits=0),
        Column("at", lambda row: row.at.isoformat(timespec="seconds"), "When"),
        Column("account", _who, "Account"),
        Column("ip", lambda row: row.ip, "Address"),
        Column("action", lambda row: row.action, "Act"),
        Column("subject", lambda row: row.subject, "On"),
        # As JSON a line break in a name cannot look like another act.
        Column(
            "detail", lambda row: json.dumps(row.detail, ensure_ascii=False) if row.detail else "", "Detail"
        ),
    ]
    return Table("audit", "The record of acts, newest first", columns, page.rows)


def _who(row: AuditRow) -> str:
    return row.account or ("" if row.account_id is None else f"account:{row.account_id}")


def facts(page: AuditPage) -> dict[str, Any]:
    """The acts as plain values."""
    return {"audit": audit_table(page).facts()}


FILES = Files(facts=facts, tables={"audit": audit_table})
