"""Runs that organisers file for a team: no right over its members, said everywhere, and agreed to by them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.accounts.ops import accounts
from leaderboard.accounts.ops import teams as team_services
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Audit, Entry, Run, Team
from leaderboard.errors import Invalid, LeaderboardError, NotFound
from leaderboard.runs.ops import batches
from leaderboard.runs.ops.prepare import BY_FOLDER, BY_LIST, BatchFile, BatchRequest, plan, read_list
from leaderboard.runs.page import measures
from leaderboard.runs.page.head import seen_run
from leaderboard.runs.page.my import my_page
from leaderboard.runs.page.run import facts, run_page
from leaderboard.tasks.ops import announcements, entries, reset_links
from leaderboard.tasks.ops.announcements import AnnouncementBody
from leaderboard.tasks.page.members import member_list
from leaderboard.tasks.page.search import search_page
from leaderboard.tasks.page.teams import team_page
from tests.make import build, people
from tests.make.copies import built_once

pytestmark = pytest.mark.dialect
RANKINGS = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}
SAID = "Filed by the organisers of Task t, not submitted by the team"


class Scene:
    """Olga organises `t`; Vic is alone in Owls, which never took part in anything."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database, self.folder = database, folder
        self.olga = people.account(database, "Olga", is_organiser=True)
        self.vic = people.account(database, "Vic")
        self.owls = people.team(database, "Owls", self.vic)
        people.confirmed_address(database, self.vic, "vic@example.org")
        build.task(database, folder, viewer=self.viewer(self.olga))
        build.drain(database)

    def viewer(self, account_id: int) -> Viewer:
        """An account as it is now."""
        return people.viewer(self.database, account_id)

    def run_id(self, slug: str = "t") -> int:
        """The only run of Owls."""
        with self.database.read() as session:
            return session.scalars(select(Run.id).where(Run.team_id == self.owls)).one()


@pytest.fixture
@built_once
def scene(database: Database, tmp_path: Path) -> Scene:
    """A site with a task and a team that has nothing to do with it."""
    return Scene(database, tmp_path)


def _batch(scene: Scene, team: str, rows: str = "") -> str:
    path = build.run_file(scene.folder, RANKINGS, "filed")
    wished = BatchRequest(team=team, runs=read_list(rows) if rows else None)
    planned = plan([BatchFile("Owls/filed.txt", path)], wished, most=1)
    olga = scene.viewer(scene.olga)
    with scene.database.write() as session:
        opened = batches.begin(session, olga, "t", wished, planned, None)
    batches.receive(scene.database, olga, "t", opened, planned, None)
    build.drain(scene.database)
    return "t"


def by_folder(scene: Scene) -> str:
    """A zip with a folder that is named as the team."""
    return _batch(scene, BY_FOLDER)


def by_list(scene: Scene) -> str:
    """Files with a list that names the team."""
    return _batch(scene, BY_LIST, "run,team,kind\nfiled,Owls,official\n")


def by_command(scene: Scene) -> str:
    """What `leaderboard run add` does for the organisers."""
    with scene.database.write() as session:
        team_services.ensure(session, OPERATOR, "Owls")
    build.run(scene.database, scene.folder, RANKINGS, "filed", team_name="Owls", as_operator=True)
    build.drain(scene.database)
    return "t"


ROADS = (by_folder, by_list, by_command)
Road = Callable[[Scene], str]


@pytest.mark.parametrize("road", ROADS)
def test_a_filed_run_gives_no_right_over_accounts(scene: Scene, road: Road) -> None:
    """The team's members are not listed, named or written to, and nobody gets a link that is theirs."""
    slug = road(scene)
    olga = scene.viewer(scene.olga)
    with scene.database.read() as session:
        assert session.scalars(select(Entry.entered_by).where(Entry.team_id == scene.owls)).all() == [None]
        assert member_list(session, olga, slug).rows == ()
        assert team_page(session, olga, scene.owls).members == ()
        everybody = AnnouncementBody("Hello", "", announcements.ENTERED)
        with pytest.raises(Invalid, match="There are no recipients"):
            announcements.preview(session, olga, slug, everybody)
    with scene.database.write() as session, pytest.raises(NotFound, match="no member"):
        reset_links.make_link_in_task(session, olga, slug, scene.vic)
    with scene.database.read() as session:
        assert session.scalars(select(Audit.id).where(Audit.action == accounts.MADE_LINK)).all() == []


def test_a_run_of_its_own_takes_the_team_in(scene: Scene) -> None:
    """After a filed run too; the account is told of the link on its page."""
    by_folder(scene)
    vic, olga = scene.viewer(scene.vic), scene.viewer(scene.olga)
    build.run(scene.database, scene.folder, RANKINGS, "own", team_name="Owls", viewer=vic)
    with scene.database.write() as session:
        assert [row.name for row in member_list(session, olga, "t").rows] == ["Vic"]
        assert reset_links.make_link_in_task(session, olga, "t", scene.vic)
    with scene.database.read() as session:
        told = [
            (link.by, len(my_page(session, vic).links_made))
            for link in accounts.links_made(session, scene.vic)
        ]
        assert told == [("an organiser of Task t", 1)]


def test_an_organiser_in_the_team_does_not_enter_it(scene: Scene) -> None:
    """Else an organiser could make links for whoever is in a team with it."""
    people.join(scene.database, scene.owls, scene.vic, scene.olga)
    olga = scene.viewer(scene.olga)
    build.run(scene.database, scene.folder, RANKINGS, "own", team_name="Owls", viewer=olga)
    with scene.database.write() as session, pytest.raises(NotFound, match="no member"):
        reset_links.make_link_in_task(session, olga, "t", scene.vic)
    with scene.database.read() as session:
        assert session.get_one(Run, scene.run_id()).filed is False


@pytest.mark.parametrize("road", ROADS)
def test_a_filed_run_says_so_and_waits_for_the_team(scene: Scene, road: Road) -> None:
    """On the run's page, its origin and as JSON; others find no page of the team until a member agrees."""
    slug = road(scene)
    run_id, vic = scene.run_id(), scene.viewer(scene.vic)

    def seen(asker: Viewer) -> list[tuple[str, bool, bool]]:
        with scene.database.read() as session:
            try:
                runs = team_page(session, asker, scene.owls).runs
            except LeaderboardError:
                return []
        return [(run.name, run.is_filed, run.is_agreed) for run in runs]

    with scene.database.read() as session:
        page = run_page(session, ANONYMOUS, run_id)
        assert (page.filed, facts(page)["filed"], page.team_id) == (f"{SAID}.", f"{SAID}.", None)
        assert (
            measures.facts_of_origin(measures.origin_page(session, seen_run(session, ANONYMOUS, run_id)))[
                "filed"
            ]
            == f"{SAID}."
        )
        assert search_page(session, ANONYMOUS, "Owls").teams == ()
        (waits,) = my_page(session, vic).filed
        assert (waits.team, waits.slug, waits.runs) == ("Owls", slug, 1)
    assert seen(ANONYMOUS) == []
    assert seen(vic) == [("filed", True, False)]
    with scene.database.write() as session:
        with pytest.raises(NotFound, match="not in team"):
            entries.agree_to_filed(session, scene.viewer(scene.olga), scene.owls, slug)
        assert entries.agree_to_filed(session, vic, scene.owls, slug) == 1
        with pytest.raises(NotFound, match="is waiting"):
            entries.agree_to_filed(session, vic, scene.owls, slug)
    assert seen(ANONYMOUS) == [("filed", True, True)]
    with scene.database.read() as session:
        page = run_page(session, ANONYMOUS, run_id)
        assert page.filed == f"{SAID}; the team agreed to it on {now(session):%Y-%m-%d}."
        assert page.team_id == scene.owls
        recorded = session.scalars(select(Audit).where(Audit.action == "team.agree_filed")).one()
        assert (recorded.account_id, recorded.subject) == (scene.vic, f"team:{scene.owls}")
        assert (recorded.detail["runs"], my_page(session, vic).filed) == ([run_id], ())


def test_a_team_without_accounts_is_shown_until_somebody_joins(scene: Scene) -> None:
    """It is nobody that is spoken for; whoever joins it is asked."""
    run_id = build.run(scene.database, scene.folder, RANKINGS, "filed", team_name="Nobody")
    with scene.database.read() as session:
        team_id = session.scalars(select(Team.id).where(Team.name == "Nobody")).one()
        page = run_page(session, ANONYMOUS, run_id)
        assert (page.filed, page.team_id) == (f"{SAID}, which has no accounts.", team_id)
        shown = team_page(session, ANONYMOUS, team_id)
        assert ([run.name for run in shown.runs], shown.size) == (["filed"], 0)
    with scene.database.write() as session:
        team_services.add_member(session, team_id, scene.vic)
    with scene.database.read() as session:
        assert run_page(session, ANONYMOUS, run_id).filed == f"{SAID}."
        assert [row.team for row in my_page(session, scene.viewer(scene.vic)).filed] == ["Nobody"]
        with pytest.raises(LeaderboardError):
            team_page(session, ANONYMOUS, team_id)


def test_a_masked_run_does_not_tell_whether_its_team_has_accounts(scene: Scene) -> None:
    """To who knows the team by a pseudonym only."""
    run_id = build.run(scene.database, scene.folder, RANKINGS, "filed", team_name="Nobody")
    with scene.database.write() as session:
        team_id = session.scalars(select(Team.id).where(Team.name == "Nobody")).one()
    people.mask(scene.database, team_id, "Lynx")
    with scene.database.read() as session:
        assert run_page(session, ANONYMOUS, run_id).filed == f"{SAID}."
