"""A site's database copied into another one, such as from SQLite to PostgreSQL."""

from sqlalchemy import Connection, text

from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.errors import Conflict
from leaderboard.services.backups.archives import TableCount
from leaderboard.services.backups.backups import Progress, fill, one_moment
from leaderboard.services.backups.rows import RowTable, rows_of, tables_of


def copy(
    source: Database, target: Database, *, progress: Progress = lambda _: None
) -> tuple[TableCount, ...]:
    """Copy every row in one transaction, and compare numbers and digests of rows before it ends.

    Both are at the newest schema and the target is empty: raises SchemaOutdated and Conflict otherwise.
    """
    schema.require_head(source)
    schema.require_head(target)
    with one_moment(source) as reading, schema.alone(target) as writing:
        tables = tables_of(reading)
        _require_empty(writing, tables)
        return fill(writing, ((table, rows_of(reading, table)) for table in tables), progress)


def _require_empty(connection: Connection, tables: list[RowTable]) -> None:
    for table in tables:
        if connection.scalar(text(f'SELECT 1 FROM "{table.name}" LIMIT 1')) is not None:
            raise Conflict(
                f"The target has rows in its table {table.name} already: copy into an empty database, "
                "made by `leaderboard db upgrade`."
            )
