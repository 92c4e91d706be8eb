"""Work that is not done, as a table of any page that shows it."""

from collections.abc import Sequence

from leaderboard.core.jobs.queue import JobCount
from leaderboard.tables.record import Column, Table, columns_from
from leaderboard.tables.words import lasting


def queue_table(rows: Sequence[JobCount], caption: str) -> Table[JobCount]:
    """Jobs by kind and state, with the age of the oldest."""
    columns = columns_from(
        JobCount,
        "kind state jobs",
        Column(
            "oldest_s", lambda row: row.oldest_s, "Oldest", words=lambda row: lasting(row.oldest_s), digits=0
        ),
    )
    return Table("queue", caption, columns, rows)
