"""One-time links for those who lost their password: who may make one for whom."""

from pathlib import Path

import pytest

from leaderboard.accounts.ops import accounts, closing
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import TaskRole
from leaderboard.errors import Conflict, Forbidden, NotFound
from leaderboard.tasks.ops import reset_links
from tests.make import people, worlds
from tests.make.copies import built_once
from tests.make.people import viewer
from tests.make.worlds import World

pytestmark = pytest.mark.dialect


@pytest.fixture
@built_once
def world(database: Database, tmp_path: Path) -> World:
    """Anna and Berta are in Owls, which is in Olga's task `robots` only."""
    return worlds.build(database, tmp_path)


def _link(database: Database, organiser: int, account_id: int, slug: str = "robots") -> str:
    asker = viewer(database, organiser)
    with database.write() as session:
        return reset_links.make_link_in_task(session, asker, slug, account_id)


def test_an_organiser_lets_a_participant_in(database: Database, world: World) -> None:
    """The link is for that account; who is in no team of the task, or of another's task, is not found."""
    token = _link(database, world.olga, world.berta)
    with database.read() as session:
        assert accounts.link_owner(session, token) == "Berta"
    for stranger in (world.carl, world.nina, world.otto, world.olga, 999):
        with pytest.raises(NotFound, match="no member"):
            _link(database, world.olga, stranger)
    with pytest.raises(Forbidden):
        _link(database, world.otto, world.berta)
    with pytest.raises(Forbidden):
        _link(database, world.anna, world.berta)


def test_nobody_with_more_rights_is_taken_over(database: Database, world: World, tmp_path: Path) -> None:
    """Not an organiser, not who has a role or a second factor, not who takes part in others' tasks."""

    def refused(account_id: int) -> bool:
        with pytest.raises(Forbidden) as raised:
            _link(database, world.olga, account_id)
        return raised.value.message == reset_links.REFUSED

    with database.write() as session:
        closing.set_organiser(session, OPERATOR, world.berta, True)
    assert refused(world.berta)
    with database.write() as session:
        closing.set_organiser(session, OPERATOR, world.berta, False)
        session.add(TaskRole(task_id=3, account_id=world.berta, role="reader"))
    assert refused(world.berta)
    people.second_factor(database, world.anna)
    assert refused(world.anna)
    dora = people.account(database, "Dora")
    people.join(database, world.owls, world.anna, dora)
    assert _link(database, world.olga, dora)
    worlds.send(database, tmp_path, world.anna, "other", world.owls)
    assert refused(dora)


def test_a_link_ends_when_its_account_gets_rights(database: Database, world: World) -> None:
    """An unused link of before does not open an account that may do more since."""
    token = _link(database, world.olga, world.berta)
    invited = people.invitation(database, world.olga, "task", task_id=1, role="reader")
    people.redeem(database, world.berta, invited)
    with database.read() as session, pytest.raises(NotFound):
        accounts.link_owner(session, token)


def test_an_operator_makes_one_for_anybody(database: Database, world: World) -> None:
    """At the command line or in the browser; not for a closed account, and organisers are no operators."""
    with database.write() as session:
        assert reset_links.make_link(session, OPERATOR, world.olga)
        with pytest.raises(NotFound):
            reset_links.make_link(session, OPERATOR, 999)
        closing.close(session, OPERATOR, world.nina)
        with pytest.raises(Conflict, match="open it first"):
            reset_links.make_link(session, OPERATOR, world.nina)
    asker = viewer(database, world.olga)
    with database.write() as session, pytest.raises(Forbidden):
        reset_links.make_link(session, asker, world.berta)
