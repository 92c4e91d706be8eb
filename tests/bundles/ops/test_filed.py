"""Runs that an organiser's import files for a team are filed as others are."""

from collections.abc import Callable

import pytest

from leaderboard.bundles.ops import found, imports, opening
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.bundles.ops.found import FolderRequest, FoundChoice
from leaderboard.trec.read.lines import Limits
from tests.bundles import make as bundles
from tests.make import build
from tests.runs.ops import test_filed as filed
from tests.runs.ops.test_filed import RANKINGS, Road, Scene
from tests.runs.ops.test_filed import scene as scene

pytestmark = pytest.mark.dialect
SAID = (
    filed.test_a_filed_run_gives_no_right_over_accounts,
    filed.test_a_filed_run_says_so_and_waits_for_the_team,
)


def by_import(scene: Scene) -> str:
    """A task that was exported, with the team's name written into it."""
    build.run(scene.database, scene.folder, RANKINGS, "filed", team_name="Decoy")
    build.drain(scene.database)
    bundles.exported(scene.database, scene.folder / "out")
    bundles.rewrite(scene.folder / "out", "teams", name="Owls")
    with opening.opened(scene.folder / "out") as files:
        opening.require_whole(files)
        with scene.database.write() as session:
            imports.bring(session, scene.viewer(scene.olga), files, ImportRequest(slug="again"))
    build.drain(scene.database)
    return "again"


def by_files(scene: Scene) -> str:
    """A task made of a folder of topics, judgments and runs."""
    folder = scene.folder / "found"
    (folder / "Owls").mkdir(parents=True)
    build.topics_file(folder)
    build.qrels_file(folder)
    build.run_file(folder / "Owls", RANKINGS, "filed")
    olga = scene.viewer(scene.olga)
    with opening.opened(folder) as files:
        understood = found.look(files, FoundChoice(team="Owls"))
        task = found.prepared(files, understood, FolderRequest(slug="made", name="Task t"), scene.folder)
        with scene.database.write() as session:
            found.make_bundle(session, olga, files, task, understood.runs, Limits())
    build.drain(scene.database)
    return "made"


@pytest.mark.parametrize("road", [by_import, by_files])
@pytest.mark.parametrize("said", SAID)
def test_what_holds_of_others_holds_of_these(
    scene: Scene, said: Callable[[Scene, Road], None], road: Road
) -> None:
    """No right over accounts; said everywhere, and agreed to by the team."""
    said(scene, road)


@pytest.mark.parametrize("road", [by_import, by_files])
def test_members_are_told_of_these_too(scene: Scene, road: Road) -> None:
    """By letter, where there are any."""
    letters = pytest.importorskip("tests.notify.ops.mail.test_filed")
    letters.test_members_are_told_of_a_filed_run(scene, road)
