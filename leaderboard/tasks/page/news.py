"""News of a task: announcements visible to the reader, and rule changes."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Announcement, Mail, Task, TaskChange
from leaderboard.scoring.ops.scored_topics import OfTask, TaskHead
from leaderboard.tables.record import Column, Files, Shown, Table, columns_from, counted
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.ops.announcements import AnnouncedAccount

SHOWN = timedelta(days=30)
"""Time for which an announcement is shown on the other pages of its task."""
MOST_CHANGES = 200
FOR_READERS = {announcements.EVERYBODY: "everybody", announcements.ENTERED: "every team"}
FOR_ORGANISERS = {
    **FOR_READERS,
    announcements.WITHOUT_RUN: "teams without a run",
    announcements.TEAMS: "chosen teams",
    announcements.ORGANISERS: "organisers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncementRow:
    """One announcement; people, teams and letters are only for organisers, who alone see the recipients."""

    id: int
    at: datetime
    title: str
    body: Annotated[str, Shown("Text")]
    to: str
    people: int | None
    teams: str
    letters: str


@dataclass(frozen=True, slots=True)
class NewsHead:
    """The announcement that is named under a task's title."""

    id: int
    title: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsPage(TaskHead):
    """News of a task."""

    organises: bool
    announcements: tuple[AnnouncementRow, ...]
    changes: tuple[TaskChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncementFormPage(OfTask):
    """The form of a new announcement: the teams, and those without a run."""

    teams: dict[int, str]
    without_run: frozenset[int]


def newest(session: Session, viewer: Viewer, slug: str, at: datetime) -> NewsHead | None:
    """The newest announcement that the viewer may read, where it is younger than a month; else None.

    Raises NotFound where the viewer may not know of the task. For a visitor it takes no statement.
    """
    seen = policy.task_context(session, viewer, slug)
    task, for_all = seen.task, seen.newest
    head = NewsHead(for_all.id, for_all.title or "", for_all.at) if for_all.id and for_all.at else None
    if for_all.last_id != for_all.id and (viewer.team_ids or policy.knows(viewer, task.id)):
        own = announcements.visible(session, viewer, task, after=for_all.id or 0)
        head = NewsHead(own[0].id, own[0].title, own[0].created_at) if own else head
    return head if head and at - head.at < SHOWN else None


def news(session: Session, viewer: Viewer, slug: str) -> NewsPage:
    """A task's announcements visible to the viewer, and its rule changes."""
    task, access = policy.visible_task(session, viewer, slug)
    organises = policy.organises(viewer, task.id)
    rows = announcements.visible(session, viewer, task)
    letters = _letters(session, rows) if organises else {}
    names = announcements.entered_teams(session, task.id) if organises else {}
    return NewsPage(
        of=task,
        access=access,
        organises=organises,
        announcements=tuple(_row(row, organises, names, letters.get(row.id, "")) for row in rows),
        changes=_changes(session, task, organises),
    )


def _row(row: Announcement, organises: bool, names: dict[int, str], letters: str) -> AnnouncementRow:
    kind, team_ids = row.recipients["kind"], row.recipients.get("teams", ())
    # A receiving team does not see the other receivers: some go by a pseudonym.
    to = FOR_ORGANISERS[kind] if organises else FOR_READERS.get(kind, "you")
    teams = ", ".join(names.get(team_id, "a team that has left") for team_id in team_ids)
    return AnnouncementRow(
        id=row.id,
        at=row.created_at,
        title=row.title,
        body=row.body,
        to=to,
        people=row.count if organises else None,
        teams=teams if organises else "",
        letters=letters,
    )


def _letters(session: Session, rows: Iterable[Announcement]) -> dict[int, str]:
    """Announcement id -> how many letters of it are in which state."""
    counts = session.execute(
        select(Mail.announcement_id, Mail.state, func.count())
        .where(Mail.announcement_id.in_([row.id for row in rows]))
        .group_by(Mail.announcement_id, Mail.state)
    )
    states: dict[int, Counter[str]] = defaultdict(Counter)
    for announcement_id, state, count in counts:
        if announcement_id is not None:
            states[announcement_id][state] = count
    return {
        announcement_id: ", ".join(f"{count} {state}" for state, count in sorted(by_state.items()))
        for announcement_id, by_state in states.items()
    }


def _changes(session: Session, task: Task, organises: bool) -> tuple[TaskChange, ...]:
    query = select(TaskChange).where(TaskChange.task_id == task.id)
    if not organises:
        # Changes of a draft before publication are not news.
        query = query.where(TaskChange.created_at >= task.published_at)
    return tuple(session.scalars(query.order_by(TaskChange.id.desc()).limit(MOST_CHANGES)))


def announced(page: NewsPage) -> Table[AnnouncementRow]:
    """The announcements; for organisers with how many they were for and what became of the letters."""
    columns = columns_from(
        AnnouncementRow,
        Column("at", lambda row: row.at.isoformat(timespec="seconds"), "Sent"),
        "title to body",
    )
    if page.organises:
        columns += [
            Column("people", lambda row: row.people, "People", digits=0),
            Column("teams", lambda row: row.teams, "Teams"),
        ]
        if any(row.letters for row in page.announcements):
            columns.append(Column("letters", lambda row: row.letters, "Mails"))
    caption = f"Announcements of {page.task}, newest first"
    return Table(f"{page.slug}-news", caption, columns, page.announcements)


def changes(page: NewsPage) -> Table[TaskChange]:
    """The task's rule changes."""
    columns = columns_from(
        TaskChange,
        Column("at", lambda row: row.created_at.isoformat(timespec="seconds"), "When"),
        "what before after",
        Column("reason", lambda row: row.reason, "Why"),
    )
    caption = f"Rule changes in {page.task}, newest first"
    return Table(f"{page.slug}-changes", caption, columns, page.changes)


def facts(page: NewsPage) -> dict[str, Any]:
    """The news as plain values."""
    return {"task": page.slug, "announcements": announced(page).facts(), "changes": changes(page).facts()}


FILES = Files(facts=facts, tables={"announcements": announced, "changes": changes})


def announcement_form(session: Session, viewer: Viewer, slug: str) -> AnnouncementFormPage:
    """The possible recipients, for an organiser."""
    task = policy.own_task(session, viewer, slug)
    return AnnouncementFormPage(
        of=task,
        teams=announcements.entered_teams(session, task.id),
        without_run=frozenset(announcements.teams_without_run(session, task.id)),
    )


def people(accounts: tuple[AnnouncedAccount, ...], has_mail: bool) -> Table[AnnouncedAccount]:
    """Everybody an announcement would reach."""
    columns = columns_from(AnnouncedAccount, "name why")
    if has_mail:
        columns.append(Column("mail", lambda row: row.is_mailed, "Also by mail"))
    caption = f"It will reach {counted(len(accounts), 'person', 'people')}"
    return Table("people", caption, columns, accounts)
