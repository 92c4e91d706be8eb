"""The one place that decides what a viewer may see and do.

open: everything is shown. blind: means over the public topics only, at three decimals, no per-topic
score, no judgment and no Judged@k, until the task closes: per-topic reciprocal rank alone gives away all
judgments in about twenty uploads. sealed: nothing but that a run is valid, until the task closes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Entry, Member, Phase, Run, Task, TaskRole, Team
from leaderboard.errors import Forbidden, NotFound, SecondFactorNeeded, SignInNeeded

BLIND_DECIMALS = 3
ALL_TOPICS = "all"
PUBLIC_TOPICS = "public"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks: nobody, an account with its teams and tasks, or the operator at the command line."""

    account_id: int | None = None
    name: str = ""
    is_organiser: bool = False
    team_ids: frozenset[int] = frozenset()
    organises: frozenset[int] = frozenset()
    is_operator: bool = False
    ip: str = ""
    needs_second_factor: bool = False
    """Whether the account would be an organiser's, had it a second factor."""


ANONYMOUS = Viewer()
OPERATOR = Viewer(name="operator", is_operator=True, is_organiser=True)


def without_organising(viewer: Viewer) -> Viewer:
    """The viewer as long as the second factor that organisers need is missing: any account, and told so."""
    if not (viewer.is_organiser or viewer.organises):
        return viewer
    return replace(viewer, is_organiser=False, organises=frozenset(), needs_second_factor=True)


@dataclass(frozen=True, slots=True)
class Sight:
    """What one viewer sees of one task at one moment."""

    organises: bool
    means: bool
    """Whether any score is shown."""
    topic_set: str
    """Name of the topic set whose means are shown."""
    decimals: int | None
    """Decimals of means; None is full precision."""
    details: bool
    """Whether per-topic scores, judgments and others' rankings are shown."""
    why: str
    """A sentence saying what is held back and until when; empty where nothing is."""

    def hides(self, measure: str) -> bool:
        """Whether this measure is held back: how much of a run is judged is itself a hint."""
        return not self.details and measure.startswith("Judged")


OPEN_SIGHT = Sight(False, True, ALL_TOPICS, None, True, "")


def sight(viewer: Viewer, task: Task, closed: bool) -> Sight:
    """What the viewer sees of the task; closed tells whether its last phase is over."""
    if viewer.is_operator or task.id in viewer.organises:
        return Sight(True, True, ALL_TOPICS, None, True, "")
    if task.visibility == "open" or closed:
        return OPEN_SIGHT
    if task.visibility == "blind":
        return Sight(
            False,
            True,
            PUBLIC_TOPICS,
            BLIND_DECIMALS,
            False,
            "This task is blind until it closes: means over its public topics only, at three decimals.",
        )
    return Sight(
        False,
        False,
        PUBLIC_TOPICS,
        BLIND_DECIMALS,
        False,
        "This task is sealed: no score is shown until it closes.",
    )


def viewer_of(session: Session, account_id: int, name: str, is_organiser: bool, ip: str = "") -> Viewer:
    """The viewer an account is, with its teams and the tasks it organises."""
    teams = session.scalars(select(Member.team_id).where(Member.account_id == account_id))
    tasks = session.scalars(
        select(TaskRole.task_id).where(TaskRole.account_id == account_id, TaskRole.role == "organiser")
    )
    return Viewer(account_id, name, is_organiser, frozenset(teams), frozenset(tasks), False, ip)


def is_closed(session: Session, task_id: int, moment: datetime | None = None) -> bool:
    """Whether every phase of the task has a closing time that has passed."""
    closing = list(session.scalars(select(Phase.closes_at).where(Phase.task_id == task_id)))
    if not closing or None in closing:
        return False
    at = moment or now(session)
    return all(closes is not None and closes <= at for closes in closing)


def sight_of(session: Session, viewer: Viewer, task: Task) -> Sight:
    """What the viewer sees of the task now; an open task needs no look at its phases."""
    return sight(viewer, task, task.visibility != "open" and is_closed(session, task.id))


def visible_task(session: Session, viewer: Viewer, slug: str) -> tuple[Task, Sight]:
    """The task and what the viewer sees of it.

    Raises NotFound where there is none, or where it is a draft of others: both look the same.
    """
    tasks = known_tasks(session, viewer, slug)
    if not tasks:
        raise NotFound(f"There is no task {slug!r}.", task=slug)
    return tasks[0], sight_of(session, viewer, tasks[0])


def known_tasks(session: Session, viewer: Viewer, slug: str) -> list[Task]:
    """The tasks of that slug the viewer may know of: a draft of the viewer's own, then the published one.

    Drafts of several organisers may have one slug; the operator knows of all of them, the oldest first.
    """
    tasks = session.scalars(
        select(Task).where(Task.slug == slug).order_by(Task.published_at.is_(None), Task.id)
    )
    known = [task for task in tasks if task.published_at is not None or organises(viewer, task.id)]
    return sorted(known, key=lambda task: task.published_at is not None or task.id not in viewer.organises)


def visible_run(session: Session, viewer: Viewer, run_id: int) -> tuple[Run, Task, Sight]:
    """The run, its task and what the viewer sees of it.

    Raises NotFound where there is none or the viewer may not know of it: in a sealed task only the
    team and the organisers know of a run.
    """
    row = session.execute(
        select(Run, Task).join(Task, Task.id == Run.task_id).where(Run.id == run_id)
    ).one_or_none()
    if row is not None:
        run, task = row
        seen = sight_of(session, viewer, task)
        published = task.published_at is not None or seen.organises
        if published and (seen.means or owns(viewer, run.team_id)):
            return run, task, seen
    raise NotFound(f"There is no run {run_id}.", run=run_id)


def may_have_file(session: Session, viewer: Viewer, run: Run, task: Task, seen: Sight) -> bool:
    """Whether the viewer may have a run's file as it was sent: its team and the organisers always.

    Others where everything of the task is shown to them: the file holds no ranking that its pages do not.
    But a file may say more than its rankings, in comments and names: not while its team goes by a
    pseudonym, and not once the run is withdrawn.
    """
    if owns(viewer, run.team_id) or seen.organises:
        return True
    if not seen.details or run.withdrawn_at is not None:
        return False
    return not is_masked(session, viewer, run, task)


def is_masked(session: Session, viewer: Viewer, run: Run, task: Task) -> bool:
    """Whether the viewer knows the run's team by a pseudonym only."""
    return shown_names(session, viewer, task).is_masked(run.team_id)


def owns(viewer: Viewer, team_id: int) -> bool:
    """Whether the viewer is in the team."""
    return team_id in viewer.team_ids


def organises(viewer: Viewer, task_id: int) -> bool:
    """Whether the viewer may change the task."""
    return viewer.is_operator or task_id in viewer.organises


def require_account(viewer: Viewer) -> int:
    """The viewer's account id; raises SignInNeeded for a visitor."""
    if viewer.account_id is None:
        raise SignInNeeded("Sign in first.")
    return viewer.account_id


def require_organiser(viewer: Viewer, task: Task) -> None:
    """Raise unless the viewer organises the task: SignInNeeded for a visitor, else Forbidden."""
    if organises(viewer, task.id):
        return
    require_account(viewer)
    require_second_factor(viewer)
    raise Forbidden(f"Only organisers of {task.name} may do this.")


def own_task(session: Session, viewer: Viewer, slug: str) -> Task:
    """The task of an organiser; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
    task, _ = visible_task(session, viewer, slug)
    require_organiser(viewer, task)
    return task


def require_creator(viewer: Viewer) -> None:
    """Raise unless the viewer may create tasks and collections."""
    if viewer.is_organiser or viewer.is_operator:
        return
    require_account(viewer)
    require_second_factor(viewer)
    raise Forbidden("Only organiser accounts may create tasks; ask the operator of this site.")


def require_second_factor(viewer: Viewer) -> None:
    """Raise SecondFactorNeeded where that is what keeps an organiser out."""
    if viewer.needs_second_factor:
        raise SecondFactorNeeded("Organisers need a second factor on this site; set one up first.")


def require_member(viewer: Viewer, team_id: int) -> None:
    """Raise unless the viewer is in the team (or operates the site); the message does not name the team."""
    if viewer.is_operator or owns(viewer, team_id):
        return
    require_account(viewer)
    raise Forbidden("Only members of the run's team may do this; ask one for the invitation link.")


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
    return task.naming == "names" or (task.naming == "close" and is_closed(session, task.id))


def shown_teams(session: Session, viewer: Viewer, task: Task) -> dict[int, ShownTeam]:
    """Team id -> the team as this viewer knows it.

    By its pseudonym until the task shows names or the team itself does. Its members and the organisers
    read its name.
    """
    rows = session.execute(
        select(Team.id, Team.name, Entry.pseudonym, Entry.reveal_at)
        .join(Entry, Entry.team_id == Team.id)
        .where(Entry.task_id == task.id)
    ).all()
    if organises(viewer, task.id) or shows_names(session, task):
        return {row.id: ShownTeam(row.name, False) for row in rows}
    at = now(session)

    def shown(team_id: int, name: str, pseudonym: str | None, reveal_at: datetime | None) -> ShownTeam:
        if owns(viewer, team_id) or (reveal_at is not None and reveal_at <= at):
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
