"""News of the site, a task and a team, as feed entries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import phase_rules, policy
from leaderboard.core.policy import ANONYMOUS, EVERYBODY, Viewer
from leaderboard.db.tables import Announcement, Edition, Task, TaskChange
from leaderboard.scoring.ops.evaluations.shown import whole_editions
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.page.teams import team_page

MOST = 50
"""Entries of a feed, newest first."""
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""When a feed without any entry was updated last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One thing that happened; key is its permanent name, path the page that shows it."""

    key: str
    title: str
    words: str
    path: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage:
    """News, newest first; path is the page they are about."""

    key: str
    title: str
    path: str
    entries: tuple[FeedEntry, ...]

    @property
    def updated_at(self) -> datetime:
        """When the newest entry was made."""
        return self.entries[0].at if self.entries else BEGINNING


def site_feed(session: Session) -> FeedPage:
    """Public news of all published tasks: new tasks, and news in them."""
    published = select(Task).where(Task.published_at.is_not(None))
    tasks = session.scalars(published.order_by(Task.published_at.desc(), Task.id.desc())).all()
    to_all = Announcement.recipients["kind"].as_string() == EVERYBODY
    announced = select(Announcement).where(Announcement.task_id.in_([task.id for task in tasks]), to_all)
    newest = session.scalars(announced.order_by(Announcement.id.desc()).limit(MOST)).all()
    feed_entries = [
        FeedEntry(
            key=f"task/{task.id}",
            title=f"New task: {task.name}",
            words=task.description,
            path=f"/tasks/{task.slug}",
            at=task.published_at,
        )
        for task in tasks[:MOST]
        if task.published_at is not None
    ]
    rules = phase_rules.rules_of_all(session)
    showing = [
        task for task in tasks if policy.access_by_rules(session, ANONYMOUS, task, rules[task.id]).means
    ]
    entries = [*feed_entries, *_news(session, tasks, newest, showing)]
    return FeedPage(key="site", title="Shared tasks", path="/", entries=_newest(entries))


def task_feed(session: Session, viewer: Viewer, slug: str) -> FeedPage:
    """A task's news visible to the viewer; raises NotFound if the task is not."""
    task, access = policy.visible_task(session, viewer, slug)
    announced = announcements.visible(session, viewer, task)
    entries = _news(session, [task], announced, [task] if access.means else [])
    return FeedPage(
        key=f"task/{task.id}", title=task.name, path=f"/tasks/{task.slug}", entries=_newest(entries)
    )


def team_feed(session: Session, viewer: Viewer, team_id: int) -> FeedPage:
    """The runs of a team that the viewer may know of by its name; raises NotFound or SignInNeeded."""
    page = team_page(session, viewer, team_id)
    entries = (
        FeedEntry(
            key=f"run/{run.run_id}",
            title=f"{run.name} in {run.task}",
            words="",
            path=f"/runs/{run.run_id}",
            at=run.created_at,
        )
        for run in page.runs
        if not run.is_withdrawn
    )
    return FeedPage(
        key=f"team/{page.id}",
        title=f"Runs of {page.name}",
        path=f"/teams/{page.id}",
        entries=_newest(entries),
    )


def _newest(entries: Iterable[FeedEntry]) -> tuple[FeedEntry, ...]:
    return tuple(sorted(entries, key=lambda entry: (entry.at, entry.key), reverse=True)[:MOST])


def _news(
    session: Session, tasks: Sequence[Task], announced: Iterable[Announcement], showing: Sequence[Task]
) -> list[FeedEntry]:
    """Announcements, moved dates, and editions of the boards that show scores."""
    by_id = {task.id: task for task in tasks}
    return [
        *(_announced(by_id[row.task_id], row) for row in announced),
        *(_moved(by_id[row.task_id], row) for row in _changes(session, tasks)),
        *(_shown(by_id[row.task_id], row) for row in _editions(session, showing)),
    ]


def _announced(task: Task, row: Announcement) -> FeedEntry:
    return FeedEntry(
        key=f"announcement/{row.id}",
        title=f"{task.name}: {row.title}",
        words=row.body,
        path=f"/tasks/{task.slug}/news#announcement-{row.id}",
        at=row.created_at,
    )


def _changes(session: Session, tasks: Sequence[Task]) -> Sequence[TaskChange]:
    """Dates moved since a task was published; changes of the draft are not news."""
    moved = (
        select(TaskChange)
        .join(Task, Task.id == TaskChange.task_id)
        .where(
            TaskChange.task_id.in_([task.id for task in tasks]),
            TaskChange.what.startswith("dates of "),
            TaskChange.created_at >= Task.published_at,
        )
    )
    return session.scalars(moved.order_by(TaskChange.id.desc()).limit(MOST)).all()


def _moved(task: Task, row: TaskChange) -> FeedEntry:
    why = f" {row.reason}" if row.reason else ""
    return FeedEntry(
        key=f"change/{row.id}",
        title=f"{task.name}: {row.what}",
        words=f"Submission period: {row.after}; previously {row.before}.{why}",
        path=f"/tasks/{task.slug}/phases",
        at=row.created_at,
    )


def _editions(session: Session, tasks: Sequence[Task]) -> Sequence[Edition]:
    shown = select(Edition).where(
        Edition.task_id.in_([task.id for task in tasks]), Edition.shown_from.is_not(None)
    )
    return [row.Edition for row in whole_editions(session, shown.order_by(Edition.id.desc()).limit(MOST))]


def _shown(task: Task, row: Edition) -> FeedEntry:
    assert row.shown_from is not None, "only editions that were shown are read"
    return FeedEntry(
        key=f"edition/{row.id}",
        title=f"{task.name}: edition {row.number} of the board",
        words="The board shows or has shown this edition.",
        path=f"/tasks/{task.slug}/history",
        at=row.shown_from,
    )
