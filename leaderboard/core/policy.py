"""The one place that decides what a viewer may see and do.

open: everything is shown. blind: means over the public topics only, at three decimals, no per-topic
score, no judgment and no Judged@k, until the task closes: per-topic reciprocal rank alone gives away all
judgments in about twenty uploads. sealed: nothing but that a run is valid, until the task closes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, bindparam, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from leaderboard.core import phase_rules
from leaderboard.core.phase_rules import ALL_TOPICS, PhaseRule, public_part
from leaderboard.db.tables import (
    Announcement,
    FormerSlug,
    Member,
    Reproduction,
    Run,
    SuiteRunPart,
    Task,
    TaskPicture,
    TaskRole,
    Upload,
)
from leaderboard.errors import Forbidden, NotFound, SecondFactorNeeded, SignInNeeded

EVERYBODY = "everybody"
"""The kind of announcement that all who know of a task may read."""
# Built once, because building them takes longer than the query.
_LOGO = aliased(TaskPicture)
_NEWEST = aliased(Announcement)
_LAST = select(func.max(Announcement.id)).where(Announcement.task_id == Task.id).correlate(Task)
_LAST_FOR_ALL = _LAST.where(Announcement.recipients["kind"].as_string() == EVERYBODY).scalar_subquery()
_VALUES = _NEWEST.id, _NEWEST.title, _NEWEST.created_at, _LAST.scalar_subquery()


@dataclass(frozen=True, slots=True)
class NewestAnnouncement:
    """The newest announcement for everyone, None for none, and the id of the newest of any kind."""

    id: int | None
    title: str | None
    at: datetime | None
    last_id: int | None


def with_newest(selected: Any) -> Any:
    """A statement over tasks with the four values of their newest announcement."""
    joined = selected.add_columns(*_VALUES).select_from(Task)
    return joined.outerjoin(_NEWEST, _NEWEST.id == _LAST_FOR_ALL)


@dataclass(frozen=True, slots=True)
class TaskLogo:
    """The digest and the text of a logo."""

    sha256: str
    alt: str


def with_logo(selected: Any) -> Any:
    """A statement over tasks with the digest and the text of their logos, as logo_sha256 and logo_alt."""
    added = selected.add_columns(_LOGO.sha256.label("logo_sha256"), _LOGO.alt.label("logo_alt"))
    return added.outerjoin(_LOGO, (_LOGO.task_id == Task.id) & (_LOGO.kind == "logo"))


def logo_in_row(row: Any) -> TaskLogo | None:
    """The logo in a row of `with_logo`, None where the task has none."""
    return TaskLogo(row.logo_sha256, row.logo_alt) if row.logo_sha256 else None


class RunLinks(NamedTuple):
    """Whether there may be something to read: not whether the reader may know of it."""

    in_suites: bool = True
    in_reproductions: bool = True
    has_accounts: bool = True
    agent: bool = False
    """Whether an agent submitted it."""
    late: str = ""
    """Why its organisers count it although it was late."""


def with_links(selected: Any) -> Any:
    """A statement over runs with the columns that `in_row` reads."""
    in_suites = exists().where(SuiteRunPart.run_id == Run.id)
    reproduces, reproduced = (
        exists().where(column == Run.id) for column in (Reproduction.run_id, Reproduction.original_id)
    )
    has_accounts = exists().where(Member.team_id == Run.team_id)
    return selected.add_columns(
        in_suites.label("in_suites"),
        or_(reproduces, reproduced).label("in_reproductions"),
        has_accounts.label("has_accounts"),
        select(Upload.agent).where(Upload.id == Run.upload_id).scalar_subquery().label("agent"),
        select(Upload.wishes).where(Upload.id == Run.upload_id).scalar_subquery().label("wishes"),
    )


def in_row(row: Any) -> RunLinks:
    """Links in a row of `with_links`."""
    return RunLinks(
        row.in_suites, row.in_reproductions, row.has_accounts, row.agent, row.wishes.get("late", "")
    )


BLIND_DECIMALS = 3
ORGANISER, COORDINATOR, READER = ROLES = ("organiser", "coordinator", "reader")

# Nearly every page begins with some of these: to write them again takes half as long as to run them.
_TEAMS_OF = select(Member.team_id).where(Member.account_id == bindparam("account"))
_ROLES_OF = select(TaskRole.task_id, TaskRole.role).where(TaskRole.account_id == bindparam("account"))
_OF_SLUG = select(Task).where(Task.slug == bindparam("slug")).order_by(Task.published_at.is_(None), Task.id)
_OF_SLUG_WITH_PHASES = phase_rules.with_phases(with_logo(with_newest(_OF_SLUG)))
_RUN = select(Run, Task).join(Task, Task.id == Run.task_id).where(Run.id == bindparam("run"))
_RUN_WITH_PHASES = phase_rules.with_phases(with_links(with_logo(_RUN)))


class Scope(StrEnum):
    """Scopes of a token, within the permissions of its owner."""

    READ = "read"
    SUBMIT = "submit"
    ORGANISE = "organise"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class Viewer:
    """The viewer of a request: anonymous, an account with teams and tasks, or the command-line operator."""

    account_id: int | None = None
    name: str = ""
    is_organiser: bool = False
    team_ids: frozenset[int] = frozenset()
    organises: frozenset[int] = frozenset()
    is_operator: bool = False
    ip: str = ""
    needs_second_factor: bool = False
    """Whether the account would be an organiser's, had it a second factor."""
    phase: str = ""
    """Name of the requested phase, for example `?phase=late`; empty for the shown one."""
    coordinates: frozenset[int] = frozenset()
    """Tasks whose assessing it looks after: pools, assessors, labels, adjudication."""
    reads: frozenset[int] = frozenset()
    """Tasks that it sees as an organiser does, but cannot change."""
    operates: bool = False
    """Whether the account may use /site: look after accounts, jobs and mail, not into tasks."""
    token_id: int | None = None
    """The token with which a program acts for the account; None: a person does."""
    is_agent: bool = False
    """Whether the token is an agent's: what it submits says so."""
    only_task: int | None = None
    """The only task that the token is for; None: any."""
    edition: int | None = None
    """Number of the edition requested by `?edition=2` on a page of a task; None: the one shown."""
    executes: frozenset[int] = frozenset()
    """Tasks for whose teams it sends runs: of a runner's token, those of it that its owner organises now."""
    memo: "TaskMemo | None" = field(default=None, compare=False, repr=False)
    """Data already read for the viewer; None: every function reads what it needs."""


ANONYMOUS = Viewer()
OPERATOR = Viewer(name="operator", is_operator=True, is_organiser=True)


def without_organising(viewer: Viewer) -> Viewer:
    """The viewer while the second factor that organisers need is missing: any account, with a notice."""
    if not (viewer.is_organiser or viewer.organises or viewer.coordinates or viewer.reads):
        return viewer
    nothing: frozenset[int] = frozenset()
    return replace(
        viewer,
        is_organiser=False,
        organises=nothing,
        coordinates=nothing,
        reads=nothing,
        operates=False,
        needs_second_factor=True,
    )


@dataclass(frozen=True, slots=True)
class TaskAccess:
    """Visibility of one task for one viewer at one time."""

    organises: bool
    """Whether the viewer sees what organisers see: an organiser, or a reader of everything."""
    means: bool
    """Whether any score is shown."""
    topic_set: str
    """Name of the topic set whose means are shown."""
    decimals: int | None
    """Decimals of means; None is full precision."""
    details: bool
    """Whether per-topic scores, judgments and others' rankings are shown."""
    why: str
    """A sentence on what is hidden and until when; empty if nothing is."""
    phase_id: int | None = None
    """The phase whose runs are shown; None: the task has one phase only."""
    phase: str = ""
    """Its name."""
    is_ranked: bool = True
    """Whether its runs have ranks."""
    edition: int | None = None
    """Number of the edition to show; None: the current one."""
    rule: PhaseRule | None = field(default=None, compare=False, repr=False)
    """The phase itself."""
    links: RunLinks = field(default=RunLinks(), compare=False, repr=False)
    """Links that may be shown with the requested run."""

    def hides(self, measure: str) -> bool:
        """Whether this measure is hidden: how much of a run is judged is itself a hint."""
        return not self.details and measure.startswith("Judged")


@dataclass(frozen=True, slots=True)
class TaskContext:
    """A task with what all its pages say under its title."""

    task: Task
    phases: tuple[PhaseRule, ...]
    newest: NewestAnnouncement


@dataclass(frozen=True, slots=True)
class TaskMemo:
    """Data that a request has read for its viewer, by slug: the page's frame needs no further statement.

    heads: the task and its phases, logos: None where a task has none; both of tasks of runs too.
    """

    tasks: dict[str, TaskContext] = field(default_factory=dict)
    heads: dict[str, tuple[Task, tuple[PhaseRule, ...]]] = field(default_factory=dict)
    logos: dict[str, TaskLogo | None] = field(default_factory=dict)

    def note(self, task: Task, rows: Sequence[Any]) -> None:
        """Keep a task, its phases and its logo; rows: one for each phase, of `with_logo`."""
        self.heads[task.slug] = task, phase_rules.rules(task, rows)
        self.logos[task.slug] = logo_in_row(rows[0])

    def clear(self) -> None:
        """Forget it: later reads may differ from earlier ones."""
        for noted in (self.tasks, self.heads, self.logos):
            noted.clear()


OPEN_ACCESS = TaskAccess(False, True, ALL_TOPICS, None, True, "")


def access(viewer: Viewer, task: Task, phase: PhaseRule, hidden: Sequence[PhaseRule] = ()) -> TaskAccess:
    """Visibility of a phase of the task for the viewer; hidden: phases that are not public yet.

    While any phase is hidden no score by topic and no judgment of the task is shown: phases may share topics,
    and judgments of one are pages away from those of another.
    """
    if reads(viewer, task.id) or not hidden:
        return TaskAccess(reads(viewer, task.id), True, phase.topic_set, None, True, "", rule=phase)
    if phase not in hidden:
        why, topics = phase_rules.until_all_show(hidden), phase.topic_set
        return TaskAccess(False, True, topics, BLIND_DECIMALS, False, why, rule=phase)
    why, topics = phase_rules.why(phase), public_part(phase.topic_set)
    return TaskAccess(False, phase.visibility == "blind", topics, BLIND_DECIMALS, False, why, rule=phase)


def shows_means(viewer: Viewer, task_id: int, phase: PhaseRule, hidden: Sequence[PhaseRule]) -> bool:
    """Whether the viewer sees any score of a phase, and so its runs; hidden: as for `access`."""
    return reads(viewer, task_id) or phase not in hidden or phase.visibility == "blind"


def viewer_of(session: Session, account_id: int, name: str, is_organiser: bool, ip: str = "") -> Viewer:
    """The viewer an account is, with its teams and the tasks it organises."""
    teams = session.scalars(_TEAMS_OF, {"account": account_id})
    rows = session.execute(_ROLES_OF, {"account": account_id}).all()
    tasks = {role: frozenset(row.task_id for row in rows if row.role == role) for role in ROLES}
    return Viewer(
        account_id,
        name,
        is_organiser,
        frozenset(teams),
        tasks[ORGANISER],
        ip=ip,
        coordinates=tasks[COORDINATOR],
        reads=tasks[READER],
    )


def is_closed(session: Session, task_id: int, moment: datetime | None = None) -> bool:
    """Whether every phase of the task has a closing time that has passed."""
    return task_id in phase_rules.closed(session, [task_id], moment)


def is_shown(session: Session, task: Task) -> bool:
    """Whether all scores of the task are public."""
    return not phase_rules.hidden(session, phase_rules.rules_of(session, task))


def access_of(session: Session, viewer: Viewer, task: Task, phase_id: int | None = None) -> TaskAccess:
    """Current visibility of the task for the viewer, in the phase with this id, else the shown phase."""
    return access_by_rules(session, viewer, task, phase_rules.rules_of(session, task), phase_id)


def access_by_rules(
    session: Session,
    viewer: Viewer,
    task: Task,
    phases: Sequence[PhaseRule],
    phase_id: int | None = None,
    at: datetime | None = None,
) -> TaskAccess:
    """As `access_of`, by rules that were read before, at a moment (now unless given)."""
    hidden = phase_rules.hidden(session, phases, at)
    if len(phases) == 1:
        return replace(access(viewer, task, phases[0], hidden), edition=viewer.edition)
    named = (phase for phase in phases if phase.id == phase_id)
    chosen = next(named, None) or _asked(session, viewer, task, phases, at)
    seen = replace(access(viewer, task, chosen, hidden), edition=viewer.edition)
    return replace(seen, phase_id=chosen.id, phase=chosen.name, is_ranked=chosen.is_ranked)


def _asked(
    session: Session, viewer: Viewer, task: Task, phases: Sequence[PhaseRule], at: datetime | None
) -> PhaseRule:
    if not viewer.phase:
        return phase_rules.newest(session, phases, at)
    asked = next((phase for phase in phases if phase.name == viewer.phase), None)
    if asked is None:
        names = ", ".join(phase.name for phase in phases)
        raise NotFound(f"{task.name} has no phase {viewer.phase[:64]!r}; its phases are {names}.")
    return asked


def visible_task(session: Session, viewer: Viewer, slug: str) -> tuple[Task, TaskAccess]:
    """The task and its visibility for the viewer; one statement if all of it is public.

    Raises NotFound if absent or a draft of others (both look the same), and if it has no phase of the
    requested name.
    """
    rows = session.execute(_OF_SLUG_WITH_PHASES, {"slug": slug}).all()
    tasks = _known(viewer, {row.Task: None for row in rows})
    if not tasks:
        raise NotFound(f"There is no task {slug!r}.", task=slug)
    task = tasks[0]
    require_bound(viewer, task)
    rows = [row for row in rows if row.Task is task]
    phases = phase_rules.rules(task, rows)
    if viewer.memo is not None:
        # A page says the dates and the news of its task under its title: not worth another statement.
        viewer.memo.tasks[slug] = TaskContext(task, phases, NewestAnnouncement(*rows[0][1:5]))
        viewer.memo.note(task, rows)
    return task, access_by_rules(session, viewer, task, phases)


def task_context(session: Session, viewer: Viewer, slug: str) -> TaskContext:
    """The task's data for the viewer, read once; raises NotFound as `visible_task` does."""
    memo = viewer.memo or TaskMemo()
    if slug not in memo.tasks:
        visible_task(session, replace(viewer, memo=memo), slug)
    return memo.tasks[slug]


def known_tasks(session: Session, viewer: Viewer, slug: str) -> list[Task]:
    """The tasks of that slug the viewer may know of: a draft of the viewer's own, then the published one.

    Drafts of several organisers may have one slug; the operator knows of all of them, the oldest first.
    """
    return _known(viewer, session.scalars(_OF_SLUG, {"slug": slug}))


def _known(viewer: Viewer, tasks: Iterable[Task]) -> list[Task]:
    visible = [task for task in tasks if task.published_at is not None or knows(viewer, task.id)]
    own = viewer.organises | viewer.coordinates | viewer.reads
    return sorted(visible, key=lambda task: task.published_at is not None or task.id not in own)


def visible_run(session: Session, viewer: Viewer, run_id: int) -> tuple[Run, Task, TaskAccess]:
    """The run, its task and the visibility of its phase for the viewer.

    Raises NotFound if absent or the viewer may not know of it: in a sealed task only the
    team and the organisers know of a run.
    """
    rows = session.execute(_RUN_WITH_PHASES, {"run": run_id}).all()
    seen = access_of_run(session, viewer, rows) if rows else None
    if seen is None:
        raise NotFound(f"There is no run {run_id}.", run=run_id)
    run, task = rows[0].Run, rows[0].Task
    require_bound(viewer, task)
    if viewer.memo is not None:
        viewer.memo.note(task, rows)
    return run, task, replace(seen, links=in_row(rows[0]))


def access_of_run(
    session: Session, viewer: Viewer, rows: Sequence[Any], at: datetime | None = None
) -> TaskAccess | None:
    """Visibility of a run's phase for the viewer, None if the run is hidden; rows: its phases."""
    run, task = rows[0].Run, rows[0].Task
    seen = access_by_rules(session, viewer, task, phase_rules.rules(task, rows), run.phase_id, at)
    is_known = task.published_at is not None or seen.organises
    return seen if is_known and (seen.means or owns(viewer, run.team_id)) else None


def require_bound(viewer: Viewer, task: Task) -> None:
    """Raise Forbidden where the viewer is a token for another task."""
    if viewer.only_task not in (None, task.id):
        raise Forbidden(f"This token is not for {task.name}. Create a token for this task, or for all tasks.")


def require_person(viewer: Viewer) -> int:
    """The account id of the signed-in viewer; raises Forbidden for a token, SignInNeeded for a visitor."""
    if viewer.token_id is not None:
        raise Forbidden("This is not possible with a token. Sign in with a browser.")
    return require_account(viewer)


def owns(viewer: Viewer, team_id: int) -> bool:
    """Whether the viewer is in the team."""
    return team_id in viewer.team_ids


def organises(viewer: Viewer, task_id: int) -> bool:
    """Whether the viewer may change the task."""
    return viewer.is_operator or task_id in viewer.organises


def executes(viewer: Viewer, task_id: int) -> bool:
    """Whether the viewer is a runner whose owner can change the task."""
    return task_id in viewer.executes


def is_organiser(session: Session, task_id: int, account_id: int | None) -> bool:
    """Whether an account other than the viewer is an organiser of the task, such as the sender of a file."""
    return account_id is not None and session.get(TaskRole, (task_id, account_id, ORGANISER)) is not None


def coordinates(viewer: Viewer, task_id: int) -> bool:
    """Whether the viewer may change what assessors do: an organiser, or a coordinator."""
    return organises(viewer, task_id) or task_id in viewer.coordinates


def reads(viewer: Viewer, task_id: int) -> bool:
    """Whether the viewer sees all of the task: an organiser, or a reader of everything."""
    return organises(viewer, task_id) or task_id in viewer.reads


def knows(viewer: Viewer, task_id: int) -> bool:
    """Whether the viewer can see the task as a draft because they have a role in it."""
    return reads(viewer, task_id) or task_id in viewer.coordinates


def require_account(viewer: Viewer) -> int:
    """The viewer's account id; raises SignInNeeded for a visitor."""
    if viewer.account_id is None:
        raise SignInNeeded("Sign in first.")
    return viewer.account_id


MAY: dict[Callable[[Viewer, int], bool], tuple[str, str]] = {
    organises: ("", "can do this"),
    coordinates: (" and its coordinators", "can do this"),
    reads: (" and its readers", "can see this"),
    knows: (", its coordinators and its readers", "can see this"),
}
"""Other roles that are allowed, in addition to organisers, and the action."""


def require(viewer: Viewer, task: Task, may: Callable[[Viewer, int], bool]) -> None:
    """Raise unless the viewer may do it in the task: SignInNeeded for a visitor, else Forbidden."""
    if may(viewer, task.id):
        return
    require_account(viewer)
    require_second_factor(viewer)
    others, what = MAY[may]
    raise Forbidden(f"Only organisers of {task.name}{others} {what}.")


def require_organiser(viewer: Viewer, task: Task) -> None:
    """Raise unless the viewer organises the task: SignInNeeded for a visitor, else Forbidden."""
    require(viewer, task, organises)


def own_task(
    session: Session, viewer: Viewer, slug: str, may: Callable[[Viewer, int], bool] = organises
) -> Task:
    """The task of an organiser, or of another role; raises NotFound, SignInNeeded or Forbidden.

    may: `coordinates` where assessors are looked after, `reads` or `knows` where nothing is changed.
    """
    task, _ = visible_task(session, viewer, slug)
    require(viewer, task, may)
    return task


def require_creator(viewer: Viewer) -> None:
    """Raise unless the viewer may create tasks and collections."""
    if viewer.is_organiser or viewer.is_operator:
        return
    require_account(viewer)
    require_second_factor(viewer)
    raise Forbidden("Only organiser accounts can create tasks. Ask the operator of this site.")


def require_operator(viewer: Viewer) -> None:
    """Raise unless the viewer operates the site, in the browser or at the command line."""
    if viewer.is_operator or viewer.operates:
        return
    require_account(viewer)
    require_second_factor(viewer)
    raise Forbidden("Only operators of this site can do this.")


def require_second_factor(viewer: Viewer) -> None:
    """Raise SecondFactorNeeded where that is what keeps an organiser out."""
    if viewer.needs_second_factor:
        raise SecondFactorNeeded("On this site, organisers need two-factor authentication. Set it up first.")


def own_run(session: Session, viewer: Viewer, run_id: int) -> tuple[Run, Task]:
    """A run and its task, for its team and the organisers; raises NotFound, SignInNeeded or Forbidden."""
    run, task, _ = visible_run(session, viewer, run_id)
    if not organises(viewer, task.id):
        require_member(viewer, run.team_id)
    return run, task


def require_member(viewer: Viewer, team_id: int) -> None:
    """Raise unless the viewer is in the team (or operates the site); the message does not name the team."""
    if viewer.is_operator or owns(viewer, team_id):
        return
    require_account(viewer)
    raise Forbidden("Only members of the run's team can do this. Ask a member for an invitation link.")


def now_at(session: Session, slug: str) -> str | None:
    """The slug of the published task that had this one; None if none had one."""
    former = session.get(FormerSlug, slug)
    task = session.get(Task, former.task_id) if former is not None else None
    return task.slug if task is not None and task.published_at is not None else None


def of_phase(access: TaskAccess) -> tuple[ColumnElement[bool], ...]:
    """SQL conditions that select the runs of the visible phase; none if the task has only one."""
    return () if access.phase_id is None else (Run.phase_id == access.phase_id,)
