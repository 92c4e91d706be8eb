"""Runs that are nearly the same as one: which are found, and who is told of them."""

from pathlib import Path

import pytest

from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.runs.page import topics
from leaderboard.runs.page.head import scored_run
from leaderboard.runs.page.topics import NearDuplicate
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import build
from tests.make.copies import built_once

TOPICS = ("1", "2", "3")
DEEP = [f"x{place:02}" for place in range(30)]
JUDGMENTS = {topic: {"x03": 1, "x11": 1, "x07": 0} for topic in TOPICS}
SWAPPED = [*DEEP[:20], DEEP[21], DEEP[20], *DEEP[22:]]
"""Two neighbours far down: an overlap close to 1."""
SAME_SCORES = [*(f"y{place:02}" for place in range(3)), "x03", *(f"z{place}" for place in range(7)), "x11"]
"""Other documents with the relevant ones at the same ranks."""
OTHER = [*reversed(DEEP)]


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


@pytest.fixture
@built_once
def ids(database: Database, tmp_path: Path) -> dict[str, int]:
    """Runs of team A, and one of team B that ranks exactly like the first."""
    build.task(database, tmp_path, judgments=JUDGMENTS, measures=("AP",))
    made = {}
    for name, ranking, team in (
        *(("mine", DEEP, "A"), ("again", DEEP, "A"), ("swapped", SWAPPED, "A")),
        *(("scores", SAME_SCORES, "A"), ("other", OTHER, "A"), ("theirs", DEEP, "B")),
    ):
        made[name] = build.run(database, tmp_path, {topic: ranking for topic in TOPICS}, name, team_name=team)
    build.drain(database)
    return made


def near(database: Database, viewer: Viewer, run_id: int) -> tuple[NearDuplicate, ...]:
    """What a viewer is told on the run's page."""
    with database.read() as session:
        return topics.near_duplicates(session, scored_run(session, viewer, run_id))


def test_a_teams_own_runs_are_found(database: Database, ids: dict[str, int]) -> None:
    """The same ranking, nearly the same, and equal scores from other documents; not one turned round."""
    found = {each.run: each for each in near(database, ANONYMOUS, ids["mine"])}
    assert list(found) == ["again", "swapped", "scores"]
    assert found["again"].same_ranking
    assert found["again"].overlap == pytest.approx(1.0)
    assert not found["swapped"].same_ranking
    assert found["swapped"].overlap is not None
    assert topics.OVERLAP <= found["swapped"].overlap < 1
    assert (found["scores"].same_scores, found["scores"].overlap) == (True, None)
    assert found["scores"].shared < 0.5
    assert all(each.same_team for each in found.values())


def test_runs_of_another_team_are_for_organisers(database: Database, ids: dict[str, int]) -> None:
    """Everybody else, the team itself too, is told of one team's runs only."""
    told = near(database, OPERATOR, ids["mine"])
    assert [each.run for each in told if not each.same_team] == ["theirs"]
    member = Viewer(account_id=1, team_ids=frozenset(range(1, 9)))
    for viewer in (ANONYMOUS, member):
        assert "theirs" not in [each.run for each in near(database, viewer, ids["mine"])]
    assert near(database, ANONYMOUS, ids["theirs"]) == ()


def test_where_overlaps_take_too_long_the_estimate_decides(
    database: Database, ids: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No overlap is computed while the reader waits; the share of top documents stands in."""
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.0)
    found = {each.run: each for each in near(database, ANONYMOUS, ids["mine"])}
    assert found["swapped"].overlap is None
    assert found["swapped"].shared == 1.0


def test_finding_nothing_alike_is_no_likeness(database: Database, tmp_path: Path) -> None:
    """Two runs without a relevant document have equal scores, and say nothing of each other."""
    build.task(database, tmp_path, judgments=JUDGMENTS, measures=("AP",))
    one, _ = (
        build.run(database, tmp_path, {topic: [f"{name}{topic}"] for topic in TOPICS}, name)
        for name in ("p", "q")
    )
    build.drain(database)
    assert near(database, ANONYMOUS, one) == ()
