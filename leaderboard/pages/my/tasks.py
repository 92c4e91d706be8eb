"""The tasks that an account's teams are in, with what it sees of them."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, union
from sqlalchemy.orm import Session

from leaderboard.db.tables import Entry, Phase, Task, Team, Upload
from leaderboard.services import phase_rules, policy
from leaderboard.services.policy import Sight, Viewer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenTask:
    """A task with what is needed to say who sees what of it."""

    task: Task
    phases: tuple[Phase, ...]
    sight: Sight
    is_closed: bool
    closed: frozenset[int]
    """The ids of its phases that are over."""
    teams: tuple[tuple[int, str], ...]


def seen_tasks(session: Session, viewer: Viewer, at: datetime) -> dict[int, SeenTask]:
    """The tasks by id, with their phases and the account's teams in them."""
    pairs = union(
        select(Entry.task_id, Entry.team_id).where(Entry.team_id.in_(viewer.team_ids)),
        select(Upload.task_id, Upload.team_id).where(Upload.team_id.in_(viewer.team_ids)),
    ).subquery()
    rows = session.execute(
        select(pairs.c.task_id, Team.id, Team.name)
        .join(Team, Team.id == pairs.c.team_id)
        .order_by(Team.canonical)
    ).all()
    teams: dict[int, list[tuple[int, str]]] = {task_id: [] for task_id in viewer.organises}
    for task_id, team_id, team in rows:
        teams.setdefault(task_id, []).append((team_id, team))
    tasks = session.scalars(select(Task).where(Task.id.in_(teams))).all()
    phases: dict[int, list[Phase]] = {}
    for phase in session.scalars(select(Phase).where(Phase.task_id.in_(teams)).order_by(Phase.id)):
        phases.setdefault(phase.task_id, []).append(phase)

    rules = phase_rules.rules_of_all(session)

    def with_sight(task: Task) -> SeenTask:
        own = tuple(phases[task.id])
        is_closed = phase_rules.are_over([phase.closes_at for phase in own], at)
        return SeenTask(
            task=task,
            phases=own,
            sight=policy.sight_by_rules(session, viewer, task, rules[task.id], at=at),
            is_closed=is_closed,
            closed=frozenset(phase.id for phase in own if phase_rules.are_over([phase.closes_at], at)),
            teams=tuple(teams[task.id]),
        )

    return {
        task.id: with_sight(task)
        for task in tasks
        if task.published_at is not None or policy.organises(viewer, task.id)
    }
