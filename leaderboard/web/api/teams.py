"""Operations on the teams of who asks: made, described, invited to, left; entering a task."""

from dataclasses import dataclass
from typing import Annotated

from leaderboard.pages import teams as team_pages
from leaderboard.services.accounts import invitations, teams
from leaderboard.services.accounts.invitations import InvitationRequest
from leaderboard.services.accounts.teams import TeamDetails
from leaderboard.services.pseudonyms import pseudonyms, reviews
from leaderboard.services.tasks import entries, filed
from leaderboard.services.tasks.entries import EntryRequest
from leaderboard.web.addresses import absolute
from leaderboard.web.api import limits
from leaderboard.web.api.answers import TeamAnswer
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import SUBMIT, WRITE, operation
from leaderboard.web.api.organise.answers import Done, LinkAnswer
from leaderboard.web.session import reading, token, viewer, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTeam:
    """What the team is called."""

    name: Filled


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamChanges:
    """What is said anew of a team; what is left out stays. The name is its captain's to change."""

    name: str | None = None
    affiliation: str | None = None
    country: str | None = None
    home_page: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamInvitation:
    """uses: how often the link works, null for any number; days: for how long."""

    note: str = ""
    uses: Annotated[int, limits.within(1, invitations.MOST_USES_OF_A_TEAM)] | None = 1
    days: Annotated[int, limits.within(1, invitations.MOST_DAYS)] = invitations.DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Entering:
    """Which team enters, by which code, and which version of the agreement it agrees to."""

    team_id: int
    code: str = ""
    agreed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """state: entered, waiting or refused; missing: what is still to be done, empty where nothing is."""

    state: str
    missing: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBody:
    """For how many days the link works, and a note for yourselves."""

    days: Annotated[int, limits.within(1, reviews.MOST_DAYS)] = reviews.DAYS
    note: str = ""


@operation("POST", "/teams", TeamAnswer, body=NewTeam, scopes=SUBMIT, status=201)
def make_team(body: NewTeam) -> TeamAnswer:
    """Make a team

    You are its captain. A token for one task or team makes none.
    """
    asking = token()
    if asking is not None:
        asking.require_free()
    with writing() as session:
        teams.count_creation(session, viewer(), body.name)
    with writing() as session:
        team_id = teams.create(session, viewer(), body.name)
    return TeamAnswer(team=team_id, team_id=team_id, name=" ".join(body.name.split()))


@operation("PATCH", "/teams/<id:team_id>", TeamAnswer, body=TeamChanges, scopes=SUBMIT)
def describe_team(team_id: int, body: TeamChanges) -> TeamAnswer:
    """Say who a team is"""
    asker = viewer()
    before = teams.own_team(reading(), asker, team_id)
    details = TeamDetails(
        **{
            key: getattr(before, key) if getattr(body, key) is None else getattr(body, key)
            for key in ("affiliation", "country", "home_page")
        }
    )
    if body.name is not None:
        with writing() as session:
            teams.count_creation(session, asker, body.name)
    with writing() as session:
        teams.describe(session, asker, team_id, details)
        if body.name is not None:
            teams.rename(session, asker, team_id, body.name)
    return TeamAnswer(
        team=team_id, team_id=team_id, name=team_pages.team_page(reading(), viewer(), team_id).name
    )


@operation(
    "POST", "/teams/<id:team_id>/invitations", LinkAnswer, body=TeamInvitation, scopes=SUBMIT, status=201
)
def invite_to_team(team_id: int, body: TeamInvitation) -> LinkAnswer:
    """Make a link that invites to a team

    It cannot be read again.
    """
    wanted = InvitationRequest(
        kind=invitations.TEAM, team_id=team_id, note=body.note, uses=body.uses, days=body.days
    )
    with writing() as session:
        secret = invitations.invite(session, viewer(), wanted)
    return LinkAnswer(link=absolute("invitations.show", token=secret))


@operation("POST", "/invitations/<id:invitation_id>/revoke", Done, scopes=WRITE)
def revoke_invitation(invitation_id: int) -> Done:
    """End an invitation of your team or task"""
    with writing() as session:
        invitations.revoke(session, viewer(), invitation_id)
    return Done(done="revoked")


@operation("POST", "/teams/<id:team_id>/members/<id:account_id>/captain", Done, scopes=SUBMIT)
def hand_over_team(team_id: int, account_id: int) -> Done:
    """Make another member the captain"""
    with writing() as session:
        teams.hand_over(session, viewer(), team_id, account_id)
    return Done(done="handed over")


@operation("DELETE", "/teams/<id:team_id>/members/<id:account_id>", Done, scopes=SUBMIT)
def remove_member(team_id: int, account_id: int) -> Done:
    """Take another member out of a team"""
    with writing() as session:
        teams.remove(session, viewer(), team_id, account_id)
    return Done(done="removed")


@operation("POST", "/teams/<id:team_id>/leave", Done, scopes=SUBMIT)
def leave_team(team_id: int) -> Done:
    """Leave a team"""
    with writing() as session:
        teams.leave(session, viewer(), team_id)
    return Done(done="left")


@operation("POST", "/tasks/<slug>/enter", Entered, body=Entering, scopes=SUBMIT)
def enter_task(slug: str, body: Entering) -> Entered:
    """Enter a task with a team, or ask to

    Where the task has an agreement, say which version of it you agree to.
    """
    asker = viewer()
    if body.code.strip():
        with writing() as session:
            entries.count_code(session, asker, slug)
    with writing() as session:
        asked = EntryRequest(body.code.strip(), body.agreed)
        state = entries.enter(session, asker, slug, body.team_id, asked)
    return Entered(state=state.state, missing=state.missing, why=state.why)


@operation("POST", "/tasks/<slug>/teams/<id:team_id>/show-filed", Done, scopes=SUBMIT)
def show_filed_runs(slug: str, team_id: int) -> Done:
    """Show the runs that organisers filed for your team on its page

    Those of this task that wait until a member agrees.
    """
    with writing() as session:
        shown = filed.agree(session, viewer(), team_id, slug)
    return Done(done=f"{shown} shown")


@operation("POST", "/tasks/<slug>/teams/<id:team_id>/show-name", Done, scopes=SUBMIT)
def show_team_name(slug: str, team_id: int) -> Done:
    """Show the name of your team where others go by pseudonyms

    It cannot be taken back.
    """
    with writing() as session:
        pseudonyms.show_name(session, viewer(), slug, team_id)
    return Done(done="name shown")


@operation(
    "POST",
    "/tasks/<slug>/teams/<id:team_id>/review-links",
    LinkAnswer,
    body=ReviewBody,
    scopes=SUBMIT,
    status=201,
)
def make_review_link(slug: str, team_id: int, body: ReviewBody) -> LinkAnswer:
    """Make a link that shows reviewers your runs under your pseudonym

    It cannot be read again.
    """
    with writing() as session:
        secret = reviews.make(session, viewer(), slug, team_id, body.days, body.note)
    return LinkAnswer(link=absolute("naming.review", token=secret))


@operation("DELETE", "/tasks/<slug>/teams/<id:team_id>/review-links/<id:invitation_id>", Done, scopes=SUBMIT)
def end_review_link(slug: str, team_id: int, invitation_id: int) -> Done:
    """End a link for reviewers"""
    with writing() as session:
        reviews.end(session, viewer(), slug, team_id, invitation_id)
    return Done(done="ended")


OPERATIONS = (
    make_team,
    describe_team,
    invite_to_team,
    revoke_invitation,
    hand_over_team,
    remove_member,
    leave_team,
    enter_task,
    show_filed_runs,
    show_team_name,
    make_review_link,
    end_review_link,
)
