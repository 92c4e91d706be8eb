"""However large runs and judgments are, an export holds a piece of them at a time."""

import tracemalloc
from pathlib import Path

import pytest

from leaderboard.bundles import page as bundles
from leaderboard.bundles.ops import describing
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from tests.make import build

DOCUMENTS = 100_000
MOST_BYTES = 8 * 2**20
"""Less than the run file below has, and than its judgments take."""


@pytest.mark.trial
@pytest.mark.slow
@pytest.mark.parametrize("name", ["out", "out.zip", "out.tar.gz"])
def test_memory_stays_flat(database: Database, tmp_path: Path, name: str) -> None:
    """A run of more than 10 MB and 100,000 judgments take less than the run alone."""
    judged = {f"document-with-a-long-name-{number:06}": number % 3 for number in range(DOCUMENTS)}
    build.task(database, tmp_path, judgments={"1": judged}, depth=DOCUMENTS, measures=("AP",))
    run = build.run_file(tmp_path, {topic: list(judged) for topic in build.TOPICS[:2]})
    assert run.stat().st_size > 10_000_000 > MOST_BYTES
    build.submit(database, run)
    tracemalloc.start()
    try:
        bundles.export(database, OPERATOR, "t", describing.writer(tmp_path / name))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES
