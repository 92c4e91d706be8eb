"""An export is whole or is not there at all."""

from pathlib import Path

import pytest
from sqlalchemy import delete

from leaderboard.bundles import page as bundles_pages
from leaderboard.bundles.ops import describing
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.db.tables import UploadChunk
from leaderboard.errors import Damaged, Forbidden, NotFound, SignInNeeded
from tests.bundles import make as bundles
from tests.make import build, people

RANKINGS = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}


@pytest.mark.parametrize("is_release", [False, True], ids=["as sent", "release"])
@pytest.mark.parametrize("name", ["out", "out.zip", "out.tgz"])
def test_a_damaged_run_leaves_no_file(
    database: Database, tmp_path: Path, name: str, is_release: bool
) -> None:
    """Bytes that are missing are told, and what was written until then is gone; an older export stays."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, RANKINGS)
    (tmp_path / "target").mkdir()
    path = tmp_path / "target" / name
    if "." in name:
        path.write_bytes(b"an older one")
    with database.write() as session:
        session.execute(delete(UploadChunk))
    with pytest.raises(Damaged, match="upload 1"):
        bundles.exported(database, path, is_release=is_release)
    left = list((tmp_path / "target").iterdir())
    assert [file.read_bytes() for file in left] == ([b"an older one"] if "." in name else [])


def test_who_may_not_see_all_makes_no_file(database: Database, tmp_path: Path) -> None:
    """Visitors, accounts and readers of a draft are refused before anything is opened."""
    build.task(database, tmp_path)
    build.task(database, tmp_path, "draft", publish=False)
    nina = people.viewer(database, people.account(database, "Nina", is_organiser=True))
    for viewer, slug, refusal in (
        (ANONYMOUS, "t", SignInNeeded),
        (nina, "t", Forbidden),
        (nina, "draft", NotFound),
    ):
        with pytest.raises(refusal):
            bundles_pages.export(database, viewer, slug, describing.writer(tmp_path / "out.zip"))
    assert not list(tmp_path.glob("*out.zip*"))


def test_a_task_without_judgments_and_runs(database: Database, tmp_path: Path) -> None:
    """What is empty has no file; it comes back as a draft where it was one."""
    build.task(database, tmp_path, judgments=None, publish=False)
    bundles.exported(database, tmp_path / "out")
    there = bundles.contents(tmp_path / "out")
    assert "records/runs.jsonl" not in there
    assert there["scores/topics.csv"] == b"run,id,measure,topic,score\r\n"
    target = bundles.imported(database, tmp_path / "out", bundles.ImportRequest(slug="again"))
    assert (target.runs, target.revisions, target.jobs) == (0, 0, 0)
    bundles.exported(database, tmp_path / "back", "again")
    assert bundles.rows(tmp_path / "back", "task")[0]["published_at"] is None
