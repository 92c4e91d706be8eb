"""A task's settings, section by section; its people; the measures its board may have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.accounts.page.invitations import InvitationRow, invitation_rows
from leaderboard.core import phase_rules, policy
from leaderboard.core.picture_kinds import KINDS
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Account, Qrels, QrelsRevision, Task, TaskChange, TaskRole, Topic
from leaderboard.fields import Asked
from leaderboard.measures.catalogue import entries
from leaderboard.measures.catalogue.entries import Entry
from leaderboard.scoring.ops import board_measures, collections, scored_topics
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.scoring.ops.scored_topics import OfTask
from leaderboard.tables.record import Column, Place, Shown, Table, columns_from
from leaderboard.tasks.ops import organise, settings
from leaderboard.tasks.ops.pictures import pictures
from leaderboard.tasks.ops.pictures.pictures import PictureHead
from leaderboard.tasks.ops.settings import SettingSection, sections_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPage(OfTask):
    """All settings with their values, and what may become of the task."""

    values: Mapping[str, str]
    """Setting -> its value as its field shows it."""
    stamps: Mapping[str, str]
    """Setting -> the stamp of its value."""
    sections: tuple[SettingSection, ...]
    pictures: Mapping[str, PictureHead]
    """Kind -> the logo or picture that is there."""
    picture_stamps: Mapping[str, str]
    topics: int
    revisions: tuple[int, ...]
    """Numbers of the revisions of the board's judgments, the newest first."""
    has_runs: bool
    has_board: bool
    may_change: bool
    """Whether the viewer organises the task; a reader of everything has read access only."""
    warning: str
    """A warning on phases whose scores are never shown; empty if absent."""


@dataclass(frozen=True, slots=True)
class RoleRow:
    """An account with a role in the task."""

    account: Annotated[int, Shown(key="change", digits=None, shown=Place.PAGE)]
    name: Annotated[str, Shown(key="account")]
    role: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class RolesPage(OfTask):
    """The accounts with a role in a task."""

    people: tuple[RoleRow, ...]
    invitations: tuple[InvitationRow, ...]
    """Invitation links to the task, for viewers who can create more."""
    may_change: bool


@dataclass(frozen=True, slots=True)
class MeasureChoice:
    """A measure that the board may have, in a form that may be ticked."""

    key: str
    entry: Entry
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class MeasuresChoice(OfTask):
    """Those that a search found, and all that are chosen by now."""

    query: str
    chosen: tuple[str, ...]
    found: tuple[MeasureChoice, ...]


def settings_page(session: Session, viewer: Viewer, slug: str) -> SettingsPage:
    """The settings; raises NotFound, SignInNeeded or Forbidden unless the viewer is an organiser or
    reader."""
    task = policy.own_task(session, viewer, slug, policy.reads)
    may_change = policy.organises(viewer, task.id)
    values = settings.current(session, task)
    if not may_change:
        values = values | {"entry_code": ""}
    shown = pictures.heads(session, task.id)
    numbers = session.scalars(
        select(QrelsRevision.number)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == task.id, Qrels.name == MAIN)
        .order_by(QrelsRevision.number.desc())
    )
    return SettingsPage(
        of=task,
        values=values,
        stamps=settings.stamps(values),
        sections=sections_of(task.kind, [row.name for row in collections.choices(session, viewer)]),
        pictures=shown,
        picture_stamps={kind: pictures.stamp(shown.get(kind)) for kind in KINDS},
        topics=session.scalar(select(func.count()).where(Topic.task_id == task.id)) or 0,
        revisions=tuple(numbers),
        has_runs=organise.has_runs(session, task.id),
        has_board=settings.has_board(session, task.id),
        may_change=may_change,
        warning=phase_rules.without_end(phase_rules.rules_of(session, task)),
    )


def values_table(page: SettingsPage) -> Table[Asked]:
    """Every setting with its value, as commands print it."""
    columns: list[Column[Asked]] = [
        Column("key", lambda row: row.name, "Setting"),
        Column("label", lambda row: row.about.title, "Description"),
        Column("value", lambda row: page.values[row.name], "Value"),
    ]
    rows = [setting for section in page.sections for setting in section.settings]
    return Table(f"{page.slug}-settings", "Settings.", columns, rows)


def people(session: Session, viewer: Viewer, slug: str) -> RolesPage:
    """The accounts with a role in the task; raises as `settings_page` does."""
    task = policy.own_task(session, viewer, slug, policy.reads)
    rows = session.execute(
        select(Account.id, Account.name, TaskRole.role)
        .join(TaskRole, TaskRole.account_id == Account.id)
        .where(TaskRole.task_id == task.id)
        .order_by(TaskRole.role.desc(), Account.canonical)
    )
    shown = tuple(RoleRow(*row, is_own=row.id == viewer.account_id) for row in rows)
    ordered = tuple(sorted(shown, key=lambda row: policy.ROLES.index(row.role)))
    may_change = policy.organises(viewer, task.id)
    sent = invitation_rows(session, "task", task_id=task.id) if may_change else ()
    return RolesPage(of=task, people=ordered, invitations=sent, may_change=may_change)


def people_table(page: RolesPage) -> Table[RoleRow]:
    """Accounts with their roles."""
    columns = columns_from(RoleRow, "name role account")
    return Table(f"{page.slug}-people", "People of the task.", columns, page.people)


def measures(
    session: Session, viewer: Viewer, slug: str, query: str, chosen: Sequence[str]
) -> MeasuresChoice:
    """The catalogue's measures that the board may have, by a search; chosen ones are kept.

    Raises NotFound, SignInNeeded or Forbidden unless the viewer organises the task.
    """
    task = policy.own_task(session, viewer, slug)
    kept = tuple(dict.fromkeys(chosen or task.measures))
    there = board_measures.available(session, task)
    listed = [entry for section in entries.listing(query) for entry in section.entries]
    offered = [(board_measures.offered(entry.name, task.level, there), entry) for entry in listed]
    rows = tuple(MeasureChoice(key, entry, key in kept) for key, entry in offered if key)
    return MeasuresChoice(of=task, query=query, chosen=kept, found=rows)


def changes_table(slug: str, rows: tuple[TaskChange, ...]) -> Table[TaskChange]:
    """The changes, latest first."""
    columns = columns_from(
        TaskChange,
        Column("at", lambda row: row.created_at, "When"),
        "what before after",
        Column("reason", lambda row: row.reason, "Why"),
    )
    caption = "Settings changed since the task was published, latest first."
    return Table(f"{slug}-changes", caption, columns, rows)


def topic_form(session: Session, viewer: Viewer, slug: str, topic_id: str) -> tuple[Task, Topic]:
    """The form that corrects a topic; raises NotFound, SignInNeeded or Forbidden unless the viewer organises
    the task."""
    task = policy.own_task(session, viewer, slug)
    return task, scored_topics.find_topic(session, task, topic_id)
