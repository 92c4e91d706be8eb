"""Which names the teams of a task go by: the map for organisers, and what its members see of a team."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Entry, Invitation, Run, Snapshot, Task, Team
from leaderboard.services import policy, shown_names
from leaderboard.services.policy import ANONYMOUS, Viewer
from leaderboard.services.pseudonyms import reviews
from leaderboard.services.tasks.head import OfTask
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTeam:
    """A team with its pseudonym; masked while others read that."""

    team_id: Annotated[int, Shown(shown=Place.DATA)]
    team: str
    pseudonym: str
    runs: int
    masked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingPage(OfTask):
    """The pseudonyms of all teams of a task, for its organisers."""

    is_over: bool
    """Whether everybody reads all names by now."""
    runs: int
    snapshots: int
    teams: tuple[NamedTeam, ...]

    @property
    def seed(self) -> str:
        """What the pseudonyms are drawn by; empty where nothing is drawn."""
        return self.of.pseudonym_seed


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTeam(NamedTeam):
    """One of the viewer's teams in a task."""

    may_show: bool
    """Whether its name shows when a member says so."""
    links: tuple[Invitation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTeamsPage(OfTask):
    """What others call the viewer's teams in a task."""

    teams: tuple[OwnTeam, ...]


def naming_page(session: Session, viewer: Viewer, slug: str) -> NamingPage:
    """The map of a task; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
    task = policy.own_task(session, viewer, slug)
    teams = _teams(session, task)
    return NamingPage(
        of=task,
        is_over=shown_names.shows_names(session, task),
        runs=sum(team.runs for team in teams),
        snapshots=session.scalar(select(func.count(Snapshot.id)).where(Snapshot.task_id == task.id)) or 0,
        teams=teams,
    )


def facts(page: NamingPage) -> dict[str, Any]:
    """The map as plain values."""
    return {"task": page.slug, "seed": page.seed, "teams": table(page).facts()}


def table(page: NamingPage) -> Table[NamedTeam]:
    """Every team with its pseudonym."""
    return Table(
        f"{page.slug}-pseudonyms",
        f"Teams of {page.task} and what others call them, by pseudonym. For organisers only.",
        columns_from(
            NamedTeam,
            "pseudonym team runs",
            Column(
                "shown",
                lambda row: not row.masked,
                "Others read",
                words=lambda row: "the pseudonym" if row.masked else "the name",
            ),
            "team_id",
        ),
        page.teams,
    )


FILES = Files(facts=facts, tables={"pseudonyms": table})


def own_teams_page(session: Session, viewer: Viewer, slug: str) -> OwnTeamsPage:
    """The viewer's teams of a task; raises NotFound, SignInNeeded."""
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require_account(viewer)
    own = [team for team in _teams(session, task) if policy.owns(viewer, team.team_id)]
    return OwnTeamsPage(
        of=task,
        teams=tuple(
            OwnTeam(
                **asdict(team),
                may_show=team.masked and task.naming == "team",
                links=reviews.of_team(session, task, team.team_id),
            )
            for team in own
        ),
    )


def links_table(team: OwnTeam) -> Table[Invitation]:
    """A team's links for reviewers, newest first."""
    return Table(
        "links",
        "Links for reviewers, newest first.",
        [
            Column("made", lambda row: row.created_at.isoformat(), "Made"),
            Column("until", lambda row: row.expires_at and row.expires_at.isoformat(), "Works until"),
            Column("note", lambda row: row.note, "For"),
            Column("end", lambda row: row.id, "End", shown=Place.PAGE),
        ],
        team.links,
    )


def _teams(session: Session, task: Task) -> tuple[NamedTeam, ...]:
    """The teams of a task by pseudonym; two statements and those of the names."""
    seen = shown_names.shown_teams(session, ANONYMOUS, task)
    runs = (
        select(Run.team_id, func.count(Run.id).label("runs"))
        .where(Run.task_id == task.id)
        .group_by(Run.team_id)
        .subquery()
    )
    rows = session.execute(
        select(Team.id, Team.name, Entry.pseudonym, func.coalesce(runs.c.runs, 0).label("runs"))
        .join(Entry, Entry.team_id == Team.id)
        .outerjoin(runs, runs.c.team_id == Team.id)
        .where(Entry.task_id == task.id)
    )
    teams = (
        NamedTeam(
            team_id=row.id,
            team=row.name,
            pseudonym=row.pseudonym or "",
            runs=row.runs,
            masked=seen[row.id].masked,
        )
        for row in rows
    )
    return tuple(sorted(teams, key=lambda team: (team.pseudonym, team.team)))
