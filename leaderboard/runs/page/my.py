"""The page of an account's own tasks, runs and uploads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any

from sqlalchemy import select, union
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import accounts
from leaderboard.accounts.ops.accounts import MadeLink
from leaderboard.accounts.ops.invitations import TASK
from leaderboard.core import phase_rules, policy
from leaderboard.core.jobs import queue
from leaderboard.core.jobs.queue import RunState
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import (
    Edition,
    Entry,
    Invitation,
    InvitationUse,
    Member,
    Phase,
    QrelsRevision,
    Run,
    Task,
    Team,
    Upload,
)
from leaderboard.errors import Problem
from leaderboard.measures.record import COMPARED_AGGREGATES
from leaderboard.runs.ops import limits
from leaderboard.runs.ops.limits import Quota
from leaderboard.runs.page.head import RunActions, actions_of
from leaderboard.scoring.ops import scored_topics
from leaderboard.scoring.ops.evaluations import shown as evaluations_shown
from leaderboard.scoring.ops.evaluations.shown import primary_scores, source_of, whole_editions
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, MeasureColumn, OfTask, column_of
from leaderboard.scoring.ops.statistics import standings
from leaderboard.scoring.ops.statistics.standings import Place, RankedRun, Standing
from leaderboard.stats.pairs.methods import method
from leaderboard.tables.record import Column, Files, Shown, Table, columns_from
from leaderboard.tables.record import Place as On
from leaderboard.tasks.ops import entries, phases
from leaderboard.tasks.ops.entries import FiledRuns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenTask:
    """A task with the data for its visibility rules."""

    task: Task
    phases: tuple[Phase, ...]
    access: TaskAccess
    is_closed: bool
    closed: frozenset[int]
    """The ids of its phases that are over."""
    teams: tuple[tuple[int, str], ...]


def seen_tasks(session: Session, viewer: Viewer, at: datetime) -> dict[int, SeenTask]:
    """The tasks by id, with their phases and the account's teams in them, or invited to take part."""
    invited = (
        select(Invitation.task_id, Member.team_id)
        .join(InvitationUse, InvitationUse.invitation_id == Invitation.id)
        .join(Member, Member.account_id == InvitationUse.account_id)
        .where(InvitationUse.account_id == viewer.account_id, Invitation.kind == TASK, Invitation.role == "")
    )
    pairs = union(
        select(Entry.task_id, Entry.team_id).where(Entry.team_id.in_(viewer.team_ids)),
        select(Upload.task_id, Upload.team_id).where(Upload.team_id.in_(viewer.team_ids)),
        invited,
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
    own_phases: dict[int, list[Phase]] = {}
    for phase in session.scalars(select(Phase).where(Phase.task_id.in_(teams)).order_by(Phase.id)):
        own_phases.setdefault(phase.task_id, []).append(phase)

    rules = phase_rules.rules_of_all(session)

    def with_access(task: Task) -> SeenTask:
        own = tuple(own_phases[task.id])
        is_closed = phase_rules.are_over([phase.closes_at for phase in own], at)
        return SeenTask(
            task=task,
            phases=own,
            access=policy.access_by_rules(session, viewer, task, rules[task.id], at=at),
            is_closed=is_closed,
            closed=frozenset(phase.id for phase in own if phase_rules.are_over([phase.closes_at], at)),
            teams=tuple(teams[task.id]),
        )

    return {
        task.id: with_access(task)
        for task in tasks
        if task.published_at is not None or policy.organises(viewer, task.id)
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OwnBoard:
    """The board of a task by its primary measure, as visible to the account."""

    by: MeasureColumn
    scores: Mapping[int, float]
    left_out: frozenset[int]
    ranked: tuple[Any, ...]
    """The ranked runs, in no order."""
    places: Mapping[int, Place]

    def rank(self, run_id: int) -> int | None:
        """The run's rank; None where it has none."""
        if all(run.id != run_id for run in self.ranked):
            return None
        mine = self.by.sign * self.scores[run_id]
        return 1 + sum(self.by.sign * self.scores[run.id] > mine for run in self.ranked)


def boards_of(session: Session, tasks: Mapping[int, SeenTask], runs: Sequence[Any]) -> dict[int, OwnBoard]:
    """The boards by task; two statements, and those that `my_page` names."""
    current = whole_editions(
        session,
        select(Edition, QrelsRevision)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .where(Edition.task_id.in_(tasks), Edition.state == "current"),
    )
    editions = {row.Edition.task_id: row for row in current if tasks[row.Edition.task_id].access.means}
    shown = [(row.Edition, tasks[task_id].access) for task_id, row in editions.items()]
    scores = primary_scores(session, shown)
    of_task: dict[int, list[Any]] = {task_id: [] for task_id in tasks}
    for run in runs:
        of_task[run.task_id].append(run)
    return {
        task_id: _board(session, of, editions.get(task_id), scores, of_task[task_id])
        for task_id, of in tasks.items()
    }


def _board(
    session: Session, of: SeenTask, row: Any, scores: Mapping[int, float], runs: Sequence[Any]
) -> OwnBoard:
    left_out = scored_topics.not_chosen(session, of.task) if of.closed else frozenset[int]()
    by = column_of(row.Edition.primary_measure if row else of.task.primary_measure)
    own = {run.id: scores[run.id] for run in runs if run.id in scores and not of.access.hides(by.key)}
    ranked = tuple(
        run
        for run in runs
        if run.id in own and run.kind == RANKED_KIND and run.withdrawn_at is None and run.id not in left_out
    )
    return OwnBoard(
        by=by,
        scores=own,
        left_out=left_out,
        ranked=ranked,
        places=_places(session, of, row, by, own, ranked) if row else {},
    )


def _places(
    session: Session,
    of: SeenTask,
    row: Any,
    by: MeasureColumn,
    scores: Mapping[int, float],
    ranked: Sequence[Any],
) -> Mapping[int, Place]:
    """The ranges of ranks that the board shows; none if details are hidden or not computed yet."""
    if not of.access.details or not ranked or by.aggregate not in COMPARED_AGGREGATES:
        return {}
    source = evaluations_shown.narrowed(
        source_of(row.Edition, row.QrelsRevision, of.access.topic_set), row.Edition, by.key
    )
    runs = [RankedRun(run.id, run.ranking_sha256, run.name, scores[run.id]) for run in ranked]
    compared = method(of.task.comparison)
    standing = standings.of_runs(session, source, (by.key, by.version), by.sign, runs, compared)
    return standing.places if isinstance(standing, Standing) else {}


MOST_UPLOADS = 100
"""Maximum uploads listed, newest first."""
LINKS_SHOWN_FOR = timedelta(days=30)
"""Time for which a sign-in link created by others is shown here; the account page lists it longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTask(OfTask):
    """A task that a team of the account's is in, or that it organises (team is empty then)."""

    team: str
    state: Annotated[str, Shown("Next", key="send", shown=On.PAGE)]
    """open, closed, not open yet, or draft."""
    opens_at: datetime | None
    closes_at: datetime | None
    days: int
    """Whole days until it closes; 0 without a deadline to come."""
    quota: Quota | None
    """What the phase that accepts runs leaves; None if there is no limit or no run can be submitted."""
    runs: int
    """Runs of the team that are not withdrawn."""
    rule: str
    """The rule for final runs, as text; empty if all runs count."""


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
    """An account's own tasks, runs and uploads; earliest deadlines first, newest runs and uploads first."""

    name: str
    has_team: bool
    tasks: tuple[OwnTask, ...]
    runs: tuple[OwnRun, ...]
    uploads: tuple[OwnUpload, ...]
    filed: tuple[FiledRuns, ...]
    """Runs that organisers filed for its teams, which wait until a member agrees."""
    links_made: tuple[MadeLink, ...]
    """The sign-in links of the last month that others made for it."""

    @property
    def current(self) -> tuple[OwnTask, ...]:
        """The tasks that are not closed."""
        return tuple(row for row in self.tasks if row.state != "closed")

    def of_task(self, row: OwnTask) -> tuple[OwnRun, ...]:
        """The runs of the task's team, newest first."""
        return tuple(run for run in self.runs if (run.slug, run.team) == (row.slug, row.team))

    def rejected(self, row: OwnTask) -> OwnUpload | None:
        """The newest file of the task's team, if it was rejected."""
        newest = next((each for each in self.uploads if (each.slug, each.team) == (row.slug, row.team)), None)
        return newest if newest is not None and newest.state == "rejected" else None


def my_page(session: Session, viewer: Viewer) -> MyPage:
    """The account's own page; raises SignInNeeded for a visitor.

    About fifteen statements for any number of tasks, and four more for each closed task where teams
    choose runs, and one for each open board that no one has checked since the site started.
    """
    policy.require_account(viewer)
    at = now(session)
    tasks = seen_tasks(session, viewer, at)
    runs = _runs(session, viewer, tasks)
    links = accounts.links_made(session, policy.require_account(viewer))
    return MyPage(
        name=viewer.name,
        has_team=bool(viewer.team_ids),
        tasks=_own_tasks(session, viewer, tasks, runs, at),
        runs=runs,
        uploads=_uploads(session, viewer, tasks),
        filed=entries.waiting_filed(session, viewer.team_ids),
        links_made=tuple(link for link in links if at - link.at < LINKS_SHOWN_FOR),
    )


def _own_tasks(
    session: Session, viewer: Viewer, tasks: Mapping[int, SeenTask], runs: Sequence[OwnRun], at: datetime
) -> tuple[OwnTask, ...]:
    limited = [
        (_taking(of, at), team_id, name)
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
            closes_at=(closes_at := _deadline(of, at)),
            days=max(0, (closes_at - at).days) if closes_at else 0,
            quota=quotas.get((_taking(of, at).id, team_id)),
            runs=sum(run.slug == of.task.slug and run.team == team for run in standing),
            rule=scored_topics.rule_in_words(of.task),
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


def _taking(of: SeenTask, at: datetime) -> Phase:
    """The phase that a run would be submitted to: the last one that is open, as the form has it."""
    return next((phase for phase in reversed(of.phases) if phases.is_open(phase, at)), of.phases[0])


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
        kind=scored_topics.shown_kind(run.id, run.kind, shown.left_out),
        state=state if of.access.means or is_gone else RunState("valid"),
        measure=shown.by.key,
        score=None if is_gone else shown.scores.get(run.id),
        digits=of.access.decimals or shown.by.digits,
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


def my_facts(page: MyPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    return {name: table(page).facts() for name, table in MY_TABLES.items()}


def task_table(page: MyPage, only: Sequence[OwnTask] | None = None) -> Table[OwnTask]:
    """The tasks, or some of them, the next deadline first."""
    columns = columns_from(
        OwnTask,
        Column("task", lambda row: row.slug, "Task", shown=On.DATA),
        Column("name", lambda row: row.task, "Task"),
        "state",
        Column("team", lambda row: row.team, "Team", words=lambda row: row.team or "organiser"),
        Column("state", lambda row: row.state, "State"),
        Column("opens", lambda row: _iso(row.opens_at), shown=On.DATA),
        Column("closes", lambda row: _iso(row.closes_at), "Closes, UTC"),
        Column("left_today", lambda row: row.quota and row.quota.left_today, "Left today", digits=0),
        Column("limit", lambda row: row.quota and row.quota.limit, "Limit"),
        Column("left_in_all", lambda row: row.quota and row.quota.left_in_all, "Left in total", digits=0),
        "runs",
    )
    caption = (
        "Next deadline first. “Left today” applies the smallest of all limits. Accepted runs count, "
        "including withdrawn ones; rejected files do not."
    )
    return Table("my-tasks", caption, columns, page.tasks if only is None else only)


def run_table(page: MyPage) -> Table[OwnRun]:
    """The runs, newest first."""
    columns = columns_from(
        OwnRun,
        "name run_id",
        Column("actions", lambda row: row.run_id, "Edit", shown=On.PAGE),
        "slug team kind state.state measure",
        Column(
            "score",
            lambda row: row.score,
            "Score",
            words=lambda row: None if row.score is None else f"{row.score:.{row.digits}f}",
            digits=4,
        ),
        Column("rank", lambda row: row.rank, "Rank", words=_rank_words, digits=0),
        Column("ranked", lambda row: row.ranked or None, shown=On.DATA),
        Column("rank_low", lambda row: row.place and row.place.rank_low, shown=On.DATA),
        Column("rank_high", lambda row: row.place and row.place.rank_high, shown=On.DATA),
        Column(
            "marked",
            lambda row: row.actions.is_marked,
            "Choice",
            words=lambda row: _choice_words(row) or None,
        ),
        Column("sent", lambda row: _iso(row.created_at), "Submitted, UTC"),
    )
    caption = (
        "Runs of your teams, newest first, as their boards show them to you, with rank and rank range where "
        "visible."
    )
    return Table("my-runs", caption, columns, page.runs)


def upload_table(page: MyPage) -> Table[OwnUpload]:
    """The uploads, newest first."""
    columns = columns_from(
        OwnUpload,
        "upload_id file_name slug team",
        Column("verdict", lambda row: row.state, "Verdict", words=_verdict),
        "problems",
        Column("first_problem", lambda row: row.first_problem or None, "First problem"),
        "run_id",
        Column("sent", lambda row: _iso(row.created_at), "Submitted, UTC"),
    )
    caption = (
        f"Files submitted for your teams, newest first, at most {MOST_UPLOADS}; each links to its report."
    )
    return Table("my-uploads", caption, columns, page.uploads)


MY_TABLES: dict[str, Callable[[MyPage], Table[Any]]] = {
    "tasks": task_table,
    "runs": run_table,
    "uploads": upload_table,
}
MY_FILES = Files(facts=my_facts, tables=MY_TABLES)


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def _rank_words(row: OwnRun) -> str | None:
    if row.rank is None:
        return None
    between = f" ({row.place.rank_low}–{row.place.rank_high})" if row.place else ""
    return f"{row.rank} of {row.ranked}{between}"


def _choice_words(row: OwnRun) -> str:
    if row.kind == scored_topics.NOT_CHOSEN:
        return scored_topics.NOT_CHOSEN
    if not row.actions.is_marked:
        return ""
    return "final run" if row.actions.final_runs else "primary run"


def _verdict(row: OwnUpload) -> str:
    if row.state != "rejected":
        return row.state
    return f"rejected, {row.problems} {'problem' if row.problems == 1 else 'problems'}"
