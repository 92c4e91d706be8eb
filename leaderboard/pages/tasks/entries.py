"""Entering a task as teams see it, and the list of entries as organisers do."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Entry, Run, Task, Team
from leaderboard.services import policy
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import entries
from leaderboard.services.tasks.entries import RULES, EntryState
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from


@dataclass(frozen=True, slots=True)
class TeamEntry:
    """One of the viewer's teams and where it stands."""

    team_id: int
    name: str
    entry: EntryState


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryForm:
    """The page that enters a task: its rule, its agreement, and the viewer's teams."""

    slug: str
    task: str
    rule: str
    said: str
    """The rule in a sentence."""
    agreement: str
    version: int
    teams: tuple[TeamEntry, ...]
    takes_entries: bool
    organises: bool
    details: bool

    @property
    def needs_code(self) -> bool:
        """Whether a team of the viewer has to give the code."""
        return self.rule == "code" and any(not team.entry.state for team in self.teams)

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
        agreed = not self.agreement or team.entry.agreed == self.version
        return team.entry.state == waits and agreed


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """A team in a task as its organisers see it."""

    team_id: Annotated[int, Shown(key="decide", digits=None, shown=Place.PAGE)]
    team: str
    affiliation: str
    state: str
    why: Annotated[str, Shown("Why refused", shown=~Place.PAGE)]
    agreed: Annotated[int | None, Shown("Agreed to version")]
    agreed_at: datetime | None
    agreed_by: Annotated[str, Shown("by")]
    since: datetime
    pseudonym: str
    runs: int


@dataclass(frozen=True, slots=True)
class EntryList:
    """All teams in a task."""

    slug: str
    task: str
    rule: str
    version: int
    rows: tuple[EntryRow, ...]


def entry_form(session: Session, viewer: Viewer, slug: str) -> EntryForm:
    """How a task is entered; NotFound where the viewer may not know of it."""
    task, sight = policy.visible_task(session, viewer, slug)
    rows = session.execute(
        select(Team.id, Team.name).where(Team.id.in_(viewer.team_ids)).order_by(Team.canonical)
    )
    closed = task.published_at is None or policy.is_closed(session, task.id)
    return EntryForm(
        slug=task.slug,
        task=task.name,
        rule=task.entry_rule,
        said=RULES[task.entry_rule],
        agreement=task.agreement,
        version=task.agreement_version,
        teams=tuple(TeamEntry(row.id, row.name, entries.state_of(session, task, row.id)) for row in rows),
        takes_entries=not closed,
        organises=sight.organises,
        details=sight.details,
    )


def entry_list(session: Session, viewer: Viewer, slug: str) -> EntryList:
    """The teams in a task, those that wait first; for its organisers."""
    task = policy.own_task(session, viewer, slug)
    return EntryList(task.slug, task.name, task.entry_rule, task.agreement_version, _rows(session, task))


def waiting(session: Session, task_id: int) -> int:
    """How many teams wait for a yes."""
    wait = select(func.count(Entry.id)).where(Entry.task_id == task_id, Entry.state == entries.WAITING)
    return session.scalar(wait) or 0


def table(page: EntryList) -> Table[EntryRow]:
    """The entries of a task: state, agreement, runs."""
    columns = columns_from(
        EntryRow,
        "team state team_id affiliation why agreed",
        Column("agreed_at", lambda row: _moment(row.agreed_at), "on"),
        "agreed_by",
        Column("since", lambda row: _moment(row.since), "Since"),
        "pseudonym runs",
    )
    return Table("entries", f"Teams in {page.task}", columns, page.rows)


def facts(page: EntryList) -> dict[str, Any]:
    """The entries as plain values."""
    return {"task": page.slug, "rule": page.rule, "agreement": page.version, "entries": table(page).facts()}


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
    return tuple(
        EntryRow(
            team_id=entry.team_id,
            team=name,
            affiliation=affiliation,
            state=entry.state,
            why=entry.why,
            agreed=entry.agreement_version,
            agreed_at=entry.agreed_at,
            agreed_by=agreed_by or "",
            since=entry.created_at,
            pseudonym=entry.pseudonym or "",
            runs=sent,
        )
        for entry, name, affiliation, agreed_by, sent in rows
    )
