"""Runs that nobody of their team sent: organisers filed them, or they came with an import.

They are on the board, and say there that they were filed. On the team's own page they are shown once a member
has agreed. A team without accounts has nobody to ask and nobody who is spoken for: its runs are shown at
once, until somebody joins it.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Member, Run, Task, Team
from leaderboard.errors import NotFound
from leaderboard.services import audit, policy
from leaderboard.services.actions import Action, by_account
from leaderboard.services.mail import outbox
from leaderboard.services.mail.outbox import MailDraft
from leaderboard.services.policy import Scope, Viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledRuns:
    """Runs of a team in a task that wait for one of its members to agree."""

    team_id: int
    team: str
    slug: str
    task: str
    runs: int


def is_agreed() -> ColumnElement[bool]:
    """Whether a row of Run may stand on its team's page."""
    return or_(
        Run.filed.is_(False), Run.agreed_at.is_not(None), ~exists().where(Member.team_id == Run.team_id)
    )


def _waits() -> ColumnElement[bool]:
    return and_(Run.filed.is_(True), Run.agreed_at.is_(None), Run.withdrawn_at.is_(None))


def note(run: Run, task: str, *, masked: bool, has_accounts: bool) -> str:
    """What is said beside a run that was filed; empty beside all others.

    masked: whether the reader is not to know the team; whether that has accounts might tell.
    """
    if not run.filed:
        return ""
    said = f"Filed by the organisers of {task}, not sent by the team"
    if masked:
        return f"{said}."
    if run.agreed_at is not None:
        return f"{said}; the team agreed to it on {run.agreed_at:%Y-%m-%d}."
    return f"{said}." if has_accounts else f"{said}, which is a team without accounts."


def waiting(session: Session, team_ids: Iterable[int]) -> tuple[FiledRuns, ...]:
    """What waits for members of these teams, in published tasks."""
    rows = session.execute(
        select(Run.team_id, Team.name.label("team"), Task.slug, Task.name.label("task"), func.count(Run.id))
        .join(Team, Team.id == Run.team_id)
        .join(Task, Task.id == Run.task_id)
        .where(Run.team_id.in_(team_ids), _waits(), Task.published_at.is_not(None))
        .group_by(Run.team_id, Team.name, Task.id, Task.slug, Task.name)
        .order_by(Team.name, Task.id)
    )
    return tuple(
        FiledRuns(team_id=row[0], team=row[1], slug=row[2], task=row[3], runs=row[4]) for row in rows
    )


def agree(session: Session, viewer: Viewer, team_id: int, slug: str) -> int:
    """Let the runs that were filed for the viewer's team in a task stand on the team's page; how many.

    Raises NotFound for a team of others and where no run waits.
    """
    account_id = policy.require_account(viewer)
    task, _ = policy.visible_task(session, viewer, slug)
    if not policy.owns(viewer, team_id):
        raise NotFound(f"There is no team {team_id} of yours.", team=team_id)
    agreed = session.scalars(
        update(Run)
        .where(Run.team_id == team_id, Run.task_id == task.id, _waits())
        .values(agreed_at=now(session), agreed_by=account_id)
        .returning(Run.id)
    ).all()
    if not agreed:
        raise NotFound(f"No run that was filed for this team in {task.name} waits for its word.")
    audit.record(session, viewer, "team.agree_filed", f"team:{team_id}", task=task.id, runs=sorted(agreed))
    return len(agreed)


def tell_all(session: Session, task: Task) -> None:
    """Tell the members of the teams for which runs were filed in a task that has just been published."""
    tell(session, task, session.scalars(select(Run).where(Run.task_id == task.id, _waits())).all())


def tell(session: Session, task: Task, runs: Iterable[Run]) -> None:
    """Write to the members of the teams that runs were filed for.

    One letter for a team and task: while earlier runs wait for their word, its members know already.
    """
    new = defaultdict(list)
    for run in runs:
        new[run.team_id].append(run)
    for team_id, some in new.items():
        others = select(Run.id).where(Run.task_id == task.id, Run.team_id == team_id, _waits())
        if session.scalar(others.where(Run.id.not_in([run.id for run in some])).limit(1)) is not None:
            continue
        team = session.get_one(Team, team_id).name
        members = session.scalars(select(Member.account_id).where(Member.team_id == team_id)).all()
        count = "A run was" if len(some) == 1 else f"{len(some)} runs were"
        body = (
            f"{count} filed for your team {team} by the organisers of {task.name}, for instance "
            f"{some[0].name}. The run's page says that the organisers filed it, not your team. The page of "
            f"{team} does not show it to others until a member agrees there.\n\n"
            "If it should not be on the board, write to the organisers or to the operator of this site.\n"
        )
        outbox.write(session, members, MailDraft(f"{task.name}: filed for your team {team}", body))


AGREE = Action(
    name="show_filed_runs",
    summary="Show the runs that organisers filed for your team on its page",
    more="Those of this task that wait until a member agrees.",
    path="/tasks/<slug>/teams/<id:team_id>/show-filed",
    form="/teams/<id:team_id>/filed/<slug>",
    page="teams.show",
    scopes=(Scope.SUBMIT,),
    may=by_account,
    act=lambda session, viewer, slug, team_id: agree(session, viewer, team_id, slug),
    done=lambda _, shown: f"{shown} shown",
)
