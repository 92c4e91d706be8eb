"""Teams: who gets in, who leads, who is out."""

import pytest
from sqlalchemy import select

from leaderboard.accounts.ops import teams
from leaderboard.accounts.page import accounts as pages
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Member
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound, OverQuota, SignInNeeded
from leaderboard.tasks.page import teams as team_pages
from tests.make.copies import built_once
from tests.make.people import account, join, team, viewer

pytestmark = pytest.mark.dialect


@pytest.fixture
@built_once
def anna(database: Database) -> int:
    """An account."""
    return account(database, "Anna")


@pytest.fixture
@built_once
def bert(database: Database) -> int:
    """Another account."""
    return account(database, "Bert")


@pytest.fixture
def owls(database: Database, anna: int) -> int:
    """A team led by Anna."""
    return team(database, "Owls", anna)


def _roles(database: Database, team_id: int) -> dict[int, str]:
    with database.read() as session:
        rows = session.execute(select(Member.account_id, Member.role).where(Member.team_id == team_id))
        return {account_id: role for account_id, role in rows}


def test_the_maker_is_captain(database: Database, anna: int, owls: int) -> None:
    """A new team has its maker as captain, in their list and on the team's page."""
    asker = viewer(database, anna)
    with database.read() as session:
        assert [(row.name, row.role, row.members, row.runs) for row in pages.own_teams(session, asker)] == [
            ("Owls", "captain", 1, 0)
        ]
        assert team_pages.team_page(session, asker, owls).is_captain


def test_visitors_make_no_team(database: Database) -> None:
    """Making a team needs an account."""
    with pytest.raises(SignInNeeded), database.write() as session:
        teams.create(session, ANONYMOUS, "Owls")


def test_look_alike_team_names_are_taken(database: Database, owls: int, bert: int) -> None:
    """A team name that differs in case, spacing or letters of other scripts only is taken."""
    for name in (" OWLS", "\u041ewls", "0wls"):
        with pytest.raises(Conflict, match="is taken, or looks like one"):
            team(database, name, bert)
    with pytest.raises(Conflict, match="looks like one that is taken"), database.write() as session:
        teams.ensure(session, OPERATOR, "\u041ewls")


def test_teams_a_day_are_limited(database: Database, anna: int) -> None:
    """The 21st team an account makes within a day is refused; a name nobody may have costs nothing."""
    asker = viewer(database, anna)
    with pytest.raises(Invalid), database.write() as session:
        teams.count_creation(session, asker, "...")
    for number in range(20):
        with database.write() as session:
            teams.count_creation(session, asker, f"Team {number}")
    with pytest.raises(OverQuota), database.write() as session:
        teams.count_creation(session, asker, "One more")
    with pytest.raises(SignInNeeded), database.write() as session:
        teams.count_creation(session, ANONYMOUS, "Owls")


def test_teams_a_day_of_one_network_are_limited(database: Database) -> None:
    """Many accounts of one network make a hundred teams a day between them."""
    with pytest.raises(OverQuota), database.write() as session:
        for number in range(101):
            asker = Viewer(account_id=number // 20, ip="192.0.2.1")
            teams.count_creation(session, asker, "Owls")
    assert number == 100


def test_strangers_see_and_do_nothing(database: Database, owls: int, anna: int, bert: int) -> None:
    """For whoever is not in a team, it does not exist: neither page nor act, organiser or not."""
    stranger = viewer(database, account(database, "Olga", is_organiser=True))
    with pytest.raises(NotFound), database.read() as session:
        team_pages.team_page(session, stranger, owls)
    with database.write() as session:
        with pytest.raises(NotFound):
            teams.leave(session, stranger, owls)
        with pytest.raises(NotFound):
            teams.remove(session, stranger, owls, anna)


def test_only_the_captain_removes(database: Database, anna: int, bert: int, owls: int) -> None:
    """A member may not remove the captain; the captain removes a member, but not itself or strangers."""
    join(database, owls, anna, bert)
    member, captain = viewer(database, bert), viewer(database, anna)
    with pytest.raises(Forbidden, match="captain"), database.write() as session:
        teams.remove(session, member, owls, anna)
    for nobody in (anna, 2**40):
        with pytest.raises(NotFound), database.write() as session:
            teams.remove(session, captain, owls, nobody)
    with database.write() as session:
        teams.remove(session, captain, owls, bert)
    assert _roles(database, owls) == {anna: "captain"}


def test_a_leaving_captain_is_followed(database: Database, anna: int, bert: int, owls: int) -> None:
    """Where the captain leaves, the longest-standing member leads."""
    join(database, owls, anna, bert)
    join(database, owls, bert, account(database, "Carla"))
    leaving = viewer(database, anna)
    with database.write() as session:
        teams.leave(session, leaving, owls)
    roles = _roles(database, owls)
    assert anna not in roles
    assert roles[bert] == "captain"


def test_a_leaving_member_changes_nobodys_role(database: Database, anna: int, bert: int, owls: int) -> None:
    """The captain stays the only one, though another member has been there longer."""
    join(database, owls, anna, bert)
    carla = account(database, "Carla")
    join(database, owls, bert, carla)
    leading, leaving = viewer(database, anna), viewer(database, carla)
    with database.write() as session:
        teams.hand_over(session, leading, owls, bert)
        teams.leave(session, leaving, owls)
    assert _roles(database, owls) == {anna: "member", bert: "captain"}


def test_the_last_member_stays(database: Database, anna: int, owls: int) -> None:
    """A team keeps at least one member."""
    asker = viewer(database, anna)
    with pytest.raises(Conflict, match="last member"), database.write() as session:
        teams.leave(session, asker, owls)


def test_the_operator_finds_or_makes_a_team(database: Database, anna: int, owls: int) -> None:
    """The command line gets a team by any spelling, made where there is none; nobody else does."""
    with database.write() as session:
        assert teams.ensure(session, OPERATOR, " OWLS ") == owls
        made = teams.ensure(session, OPERATOR, "Baselines")
        assert teams.ensure(session, OPERATOR, "baselines") == made != owls
    asker = viewer(database, anna)
    with pytest.raises(Forbidden), database.write() as session:
        teams.ensure(session, asker, "Owls")


def test_acts_on_teams_are_on_record(database: Database, anna: int, bert: int, owls: int) -> None:
    """Making, inviting and joining each leave an audit row."""
    join(database, owls, anna, bert)
    with database.read() as session:
        acts = session.scalars(
            select(Audit.action).where(Audit.subject == f"team:{owls}").order_by(Audit.id)
        ).all()
    assert acts == ["team.create", "team.invite", "team.join"]
