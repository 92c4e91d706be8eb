"""The file of an SQLite database: where it is, and a copy of it that was checked."""

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import text

from leaderboard.db.engine import Database
from leaderboard.errors import Damaged


def file_of(database: Database) -> Path | None:
    """Path of the database, according to SQLite; None for PostgreSQL and for a database in memory."""
    if not database.is_sqlite:
        return None
    with database.engine.connect() as connection:
        name = connection.scalar(text("SELECT file FROM pragma_database_list WHERE name = 'main'"))
    return Path(name) if name else None


def copy_file(database: Database, path: Path) -> Path:
    """Copy the database of a file, as it is at one moment, next to it; the copy's path.

    Raises Damaged where the copy is not sound, OSError and sqlite3's errors where it cannot be made; the
    copy has its name only when it is whole.
    """
    target = path.with_name(f"{path.name}.{datetime.now(UTC):%Y%m%dT%H%M%S}.before-upgrade")
    part = target.with_name(f"{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL, 0o600))
        with database.engine.connect() as connection:
            # VACUUM refuses to run inside a transaction, and SQLAlchemy has begun one.
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("VACUUM INTO ?", (str(part),))
            connection.exec_driver_sql("BEGIN")
        require_sound(part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target


def require_sound(path: Path) -> None:
    """Raise Damaged, with SQLite's own words, where its integrity check finds anything."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        try:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
        except sqlite3.DatabaseError as error:
            found = [str(error)]
    if found != ["ok"]:
        raise Damaged(f"{path} is damaged: {'; '.join(found)}. Restore a backup.")
