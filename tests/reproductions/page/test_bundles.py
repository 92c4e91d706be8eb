"""Which run reproduces which goes out with a task and comes back; runs of other tasks stay behind."""

from pathlib import Path

import pytest

from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.tasks.ops import settings
from tests.bundles import make as bundles
from tests.make.copies import built_once
from tests.reproductions import make as reproduced
from tests.reproductions.make import Reproduced


@pytest.fixture
@built_once
def made(database: Database, tmp_path: Path) -> Reproduced:
    """A reproduced and a replicated run, and thresholds of the organiser's."""
    linked = reproduced.linked(database, tmp_path)
    with database.write() as session:
        settings.change_settings(
            session, OPERATOR, "t", {"reproduction_thresholds": "er 0.2 0.4\nmargin 0.05"}
        )
    return linked


@pytest.mark.trial
@pytest.mark.usefixtures("made")
def test_links_and_thresholds_come_back(database: Database, tmp_path: Path) -> None:
    """A task that was imported is exported the same; the link to a run of another task is not in it."""
    bundles.exported(database, tmp_path / "out")
    (row,) = bundles.rows(tmp_path / "out", "reproductions")
    assert [row[name] for name in ("run_id", "original_id", "baseline_id", "original_baseline_id")] == [
        *(4, 2, 3, 1)
    ]
    bundles.imported(database, tmp_path / "out", ImportRequest(slug="again"))
    bundles.exported(database, tmp_path / "back", "again")
    assert bundles.rows(tmp_path / "back", "reproductions") == [row]
    (task,) = bundles.rows(tmp_path / "back", "task")
    assert task["reproduction_thresholds"] == {"er": [0.2, 0.4], "margin": 0.05}
    bundles.exported(database, tmp_path / "other", "u")
    assert bundles.rows(tmp_path / "other", "reproductions") == []
    bundles.public(database, tmp_path / "public")
    (shown,) = bundles.rows(tmp_path / "public", "reproductions")
    assert (shown["run_id"], shown["original_id"]) == (4, 2)


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("table", "fields", "field"),
    [
        ("reproductions", {"original_id": 4}, "original_id"),
        ("reproductions", {"original_id": 99}, "original_id"),
        ("task", {"reproduction_thresholds": {"er": "0.2 0.4"}}, "reproduction_thresholds"),
        ("task", {"reproduction_thresholds": {"er": [0.4, 0.2]}}, "reproduction_thresholds"),
    ],
)
def test_what_cannot_be_is_refused(
    database: Database, tmp_path: Path, table: str, fields: dict[str, object], field: str
) -> None:
    """A run that reproduces itself or none of the bundle, and thresholds that no form could have set."""
    bundles.exported(database, tmp_path / "out")
    bundles.rewrite(tmp_path / "out", table, **fields)
    with pytest.raises(Invalid) as refused:
        bundles.imported(database, tmp_path / "out", ImportRequest(slug="again"))
    assert [problem.field for problem in refused.value.problems] == [field]
