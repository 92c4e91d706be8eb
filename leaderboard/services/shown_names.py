"""How a viewer knows the teams and runs of a task: by their names, or by pseudonyms."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Entry, Run, Task, Team
from leaderboard.services import policy
from leaderboard.services.policy import Sight, Viewer


@dataclass(frozen=True, slots=True)
class ShownTeam:
    """A team as a viewer knows it: masked where that is by a pseudonym only."""

    name: str
    masked: bool


UNNAMED = ShownTeam("a team", masked=True)
"""A team without a pseudonym in a task that does not show names."""


@dataclass(frozen=True, slots=True)
class ShownNames:
    """The teams of a task, and the runs of those that are masked, by the names one viewer may read."""

    teams: Mapping[int, ShownTeam]
    runs: Mapping[int, str]

    def team(self, team_id: int) -> str:
        """What a team is called."""
        return self.teams.get(team_id, UNNAMED).name

    def is_masked(self, team_id: int) -> bool:
        """Whether a team is known by a pseudonym only."""
        return self.teams.get(team_id, UNNAMED).masked

    def run(self, run_id: int, name: str) -> str:
        """What a run of that name is called: that of a masked team by the pseudonym and a number."""
        return self.runs.get(run_id, name)


def shows_names(session: Session, task: Task) -> bool:
    """Whether everybody may read the names of all teams of a task now, pseudonyms or not."""
    if task.naming == "date":
        return task.names_at is not None and task.names_at <= now(session)
    return task.naming == "names" or (task.naming == "close" and policy.is_closed(session, task.id))


# Every page that names a team begins with it: it is written once.
_ENTERED = (
    select(Team.id, Team.name, Entry.pseudonym, Entry.reveal_at)
    .join(Entry, Entry.team_id == Team.id)
    .where(Entry.task_id == bindparam("task"))
)


def shown_teams(session: Session, viewer: Viewer, task: Task) -> dict[int, ShownTeam]:
    """Team id -> the team as this viewer knows it.

    By its pseudonym until the task shows names or the team itself does. Its members and the organisers
    read its name.
    """
    rows = session.execute(_ENTERED, {"task": task.id}).all()
    if policy.reads(viewer, task.id) or shows_names(session, task):
        return {row.id: ShownTeam(row.name, False) for row in rows}
    at = now(session)

    def shown(team_id: int, name: str, pseudonym: str | None, reveal_at: datetime | None) -> ShownTeam:
        if policy.owns(viewer, team_id) or (reveal_at is not None and reveal_at <= at):
            return ShownTeam(name, False)
        return ShownTeam(pseudonym, True) if pseudonym else UNNAMED

    return {row.id: shown(*row) for row in rows}


def shown_names(session: Session, viewer: Viewer, task: Task) -> ShownNames:
    """The teams and runs of a task by the names this viewer may read.

    A masked team's runs are called by its pseudonym and a number, in order of arrival: their own names may
    tell whose they are.
    """
    teams = shown_teams(session, viewer, task)
    masked = {team_id: team.name for team_id, team in teams.items() if team.masked}
    return ShownNames(teams, numbered_runs(session, task, masked) if masked else {})


def numbered_runs(session: Session, task: Task, pseudonyms: Mapping[int, str]) -> dict[int, str]:
    """Run id -> pseudonym and number of each run of some teams, withdrawn ones too, so that numbers stay."""
    rows = session.execute(
        select(Run.id, Run.team_id)
        .where(Run.task_id == task.id, Run.team_id.in_(pseudonyms))
        .order_by(Run.id)
    )
    counts: Counter[int] = Counter()
    names = {}
    for run_id, team_id in rows:
        counts[team_id] += 1
        names[run_id] = f"{pseudonyms[team_id]}-{counts[team_id]}"
    return names


def may_have_file(session: Session, viewer: Viewer, run: Run, task: Task, seen: Sight) -> bool:
    """Whether the viewer may have a run's file as it was sent: its team and the organisers always.

    Others where everything of the task is shown to them: the file holds no ranking that its pages do not.
    But a file may say more than its rankings, in comments and names: not while its team goes by a
    pseudonym, and not once the run is withdrawn.
    """
    if policy.owns(viewer, run.team_id) or seen.organises:
        return True
    if not seen.details or run.withdrawn_at is not None:
        return False
    return not is_masked(session, viewer, run, task)


def is_masked(session: Session, viewer: Viewer, run: Run, task: Task) -> bool:
    """Whether the viewer knows the run's team by a pseudonym only."""
    return shown_names(session, viewer, task).is_masked(run.team_id)
