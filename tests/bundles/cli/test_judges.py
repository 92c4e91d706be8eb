"""A task of judges out of a site and into another one from the terminal."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from leaderboard.db.engine import Database
from leaderboard.judges.ops import sending
from tests.judges import make as judging
from tests.make import build

pytestmark = pytest.mark.trial


def _call(data: Path, *arguments: object) -> Result:
    environment = {"LEADERBOARD_DATA": str(data)}
    return CliRunner().invoke(main, [str(argument) for argument in arguments], env=environment)


@pytest.mark.parametrize("is_release", [False, True])
def test_an_import_says_which_labels_cannot_be_scored(
    data_folder: Path, sqlite_template: Path, tmp_path: Path, is_release: bool
) -> None:
    """The map of a release leads back to the names of the reference's runs too."""
    site = Database(f"sqlite:///{data_folder / 'leaderboard.sqlite3'}")
    judging.ranked(site, tmp_path)
    judging.task(site, tmp_path)
    judging.refer_to(site)
    judging.label(site, tmp_path)
    build.drain(site)
    site.dispose()
    known = tmp_path / "map.json"
    options = ("--pseudonyms", "--map", known) if is_release else ()
    out = _call(data_folder, "export", "judged", tmp_path / "out.zip", *options)
    assert out.exit_code == 0, out.output
    other = tmp_path / "other"
    other.mkdir()
    shutil.copyfile(sqlite_template, other / "leaderboard.sqlite3")
    back = _call(other, "import", tmp_path / "out.zip", *(options[1:] if is_release else ()))
    assert back.exit_code == 0, back.output
    assert (
        "Labels of 1 judge cannot be scored again, because the runs of their reference are not on"
        in back.stdout
    )
    assert _call(other, "worker", "--once").exit_code == 0
    here = Database(f"sqlite:///{other / 'leaderboard.sqlite3'}")
    with here.read() as session:
        kept = sending.newest_reference(session, 1)
    here.dispose()
    assert kept is not None
    assert kept.reference.runs == tuple(judging.RANKINGS)
