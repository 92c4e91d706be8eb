"""Activity in a task, for its organisers: runs per day, rejected files, teams without a run, the queue."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.core import policy
from leaderboard.core.jobs import queue
from leaderboard.core.jobs.queue import JobCount
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Member, Run, Team, Upload
from leaderboard.scoring.ops.scored_topics import OfTask
from leaderboard.tables.record import Column, Files, Shown, Table, columns_from, lasting
from leaderboard.tasks.ops import announcements

DAYS = 60
"""Number of days counted, up to today."""
MOST_REPORTS = 2000
"""Maximum rejected files whose reports are read, newest first."""
ACCEPTED, REJECTED = "accepted", "rejected"


@dataclass(frozen=True, slots=True)
class DayCount:
    """Files sent on one day, in UTC."""

    day: date
    accepted: int
    rejected: int


@dataclass(frozen=True, slots=True)
class RuleCount:
    """The number of rejected files that broke a rule, and of their teams."""

    rule: Annotated[str, Shown("Broken rule")]
    files: int
    teams: int


@dataclass(frozen=True, slots=True)
class TeamCount:
    """The outcomes of a team's files; runs are those not withdrawn."""

    team: str
    members: int
    runs: Annotated[int, Shown("Valid runs")]
    accepted: int
    rejected: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityPage(OfTask):
    """Activity in a task."""

    days: tuple[DayCount, ...]
    rules: tuple[RuleCount, ...]
    teams: tuple[TeamCount, ...]
    jobs: tuple[JobCount, ...]

    @property
    def without_run(self) -> tuple[TeamCount, ...]:
        """The teams without a valid run."""
        return tuple(row for row in self.teams if not row.runs)


@dataclass(slots=True)
class _Sent:
    states: Counter[str] = field(default_factory=Counter)
    last_at: datetime | None = None


def activity(session: Session, viewer: Viewer, slug: str) -> ActivityPage:
    """Activity in the viewer's task; raises NotFound or Forbidden unless the viewer organises it."""
    task = policy.own_task(session, viewer, slug)
    uploads = session.execute(
        select(Upload.team_id, Upload.state, Upload.created_at)
        .where(Upload.task_id == task.id)
        .order_by(Upload.id)
    ).all()
    days: dict[date, Counter[str]] = defaultdict(Counter)
    sent: dict[int, _Sent] = defaultdict(_Sent)
    for team_id, state, at in uploads:
        days[at.astimezone(UTC).date()][state] += 1
        sent[team_id].states[state] += 1
        sent[team_id].last_at = at
    return ActivityPage(
        of=task,
        days=_days(days, now(session).date()),
        rules=_rules(session, task.id),
        teams=_teams(session, task.id, sent),
        jobs=queue.unfinished(session, task.id),
    )


def _days(counts: dict[date, Counter[str]], today: date) -> tuple[DayCount, ...]:
    """Every day from the first one with a file, or as far back as is shown, until today."""
    first = max(min(counts, default=today), today - timedelta(days=DAYS - 1))
    span = (first + timedelta(days=number) for number in range((today - first).days + 1))
    return tuple(DayCount(day, counts[day][ACCEPTED], counts[day][REJECTED]) for day in span)


def _rules(session: Session, task_id: int) -> tuple[RuleCount, ...]:
    rows = session.execute(
        select(Upload.team_id, Upload.report)
        .where(Upload.task_id == task_id, Upload.state == REJECTED)
        .order_by(Upload.id.desc())
        .limit(MOST_REPORTS)
    )
    files: Counter[str] = Counter()
    teams: dict[str, set[int]] = defaultdict(set)
    for team_id, report in rows:
        for rule in {problem["rule"] for problem in (report or {}).get("problems", ())}:
            files[rule] += 1
            teams[rule].add(team_id)
    return tuple(RuleCount(rule, count, len(teams[rule])) for rule, count in files.most_common())


def _teams(session: Session, task_id: int, sent: dict[int, _Sent]) -> tuple[TeamCount, ...]:
    """Every team that has entered or sent a file; those without a run first."""
    names = announcements.teams_of(session, task_id)
    size = select(func.count()).where(Member.team_id == Team.id).correlate(Team).scalar_subquery()
    members = {team_id: n for team_id, n in session.execute(select(Team.id, size).where(Team.id.in_(names)))}
    kept = select(Run.team_id, func.count()).where(Run.task_id == task_id, Run.withdrawn_at.is_(None))
    runs = {team_id: count for team_id, count in session.execute(kept.group_by(Run.team_id))}
    rows = (
        TeamCount(
            names[team_id],
            members[team_id],
            runs.get(team_id, 0),
            sent[team_id].states[ACCEPTED],
            sent[team_id].states[REJECTED],
            sent[team_id].last_at,
        )
        for team_id in names
    )
    return tuple(sorted(rows, key=lambda row: row.runs > 0))


def day_table(page: ActivityPage) -> Table[DayCount]:
    """Files per day, newest first."""
    columns: list[Column[DayCount]] = [
        Column("day", lambda row: row.day.isoformat(), "Day (UTC)"),
        Column(ACCEPTED, lambda row: row.accepted, "Accepted", digits=0),
        Column(REJECTED, lambda row: row.rejected, "Rejected", digits=0),
    ]
    caption = f"Files submitted per day, over at most the last {DAYS} days"
    return Table("days", caption, columns, page.days[::-1])


def rule_table(page: ActivityPage) -> Table[RuleCount]:
    """Why files were rejected, most often first."""
    columns = columns_from(RuleCount)
    return Table("rules", "Reasons for rejection", columns, page.rules)


def team_table(page: ActivityPage) -> Table[TeamCount]:
    """The teams, those without a run first."""
    columns = columns_from(
        TeamCount,
        "team members runs accepted rejected",
        Column(
            "last",
            lambda row: row.last_at.isoformat(timespec="seconds") if row.last_at else None,
            "Last file",
        ),
    )
    caption = "Teams, those without a valid run first"
    return Table("teams", caption, columns, page.teams)


def job_table(page: ActivityPage) -> Table[JobCount]:
    """The queue of the task."""
    return queue_table(page.jobs, "Unfinished jobs of this task")


TABLES: dict[str, Callable[[ActivityPage], Table[Any]]] = {
    "days": day_table,
    "rules": rule_table,
    "teams": team_table,
    "queue": job_table,
}


def facts(page: ActivityPage) -> dict[str, Any]:
    """All tables as plain values."""
    return {"task": page.slug, **{name: table(page).facts() for name, table in TABLES.items()}}


FILES = Files(facts=facts, tables=TABLES)


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
