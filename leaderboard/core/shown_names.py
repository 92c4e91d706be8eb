"""Displayed names of teams and runs for a viewer: real names or pseudonyms."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from leaderboard.core import phase_rules, policy
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Entry, Run, Task, Team


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
        """The displayed name of a team."""
        return self.teams.get(team_id, UNNAMED).name

    def is_masked(self, team_id: int) -> bool:
        """Whether a team is known by a pseudonym only."""
        return self.teams.get(team_id, UNNAMED).masked

    def run(self, run_id: int, name: str) -> str:
        """Shown name of a run: for a masked team, the pseudonym and a number."""
        return self.runs.get(run_id, name)


def shows_names(session: Session, task: Task) -> bool:
    """Whether the names of all teams of a task are public now, pseudonyms or not."""
    return task.id in _showing_names(session, [task])


def _showing_names(session: Session, tasks: Collection[Task]) -> set[int]:
    """Ids of the tasks that show all names; one statement if some of them do at their close."""
    at_close = [task.id for task in tasks if task.naming == "close"]
    closed = phase_rules.closed(session, at_close) if at_close else set()
    dated = [task for task in tasks if task.naming == "date" and task.names_at is not None]
    at = now(session) if dated else None
    due = {task.id for task in dated if at is not None and task.names_at is not None and task.names_at <= at}
    return {task.id for task in tasks if task.naming == "names"} | closed | due


_TEAM = Team.id, Team.name, Entry.pseudonym, Entry.reveal_at
# Built once, because every page with team names starts with it.
_ENTERED = select(*_TEAM).join(Entry, Entry.team_id == Team.id).where(Entry.task_id == bindparam("task"))


def shown_teams(session: Session, viewer: Viewer, task: Task) -> dict[int, ShownTeam]:
    """Team id -> the team as this viewer knows it.

    By its pseudonym until the task shows names or the team itself does. Its members and the organisers
    read its name.
    """
    rows = session.execute(_ENTERED, {"task": task.id}).all()
    return _shown(session, viewer, [task], {task.id: rows})[task.id]


def shown_teams_of(
    session: Session, viewer: Viewer, tasks: Collection[Task], team_id: int | None = None
) -> dict[int, dict[int, ShownTeam]]:
    """Task id -> its teams as `shown_teams` gives them, or one team of many tasks.

    One statement, another where a task shows names at its close, and the time.
    """
    entered = select(Entry.task_id, *_TEAM).join(Team, Entry.team_id == Team.id)
    entered = entered.where(Entry.task_id.in_([task.id for task in tasks]))
    if team_id is not None:
        entered = entered.where(Entry.team_id == team_id)
    by_task: dict[int, list[Any]] = {task.id: [] for task in tasks}
    for task_id, *team in session.execute(entered):
        by_task[task_id].append(team)
    return _shown(session, viewer, tasks, by_task)


def _shown(
    session: Session, viewer: Viewer, tasks: Collection[Task], by_task: Mapping[int, Sequence[Any]]
) -> dict[int, dict[int, ShownTeam]]:
    """Task id -> its teams as the viewer knows them, of rows of _TEAM by task."""
    own = {task.id for task in tasks if policy.reads(viewer, task.id)}
    read = own | _showing_names(session, [task for task in tasks if task.id not in own])
    at = now(session) if by_task.keys() - read else None

    def shown(team_id: int, name: str, pseudonym: str | None, reveal_at: datetime | None) -> ShownTeam:
        is_revealed = at is not None and reveal_at is not None and reveal_at <= at
        if policy.owns(viewer, team_id) or is_revealed:
            return ShownTeam(name, False)
        return ShownTeam(pseudonym, True) if pseudonym else UNNAMED

    return {
        task_id: {
            row[0]: ShownTeam(row[1], False) if task_id in read else shown(*row) for row in by_task[task_id]
        }
        for task_id in by_task
    }


def shown_names(session: Session, viewer: Viewer, task: Task) -> ShownNames:
    """The teams and runs of a task by the names this viewer may read.

    A masked team's runs are called by its pseudonym and a number, in order of arrival: their own names may
    reveal whose they are.
    """
    return _names(session, {task.id: shown_teams(session, viewer, task)})[task.id]


NAMED_RUN = (Entry.team_id.label("entered"), Team.name.label("team_name"), Entry.pseudonym, Entry.reveal_at)
"""Columns that `names_of_runs` needs, after `with_teams`."""


def with_teams(runs: Any) -> Any:
    """A statement about runs that has NAMED_RUN too."""
    entered = runs.outerjoin(Entry, (Entry.team_id == Run.team_id) & (Entry.task_id == Run.task_id))
    return entered.outerjoin(Team, Team.id == Entry.team_id)


def names_of_runs(session: Session, viewer: Viewer, task: Task, rows: Iterable[Any]) -> ShownNames:
    """As `shown_names`, of the runs in such rows and their teams; no statement if none is masked."""
    teams = {(row.entered, row.team_name, row.pseudonym, row.reveal_at) for row in rows if row.entered}
    return _names(session, _shown(session, viewer, [task], {task.id: list(teams)}))[task.id]


def shown_names_of(session: Session, viewer: Viewer, tasks: Collection[Task]) -> dict[int, ShownNames]:
    """Task id -> its names as `shown_names` gives them; at most three statements, and the time."""
    return _names(session, shown_teams_of(session, viewer, tasks))


def _names(session: Session, teams_of: Mapping[int, Mapping[int, ShownTeam]]) -> dict[int, ShownNames]:
    masked = {
        task_id: {team_id: team.name for team_id, team in teams.items() if team.masked}
        for task_id, teams in teams_of.items()
    }
    runs = _numbered(session, {task_id: names for task_id, names in masked.items() if names})
    return {task_id: ShownNames(teams, runs.get(task_id, {})) for task_id, teams in teams_of.items()}


def numbered_runs(session: Session, task: Task, pseudonyms: Mapping[int, str]) -> dict[int, str]:
    """Run id -> pseudonym and number of each run of some teams, withdrawn ones too, so that numbers stay."""
    return _numbered(session, {task.id: pseudonyms}).get(task.id, {})


def _numbered(session: Session, masked: Mapping[int, Mapping[int, str]]) -> dict[int, dict[int, str]]:
    """Task id -> the same of each of several tasks; one statement, none without tasks."""
    names: dict[int, dict[int, str]] = {}
    if not masked:
        return names
    teams = {team_id for pseudonyms in masked.values() for team_id in pseudonyms}
    rows = session.execute(
        select(Run.task_id, Run.id, Run.team_id)
        .where(Run.task_id.in_(masked), Run.team_id.in_(teams))
        .order_by(Run.id)
    )
    counts: Counter[tuple[int, int]] = Counter()
    for task_id, run_id, team_id in rows:
        if team_id in masked[task_id]:
            counts[task_id, team_id] += 1
            name = f"{masked[task_id][team_id]}-{counts[task_id, team_id]}"
            names.setdefault(task_id, {})[run_id] = name
    return names


def may_have_file(session: Session, viewer: Viewer, run: Run, task: Task, seen: TaskAccess) -> bool:
    """Whether the viewer may have a run's file as submitted: its team and the organisers always.

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
