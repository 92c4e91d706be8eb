"""Tasks of answers and of judges in a mirror: all their pages are there, linked, and a task is made again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from leaderboard.bundles.ops import opening
from leaderboard.cli import main
from leaderboard.cli.mirror import runs_of
from leaderboard.db.engine import Database
from leaderboard.mirror import mirror
from leaderboard.settings import Settings
from tests.bundles import make as bundles
from tests.judges import of_judges
from tests.make import people
from tests.make.apps import application
from tests.mirror.test_mirror import SITE, broken

Site = tuple[Settings, Database]
EXPECTED = {
    "heard": ("judges", "judges/*/topics/1", "judges/*/labels", "revisions/1", "about"),
    "held": ("judges", "judges/*/topics/1", "judges/*/labels/1", "revisions/1", "about"),
    "said": ("topics/1/nuggets", "revisions/1", "about"),
    "ranked": ("topics/1", "about"),
}
"""Task -> pages of it that have to be there."""


@pytest.fixture(scope="module")
def site(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A task of rankings and one of answers, and judges of each, which are over; tests only read."""
    folder = tmp_path_factory.mktemp("kinds")
    database = bundles.new_site(sqlite_template, folder / "site")
    people.account(database, "Olga", is_organiser=True)
    of_judges.build(database, folder, organiser="Olga")
    yield Settings(data=folder, database_url=str(database.engine.url)), database
    database.dispose()


@pytest.mark.trial
@pytest.mark.parametrize("slug", ["heard", "held", "said"])
def test_one_task_is_mirrored_alone(site: Site, tmp_path: Path, slug: str) -> None:
    """Links to the task that a reference is from are gone, and the task is made again of its download."""
    settings, database = site
    only = slug, runs_of(database, slug)
    folder = tmp_path / "mirror"
    made = mirror.write(application(settings, database), folder, SITE, only, lambda *_: None)
    assert made.left_out == ()
    assert list(broken(folder)) == []
    assert {path.name for path in (folder / "tasks").iterdir() if path.is_dir()} == {slug}
    _require_pages(folder, slug)
    with opening.opened(opening.in_mirror(folder)) as files:
        opening.require_whole(files)
    _verify(folder)


@pytest.mark.trial
def test_a_site_of_all_kinds_is_mirrored(site: Site, tmp_path: Path) -> None:
    """Labels lead to the documents and answers of the other task, and each score is what files give."""
    settings, database = site
    folder = tmp_path / "mirror"
    made = mirror.write(application(settings, database), folder, SITE, None, lambda *_: None)
    assert made.left_out == ()
    assert list(broken(folder)) == []
    for slug in EXPECTED:
        _require_pages(folder, slug)
    assert list(folder.glob("runs/*/answers/1/index.html"))
    labels = list(folder.glob("tasks/heard/judges/*/labels/1/index.html"))
    assert len(labels) == 2
    assert all("answers/1/index.html" in path.read_text(encoding="utf-8") for path in labels)
    _verify(folder)


def _verify(folder: Path) -> None:
    done = CliRunner().invoke(main, ["verify", str(folder)])
    assert done.exit_code == 0, done.output


def _require_pages(folder: Path, slug: str) -> None:
    missing = [page for page in EXPECTED[slug] if not list(folder.glob(f"tasks/{slug}/{page}/index.html"))]
    assert missing == []
    assert (folder / f"tasks/{slug}/task.zip").is_file()
