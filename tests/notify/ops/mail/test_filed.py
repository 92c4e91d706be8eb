"""Letters to the members of teams for which organisers file runs."""

import pytest
from sqlalchemy import select, update

from leaderboard.db.tables import Account, Mail, Run
from leaderboard.runs.page.my import my_page
from leaderboard.tasks.ops import reset_links
from tests.make import build
from tests.runs.ops.test_filed import RANKINGS, ROADS, Road, Scene, by_folder, by_list
from tests.runs.ops.test_filed import scene as scene

pytestmark = pytest.mark.dialect


@pytest.mark.parametrize("road", ROADS)
def test_members_are_told_of_a_filed_run(scene: Scene, road: Road) -> None:
    """Once, whichever way it came."""
    road(scene)
    with scene.database.read() as session:
        letters = session.execute(select(Mail.account_id, Mail.subject)).all()
    assert [tuple(letter) for letter in letters] == [(scene.vic, "Task t: runs filed for your team Owls")]


def test_nobody_is_told_where_a_team_has_no_accounts(scene: Scene) -> None:
    """There is nobody to be spoken for."""
    build.run(scene.database, scene.folder, RANKINGS, "filed", team_name="Nobody")
    with scene.database.read() as session:
        assert session.scalars(select(Mail.id)).all() == []


def test_an_account_is_told_of_a_link_that_an_organiser_made(scene: Scene) -> None:
    """Who made it, after a run of the team's own."""
    build.run(scene.database, scene.folder, RANKINGS, "own", team_name="Owls", viewer=scene.viewer(scene.vic))
    with scene.database.write() as session:
        assert reset_links.make_link_in_task(session, scene.viewer(scene.olga), "t", scene.vic)
    with scene.database.read() as session:
        letter = session.scalars(select(Mail).where(Mail.subject.like("A sign-in link%"))).one()
    assert (letter.account_id, "created by an organiser of Task t" in letter.body) == (scene.vic, True)


def test_many_filed_runs_are_one_letter(scene: Scene) -> None:
    """Members that were told and have not agreed yet know already."""
    by_folder(scene)
    with scene.database.write() as session:
        session.execute(update(Run).values(name="earlier"))
        session.execute(update(Account).where(Account.id == scene.vic).values(email="new@example.org"))
    by_list(scene)
    with scene.database.read() as session:
        assert session.scalars(select(Mail.address)).all() == ["vic@example.org"]
        assert [row.runs for row in my_page(session, scene.viewer(scene.vic)).filed] == [2]
