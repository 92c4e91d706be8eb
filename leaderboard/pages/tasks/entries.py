"""TeamEntering a task as teams see it, and the list of entries as organisers do."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Entry, Run, Task, Team
from leaderboard.services import policy
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import entries
from leaderboard.services.tasks.entries import RULES, EntryState
from leaderboard.services.tasks.head import OfTask, TaskHead
from leaderboard.tables.record import Column, Files, Place, Table, columns_from


@dataclass(frozen=True, slots=True)
class TeamEntry:
    """One of the viewer's teams and where it stands."""

    team_id: int
    name: str
    entry: EntryState


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryForm(TaskHead):
    """The page that enters a task: its rule, its agreement, and the viewer's teams."""

    said: str
    """The rule in a sentence."""
    teams: tuple[TeamEntry, ...]
    takes_entries: bool

    @property
    def needs_code(self) -> bool:
        """Whether a team of the viewer has to give the code."""
        return self.of.entry_rule == "code" and any(not team.entry.state for team in self.teams)

    @property
    def open_teams(self) -> tuple[TeamEntry, ...]:
        """The teams that have something to do here."""
        waits = entries.WAITING
        return tuple(
            team
            for team in self.teams
            if team.entry.state != entries.REFUSED and team.entry.missing and not self._has_done(team, waits)
        )

    def _has_done(self, team: TeamEntry, waits: str) -> bool:
        agreed = not self.of.agreement or team.entry.agreed == self.of.agreement_version
        return team.entry.state == waits and agreed


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A team in a task as its organisers see it; agreed_by: who agreed for it."""

    entry: Entry
    team: str
    affiliation: str
    agreed_by: str | None
    runs: int


@dataclass(frozen=True, slots=True)
class EntryList(OfTask):
    """All teams in a task."""

    rows: tuple[EntryRow, ...]


def entry_form(session: Session, viewer: Viewer, slug: str) -> EntryForm:
    """How a task is entered; NotFound where the viewer may not know of it."""
    task, sight = policy.visible_task(session, viewer, slug)
    rows = session.execute(
        select(Team.id, Team.name).where(Team.id.in_(viewer.team_ids)).order_by(Team.canonical)
    )
    closed = task.published_at is None or policy.is_closed(session, task.id)
    return EntryForm(
        of=task,
        sight=sight,
        said=RULES[task.entry_rule],
        teams=tuple(TeamEntry(row.id, row.name, entries.state_of(session, task, row.id)) for row in rows),
        takes_entries=not closed,
    )


def entry_list(session: Session, viewer: Viewer, slug: str) -> EntryList:
    """The teams in a task, those that wait first; for its organisers."""
    task = policy.own_task(session, viewer, slug)
    return EntryList(of=task, rows=_rows(session, task))


def waiting(session: Session, task_id: int) -> int:
    """How many teams wait for a yes."""
    wait = select(func.count(Entry.id)).where(Entry.task_id == task_id, Entry.state == entries.WAITING)
    return session.scalar(wait) or 0


def table(page: EntryList) -> Table[EntryRow]:
    """The entries of a task: state, agreement, runs."""
    columns = columns_from(
        EntryRow,
        "team entry.state",
        Column("decide", lambda row: row.entry.team_id, "Decide", shown=Place.PAGE),
        "affiliation",
        Column("why", lambda row: row.entry.why, "Why refused", shown=~Place.PAGE),
        Column("agreed", lambda row: row.entry.agreement_version, "Agreed to version", digits=0),
        Column("agreed_at", lambda row: _moment(row.entry.agreed_at), "on"),
        Column("agreed_by", lambda row: row.agreed_by or "", "by"),
        Column("since", lambda row: _moment(row.entry.created_at), "Since"),
        Column("pseudonym", lambda row: row.entry.pseudonym or "", "Pseudonym"),
        "runs",
    )
    return Table("entries", f"Teams in {page.task}", columns, page.rows)


def facts(page: EntryList) -> dict[str, Any]:
    """The entries as plain values."""
    task = page.of
    rules = {"rule": task.entry_rule, "agreement": task.agreement_version}
    return {"task": task.slug, **rules, "entries": table(page).facts()}


FILES = Files(facts=facts, tables={"entries": table})


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _rows(session: Session, task: Task) -> tuple[EntryRow, ...]:
    runs = (
        select(func.count(Run.id))
        .where(Run.task_id == Entry.task_id, Run.team_id == Entry.team_id)
        .correlate(Entry)
        .scalar_subquery()
    )
    rows = session.execute(
        select(Entry, Team.name, Team.affiliation, Account.name.label("agreed_by"), runs.label("runs"))
        .join(Team, Team.id == Entry.team_id)
        .outerjoin(Account, Account.id == Entry.agreed_by)
        .where(Entry.task_id == task.id)
        .order_by(Entry.state != entries.WAITING, Team.canonical)
    )
    return tuple(EntryRow(*row) for row in rows)
