"""Invitations: links to join a team, a task or the site, also for people without an account."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Annotated

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import accounts, sessions, teams
from leaderboard.core import audit, throttles
from leaderboard.core.actions import Action, by_account
from leaderboard.core.policy import (
    Scope,
    Viewer,
    is_organiser,
    own_task,
    require_account,
    require_operator,
    require_organiser,
    viewer_of,
)
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, InvitationUse, Member, Task, TaskRole, Team
from leaderboard.db.tables import Invitation as Stored
from leaderboard.errors import Conflict, Invalid, LeaderboardError, NotFound, Problem
from leaderboard.fields import Field

SITE, TEAM, TASK = "site", "team", "task"
ROLES = {
    "organiser": "organiser: can change everything",
    "coordinator": "coordinator: manages pools, assessors, labels and adjudication",
    "reader": "reader: can see everything, change nothing",
    "": "participant: submits runs",
}
"""Role granted by a task invitation -> its label; without a role it invites a participant."""
DAYS, MOST_DAYS = 7, 365
MOST_USES, MOST_USES_OF_A_TEAM = 10_000, 50
NOTE_CHARACTERS = 500
INVITATIONS_A_DAY = 100
OPEN, WITHDRAWN, RAN_OUT, USED = "open", "withdrawn", "ran out", "used up"
DEAD = {
    "": "This invitation does not exist. The link may be incomplete: copy all of it, or ask for it again.",
    WITHDRAWN: "This invitation was revoked. Ask the sender for a new one.",
    RAN_OUT: "This invitation has expired. Ask the sender for a new one.",
    USED: "This invitation has reached its maximum number of uses. Ask the sender for a new one.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamInvitation:
    """An invitation to a team; uses: maximum number, null for unlimited; days: validity."""

    uses: Annotated[int | None, Field(title="Maximum number of uses", most=MOST_USES_OF_A_TEAM)] = 1
    days: Annotated[int, Field(title="Expires after (days)", most=MOST_DAYS)] = DAYS
    note: Annotated[str, Field(title="Message to the invitee", longest=NOTE_CHARACTERS)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInvitation(TeamInvitation):
    """An invitation to a task; uses: maximum number, null for unlimited; days: validity."""

    role: Annotated[str, Field(title="Role", help="The role granted by the link.", choices=ROLES)] = ""
    uses: Annotated[int | None, Field(title="Maximum number of uses", most=MOST_USES)] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRequest(TaskInvitation):
    """A request for an invitation: to the site, a team or a task, with uses, validity and note."""

    kind: str
    team_id: int | None = None
    task_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """An invitation as seen by its recipient."""

    id: int
    kind: str
    team_id: int | None
    task_id: int | None
    role: str
    note: str
    inviter: str
    """Name of who made it; empty for the operator of the site."""
    name: str
    """Name of the team or task; empty for the site."""
    slug: str
    expires_at: datetime | None


def invite(session: Session, viewer: Viewer, request: InvitationRequest) -> str:
    """The token of a new invitation, which can be read only now.

    Members invite to their teams, organisers to their tasks, operators to the site. Raises NotFound or
    Forbidden for others, Invalid for numbers out of range, OverQuota after 100 per day.
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
    """Revoke an invitation; raises NotFound unless the viewer could create a similar one."""
    row = session.get(Stored, invitation_id)
    missing = NotFound(f"You have no invitation {invitation_id}.")
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
    """The target of a valid invitation; raises NotFound with the remedy if it is no longer valid.

    The holder of the token has the link, so the message gives the reason why it ended, but not its target. An
    unknown token gets the same kind of answer.
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
    """Accept an invitation for the viewer and return what they joined; counts one use.

    Raises NotFound if it is no longer valid and Conflict if the viewer is already in; then no use is counted.
    """
    account_id = require_account(viewer)
    row = _live(session, token)
    # Locked, so that two simultaneous accepts cannot both take the last use.
    lock_row(session, Stored, row.id)
    row = _live(session, token)
    invitation = look_at(session, token)
    if session.get(InvitationUse, (row.id, account_id)) is not None:
        raise Conflict("You have already used this invitation. Ask for another one.")
    _let_in(session, account_id, invitation)
    session.add(InvitationUse(invitation_id=row.id, account_id=account_id, used_at=now(session)))
    audit.record(session, viewer, f"{row.kind}.join", subject(row), invitation=row.id)
    return invitation


def redeem_as_new(session: Session, account_id: int, name: str, ip: str, token: str) -> Invitation:
    """The same for an account that the link has just made."""
    return redeem(session, viewer_of(session, account_id, name, False, ip), token)


def _let_in(session: Session, account_id: int, invitation: Invitation) -> None:
    if invitation.kind == SITE and _is_older(session, account_id, invitation.id):
        raise Conflict("You already have an account. Someone else can use the invitation.")
    if invitation.team_id is not None and invitation.kind == TEAM:
        teams.add_member(session, invitation.team_id, account_id)
    if invitation.task_id is not None and invitation.role:
        if session.get(TaskRole, (invitation.task_id, account_id, invitation.role)) is not None:
            raise Conflict(
                f"You are already {invitation.role} of {invitation.name}. Someone else can use the "
                "invitation."
            )
        session.add(TaskRole(task_id=invitation.task_id, account_id=account_id, role=invitation.role))
        accounts.end_links(session, account_id)


def _is_older(session: Session, account_id: int, invitation_id: int) -> bool:
    """Whether the account was there before it opened the link: then it has no use for one to the site."""
    joined = select(Account.created_at).where(Account.id == account_id).scalar_subquery()
    sent = select(Stored.created_at).where(Stored.id == invitation_id).scalar_subquery()
    return bool(session.scalar(select(joined < sent)))


def end_made_by(session: Session, account_id: int) -> None:
    """Revoke all invitations by an account."""
    open_ones = update(Stored).where(Stored.revoked_at.is_(None), Stored.created_by == account_id)
    session.execute(open_ones.values(revoked_at=now(session)))


def subject(row: Stored) -> str:
    """The target of an invitation, as named in the audit log."""
    if row.kind == TEAM:
        return f"team:{row.team_id}"
    return f"task:{row.task_id}" if row.task_id is not None else "site"


def state(session: Session, row: Stored, uses: int) -> str:
    """State of an invitation after this number of uses: open, or why it is not."""
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
    condition = state(session, row, uses)
    if condition != OPEN:
        raise NotFound(DEAD[condition])
    return row


def _inviter_may(session: Session, row: Stored) -> bool:
    """Whether the creator could still create it; without their role their invitations are not valid."""
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
        problems.append(Problem(f"A team invitation allows 1 to {most} uses.", field="uses"))
    if request.uses is not None and not 1 <= request.uses <= most:
        problems.append(
            Problem(f"An invitation allows 1 to {most} uses.", field="uses", value=str(request.uses))
        )
    if not 1 <= request.days <= MOST_DAYS:
        rule = f"An invitation is valid for 1 to {MOST_DAYS} days."
        problems.append(Problem(rule, field="days", value=str(request.days)))
    if len(request.note) > NOTE_CHARACTERS:
        problems.append(Problem(f"The message can have at most {NOTE_CHARACTERS} characters.", field="note"))
    if request.role not in (ROLES if request.kind == TASK else ("",)):
        problems.append(
            Problem(f"Unknown role. Roles in a task are {', '.join(filter(None, ROLES))}.", field="role")
        )
    if problems:
        raise Invalid(problems[0].rule, problems)


def _to_task(session: Session, viewer: Viewer, slug: str, asked: TaskInvitation) -> str:
    task_id = own_task(session, viewer, slug).id
    return invite(session, viewer, InvitationRequest(kind=TASK, task_id=task_id, **asdict(asked)))


TO_TEAM = Action(
    name="invite_to_team",
    summary="Create a team invitation link",
    more="The link is returned once.",
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
    summary="Create a task invitation link",
    more="With a role, people who accept it become organisers, coordinators or readers. Without a role it "
    "invites participants. The link is returned once.",
    path="/tasks/<slug>/invitations",
    form="/tasks/<slug>/people/invitations",
    record=TaskInvitation,
    act=_to_task,
    status=201,
)
TO_SITE = Action(
    name="invite",
    summary="Create an invitation to the site",
    form="/site/accounts/invitations",
    may=lambda _, viewer: require_operator(viewer),
    record=TaskInvitation,
    act=lambda session, viewer, asked: invite(session, viewer, InvitationRequest(kind=SITE, **asdict(asked))),
)
REVOKE = Action(
    name="revoke_invitation",
    summary="Revoke an invitation to your team or task",
    path="/invitations/<id:invitation_id>/revoke",
    form="/invitations/<id:invitation_id>/revoke",
    page="my.show",
    scopes=(Scope.SUBMIT, Scope.ORGANISE),
    may=by_account,
    act=revoke,
    done="revoked",
)
