"""Invitations: links that let whoever opens them in, without an account before."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Annotated

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, InvitationUse, Member, Task, TaskRole, Team
from leaderboard.db.tables import Invitation as Stored
from leaderboard.errors import Conflict, Invalid, LeaderboardError, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.services import audit, throttles
from leaderboard.services.accounts import accounts, sessions, teams
from leaderboard.services.actions import Action, by_account
from leaderboard.services.policy import (
    Scope,
    Viewer,
    is_organiser,
    own_task,
    require_account,
    require_operator,
    require_organiser,
    viewer_of,
)

SITE, TEAM, TASK = "site", "team", "task"
ROLES = {
    "organiser": "organiser: changes everything",
    "coordinator": "coordinator: pools, assessors, labels, adjudication",
    "reader": "reader: sees everything, changes nothing",
    "": "participant: sends runs",
}
"""What a link to a task may make of an account; without a role it leads a participant there."""
DAYS, MOST_DAYS = 7, 365
MOST_USES, MOST_USES_OF_A_TEAM = 10_000, 50
NOTE_CHARACTERS = 500
INVITATIONS_A_DAY = 100
OPEN, WITHDRAWN, RAN_OUT, USED = "open", "withdrawn", "ran out", "used up"
DEAD = {
    "": "There is no such invitation; the link may be cut off: open it as it was sent, or ask for it again.",
    WITHDRAWN: "This invitation was withdrawn; ask who sent it for a new one.",
    RAN_OUT: "This invitation has run out; ask who sent it for a new one.",
    USED: "This invitation was used as often as it may be; ask who sent it for a new one.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamInvitation:
    """uses: how often the link works, null for any number; days: for how long."""

    uses: Annotated[int | None, Field(title="How many people may use it", most=MOST_USES_OF_A_TEAM)] = 1
    days: Annotated[int, Field(title="Days that it works", most=MOST_DAYS)] = DAYS
    note: Annotated[
        str, Field(title="Why you invite them (they read it; optional)", longest=NOTE_CHARACTERS)
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInvitation(TeamInvitation):
    """Who is invited as what; uses: how often the link works, null for any number; days: for how long."""

    role: Annotated[str, Field(title="As", help="The role that the link gives.", choices=ROLES)] = ""
    uses: Annotated[int | None, Field(title="How many people may use it", most=MOST_USES)] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRequest(TaskInvitation):
    """What somebody asks a link to do: to the site, a team or a task, for how many, until when, and why."""

    kind: str
    team_id: int | None = None
    task_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """A link as whoever holds it sees it."""

    id: int
    kind: str
    team_id: int | None
    task_id: int | None
    role: str
    note: str
    inviter: str
    """Name of who made it; empty for the operator of the site."""
    name: str
    """Of the team or task; empty for the site."""
    slug: str
    expires_at: datetime | None


def invite(session: Session, viewer: Viewer, request: InvitationRequest) -> str:
    """The token of a new invitation, which can be read only now.

    Members invite to their teams, organisers to their tasks, operators to the site. Raises NotFound or
    Forbidden for others, Invalid for numbers out of range, OverQuota after 100 a day.
    """
    _require_inviter(session, viewer, request.kind, request.team_id, request.task_id)
    _require_valid(request)
    throttles.spend(session, f"invite {viewer.account_id}", INVITATIONS_A_DAY, timedelta(days=1))
    token, at = sessions.new_token(), now(session)
    row = Stored(
        token_sha256=sessions.digest(token),
        kind=request.kind,
        team_id=request.team_id,
        task_id=request.task_id,
        role=request.role,
        note=" ".join(request.note.split()),
        uses_allowed=request.uses,
        created_by=viewer.account_id,
        created_at=at,
        expires_at=at + timedelta(days=request.days),
    )
    session.add(row)
    session.flush()
    facts = {"invitation": row.id, "role": request.role, "uses": request.uses, "days": request.days}
    audit.record(session, viewer, f"{request.kind}.invite", subject(row), **facts)
    return token


def revoke(session: Session, viewer: Viewer, invitation_id: int) -> None:
    """End an invitation; raises NotFound for whoever may not make one like it."""
    row = session.get(Stored, invitation_id)
    missing = NotFound(f"There is no invitation {invitation_id} of yours.")
    if row is None:
        raise missing
    try:
        _require_inviter(session, viewer, row.kind, row.team_id, row.task_id)
    except LeaderboardError:
        raise missing from None
    if row.revoked_at is None:
        row.revoked_at = now(session)
        audit.record(session, viewer, f"{row.kind}.revoke_invitation", subject(row), invitation=row.id)


def look_at(session: Session, token: str) -> Invitation:
    """What a live invitation leads to; NotFound, saying what to ask for, where it no longer works.

    Whoever has the token has the link: it may be told apart why it ended, but not what it led to. A token
    that nobody made is answered as any other one.
    """
    row = _live(session, token)
    inviter = session.get(Account, row.created_by) if row.created_by is not None else None
    team = session.get(Team, row.team_id) if row.team_id is not None else None
    task = session.get(Task, row.task_id) if row.task_id is not None else None
    return Invitation(
        id=row.id,
        kind=row.kind,
        team_id=row.team_id,
        task_id=row.task_id,
        role=row.role,
        note=row.note,
        inviter=inviter.name if inviter is not None else "",
        name=team.name if team is not None else task.name if task is not None else "",
        slug=task.slug if task is not None else "",
        expires_at=row.expires_at,
    )


def redeem(session: Session, viewer: Viewer, token: str) -> Invitation:
    """What the viewer is in by this invitation; it counts one use.

    Raises NotFound where it no longer works and Conflict for someone who is in already: nothing is used up.
    """
    account_id = require_account(viewer)
    row = _live(session, token)
    # Two who use the last use at once would both count one less.
    lock_row(session, Stored, row.id)
    row = _live(session, token)
    found = look_at(session, token)
    if session.get(InvitationUse, (row.id, account_id)) is not None:
        raise Conflict("You have used this invitation already; ask for another one.")
    _let_in(session, account_id, found)
    session.add(InvitationUse(invitation_id=row.id, account_id=account_id, used_at=now(session)))
    audit.record(session, viewer, f"{row.kind}.join", subject(row), invitation=row.id)
    return found


def redeem_as_new(session: Session, account_id: int, name: str, ip: str, token: str) -> Invitation:
    """The same for an account that the link has just made."""
    return redeem(session, viewer_of(session, account_id, name, False, ip), token)


def _let_in(session: Session, account_id: int, found: Invitation) -> None:
    if found.kind == SITE and _is_older(session, account_id, found.id):
        raise Conflict("You have an account already; the invitation can go to someone else.")
    if found.team_id is not None and found.kind == TEAM:
        teams.add_member(session, found.team_id, account_id)
    if found.task_id is not None and found.role:
        if session.get(TaskRole, (found.task_id, account_id, found.role)) is not None:
            raise Conflict(f"You are {found.role} of {found.name} already; it can go to someone else.")
        session.add(TaskRole(task_id=found.task_id, account_id=account_id, role=found.role))
        accounts.end_links(session, account_id)


def _is_older(session: Session, account_id: int, invitation_id: int) -> bool:
    """Whether the account was there before it opened the link: then it has no use for one to the site."""
    made = select(Account.created_at).where(Account.id == account_id).scalar_subquery()
    sent = select(Stored.created_at).where(Stored.id == invitation_id).scalar_subquery()
    return bool(session.scalar(select(made < sent)))


def end_made_by(session: Session, account_id: int) -> None:
    """End all that an account invited to: whoever has its links should not get in by them."""
    open_ones = update(Stored).where(Stored.revoked_at.is_(None), Stored.created_by == account_id)
    session.execute(open_ones.values(revoked_at=now(session)))


def subject(row: Stored) -> str:
    """What an invitation is to, as the audit names it."""
    if row.kind == TEAM:
        return f"team:{row.team_id}"
    return f"task:{row.task_id}" if row.task_id is not None else "site"


def state(session: Session, row: Stored, uses: int) -> str:
    """Whether an invitation that so many accounts have used is open, or why it is not."""
    if row.revoked_at is not None or not _inviter_may(session, row):
        return WITHDRAWN
    if row.expires_at is not None and row.expires_at <= now(session):
        return RAN_OUT
    return USED if row.uses_allowed is not None and uses >= row.uses_allowed else OPEN


def _live(session: Session, token: str) -> Stored:
    row = session.scalar(
        select(Stored)
        .where(Stored.token_sha256 == sessions.digest(token), Stored.kind.in_((SITE, TEAM, TASK)))
        .execution_options(populate_existing=True)
    )
    if row is None:
        raise NotFound(DEAD[""])
    uses = session.scalar(select(func.count()).where(InvitationUse.invitation_id == row.id)) or 0
    found = state(session, row, uses)
    if found != OPEN:
        raise NotFound(DEAD[found])
    return row


def _inviter_may(session: Session, row: Stored) -> bool:
    """Whether who made the link could make it today: a role that was taken away invites nobody any more."""
    if row.created_by is None:
        return True
    if row.kind == TASK:
        return row.task_id is not None and is_organiser(session, row.task_id, row.created_by)
    if row.kind == TEAM:
        return session.get(Member, (row.team_id, row.created_by)) is not None
    return session.scalar(select(Account.disabled_at).where(Account.id == row.created_by)) is None


def _require_inviter(
    session: Session, viewer: Viewer, kind: str, team_id: int | None, task_id: int | None
) -> None:
    if kind == TEAM and team_id is not None:
        teams.own_team(session, viewer, team_id)
        return
    if kind == TASK and task_id is not None:
        require_organiser(viewer, session.get_one(Task, task_id))
        return
    require_operator(viewer)


def _require_valid(request: InvitationRequest) -> None:
    most = MOST_USES_OF_A_TEAM if request.kind == TEAM else MOST_USES
    problems = []
    if request.uses is None and request.kind == TEAM:
        problems.append(Problem(f"A team's link lets 1 to {most} in.", field="uses"))
    if request.uses is not None and not 1 <= request.uses <= most:
        problems.append(Problem(f"A link lets 1 to {most} in.", field="uses", value=str(request.uses)))
    if not 1 <= request.days <= MOST_DAYS:
        rule = f"A link works for 1 to {MOST_DAYS} days."
        problems.append(Problem(rule, field="days", value=str(request.days)))
    if len(request.note) > NOTE_CHARACTERS:
        problems.append(Problem(f"The note may have {NOTE_CHARACTERS} characters.", field="note"))
    if request.role not in (ROLES if request.kind == TASK else ("",)):
        problems.append(
            Problem(f"A role in a task is one of {', '.join(filter(None, ROLES))}.", field="role")
        )
    if problems:
        raise Invalid(problems[0].rule, problems)


def _to_task(session: Session, viewer: Viewer, slug: str, asked: TaskInvitation) -> str:
    task_id = own_task(session, viewer, slug).id
    return invite(session, viewer, InvitationRequest(kind=TASK, task_id=task_id, **asdict(asked)))


TO_TEAM = Action(
    name="invite_to_team",
    summary="Make a link that invites to a team",
    more="It cannot be read again.",
    path="/teams/<id:team_id>/invitations",
    form="/teams/<id:team_id>/invitations",
    scopes=(Scope.SUBMIT,),
    may=teams.own_team,
    record=TeamInvitation,
    act=lambda session, viewer, team_id, asked: invite(
        session, viewer, InvitationRequest(kind=TEAM, team_id=team_id, **asdict(asked))
    ),
    status=201,
)
TO_TASK = Action(
    name="invite_to_task",
    summary="Make a link that invites to a task",
    more="With a role it makes whoever opens it an organiser, coordinator or reader; without one it leads "
    "participants to the task. It cannot be read again.",
    path="/tasks/<slug>/invitations",
    form="/tasks/<slug>/people/invitations",
    record=TaskInvitation,
    act=_to_task,
    status=201,
)
TO_SITE = Action(
    name="invite",
    summary="Make an invitation to the site",
    form="/site/accounts/invitations",
    may=lambda _, viewer: require_operator(viewer),
    record=TaskInvitation,
    act=lambda session, viewer, asked: invite(session, viewer, InvitationRequest(kind=SITE, **asdict(asked))),
)
REVOKE = Action(
    name="revoke_invitation",
    summary="End an invitation of your team or task",
    path="/invitations/<id:invitation_id>/revoke",
    form="/invitations/<id:invitation_id>/revoke",
    page="my.show",
    scopes=(Scope.SUBMIT, Scope.ORGANISE),
    may=by_account,
    act=revoke,
    done="revoked",
)
