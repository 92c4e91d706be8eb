"""The groups of a task, and what can be chosen for one; for its organisers."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Entry, Run, Team
from leaderboard.services import policy, shown_names
from leaderboard.services.boards import groups
from leaderboard.services.boards.groups import Group
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks.head import OfTask
from leaderboard.tables.record import Column, Place, Table


@dataclass(frozen=True, slots=True)
class GroupsPage(OfTask):
    """A task's groups; teams and runs are those that can be chosen, by name."""

    groups: tuple[Group, ...]
    teams: dict[int, str]
    runs: dict[int, str]
    is_masked: bool
    """Whether teams go by pseudonyms now."""

    def names(self, group: Group) -> str:
        """The members of a group by name."""
        known = self.teams if group.kind == groups.TEAMS else self.runs
        return ", ".join(sorted(known[member] for member in group.members if member in known))


def groups_page(session: Session, viewer: Viewer, slug: str) -> GroupsPage:
    """The page; raises NotFound, SignInNeeded or Forbidden unless the viewer organises the task."""
    task = policy.own_task(session, viewer, slug)
    teams = session.execute(
        select(Team.id, Team.name)
        .join(Entry, Entry.team_id == Team.id)
        .where(Entry.task_id == task.id)
        .order_by(Team.canonical)
    )
    runs = session.execute(select(Run.id, Run.name).where(Run.task_id == task.id).order_by(Run.name, Run.id))
    return GroupsPage(
        of=task,
        groups=groups.of_task(session, task),
        teams={row.id: row.name for row in teams},
        runs={row.id: row.name for row in runs},
        is_masked=not shown_names.shows_names(session, task),
    )


def table(page: GroupsPage) -> Table[Group]:
    """The groups by name."""
    return Table(
        f"{page.slug}-groups",
        f"Groups of {page.task}. Early: declared before the first score, so tested within.",
        [
            Column("group", lambda row: row.name, "Group"),
            Column("declared", lambda row: row.declared_at.isoformat(), "Declared"),
            Column("early", lambda row: row.is_early, "Early"),
            Column("kind", lambda row: row.kind, "Of"),
            Column("members", page.names, "Members"),
            Column("remove", lambda row: row.id, "Remove", shown=Place.PAGE),
        ],
        page.groups,
    )
