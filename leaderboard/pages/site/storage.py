"""What the site takes of its disk, by kind of data, and when it was last backed up."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from leaderboard.db.base import Base
from leaderboard.services import policy
from leaderboard.services.backups.backups import backup_age_s, last_backup
from leaderboard.services.policy import Viewer
from leaderboard.tables.record import Files, Shown, Table, columns_from

MOST_MEASURED = 4 * 2**30
"""Of a larger SQLite file the tables are not measured: that reads all of it."""
POSTGRESQL_SIZES = "SELECT relname, pg_total_relation_size(relid) FROM pg_stat_user_tables"
SQLITE_SIZES = (
    "SELECT s.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_schema s ON s.name = d.name "
    "WHERE d.aggregate = 1 GROUP BY s.tbl_name"
)
KINDS = {
    "accounts": "people and the audit",
    "api": "tokens and kept answers of the API",
    "entries": "teams in tasks",
    "evaluations": "scores and comparisons",
    "files": "stored files",
    "jobs": "queue",
    "labelling": "labels of answers",
    "news": "announcements and mail",
    "pools": "pools and assessments",
    "qrels": "judgments",
    "runs": "runs and uploads",
    "site_version": "the number of changes",
    "snapshots": "snapshots",
    "suites": "suites and their runs",
    "tasks": "tasks, topics and documents",
    "webhooks": "webhooks and their deliveries",
    "words": "words that are searched for",
}
"""Module of the tables -> what they hold, in words."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """One table of the database and what it takes with its indexes."""

    name: Annotated[str, Shown(key="table")]
    kind: Annotated[str, Shown("What")]
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePage:
    """What the site takes; tables is empty where it was not measured."""

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
    """What the database takes, and what is free where the data folder is; for operators."""
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
    """What the database takes on its disk."""
    if _is_sqlite(session):
        pages, size = session.scalar(text("PRAGMA page_count")), session.scalar(text("PRAGMA page_size"))
        return int(pages or 0) * int(size or 0)
    return int(session.scalar(text("SELECT pg_database_size(current_database())")) or 0)


def _table_bytes(session: Session, size: int) -> dict[str, int]:
    """Table -> its bytes, with indexes; {} where they cannot be told, or not quickly."""
    if not _is_sqlite(session):
        return {name: int(count) for name, count in session.execute(text(POSTGRESQL_SIZES))}
    if size > MOST_MEASURED:
        return {}
    try:
        return {name: int(count) for name, count in session.execute(text(SQLITE_SIZES))}
    except OperationalError:
        # Not every SQLite is built with dbstat.
        return {}


def _tables(found: Mapping[str, int]) -> tuple[StoredTable, ...]:
    kinds = {
        str(mapper.local_table.name): mapper.class_.__module__.rpartition(".")[2]  # type: ignore[attr-defined]
        for mapper in Base.registry.mappers
    }
    rows = (
        StoredTable(name, KINDS.get(kinds.get(name, ""), "other"), count) for name, count in found.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.bytes, row.name)))


def kind_table(page: StoragePage) -> Table[StoredTable]:
    """Bytes by kind of data."""
    columns = columns_from(StoredTable, "kind bytes")
    return Table("storage", "Room by kind of data", columns, page.kinds)


def table_table(page: StoragePage) -> Table[StoredTable]:
    """Bytes of every table."""
    caption = "Room of each table, its indexes included"
    return Table("tables", caption, columns_from(StoredTable), page.tables)


def facts(page: StoragePage) -> dict[str, Any]:
    """The storage as plain values."""
    return {
        "bytes": page.bytes,
        "free_bytes": page.free_bytes,
        "disk_bytes": page.disk_bytes,
        "backup_age_s": page.backup_age_s,
        "kinds": kind_table(page).facts(),
        "tables": table_table(page).facts(),
    }


FILES = Files(facts=facts, tables={"kinds": kind_table, "tables": table_table})
