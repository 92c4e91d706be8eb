"""The page of a task's query logs: what was imported, and the preferences their clicks show."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, ClickLog
from leaderboard.services import policy
from leaderboard.services.clicks import preferences
from leaderboard.services.clicks.preferences import Choice, FoundPreferences
from leaderboard.services.policy import Viewer

Table = tuple[list[str], list[list[Any]]]


@dataclass(frozen=True, slots=True)
class LogRow:
    """One imported log."""

    number: int
    file_name: str
    sha256: str
    sessions: int
    unknown: dict[str, int]
    """Topic or query that matched none of the task's -> its rows."""
    unknown_rows: int
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True)
class ClickPage:
    """A task's logs and the preferences of a choice."""

    slug: str
    task: str
    logs: tuple[LogRow, ...]
    """The newest first."""
    found: FoundPreferences

    @property
    def days(self) -> tuple[date, date] | None:
        """First and last day of the sessions, None where no time is known."""
        if self.found.days is None:
            return None
        start = datetime.fromtimestamp(0, UTC).date()
        first, last = self.found.days
        return start + timedelta(days=first), start + timedelta(days=last)


def logs(session: Session, viewer: Viewer, slug: str) -> tuple[LogRow, ...]:
    """A task's logs, the newest first; raises NotFound or Forbidden unless the viewer organises it."""
    task = policy.own_task(session, viewer, slug)
    rows = session.execute(
        select(ClickLog, Account.name)
        .outerjoin(Account, Account.id == ClickLog.created_by)
        .where(ClickLog.task_id == task.id)
        .order_by(ClickLog.number.desc())
    )
    return tuple(
        LogRow(
            *(log.number, log.file_name, log.sha256, log.sessions),
            {text: count for text, count in log.unknown.items() if text},
            sum(log.unknown.values()),
            log.created_at,
            name or "",
        )
        for log, name in rows
    )


def click_page(session: Session, viewer: Viewer, slug: str, wanted: Choice) -> ClickPage:
    """The page of a choice; raises what `preferences.find` raises."""
    task = policy.own_task(session, viewer, slug)
    found = preferences.find(session, viewer, slug, wanted)
    return ClickPage(task.slug, task.name, logs(session, viewer, slug), found)


def as_json(page: ClickPage) -> dict[str, Any]:
    """The logs and preferences as plain values; of users only how many there are."""
    found, days = page.found, page.days
    return {
        "task": page.slug,
        "rule": found.choice.reading.key,
        "rules": list(found.choice.reading.rules),
        "least": found.choice.least,
        "keep": found.choice.keep,
        "count": found.choice.counted,
        "p": found.choice.p,
        "logs": [
            {
                "number": each.number,
                "file": each.file_name,
                "sha256": each.sha256,
                "sessions": each.sessions,
                "unknown_rows": each.unknown_rows,
                "unknown": each.unknown,
            }
            for each in page.logs
        ],
        "used": list(found.choice.logs) or sorted(each.number for each in page.logs),
        "users": found.users,
        "from": days[0].isoformat() if days else None,
        "to": days[1].isoformat() if days else None,
        "topics": [
            {
                "topic": each.topic,
                "sessions": each.sessions,
                "sessions_with_clicks": each.clicked,
                "clicks": each.clicks,
                "pairs": each.pairs,
                "pairs_both_ways": each.both_ways,
                "preferences": each.kept,
            }
            for each in found.topics
        ],
        "preferences": [
            {
                "topic": each.topic,
                "better": each.better,
                "worse": each.worse,
                "count": each.count,
                "against": each.against,
                "p": each.p,
            }
            for each in found.preferences
        ],
    }


def table(found: FoundPreferences) -> Table:
    """One row a preference."""
    header = ["topic", "better", "worse", found.choice.counted, "against", "p"]
    return header, [
        [each.topic, each.better, each.worse, each.count, each.against, each.p] for each in found.preferences
    ]
