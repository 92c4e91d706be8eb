"""The page of a task's query logs: imported logs, and preferences inferred from their clicks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Account, ClickLog
from leaderboard.judging.ops import clicks
from leaderboard.judging.ops.clicks import Choice, FoundPreferences, Preference, TopicCounts
from leaderboard.scoring.ops.scored_topics import OfTask
from leaderboard.tables.record import Column, Files, Place, Table, columns_from, counted


@dataclass(frozen=True, slots=True)
class LogRow:
    """An imported log, with the name of its importer."""

    log: ClickLog
    by: str | None

    @property
    def unknown(self) -> dict[str, int]:
        """Unmatched topic or query -> number of rows."""
        return {text: count for text, count in self.log.unknown.items() if text}

    @property
    def unknown_rows(self) -> int:
        """Number of unmatched rows."""
        return sum(self.log.unknown.values())


@dataclass(frozen=True, slots=True)
class ClickPage(OfTask):
    """A task's logs and the preferences of a choice."""

    logs: tuple[LogRow, ...]
    """Newest first."""
    found: FoundPreferences

    @property
    def days(self) -> tuple[date, date] | None:
        """First and last day of the sessions, None if no time is known."""
        if self.found.days is None:
            return None
        start = datetime.fromtimestamp(0, UTC).date()
        first, last = self.found.days
        return start + timedelta(days=first), start + timedelta(days=last)


def logs(session: Session, viewer: Viewer, slug: str) -> tuple[LogRow, ...]:
    """A task's logs, newest first; raises NotFound or Forbidden unless the viewer organises it."""
    task = policy.own_task(session, viewer, slug, policy.reads)
    rows = session.execute(
        select(ClickLog, Account.name)
        .outerjoin(Account, Account.id == ClickLog.created_by)
        .where(ClickLog.task_id == task.id)
        .order_by(ClickLog.number.desc())
    )
    return tuple(LogRow(*row) for row in rows)


def click_page(session: Session, viewer: Viewer, slug: str, choice: Choice) -> ClickPage:
    """The page of a choice; raises what `preferences.find` raises."""
    task = policy.own_task(session, viewer, slug, policy.reads)
    return ClickPage(
        of=task, logs=logs(session, viewer, slug), found=clicks.find_preference(session, viewer, slug, choice)
    )


def facts(page: ClickPage) -> dict[str, Any]:
    """The logs and preferences as plain values; users only as a number."""
    from_clicks, days = page.found, page.days
    return {
        "task": page.slug,
        "rule": from_clicks.choice.reading.key,
        "rules": list(from_clicks.choice.reading.rules),
        "least": from_clicks.choice.least,
        "keep": from_clicks.choice.keep,
        "count": from_clicks.choice.counted,
        "p": from_clicks.choice.p,
        "logs": [
            {
                "number": log.log.number,
                "file": log.log.file_name,
                "sha256": log.log.sha256,
                "sessions": log.log.sessions,
                "unknown_rows": log.unknown_rows,
                "unknown": log.unknown,
            }
            for log in page.logs
        ],
        "used": list(from_clicks.choice.logs) or sorted(log.log.number for log in page.logs),
        "users": from_clicks.users,
        "from": days[0].isoformat() if days else None,
        "to": days[1].isoformat() if days else None,
        "topics": [
            {
                "topic": topic.topic,
                "sessions": topic.sessions,
                "sessions_with_clicks": topic.clicked,
                "clicks": topic.clicks,
                "pairs": topic.pairs,
                "pairs_both_ways": topic.both_ways,
                "preferences": topic.kept,
            }
            for topic in from_clicks.topics
        ],
        "preferences": [
            {
                "topic": preference.topic,
                "better": preference.better,
                "worse": preference.worse,
                "count": preference.count,
                "against": preference.against,
                "p": preference.p,
            }
            for preference in from_clicks.preferences
        ],
    }


def preferences_table(page: ClickPage) -> Table[Preference]:
    """The preferences kept, by topic, most frequent first."""
    from_clicks = page.found
    choice = from_clicks.choice
    columns = columns_from(
        Preference,
        "topic better worse",
        Column(choice.counted, lambda row: row.count, choice.counted.capitalize(), digits=0),
        "against p",
    )
    evidence = counted(choice.least, choice.counted.removesuffix("s"))
    tested = f" with p at most {choice.p}" if choice.p else ""
    number = counted(len(from_clicks.preferences), "preference")
    caption = f"{number} with at least {evidence}{tested}, by topic, most frequent first"
    return Table(f"{page.slug}-clicks", caption, columns, from_clicks.preferences)


def topics_table(page: ClickPage) -> Table[TopicCounts]:
    """Click counts by topic."""
    columns = columns_from(TopicCounts)
    days, users = page.days, page.found.users
    caption = (
        f"Sessions and preferences of {counted(len(page.found.topics), 'topic')}"
        + (f", {days[0].isoformat()} to {days[1].isoformat()}" if days else "")
        + (f", {counted(users, 'user')}" if users else "")
    )
    return Table(f"{page.slug}-clicks-topics", caption, columns, page.found.topics)


def logs_table(page: ClickPage) -> Table[LogRow]:
    """The imported logs."""
    columns = columns_from(
        LogRow,
        Column("log", lambda row: row.log.number, "Log", digits=0),
        Column("file", lambda row: row.log.file_name, "File"),
        Column("sha256", lambda row: row.log.sha256, "SHA-256", shown=Place.DATA),
        "log.sessions",
        Column("unknown_rows", lambda row: row.unknown_rows, "Rows without a topic", digits=0),
        Column(
            "imported",
            lambda row: row.log.created_at.astimezone(UTC).isoformat(timespec="seconds"),
            "Imported, UTC",
        ),
        Column("by", lambda row: row.by or "command line", "By"),
        Column("delete", lambda row: row.log.number, "Delete", shown=Place.PAGE),
    )
    caption = "Imported logs, newest first"
    return Table(f"{page.slug}-clicks-logs", caption, columns, page.logs)


TABLES: Mapping[str, Callable[[ClickPage], Table[Any]]] = {
    "preferences": preferences_table,
    "topics": topics_table,
    "logs": logs_table,
}
FILES = Files(facts=facts, tables=TABLES)
