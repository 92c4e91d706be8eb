"""Work that is not done, as a table of any page that shows it."""

from collections.abc import Sequence

from leaderboard.services.jobs.counts import JobCount
from leaderboard.tables.record import Column, Table
from leaderboard.tables.words import lasting


def queue_table(rows: Sequence[JobCount], caption: str) -> Table[JobCount]:
    """Jobs by kind and state, with the age of the oldest."""
    columns: list[Column[JobCount]] = [
        Column(key="kind", head="Work", value=lambda row: row.kind),
        Column(key="state", head="State", value=lambda row: row.state),
        Column(key="jobs", head="Jobs", value=lambda row: row.jobs, digits=0),
        Column(
            key="oldest_s",
            head="Oldest",
            value=lambda row: row.oldest_s,
            words=lambda row: lasting(row.oldest_s),
            digits=0,
        ),
    ]
    return Table(name="queue", caption=caption, columns=columns, rows=rows)
