"""Names of a task's teams: the map for organisers, and a team as its members see it."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.boards.ops import board
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import ANONYMOUS, Viewer
from leaderboard.db.tables import Entry, Invitation, Run, Snapshot, Task, Team
from leaderboard.scoring.ops.scored_topics import MeasureColumn, OfTask, TaskHead
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from
from leaderboard.tasks.ops.pseudonyms import reviews


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
    """Whether all names are visible to everybody now."""
    runs: int
    snapshots: int
    teams: tuple[NamedTeam, ...]

    @property
    def seed(self) -> str:
        """The seed of the pseudonyms; empty if none are drawn."""
        return self.of.pseudonym_seed


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTeam(NamedTeam):
    """One of the viewer's teams in a task."""

    may_show: bool
    """Whether a member can reveal its name."""
    links: tuple[Invitation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTeamsPage(OfTask):
    """The visible names of the viewer's teams in a task."""

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
        f"Teams of {page.task} and their visible names, by pseudonym. For organisers only.",
        columns_from(
            NamedTeam,
            "pseudonym team runs",
            Column(
                "shown",
                lambda row: not row.masked,
                "Visible to others",
                words=lambda row: "pseudonym" if row.masked else "team name",
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
        "Reviewer links, newest first.",
        [
            Column("made", lambda row: row.created_at.isoformat(), "Created"),
            Column("until", lambda row: row.expires_at and row.expires_at.isoformat(), "Expires"),
            Column("note", lambda row: row.note, "For"),
            Column("end", lambda row: row.id, "Revoke", shown=Place.PAGE),
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


@dataclass(frozen=True, slots=True)
class ReviewedRun:
    """A run by its pseudonym, with its rank and what it got, as the board shows them."""

    name: str
    kind: str
    rank: int | None
    scores: dict[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPage(TaskHead):
    """A team's runs of a task for reviewers, without the team's name."""

    pseudonym: str
    ranked_by: str
    ranked: int
    """The number of ranked runs of all teams."""
    measures: tuple[MeasureColumn, ...]
    runs: tuple[ReviewedRun, ...]


def review_page(session: Session, token: str) -> ReviewPage:
    """The runs that a link shows; NotFound where it does not work.

    Scores are those that everybody may see by now: a link opens nothing that a task holds back.
    """
    task, team_id, pseudonym = reviews.opened(session, token)
    names = shown_names.numbered_runs(session, task, {team_id: pseudonym})
    # A member's access: a sealed task tells others not even which runs there are.
    shown = board.board(session, Viewer(team_ids=frozenset({team_id})), task.slug)
    own = (row for row in shown.rows if row.run_id in names)
    return ReviewPage(
        **shown.head,
        pseudonym=pseudonym,
        ranked_by=shown.ranked_by,
        ranked=sum(row.rank is not None for row in shown.rows) if shown.access.means else 0,
        measures=shown.measures if shown.access.means else (),
        runs=tuple(ReviewedRun(names[row.run_id], row.kind, row.rank, row.scores) for row in own),
    )


def review_table(page: ReviewPage) -> Table[ReviewedRun]:
    """The runs in the board's order."""

    def score(measure: MeasureColumn) -> Column[ReviewedRun]:
        digits = page.access.decimals or measure.digits
        return Column(measure.key, lambda row: row.scores.get(measure.key), digits=digits)

    columns: list[Column[Any]] = [
        Column("run", lambda row: row.name, "Run"),
        Column("run_id", lambda row: row.run_id, shown=Place.DATA),
        Column("kind", lambda row: row.kind, "Kind"),
    ]
    if page.measures:
        columns.insert(0, Column("rank", lambda row: row.rank, "Rank", digits=0))
    of = (
        f" Ranks are among {page.ranked:,} ranked runs of all teams, by {page.ranked_by}."
        if page.ranked
        else ""
    )
    return Table(
        f"{page.slug}-{page.pseudonym}",
        f"Runs of {page.pseudonym} on {page.task}.{of}",
        [*columns, *(score(measure) for measure in page.measures)],
        page.runs,
    )
