"""Intervals of means and ranks on one page: each is what it is named after."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from leaderboard.boards.ops import board
from leaderboard.boards.page import intervals
from leaderboard.boards.page.intervals import IntervalsPage, Reliability
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.boards.page.test_reliability import RANKS, TOPICS, fill, reciprocal
from tests.make import build


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def page(
    database: Database, measure: str | None = None, viewer: Viewer = ANONYMOUS, *, one_per_team: bool = False
) -> IntervalsPage:
    """The page as a viewer sees it."""
    with database.read() as session:
        return intervals.page(session, viewer, "t", measure, one_per_team=one_per_team)


def test_a_runs_own_interval_is_scipys(database: Database, tmp_path: Path) -> None:
    """The t interval around the mean the board shows."""
    fill(database, tmp_path)
    for row, scores in zip(page(database).rows, reciprocal(), strict=True):
        expected = stats.ttest_1samp(scores, 0).confidence_interval()
        assert row.value == pytest.approx(scores.mean(), abs=1e-12)
        assert (row.mean_low, row.mean_high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_sum_has_an_interval_of_sums(database: Database, tmp_path: Path) -> None:
    """Of documents found over eight topics: eight times the interval of the mean."""
    fill(database, tmp_path)
    row = next(row for row in page(database, "NumRelRet").rows if row.name == "weak")
    expected = stats.ttest_1samp([rank is not None for rank in RANKS["weak"]], 0).confidence_interval()
    assert row.value == 6
    assert (row.mean_low, row.mean_high) == pytest.approx((8 * expected.low, 8 * expected.high), abs=1e-12)


@pytest.mark.parametrize("measure", ["RR", "SearchLength"])
def test_ranks_hold_together(database: Database, tmp_path: Path, measure: str) -> None:
    """Ranges from all pairs are the board's; every interval holds the rank; each run first in its share."""
    ids = fill(database, tmp_path)
    found = page(database, measure)
    with database.read() as session:
        places = board.board(session, ANONYMOUS, "t", measure).places
    assert {row.name: row.run_id for row in found.rows} == ids
    for row in found.rows:
        assert (row.rank_low, row.rank_high) == (places[row.run_id].rank_low, places[row.run_id].rank_high)
        pairs = (
            *((row.marginal_low, row.marginal_high), (row.all_low, row.all_high)),
            (row.resampled_low, row.resampled_high),
        )
        for low, high in pairs:
            assert low is not None
            assert high is not None
            assert 1 <= low <= row.rank <= high <= 3
    assert found.rows[0].name == "strong"
    assert sum(row.first or 0 for row in found.rows) == pytest.approx(1)
    assert found.rows[0].first == max(row.first or 0 for row in found.rows)
    assert (found.first_resamples, found.waiting) == (10_000, ())
    assert isinstance(found.reliability, Reliability)


def test_first_places_are_those_of_resampled_topics(database: Database, tmp_path: Path) -> None:
    """Two runs, two topics: one leads when its topic is drawn twice, both tie when each is drawn once."""
    fill(database, tmp_path, {"one": (1, 2), "other": (2, 1)}, TOPICS[:2])
    for row in page(database).rows:
        assert row.first == pytest.approx(0.5, abs=0.02)
        assert row.mean_rank == pytest.approx(1.25, abs=0.02)


@pytest.mark.trial
@pytest.mark.usefixtures("own_process")
def test_the_same_board_has_the_same_intervals_for_ever(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Computed again, and by a job, they are the same numbers."""
    fill(database, tmp_path)
    first = page(database)
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    assert replace(page(database), of=first.of) == first
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.0)
    waiting = page(database)
    # The comparison of pairs waits too, as nobody asked for it while it was quick.
    procedures = [each.request.procedure for each in waiting.waiting]
    assert procedures == ["pairs", "rank_intervals", "first_places", "reliability"]
    assert {row.marginal_low for row in waiting.rows} == {None}
    assert waiting.rows[0].mean_low == first.rows[0].mean_low
    with database.write() as session:
        requests.ask_for(session, OPERATOR, waiting.waiting)
    build.drain(database)
    assert replace(page(database), of=first.of) == first


@pytest.mark.parametrize(
    ("runs", "topics", "measure", "said"),
    [
        (0, 8, None, "No official run is scored yet"),
        (1, 8, None, "There is only one ranked run"),
        (3, 1, None, "One topic says nothing about other topics"),
        (3, 8, "GMAP", "is not a mean over topics"),
    ],
)
def test_what_has_no_intervals_says_so(
    database: Database, tmp_path: Path, runs: int, topics: int, measure: str | None, said: str
) -> None:
    """A sentence, and nothing where a number would be."""
    fill(database, tmp_path, dict(list(RANKS.items())[:runs]), TOPICS[:topics])
    found = page(database, measure)
    assert said in found.why_empty
    assert len(found.rows) == runs
    for row in found.rows:
        assert (row.marginal_low, row.first, row.resampled_high) == (None, None, None)
    assert (found.reliability, found.waiting) == (None, ())
    assert all(np.isfinite(row.value) for row in found.rows)


def test_a_task_without_judgments_has_no_ranks(database: Database, tmp_path: Path) -> None:
    """It says what is missing."""
    build.task(database, tmp_path, judgments=None)
    assert "has no judgments yet" in page(database).why_empty


def test_one_run_a_team_keeps_its_range_among_all(database: Database, tmp_path: Path) -> None:
    """All are of one team: its best run is left, alone."""
    fill(database, tmp_path)
    found = page(database, one_per_team=True)
    assert [(row.name, row.rank_low, row.rank_high) for row in found.rows] == [("strong", 1, 2)]
    assert found.why_empty.startswith("There is only one ranked run")


def test_an_unknown_measure_is_refused(database: Database, tmp_path: Path) -> None:
    """As on the board."""
    fill(database, tmp_path)
    with pytest.raises(UnknownMeasure, match="is not on this board"):
        page(database, "nDCG@10")


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_intervals_are_held_back_with_the_scores_by_topic(
    database: Database, tmp_path: Path, visibility: str
) -> None:
    """Readers of a blind or sealed task find nothing, its organisers everything."""
    fill(database, tmp_path, visibility=visibility)
    with pytest.raises(NotFound, match="shown when it closes"):
        page(database)
    assert page(database, viewer=OPERATOR).rows[0].first is not None


def test_json_and_csv_say_what_the_page_says(database: Database, tmp_path: Path) -> None:
    """The same facts a row, by the same names."""
    fill(database, tmp_path)
    found = page(database)
    json = intervals.facts(found)
    header, rows = intervals.table(found).data()
    assert [[row[name] for name in header] for row in json["rows"]] == rows
    assert json["reliability"]["order"] == found.reliability.order  # type: ignore[union-attr]
    assert json["resamples"] == {"first_places": 10_000}
    assert (json["measure"], json["topics"], json["comparison"]) == ("RR", 8, "paired t, Holm")
