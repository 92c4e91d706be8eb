"""What a run's first page costs: the statements it sends, and the modules it enters."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from benchmarks import walks
from leaderboard.db.engine import Database
from tests.make import build

MOST_STATEMENTS = 6
"""With the one that begins the transaction."""
"""Of them fifteen are on the road of every request, which is counted, and three are for how a link to the
run is shown elsewhere, two say what kind of task it is in; the page entered 56 when it had all parts of a run
and none of these."""


def _runs(database: Database, folder: Path, first: int, last: int) -> None:
    for number in range(first, last + 1):
        found = {"1": ["a", "c"], "2": ["x"] * (number % 2) + ["d"], "3": ["e", "f"][number % 2 :]}
        build.run(database, folder, found, f"run{number}", team_name=f"Team {number}")
    build.drain(database)


@pytest.mark.trial
def test_the_first_page_computes_what_it_shows_and_nothing_else(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Few statements, as many for twelve runs as for three, and nothing of the run's other pages."""
    build.task(database, tmp_path, measures=("AP", "RR", "SearchLength"))
    _runs(database, tmp_path, 1, 3)
    few = walks.warm(database, client, "/runs/1")
    _runs(database, tmp_path, 4, 12)
    many = walks.warm(database, client, "/runs/1")
    assert few.statements == many.statements <= MOST_STATEMENTS
    pages = {name for name in many.modules if ".page." in name}
    own = {f"leaderboard.runs.page.{name}" for name in ("head", "run")}
    beside = {
        "leaderboard.boards.page.cards",
        "leaderboard.reproductions.page.mentions",
        "leaderboard.tasks.page.phases",
    }
    assert pages == beside | own
