"""Entering a task: freely, by an organiser's approval or by a code, with an agreement if the task has one.

A free task without an agreement is entered by the first run. A new version of the agreement must be accepted
before the next run; runs that were sent stay.

Filed runs are on the board and say so on their own pages. The team's page shows them once a member
has agreed, or at once if the team has no accounts.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from hmac import compare_digest
from typing import Annotated

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, update
from sqlalchemy.orm import Session

from leaderboard.core import audit, events, policy, throttles
from leaderboard.core.actions import Action, by_account
from leaderboard.core.policy import Scope, Viewer, require_account
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Entry, Member, Run, Task, Team
from leaderboard.errors import Closed, Forbidden, Invalid, NotEntered, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.tasks.ops.pseudonyms import pseudonyms

WAITING, ENTERED, REFUSED = "waiting", "entered", "refused"
RULES = {
    "free": "Any team can enter.",
    "approval": "Teams ask to enter; the organisers decide.",
    "code": "Teams enter with a code from the organisers.",
}
CODES_AN_HOUR, CODES_AN_HOUR_OF_A_NETWORK = 10, 50
WHY_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class EntryState:
    """A team's entry in a task: state is empty before it asked; agreed is the accepted version.

    missing is a sentence on what it must do before submitting runs; empty if nothing.
    """

    state: str
    why: str
    agreed: int | None
    missing: str


@dataclass(frozen=True, slots=True)
class EntryRequest:
    """A request to enter: the code, and the accepted version of the agreement."""

    code: Annotated[str, Field(title="Code (from the organisers)", longest=100)] = ""
    agreed: Annotated[int | None, Field(title="Accepted version of the agreement", least=0)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamEntering(EntryRequest):
    """The entering team, its code, and the version of the agreement it accepts."""

    team_id: Annotated[int, Field(title="Team", help="The number of the team to enter.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDecision:
    """Whether a team that asked may enter; why: required for a refusal."""

    accept: Annotated[bool, Field(title="Accept the team")]
    why: Annotated[str, Field(title="Reason (shown to the team)")] = ""


def state_of(session: Session, task: Task, team_id: int) -> EntryState:
    """The team's entry state in the task."""
    entry = _entry(session, task.id, team_id)
    if entry is None:
        return EntryState("", "", None, _missing(task, None))
    return EntryState(entry.state, entry.why, entry.agreement_version, _missing(task, entry))


def require_entered(session: Session, task: Task, team: Team) -> None:
    """Raise Forbidden, naming rule and remedy, unless the team may send runs to the task."""
    missing = state_of(session, task, team.id).missing
    if missing:
        raise NotEntered(f"{team.name}: {missing} See /tasks/{task.slug}/enter.", task=task.slug)


def takes_part() -> ColumnElement[bool]:
    """Whether a row of Entry belongs to a team that was entered by a member and may submit runs.

    Organisers can put any team into their task by filing a run for it: that gives them no right over its
    members, neither to see their names nor to let anyone in as one of them.
    """
    return (Entry.state == ENTERED) & Entry.entered_by.is_not(None)


def ensure(session: Session, task: Task, team_id: int, entered_by: int | None) -> Entry:
    """The team's entry, created if absent, by a run that a member submitted or organisers filed.

    entered_by: that member, unless it organises the task; None for filed runs.
    """
    entry = _entry(session, task.id, team_id)
    if entry is None:
        entry = Entry(task_id=task.id, team_id=team_id, state=ENTERED, created_at=now(session))
        session.add(entry)
        session.flush()
        pseudonyms.enter(session, task.id)
    entry.entered_by = entry.entered_by or entered_by
    return entry


def count_code(session: Session, viewer: Viewer, slug: str) -> None:
    """Count one try of a code: commit this before `enter`, so that wrong ones cost.

    Raises OverQuota after 10 per hour of an account, 50 of a network.
    """
    account_id = require_account(viewer)
    task, _ = policy.visible_task(session, viewer, slug)
    hour = timedelta(hours=1)
    key = f"entry code {task.id}"
    throttles.spend(session, f"{key} account {account_id}", CODES_AN_HOUR, hour)
    network = throttles.network(viewer.ip)
    throttles.spend(session, f"{key} ip {network}", CODES_AN_HOUR_OF_A_NETWORK, hour)


def enter(session: Session, viewer: Viewer, slug: str, team_id: int, asked: EntryRequest) -> EntryState:
    """Enter one of the viewer's teams, or ask to, or agree to a new version of the agreement.

    Raises NotFound for a team of others, Closed where the task no longer accepts runs, Forbidden for a wrong
    code or a team that was refused, Invalid where the current agreement was not accepted.
    """
    account_id = require_account(viewer)
    task, _ = policy.visible_task(session, viewer, slug)
    if not policy.owns(viewer, team_id):
        raise NotFound(f"You are not in team {team_id}.", team=team_id)
    if task.published_at is None or policy.is_closed(session, task.id):
        raise Closed(f"{task.name} is not open for entry now.")
    # Two members at once would make two entries.
    lock_row(session, Team, team_id)
    entry = _entry(session, task.id, team_id)
    if entry is not None and entry.state == REFUSED:
        raise Forbidden(f"The organisers refused this team: {entry.why} Contact them.")
    _require_agreed(task, entry, asked)
    state = _admitted(task, asked.code) if entry is None or entry.state == WAITING else entry.state
    if entry is None or entry.state != state:
        entry = entry or Entry(task_id=task.id, team_id=team_id, created_at=now(session))
        entry.state = state
        session.add(entry)
        audit.record(session, viewer, "entry.enter", f"task:{task.id}", team=team_id, state=entry.state)
    if entry.entered_by is None and not policy.is_organiser(session, task.id, account_id):
        entry.entered_by = account_id
    if task.agreement and entry.agreement_version != task.agreement_version:
        entry.agreement_version, entry.agreed_at = task.agreement_version, now(session)
        entry.agreed_by = account_id
        version = task.agreement_version
        audit.record(session, viewer, "entry.agree", f"task:{task.id}", team=team_id, version=version)
    session.flush()
    pseudonyms.enter(session, task.id)
    return state_of(session, task, team_id)


def decide(session: Session, viewer: Viewer, slug: str, team_id: int, *, accept: bool, why: str = "") -> None:
    """Let a team in, or refuse it with a reason that it reads; its runs stay. For organisers.

    Raises NotFound for a team that did not ask, Invalid for a refusal without a reason.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Team, team_id)
    entry = _entry(session, task.id, team_id)
    if entry is None:
        raise NotFound("This team has not asked to enter.", team=team_id)
    reason = why.strip()
    if not accept and not 0 < len(reason) <= WHY_CHARACTERS:
        rule = f"must give the reason for the refusal in 1 to {WHY_CHARACTERS} characters; the team sees it."
        raise Invalid(
            "Give the reason for refusing the team.", [Problem(rule, "Write one sentence.", field="why")]
        )
    entry.state, entry.why = (ENTERED, "") if accept else (REFUSED, reason)
    action = "entry.accept" if accept else "entry.refuse"
    audit.record(session, viewer, action, f"task:{task.id}", team=team_id, why=entry.why)


def _entry(session: Session, task_id: int, team_id: int) -> Entry | None:
    return session.scalar(select(Entry).where(Entry.task_id == task_id, Entry.team_id == team_id))


def _missing(task: Task, entry: Entry | None) -> str:
    """Sentence on what a team must do before it can submit runs; empty if nothing."""
    if entry is not None and entry.state == REFUSED:
        return f"the organisers refused this team: {entry.why}"
    if entry is not None and entry.state == WAITING:
        return "the organisers have not decided yet whether this team may enter."
    if entry is None and task.entry_rule != "free":
        return f"this team has not entered the task. {RULES[task.entry_rule]}"
    if task.agreement and (entry is None or entry.agreement_version != task.agreement_version):
        return f"this team has not agreed to version {task.agreement_version} of the task's agreement."
    return ""


def _require_agreed(task: Task, entry: Entry | None, asked: EntryRequest) -> None:
    has_agreed = entry is not None and entry.agreement_version == task.agreement_version
    if task.agreement and not has_agreed and asked.agreed != task.agreement_version:
        rule = f"is required for version {task.agreement_version}, shown on this page."
        problem = Problem(rule, "Read the agreement and select the box.", field="agreement")
        raise Invalid("The agreement was not accepted, or has changed in the meantime.", [problem])


def _admitted(task: Task, code: str) -> str:
    """The state of a new entry by the task's rule; raises Forbidden for a wrong code."""
    if task.entry_rule == "approval":
        return WAITING
    if task.entry_rule == "code":
        right = task.entry_code.strip().encode()
        if not right or not compare_digest(code.strip().encode(), right):
            raise Forbidden("The code is wrong; ask the organisers for the task’s code.", field="code")
    return ENTERED


ENTER = Action(
    name="enter_task",
    summary="Enter a task with a team, or ask to enter",
    more="If the task has an agreement, give the version you accept.",
    path="/tasks/<slug>/enter",
    form="/tasks/<slug>/enter",
    scopes=(Scope.SUBMIT,),
    may=by_account,
    record=TeamEntering,
    count=lambda session, viewer, slug, asked: (
        count_code(session, viewer, slug) if asked.code.strip() else None
    ),
    act=lambda session, viewer, slug, asked: enter(session, viewer, slug, asked.team_id, asked),
)
DECIDE = Action(
    name="decide_entry",
    summary="Accept or refuse a team",
    path="/tasks/<slug>/entries/<id:team_id>",
    form="/tasks/<slug>/entries/<id:team_id>",
    page="entries.index",
    record=EntryDecision,
    act=lambda session, viewer, slug, team_id, asked: decide(
        session, viewer, slug, team_id, accept=asked.accept, why=asked.why
    ),
    done=lambda asked, _: "let in" if asked.accept else "refused",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledRuns:
    """Runs of a team in a task that wait for one of its members to agree."""

    team_id: int
    team: str
    slug: str
    task: str
    runs: int


def is_agreed() -> ColumnElement[bool]:
    """Whether a row of Run can be listed on its team's page."""
    return or_(
        Run.filed.is_(False), Run.agreed_at.is_not(None), ~exists().where(Member.team_id == Run.team_id)
    )


def _waits() -> ColumnElement[bool]:
    return and_(Run.filed.is_(True), Run.agreed_at.is_(None), Run.withdrawn_at.is_(None))


def waiting_filed(session: Session, team_ids: Iterable[int]) -> tuple[FiledRuns, ...]:
    """The filed runs waiting for agreement by members of these teams, in published tasks."""
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


def agree_to_filed(session: Session, viewer: Viewer, team_id: int, slug: str) -> int:
    """Show the runs filed for the viewer's team in a task on the team's page; return their number.

    Raises NotFound for another team and if no run is waiting.
    """
    account_id = policy.require_account(viewer)
    task, _ = policy.visible_task(session, viewer, slug)
    if not policy.owns(viewer, team_id):
        raise NotFound(f"You are not in team {team_id}.", team=team_id)
    agreed = session.scalars(
        update(Run)
        .where(Run.team_id == team_id, Run.task_id == task.id, _waits())
        .values(agreed_at=now(session), agreed_by=account_id)
        .returning(Run.id)
    ).all()
    if not agreed:
        raise NotFound(f"No run filed for this team in {task.name} is waiting for its agreement.")
    audit.record(session, viewer, "team.agree_filed", f"team:{team_id}", task=task.id, runs=sorted(agreed))
    return len(agreed)


def tell_all(session: Session, task: Task) -> None:
    """Notify the members of teams with filed runs in a task that has just been published."""
    tell_of_filed(session, task, session.scalars(select(Run).where(Run.task_id == task.id, _waits())).all())


def tell_of_filed(session: Session, task: Task, runs: Iterable[Run]) -> None:
    """Mail the members of the teams that runs were filed for.

    One mail per team and task: while earlier runs wait for agreement, its members already know.
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
            f"{count} filed for your team {team} by the organisers of {task.name}, for example "
            f"{some[0].name}. The run's page states that the organisers filed it, not your team. Others "
            f"cannot see it on the page of {team} until a member agrees there.\n\n"
            "If it should not be on the board, contact the organisers or the operator of this site.\n"
        )
        letter = events.MailDraft(f"{task.name}: runs filed for your team {team}", body)
        for post in events.MAIL:
            post.write_mail(session, members, letter)


AGREE = Action(
    name="show_filed_runs",
    summary="Show runs filed by organisers on your team's page",
    more="Applies to the runs of this task that are waiting for a member's agreement.",
    path="/tasks/<slug>/teams/<id:team_id>/show-filed",
    form="/teams/<id:team_id>/filed/<slug>",
    page="teams.show",
    scopes=(Scope.SUBMIT,),
    may=by_account,
    act=lambda session, viewer, slug, team_id: agree_to_filed(session, viewer, team_id, slug),
    done=lambda _, shown: f"{shown} shown",
)
