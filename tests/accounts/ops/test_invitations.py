"""Invitations: whom a link lets in, where to, how often, and what a dead one says."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from leaderboard.accounts.ops import accounts, invitations, teams
from leaderboard.accounts.ops.invitations import InvitationRequest
from leaderboard.accounts.page import invitations as pages
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Audit, Invitation, Member, Task, TaskRole
from leaderboard.errors import Conflict, Forbidden, Invalid, LeaderboardError, NotFound
from tests.make import worlds
from tests.make.copies import built_once
from tests.make.people import account, invitation, redeem, team, viewer

pytestmark = pytest.mark.dialect


@pytest.fixture
@built_once
def anna(database: Database) -> int:
    """An account that leads a team."""
    return account(database, "Anna")


@pytest.fixture
def owls(database: Database, anna: int) -> int:
    """A team led by Anna."""
    return team(database, "Owls", anna)


def _why_dead(database: Database, token: str) -> str:
    with database.read() as session, pytest.raises(NotFound) as raised:
        invitations.look_at(session, token)
    return raised.value.message


def test_a_link_lets_in_as_many_as_it_is_for(database: Database, anna: int, owls: int) -> None:
    """Looking uses nothing up, a member uses nothing up, nobody uses it twice; then it is used up."""
    token = invitation(database, anna, team_id=owls, uses=2, note="  For the\n paper ")
    with database.read() as session:
        seen = invitations.look_at(session, token)
    assert (seen.name, seen.inviter, seen.note) == ("Owls", "Anna", "For the paper")
    with pytest.raises(Conflict, match="already"):
        redeem(database, anna, token)
    bert, carla = account(database, "Bert"), account(database, "Carla")
    assert redeem(database, bert, token).team_id == owls
    captain = viewer(database, anna)
    with database.write() as session:
        teams.remove(session, captain, owls, bert)
    with pytest.raises(Conflict, match="used this"):
        redeem(database, bert, token)
    redeem(database, carla, token)
    assert _why_dead(database, token) == invitations.DEAD[invitations.USED]
    with database.read() as session:
        (row,) = pages.invitation_rows(session, "team", team_id=owls)
        assert (row.used_by, row.state) == (("Bert", "Carla"), "used up")
        members = session.scalars(select(Member.account_id).where(Member.team_id == owls)).all()
    assert set(members) == {anna, carla}


def test_dead_links_say_what_to_ask_for(database: Database, anna: int, owls: int) -> None:
    """Run out, withdrawn, made by who is out, and never made: each a sentence, none names the team."""
    old, ended, open_one = (invitation(database, anna, team_id=owls) for _ in range(3))
    asker = viewer(database, anna)
    with database.write() as session:
        past = now(session) - timedelta(seconds=1)
        session.execute(update(Invitation).where(Invitation.id == 1).values(expires_at=past))
        invitations.revoke(session, asker, 2)
    account(database, "Bert")
    bert = viewer(database, account(database, "Bea"))
    with database.write() as session:
        for stranger in (bert, ANONYMOUS):
            for number in (3, 99):
                with pytest.raises(NotFound, match=f"You have no invitation {number}"):
                    invitations.revoke(session, stranger, number)
    said = [_why_dead(database, token) for token in (old, ended, "", "nonsense")]
    assert said == [invitations.DEAD[key] for key in (invitations.RAN_OUT, invitations.WITHDRAWN, "", "")]
    redeem(database, bert.account_id or 0, open_one)
    theirs = invitation(database, bert.account_id or 0, team_id=owls)
    captain = viewer(database, anna)
    with database.write() as session:
        teams.remove(session, captain, owls, bert.account_id or 0)
    assert _why_dead(database, theirs) == invitations.DEAD[invitations.WITHDRAWN]
    assert "Owls" not in " ".join(said)


def test_a_link_to_a_task_gives_a_role(database: Database, tmp_path: Path) -> None:
    """Organisers invite organisers, coordinators, readers and participants; a former organiser nobody."""
    olga = account(database, "Olga", is_organiser=True)
    worlds.make_task(database, tmp_path, olga, "robots", published=False)
    with database.read() as session:
        task_id = session.scalars(select(Task.id)).one()
    for number, role in enumerate(("organiser", "coordinator", "reader", "")):
        token = invitation(database, olga, "task", task_id=task_id, role=role)
        asker = account(database, f"Guest {number}")
        assert redeem(database, asker, token).slug == "robots"
        with database.read() as session:
            held = session.scalars(select(TaskRole.role).where(TaskRole.account_id == asker)).all()
        assert held == ([role] if role else [])
    left = invitation(database, olga, "task", task_id=task_id, role="organiser")
    with database.write() as session:
        session.delete(session.get_one(TaskRole, (task_id, olga, "organiser")))
    assert _why_dead(database, left) == invitations.DEAD[invitations.WITHDRAWN]


def test_who_may_invite_where(database: Database, tmp_path: Path, anna: int, owls: int) -> None:
    """Members to their team, organisers to their task, operators to the site; all others are refused."""
    worlds.make_task(database, tmp_path, account(database, "Olga", is_organiser=True), "robots")
    other = account(database, "Otto", is_organiser=True)
    faults: list[tuple[dict[str, Any], Viewer, type[LeaderboardError]]] = [
        ({"kind": "team", "team_id": owls}, viewer(database, other), NotFound),
        ({"kind": "task", "task_id": 1}, viewer(database, other), Forbidden),
        ({"kind": "task", "task_id": 1}, viewer(database, anna), Forbidden),
        ({"kind": "site"}, viewer(database, other), Forbidden),
        ({"kind": "review"}, viewer(database, anna), Forbidden),
        ({"kind": "team", "team_id": owls, "uses": 51}, viewer(database, anna), Invalid),
        ({"kind": "team", "team_id": owls, "uses": None}, viewer(database, anna), Invalid),
        ({"kind": "team", "team_id": owls, "days": 0}, viewer(database, anna), Invalid),
        ({"kind": "team", "team_id": owls, "days": 366}, viewer(database, anna), Invalid),
        ({"kind": "team", "team_id": owls, "note": "x" * 501}, viewer(database, anna), Invalid),
        ({"kind": "team", "team_id": owls, "role": "organiser"}, viewer(database, anna), Invalid),
    ]
    for what, asker, error in faults:
        with pytest.raises(error), database.write() as session:
            invitations.invite(session, asker, InvitationRequest(**what))
    with database.write() as session:
        token = invitations.invite(session, OPERATOR, InvitationRequest(kind="site"))
    with pytest.raises(Conflict, match="already have an account"):
        redeem(database, other, token)


def test_a_link_makes_an_account(database: Database, anna: int, owls: int) -> None:
    """A new account is in by the link that made it, with one row of the audit for each act."""
    token = invitation(database, anna, team_id=owls)
    with database.write() as session:
        made = accounts.create(session, "Bert", viewer=Viewer(ip="192.0.2.1"))
        assert invitations.redeem_as_new(session, made, "Bert", "192.0.2.1", token).team_id == owls
    with database.write() as session:
        site = invitations.invite(session, OPERATOR, InvitationRequest(kind="site"))
    with database.write() as session:
        another = accounts.create(session, "Cleo", viewer=Viewer(ip="192.0.2.1"))
        invitations.redeem_as_new(session, another, "Cleo", "192.0.2.1", site)
    with database.read() as session:
        acts = session.scalars(select(Audit.action).order_by(Audit.id)).all()
        assert session.scalar(select(Account.is_organiser).where(Account.id == made)) is False
    assert [act for act in acts if act.startswith(("team.", "site."))] == [
        *("team.create", "team.invite", "team.join", "site.invite", "site.join")
    ]
