"""A task of one topic whose three runs and judgments are small enough to be pooled by hand."""

from pathlib import Path
from typing import Any

from leaderboard.db.engine import Database
from tests.make import build
from tests.make.copies import built_once

RUNS = {
    "A": ["d1", "d2", "d3", "d4", "d5"],
    "B": ["d2", "d1", "d6", "d3", "d7"],
    "C": ["d8", "d9", "d1", "d6", "d2"],
}
GRADES = {"d1": 1, "d2": 0, "d3": 0, "d4": 0, "d5": 0, "d6": 1, "d7": 0, "d8": 0, "d9": 1}


@built_once
def fill(database: Database, folder: Path, slug: str = "t", **options: Any) -> dict[str, int]:
    """The task with runs A, B and C, each of a team of its own and all scored; their ids by name."""
    settings: dict[str, Any] = {"judgments": {"1": GRADES}, "measures": ("AP",), "topics": ("1",), **options}
    build.task(database, folder, slug, **settings)
    ids = {
        name: build.run(database, folder, {"1": ranking}, name, slug=slug, team_name=f"Team {name}")
        for name, ranking in RUNS.items()
    }
    build.drain(database)
    return ids
