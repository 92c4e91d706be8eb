"""All that an account has going on: its tasks with their deadlines, its teams' runs, what became of files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Run, Team, Upload
from leaderboard.errors import Problem
from leaderboard.pages.my.boards import OwnBoard, boards_of
from leaderboard.pages.my.tasks import SeenTask, seen_tasks
from leaderboard.pages.runs.actions import RunActions, actions_of
from leaderboard.services import policy
from leaderboard.services.accounts import accounts
from leaderboard.services.accounts.accounts import MadeLink
from leaderboard.services.evaluations import choices
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.queue import RunState
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import limits
from leaderboard.services.runs.limits import Quota
from leaderboard.services.statistics.standings import Place
from leaderboard.services.tasks import filed
from leaderboard.services.tasks.filed import FiledRuns
from leaderboard.services.tasks.head import OfTask
from leaderboard.tables.record import Place as On
from leaderboard.tables.record import Shown

MOST_UPLOADS = 100
"""The newest uploads that are listed."""
TOLD = timedelta(days=30)
"""How long a sign-in link that others made is spoken of here; the page of the account lists it longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTask(OfTask):
    """A task that a team of the account's is in, or that it organises (team is empty then)."""

    team: str
    state: Annotated[str, Shown("Next", key="send", shown=On.PAGE)]
    """open, closed, not open yet, or draft."""
    opens_at: datetime | None
    closes_at: datetime | None
    quota: Quota | None
    """None where there is no limit, and where no run can be sent."""
    runs: int
    """Runs of the team that are not withdrawn."""
    rule: str
    """Which runs count at the end, in words; empty where all do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun(OfTask):
    """A run of one of the account's teams, with what the account may know of its score."""

    run_id: Annotated[int, Shown(shown=On.DATA)]
    name: Annotated[str, Shown(key="run")]
    team: str
    kind: Annotated[str, Shown(shown=On.DATA)]
    state: RunState
    measure: str
    score: float | None
    digits: int
    rank: int | None
    ranked: int
    place: Place | None
    created_at: datetime
    actions: RunActions


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnUpload(OfTask):
    """A file that was sent for one of the account's teams, and what became of it."""

    upload_id: Annotated[int, Shown(key="upload", shown=On.DATA)]
    file_name: Annotated[str, Shown(key="file")]
    team: str
    state: str
    problems: Annotated[int, Shown(shown=On.DATA)]
    first_problem: str
    run_id: Annotated[int | None, Shown(shown=On.DATA)]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MyPage:
    """What one account sees of its own; deadlines soonest first, runs and uploads newest first."""

    name: str
    has_team: bool
    tasks: tuple[OwnTask, ...]
    runs: tuple[OwnRun, ...]
    uploads: tuple[OwnUpload, ...]
    filed: tuple[FiledRuns, ...]
    """Runs that organisers filed for its teams, which wait until a member agrees."""
    links_made: tuple[MadeLink, ...]
    """The sign-in links of the last month that others made for it."""


def my_page(session: Session, viewer: Viewer) -> MyPage:
    """The account's own page; raises SignInNeeded for a visitor.

    About fifteen statements for any number of tasks; besides these four for each closed task where teams
    choose runs, and one for each open board that nobody has looked at since the site started.
    """
    policy.require_account(viewer)
    at = now(session)
    tasks = seen_tasks(session, viewer, at)
    runs = _runs(session, viewer, tasks)
    made = accounts.links_made(session, policy.require_account(viewer))
    return MyPage(
        name=viewer.name,
        has_team=bool(viewer.team_ids),
        tasks=_own_tasks(session, viewer, tasks, runs, at),
        runs=runs,
        uploads=_uploads(session, viewer, tasks),
        filed=filed.waiting(session, viewer.team_ids),
        links_made=tuple(link for link in made if at - link.at < TOLD),
    )


def _own_tasks(
    session: Session, viewer: Viewer, tasks: Mapping[int, SeenTask], runs: Sequence[OwnRun], at: datetime
) -> tuple[OwnTask, ...]:
    limited = [
        (of.phases[0], team_id, name)
        for task_id, of in tasks.items()
        if not (of.is_closed or policy.organises(viewer, task_id))
        for team_id, name in of.teams
    ]
    quotas = limits.quotas(session, limited, viewer.account_id)
    standing = [run for run in runs if run.state.state != "withdrawn"]
    rows = [
        OwnTask(
            of=of.task,
            team=team,
            state=_state_of(of, at),
            opens_at=of.phases[0].opens_at,
            closes_at=_deadline(of, at),
            quota=quotas.get((of.phases[0].id, team_id)),
            runs=sum(run.slug == of.task.slug and run.team == team for run in standing),
            rule=choices.rule_in_words(of.task),
        )
        for task_id, of in tasks.items()
        for team_id, team in of.teams or ((0, ""),)
    ]
    return tuple(sorted(rows, key=_by_deadline))


def _by_deadline(row: OwnTask) -> tuple[Any, ...]:
    """Tasks that can still be sent to first, those with a deadline before those without."""
    return (
        row.state == "closed",
        row.closes_at is None,
        row.closes_at.timestamp() if row.closes_at else 0.0,
        row.task,
        row.team,
    )


def _state_of(of: SeenTask, at: datetime) -> str:
    if of.task.published_at is None:
        return "draft"
    if of.is_closed:
        return "closed"
    is_open = any(phase.opens_at is None or phase.opens_at <= at for phase in of.phases)
    return "open" if is_open else "not open yet"


def _deadline(of: SeenTask, at: datetime) -> datetime | None:
    """When the next phase closes; of a closed task, when the last one did."""
    closing = [phase.closes_at for phase in of.phases if phase.closes_at is not None]
    to_come = [closes for closes in closing if closes > at]
    return min(to_come) if to_come else max(closing) if of.is_closed else None


def _runs(session: Session, viewer: Viewer, tasks: Mapping[int, SeenTask]) -> tuple[OwnRun, ...]:
    rows = session.execute(
        select(
            Run.id,
            Run.task_id,
            Run.team_id,
            Run.phase_id,
            Run.name,
            Run.kind,
            Run.ranking_sha256,
            Run.withdrawn_at,
            Run.withdrawn_by,
            Run.final_at,
            Run.created_at,
        )
        .where(Run.task_id.in_([task_id for task_id, of in tasks.items() if of.teams]))
        .order_by(Run.id.desc())
    ).all()
    own = [run for run in rows if policy.owns(viewer, run.team_id)]
    if not own:
        return ()
    boards = boards_of(session, tasks, rows)
    states = queue.run_states(session, [run.id for run in own])
    closed = frozenset[int]().union(*(of.closed for of in tasks.values()))
    actions = actions_of(session, viewer, own, {task_id: of.task for task_id, of in tasks.items()}, closed)
    return tuple(
        _own_run(run, tasks[run.task_id], boards[run.task_id], states[run.id], actions[run.id]) for run in own
    )


def _own_run(run: Any, of: SeenTask, shown: OwnBoard, state: RunState, actions: RunActions) -> OwnRun:
    is_gone = run.withdrawn_at is not None
    rank = shown.rank(run.id)
    return OwnRun(
        run_id=run.id,
        name=run.name,
        of=of.task,
        team=dict(of.teams).get(run.team_id, ""),
        kind=choices.shown_kind(run.id, run.kind, shown.left_out),
        state=state if of.sight.means or is_gone else RunState("valid"),
        measure=shown.by.key,
        score=None if is_gone else shown.scores.get(run.id),
        digits=of.sight.decimals or shown.by.digits,
        rank=rank,
        ranked=len(shown.ranked) if rank is not None else 0,
        place=shown.places.get(run.id),
        created_at=run.created_at,
        actions=actions,
    )


def _uploads(session: Session, viewer: Viewer, tasks: Mapping[int, SeenTask]) -> tuple[OwnUpload, ...]:
    rows = session.execute(
        select(
            Upload.id,
            Upload.file_name,
            Upload.task_id,
            Upload.state,
            Upload.report,
            Upload.created_at,
            Team.name.label("team"),
            Run.id.label("run_id"),
        )
        .join(Team, Team.id == Upload.team_id)
        .outerjoin(Run, Run.upload_id == Upload.id)
        .where(Upload.team_id.in_(viewer.team_ids), Upload.task_id.in_(tasks))
        .order_by(Upload.id.desc())
        .limit(MOST_UPLOADS)
    )
    uploads = []
    for row in rows:
        problems = (row.report or {}).get("problems", [])
        uploads.append(
            OwnUpload(
                upload_id=row.id,
                file_name=row.file_name,
                of=tasks[row.task_id].task,
                team=row.team,
                state=row.state,
                problems=len(problems),
                first_problem=str(replace(Problem(**problems[0]), remedy="")) if problems else "",
                run_id=row.run_id,
                created_at=row.created_at,
            )
        )
    return tuple(uploads)
