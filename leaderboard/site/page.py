"""Records of the operator pages.

They are of the whole site; no name, number or address of anything in it is ever a label.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import inf
from pathlib import Path
from typing import Annotated, Any

from sqlalchemy import ColumnElement, SQLColumnExpression, case, func, or_, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from leaderboard import __version__
from leaderboard.accounts.ops import accounts
from leaderboard.accounts.ops.invitations import SITE
from leaderboard.accounts.ops.names import canonical
from leaderboard.accounts.page import invitations as invited
from leaderboard.accounts.page.invitations import InvitationRow
from leaderboard.core import audit, policy
from leaderboard.core.audit import AuditRequest, AuditRow, backup_age_s, last_backup
from leaderboard.core.jobs import health, leases, queue
from leaderboard.core.jobs.leases import FailedJob
from leaderboard.core.jobs.queue import SENT, WAITING, JobCount
from leaderboard.core.policy import Viewer, require_operator
from leaderboard.db.engine import Base, now
from leaderboard.db.tables import Account, Job, Mail, Member, SecondFactor, WebhookDelivery, WebSession
from leaderboard.errors import Invalid, Problem
from leaderboard.logs import Metric, Sample
from leaderboard.settings import Settings
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from
from leaderboard.tasks.page.activity import queue_table

SHOWN = 200
"""Rows of the page; files have all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """One account."""

    id: Annotated[int, Shown(shown=Place.DATA)]
    name: str
    created_at: datetime
    seen_at: datetime | None
    """When it was last seen, according to its sessions."""
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


def accounts_table(page: AccountList) -> Table[AccountRow]:
    """The accounts, the newest first."""
    columns = columns_from(
        AccountRow,
        "name id state",
        Column("created_at", lambda row: row.created_at.isoformat(), "Since"),
        Column("seen_at", lambda row: row.seen_at and row.seen_at.isoformat(), "Last seen"),
        "teams is_organiser has_second_factor",
    )
    return Table("accounts", "Accounts, newest first", columns, page.rows)


def _facts(page: AccountList) -> dict[str, Any]:
    return {"accounts": accounts_table(page).facts(), "invitations": invited.table(page.invitations).facts()}


ACCOUNTS_FILES: Files[AccountList] = Files(_facts, {"accounts": accounts_table})


A_PAGE = 100
MOST_EXPORTED = 50_000
"""Rows that a file may have: more are asked for by days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSearch:
    """An audit log search; first and last day, as the times at which they start."""

    account: str = ""
    action: str = ""
    subject: str = ""
    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Acts that were found, newest first; older is the id to continue from, None at the end."""

    rows: tuple[AuditRow, ...]
    older: int | None


def audit_page(session: Session, viewer: Viewer, search: AuditSearch, before: int | None) -> AuditPage:
    """One page of search results, for operators; raises NotFound for an unknown account."""
    rows = audit.newest(session, _request(session, viewer, search), A_PAGE + 1, before)
    older = rows[A_PAGE - 1].id if len(rows) > A_PAGE else None
    return AuditPage(rows[:A_PAGE], older)


def whole_audit(session: Session, viewer: Viewer, search: AuditSearch) -> AuditPage:
    """All search results, for a file; raises Invalid where that is too much for one."""
    rows = audit.newest(session, _request(session, viewer, search), MOST_EXPORTED + 1)
    if len(rows) > MOST_EXPORTED:
        rule = f"An export can have at most {MOST_EXPORTED:,} audit log entries."
        remedy = "Choose a shorter period."
        raise Invalid(f"{rule} {remedy}", [Problem(rule, remedy, field="from")])
    return AuditPage(rows, None)


def _request(session: Session, viewer: Viewer, search: AuditSearch) -> AuditRequest:
    policy.require_operator(viewer)
    request = AuditRequest(action=search.action, subject=search.subject, since=search.first)
    if search.account:
        request = replace(request, account_id=accounts.find(session, search.account))
    return request if search.last is None else replace(request, until=search.last + timedelta(days=1))


def audit_table(page: AuditPage) -> Table[AuditRow]:
    """Acts, newest first."""
    columns: list[Column[AuditRow]] = [
        Column("id", lambda row: row.id, "Row", digits=0),
        Column("at", lambda row: row.at.isoformat(timespec="seconds"), "When"),
        Column("account", _who, "Account"),
        Column("ip", lambda row: row.ip, "IP address"),
        Column("action", lambda row: row.action, "Action"),
        Column("subject", lambda row: row.subject, "Subject"),
        # As JSON a line break in a name cannot look like another act.
        Column(
            "detail", lambda row: json.dumps(row.detail, ensure_ascii=False) if row.detail else "", "Details"
        ),
    ]
    return Table("audit", "Audit log, newest first", columns, page.rows)


def _who(row: AuditRow) -> str:
    return row.account or ("" if row.account_id is None else f"account:{row.account_id}")


def audit_facts(page: AuditPage) -> dict[str, Any]:
    """The acts as plain values."""
    return {"audit": audit_table(page).facts()}


AUDIT_FILES = Files(facts=audit_facts, tables={"audit": audit_table})


MOST_LETTERS = 200
"""Letters that are listed, newest first."""


@dataclass(frozen=True, slots=True)
class BouncedAccount:
    """An account to whose address nothing is sent any more."""

    name: str
    address: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxPage:
    """The outbox as operators see it."""

    states: tuple[tuple[str, int], ...]
    letters: tuple[Mail, ...]
    bounced: tuple[BouncedAccount, ...]

    @property
    def failed(self) -> int:
        """Letters that were given up, and may be tried again."""
        return dict(self.states).get("failed", 0)


def outbox_page(session: Session, viewer: Viewer) -> OutboxPage:
    """The outbox, for operators."""
    policy.require_operator(viewer)
    states = session.execute(select(Mail.state, func.count()).group_by(Mail.state).order_by(Mail.state))
    newest = select(Mail).where(Mail.state != SENT).order_by(Mail.id.desc()).limit(MOST_LETTERS)
    bounced = session.execute(
        select(Account.name, Account.email, Account.email_bounced_at)
        .where(Account.email_bounced_at.is_not(None))
        .order_by(Account.email_bounced_at.desc())
    )
    return OutboxPage(
        states=tuple((state, count) for state, count in states),
        letters=tuple(session.scalars(newest)),
        bounced=tuple(BouncedAccount(name, address, at) for name, address, at in bounced if at is not None),
    )


def letter_table(page: OutboxPage) -> Table[Mail]:
    """Letters that have not been accepted; what they say is their readers' business."""
    columns = columns_from(
        Mail,
        Column("letter", lambda row: row.id, "Mail", digits=0),
        Column("to", lambda row: row.address, "To"),
        "state",
        Column("attempts", lambda row: row.attempts, "Attempts", digits=0),
        Column("said", lambda row: row.error, "Mail server response"),
        Column("written", lambda row: row.created_at.isoformat(timespec="seconds"), "Created"),
    )
    caption = f"Undelivered mail, newest first, at most {MOST_LETTERS} messages"
    return Table("letters", caption, columns, page.letters)


def bounced_table(page: OutboxPage) -> Table[BouncedAccount]:
    """Addresses that a server reported as unknown."""
    columns: list[Column[BouncedAccount]] = [
        Column("account", lambda row: row.name, "Account"),
        Column("address", lambda row: row.address, "Address"),
        Column("since", lambda row: row.at.isoformat(timespec="seconds"), "Since"),
    ]
    caption = "Bounced addresses: nothing is sent there until they are changed"
    return Table("bounced", caption, columns, page.bounced)


def mail_facts(page: OutboxPage) -> dict[str, Any]:
    """The outbox as plain values."""
    letters, bounced = letter_table(page).facts(), bounced_table(page).facts()
    return {"states": dict(page.states), "letters": letters, "bounced": bounced}


MAIL_FILES = Files(facts=mail_facts, tables={"letters": letter_table, "bounced": bounced_table})


MOST_MEASURED = 4 * 2**30
"""Of a larger SQLite file the tables are not measured: that reads all of it."""
POSTGRESQL_SIZES = "SELECT relname, pg_total_relation_size(relid) FROM pg_stat_user_tables"
SQLITE_SIZES = (
    "SELECT s.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_schema s ON s.name = d.name "
    "WHERE d.aggregate = 1 GROUP BY s.tbl_name"
)
KINDS = {
    "accounts": "accounts, tokens, webhooks and audit log",
    "evaluations": "scores, comparisons and snapshots",
    "jobs": "queue",
    "judging": "judgments, pools and labels",
    "runs": "runs and uploads",
    "engine": "site version",
    "suites": "suites and their runs",
    "tasks": "tasks, teams in them, topics, documents and announcements",
    "words": "search index",
}
"""Module of the tables -> what they hold, as text."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """One table of the database and its size with indexes."""

    name: Annotated[str, Shown(key="table")]
    kind: Annotated[str, Shown("Data")]
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePage:
    """Storage use of the site; tables is empty if it was not measured."""

    bytes: int
    tables: tuple[StoredTable, ...]
    free_bytes: int
    disk_bytes: int
    backed_up_at: datetime | None
    backup_age_s: float | None

    @property
    def kinds(self) -> tuple[StoredTable, ...]:
        """The bytes of the tables of each kind together, most first."""
        sums: dict[str, int] = {}
        for table in self.tables:
            sums[table.kind] = sums.get(table.kind, 0) + table.bytes
        rows = (StoredTable("", kind, count) for kind, count in sums.items())
        return tuple(sorted(rows, key=lambda row: -row.bytes))


def storage_page(session: Session, viewer: Viewer, folder: Path) -> StoragePage:
    """Database size and free space of the data folder, for operators."""
    policy.require_operator(viewer)
    size = database_bytes(session)
    disk = shutil.disk_usage(folder)
    return StoragePage(
        bytes=size,
        tables=_tables(_table_bytes(session, size)),
        free_bytes=disk.free,
        disk_bytes=disk.total,
        backed_up_at=last_backup(session),
        backup_age_s=backup_age_s(session),
    )


def _is_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


def database_bytes(session: Session) -> int:
    """The size of the database on disk in bytes."""
    if _is_sqlite(session):
        pages, size = session.scalar(text("PRAGMA page_count")), session.scalar(text("PRAGMA page_size"))
        return int(pages or 0) * int(size or 0)
    return int(session.scalar(text("SELECT pg_database_size(current_database())")) or 0)


def _table_bytes(session: Session, size: int) -> dict[str, int]:
    """Table -> its bytes, with indexes; {} where they are unknown or slow to compute."""
    if not _is_sqlite(session):
        return {name: int(count) for name, count in session.execute(text(POSTGRESQL_SIZES))}
    if size > MOST_MEASURED:
        return {}
    try:
        return {name: int(count) for name, count in session.execute(text(SQLITE_SIZES))}
    except OperationalError:
        # Not every SQLite is built with dbstat.
        return {}


def _tables(sizes: Mapping[str, int]) -> tuple[StoredTable, ...]:
    kinds = {
        str(mapper.local_table.name): mapper.class_.__module__.rpartition(".")[2]  # type: ignore[attr-defined]
        for mapper in Base.registry.mappers
    }
    rows = (
        StoredTable(name, KINDS.get(kinds.get(name, ""), "other"), count) for name, count in sizes.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.bytes, row.name)))


def kind_table(page: StoragePage) -> Table[StoredTable]:
    """Bytes by kind of data."""
    columns = columns_from(StoredTable, "kind bytes")
    return Table("storage", "Storage by type of data", columns, page.kinds)


def stored_table(page: StoragePage) -> Table[StoredTable]:
    """Bytes of every table."""
    caption = "Storage by table, including indexes"
    return Table("tables", caption, columns_from(StoredTable), page.tables)


def storage_facts(page: StoragePage) -> dict[str, Any]:
    """The storage as plain values."""
    return {
        "bytes": page.bytes,
        "free_bytes": page.free_bytes,
        "disk_bytes": page.disk_bytes,
        "backup_age_s": page.backup_age_s,
        "kinds": kind_table(page).facts(),
        "tables": stored_table(page).facts(),
    }


STORAGE_FILES = Files(facts=storage_facts, tables={"kinds": kind_table, "tables": stored_table})


RETRYING = "retrying"
DELIVERIES = (WAITING, RETRYING, "failed")
LETTERS = (*DELIVERIES, "bounced")
"""States without `sent`, which has most rows and does not matter for monitoring."""


def about(settings: Settings) -> Iterable[Metric]:
    """Metrics that need no database: version and disk space."""
    disk = shutil.disk_usage(settings.data)
    yield _gauge("info", "Version of the running program.", Sample(1, {"version": __version__}))
    yield _gauge("disk_free_bytes", "Free bytes on the disk of the data folder.", Sample(disk.free))
    yield _gauge("disk_bytes", "Size in bytes of the disk of the data folder.", Sample(disk.total))
    yield _gauge(
        "disk_needed_bytes",
        "Free bytes below which files are refused, as configured.",
        Sample(settings.free_bytes),
    )


def database_state(*, answers: bool) -> Metric:
    """Whether the database answers."""
    return _gauge("database_up", "1 if the database answers, else 0.", Sample(int(answers)))


def site_metrics(session: Session) -> Iterable[Metric]:
    """Metrics from the database, in at most ten statements that skip finished work."""
    yield from _jobs(session)
    yield _gauge("evaluators", "Evaluators seen within the last minute.", Sample(health.at_work(session)))
    meaning = "Undelivered mail by state; retrying: waiting after a failure."
    yield _by_state(session, "letters", meaning, Mail, LETTERS)
    meaning = "Unfinished webhook deliveries by state; retrying: waiting after a failure."
    yield _by_state(session, "webhook_deliveries", meaning, WebhookDelivery, DELIVERIES)
    age = backup_age_s(session)
    meaning = "Age of the newest backup; +Inf if there is no backup."
    yield _gauge("backup_age_seconds", meaning, Sample(inf if age is None else age))
    yield _gauge("database_bytes", "Size of the database on disk.", Sample(database_bytes(session)))
    yield from _wal(session)


def _gauge(name: str, meaning: str, *samples: Sample) -> Metric:
    return Metric(f"leaderboard_{name}", "gauge", meaning, samples)


def _jobs(session: Session) -> Iterable[Metric]:
    """Unfinished jobs by kind and state, 0 too: missing values raise no alarm."""
    at = now(session)
    since = case(
        (Job.state == "queued", Job.run_after),
        (Job.state == "leased", Job.started_at),
        else_=func.coalesce(Job.finished_at, Job.created_at),
    )
    is_due = or_(Job.state != "queued", queue.is_due(at))
    rows = session.execute(
        select(Job.kind, Job.state, func.count(), func.min(since).filter(is_due))
        .where(Job.state.in_(queue.UNFINISHED))
        .group_by(Job.kind, Job.state)
    ).all()
    unfinished = {(kind, state): (jobs, oldest) for kind, state, jobs, oldest in rows}
    numbers, ages = [], []
    for kind in queue.WORDS:
        for state, word in queue.STATES.items():
            jobs, oldest = unfinished.get((kind, state), (0, None))
            age = max(0.0, (at - oldest).total_seconds()) if oldest is not None else 0.0
            numbers.append(Sample(jobs, {"kind": kind, "state": word}))
            ages.append(Sample(age, {"kind": kind, "state": word}))
    yield _gauge("jobs", "Unfinished jobs by kind and state.", *numbers)
    meaning = "Time since the oldest of them became due, started or failed; 0 if there are none."
    yield _gauge("jobs_oldest_seconds", meaning, *ages)


def _by_state(
    session: Session, name: str, meaning: str, table: type[Mail | WebhookDelivery], states: tuple[str, ...]
) -> Metric:
    """Number of rows of a table in each of these states, read by the index on states."""
    state = _or_retrying(table)
    counted = select(state, func.count()).where(table.state.in_(states)).group_by(state)
    counts = {word: count for word, count in session.execute(counted)}
    return _gauge(name, meaning, *(Sample(counts.get(each, 0), {"state": each}) for each in states))


def _or_retrying(table: type[Mail | WebhookDelivery]) -> SQLColumnExpression[str]:
    """The state of an outgoing row, with a separate state for those that wait after a failure."""
    return case(((table.state == WAITING) & (table.attempts > 0), RETRYING), else_=table.state)


def _wal(session: Session) -> Iterable[Metric]:
    """The log next to a SQLite file: 0 where it is not there."""
    bind = session.get_bind()
    if bind.dialect.name == "sqlite":
        log = Path(f"{bind.engine.url.database}-wal")
        taken = log.stat().st_size if log.exists() else 0
        yield _gauge("wal_bytes", "Size of SQLite's write-ahead log.", Sample(taken))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """The queue of the site; problem says why work is not being done, empty where it is."""

    problem: str
    at_work: int
    jobs: tuple[JobCount, ...]
    failed: tuple[FailedJob, ...]
    evaluators: tuple[tuple[str, datetime], ...]


def queue_page(session: Session, viewer: Viewer) -> QueuePage:
    """The queue, for operators."""
    policy.require_operator(viewer)
    state = health.health(session)
    return QueuePage(
        problem=state.problem(),
        at_work=state.workers,
        jobs=queue.unfinished(session),
        failed=leases.of_site(session),
        evaluators=health.known_workers(session),
    )


def job_table(page: QueuePage) -> Table[JobCount]:
    """Unfinished jobs by kind and state."""
    return queue_table(page.jobs, "Open jobs")


def failed_table(page: QueuePage) -> Table[FailedJob]:
    """The newest failed jobs."""
    columns: list[Column[FailedJob]] = [
        Column("job", lambda row: row.id, "Job", digits=0),
        Column("kind", lambda row: queue.WORDS.get(row.kind, row.kind), "Type"),
        Column("on", lambda row: row.subject, "Subject"),
        Column("attempts", lambda row: row.attempts, "Attempts", digits=0),
        Column("message", lambda row: row.message, "Message"),
    ]
    caption = f"Failed jobs, newest first, at most {leases.MOST_FAILED}"
    return Table("failed", caption, columns, page.failed)


def evaluator_table(page: QueuePage) -> Table[tuple[str, datetime]]:
    """Evaluators of the last hour."""
    columns: list[Column[tuple[str, datetime]]] = [
        Column("evaluator", lambda row: row[0], "Evaluator"),
        Column("seen", lambda row: row[1].isoformat(timespec="seconds"), "Last seen"),
    ]
    caption = "Evaluators that polled the queue in the last hour, by host and process"
    return Table("evaluators", caption, columns, page.evaluators)


def queue_facts(page: QueuePage) -> dict[str, Any]:
    """The queue as plain values."""
    jobs, lost, seen = job_table(page).facts(), failed_table(page).facts(), evaluator_table(page).facts()
    return {"problem": page.problem, "queue": jobs, "failed": lost, "evaluators": seen}


QUEUE_FILES = Files(
    facts=queue_facts, tables={"queue": job_table, "failed": failed_table, "evaluators": evaluator_table}
)
