"""The schema's version: tables are made and changed by migrations only.

Alembic is imported where it changes tables: it takes a fifth of the start of a command that only asks whether
they are as they should be.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from leaderboard.db.engine import Database
from leaderboard.errors import SchemaOutdated
from leaderboard.resources import bundled

if TYPE_CHECKING:
    from alembic.config import Config

VERSION_TABLE = "alembic_version"
"""The table in which Alembic notes the revision."""
LOCK = 7_203_551
"""Key of PostgreSQL's advisory lock: one migrator at a time."""


def config() -> "Config":
    """Alembic's configuration, pointing at the migrations this program brought along."""
    from alembic.config import Config

    configuration = Config()
    configuration.set_main_option("script_location", str(bundled("migrations")).replace("%", "%%"))
    return configuration


def head() -> str:
    """The newest revision this program knows: the files of steps begin with their numbers."""
    return max(path.name[:4] for path in bundled("migrations").glob("versions/[0-9]*.py"))


def current(database: Database) -> str | None:
    """The revision the database is at, None where it is empty."""
    with database.engine.connect() as connection:
        return current_on(connection)


def current_on(connection: Connection) -> str | None:
    """The revision that the transaction of a connection sees, None where the database is empty."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def require_head(database: Database) -> None:
    """Raise SchemaOutdated, naming the command to run, unless the database is at the newest revision."""
    revision, newest = current(database), head()
    require_known(revision)
    if revision != newest:
        raise SchemaOutdated(
            f"The database has schema {revision or '(empty)'}, but this program needs {newest}. Run "
            "`leaderboard db upgrade` with the same settings, then start again."
        )


def require_known(revision: str | None) -> None:
    """Raise SchemaOutdated where a newer program made the schema at this revision."""
    if revision is not None and revision > head():
        raise SchemaOutdated(
            f"This was created by a newer version of the program (schema {revision}). Install that version."
        )


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the database to a revision; on SQLite in one transaction with foreign keys checked after it."""
    with alone(database) as connection:
        run_to(connection, revision)


def run_to(connection: Connection, revision: str) -> None:
    """Bring the database to a revision in the transaction of a connection, which `alone` gave.

    Raises SchemaOutdated with the message of a step that stored data prevents.
    """
    from alembic import command

    options = config()
    options.attributes["connection"] = connection
    try:
        command.upgrade(options, revision)
    except ValueError as refused:
        # Steps do not import the program, so they cannot raise its errors.
        raise SchemaOutdated(str(refused)) from refused


def downgrade(database: Database, revision: str) -> None:
    """Downgrade the database to an earlier revision."""
    from alembic import command

    with alone(database) as connection:
        options = config()
        options.attributes["connection"] = connection
        command.downgrade(options, revision)


@contextmanager
def alone(database: Database) -> Iterator[Connection]:
    """A connection in one transaction, alone in changing tables or filling all of them.

    Foreign keys are off while Alembic rebuilds SQLite tables, and checked at the end: with them on, dropping
    the old table deletes every row that points at it.
    """
    with database.engine.connect() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
            yield connection
            connection.commit()
            return
        raw = connection.connection.driver_connection
        assert raw is not None
        raw.execute("PRAGMA foreign_keys=OFF")
        try:
            with connection.begin():
                yield connection
                broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
                if broken:
                    raise SchemaOutdated(
                        f"This would leave {len(broken)} rows with missing references. Nothing was changed."
                    )
        finally:
            raw.execute("PRAGMA foreign_keys=ON")
