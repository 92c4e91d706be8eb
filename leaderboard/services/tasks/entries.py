"""TeamEntering a task: freely, by an organiser's yes or by a code, with an agreement where the task has one.

A free task without an agreement is entered by the first run. What a new version of the agreement changes is
asked for before the next run; runs that were sent stay.
"""

from dataclasses import dataclass
from datetime import timedelta
from hmac import compare_digest
from typing import Annotated

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Entry, Task, Team
from leaderboard.errors import Closed, Forbidden, Invalid, NotEntered, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.services import audit, policy, throttles
from leaderboard.services.actions import Action, by_account
from leaderboard.services.policy import Scope, Viewer, require_account
from leaderboard.services.pseudonyms import pseudonyms

WAITING, ENTERED, REFUSED = "waiting", "entered", "refused"
RULES = {
    "free": "Every team may enter.",
    "approval": "Teams ask to enter, and the organisers decide.",
    "code": "Teams enter by a code that the organisers give them.",
}
CODES_AN_HOUR, CODES_AN_HOUR_OF_A_NETWORK = 10, 50
WHY_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class EntryState:
    """Where a team stands in a task: state is empty before it asked; agreed is the version it agreed to.

    missing says in a sentence what keeps it from sending runs; empty where nothing does.
    """

    state: str
    why: str
    agreed: int | None
    missing: str


@dataclass(frozen=True, slots=True)
class EntryRequest:
    """What a team brings to enter: the code, and the version of the agreement it agrees to."""

    code: Annotated[str, Field(title="Code (from the organisers)", longest=100)] = ""
    agreed: Annotated[int | None, Field(title="Version of the agreement that is agreed to", least=0)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamEntering(EntryRequest):
    """Which team enters, by which code, and which version of the agreement it agrees to."""

    team_id: Annotated[int, Field(title="Team", help="The number of the team that enters.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDecision:
    """Whether a team that asked may enter; why: needed for a no."""

    accept: Annotated[bool, Field(title="Whether it may enter")]
    why: Annotated[str, Field(title="Reason, which the team reads")] = ""


def state_of(session: Session, task: Task, team_id: int) -> EntryState:
    """Where a team stands in the task."""
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
    """Whether a row of Entry is of a team that a member of its entered, and that may send runs.

    Organisers can put any team into their task by filing a run for it: that gives them no right over its
    members, neither to see who they are nor to let anybody in as one of them.
    """
    return (Entry.state == ENTERED) & Entry.entered_by.is_not(None)


def ensure(session: Session, task: Task, team_id: int, entered_by: int | None) -> Entry:
    """The team's entry, made where there is none, by a run that a member sent or that organisers filed.

    entered_by: that member, where it does not organise the task; None for what is filed.
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

    Raises OverQuota after 10 an hour of an account, 50 of a network.
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

    Raises NotFound for a team of others, Closed where the task takes no runs any more, Forbidden for a wrong
    code or a team that was refused, Invalid where the agreement as it is now was not agreed to.
    """
    account_id = require_account(viewer)
    task, _ = policy.visible_task(session, viewer, slug)
    if not policy.owns(viewer, team_id):
        raise NotFound(f"There is no team {team_id} of yours.", team=team_id)
    if task.published_at is None or policy.is_closed(session, task.id):
        raise Closed(f"{task.name} cannot be entered now.")
    # Two members at once would make two entries.
    lock_row(session, Team, team_id)
    entry = _entry(session, task.id, team_id)
    if entry is not None and entry.state == REFUSED:
        raise Forbidden(f"The organisers refused this team: {entry.why} Write to them.")
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
        raise NotFound("This team did not ask to enter.", team=team_id)
    reason = why.strip()
    if not accept and not 0 < len(reason) <= WHY_CHARACTERS:
        rule = f"says why the team is refused, in 1 to {WHY_CHARACTERS} characters; it reads this."
        raise Invalid("Say why the team is refused.", [Problem(rule, "Write a sentence.", field="why")])
    entry.state, entry.why = (ENTERED, "") if accept else (REFUSED, reason)
    action = "entry.accept" if accept else "entry.refuse"
    audit.record(session, viewer, action, f"task:{task.id}", team=team_id, why=entry.why)


def _entry(session: Session, task_id: int, team_id: int) -> Entry | None:
    return session.scalar(select(Entry).where(Entry.task_id == task_id, Entry.team_id == team_id))


def _missing(task: Task, entry: Entry | None) -> str:
    """What keeps a team from sending runs, with the remedy; empty where nothing does."""
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
        rule = f"is needed to version {task.agreement_version}, the one shown on this page."
        problem = Problem(rule, "Read it and tick the box.", field="agreement")
        raise Invalid("The agreement was not agreed to, or has changed meanwhile.", [problem])


def _admitted(task: Task, code: str) -> str:
    """The state of a new entry by the task's rule; raises Forbidden for a wrong code."""
    if task.entry_rule == "approval":
        return WAITING
    if task.entry_rule == "code":
        right = task.entry_code.strip().encode()
        if not right or not compare_digest(code.strip().encode(), right):
            raise Forbidden("This is not the code of the task; ask its organisers for it.")
    return ENTERED


ENTER = Action(
    name="enter_task",
    summary="Enter a task with a team, or ask to",
    more="Where the task has an agreement, say which version of it you agree to.",
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
    summary="Let a team in, or refuse it",
    path="/tasks/<slug>/entries/<id:team_id>",
    form="/tasks/<slug>/entries/<id:team_id>",
    page="entries.index",
    record=EntryDecision,
    act=lambda session, viewer, slug, team_id, asked: decide(
        session, viewer, slug, team_id, accept=asked.accept, why=asked.why
    ),
    done=lambda asked, _: "let in" if asked.accept else "refused",
)
