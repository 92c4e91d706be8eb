"""Comparisons of a board that take long: done by a job, waited for, said where they failed."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from leaderboard.core.jobs import queue
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job, Statistic
from leaderboard.runs.ops import withdrawals
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults, WaitingResult
from leaderboard.scoring.ops.statistics.standings import Standing
from tests.make import build
from tests.scoring.ops.statistics.test_standings import RANKS, board, choose, decided, fill, standing


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every comparison counts as one a page should not compute."""
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.0)


@pytest.mark.usefixtures("slow")
@pytest.mark.dialect
def test_long_comparisons_are_done_by_a_job(database: Database, tmp_path: Path) -> None:
    """Scoring the last run queues them for every measure; they say the same as those done at once."""
    fill(database, tmp_path)
    found = standing(database)
    with database.read() as session:
        stored = [row.request for row in session.scalars(select(Statistic))]
    assert {(each["procedure"], each["measure"]) for each in stored} == {
        (procedure, measure) for procedure in ("pairs", "reliability") for measure in ("RR", "NumRelRet")
    }, "GMAP cannot be compared by"
    assert found.told_apart == sum(decided(RANKS).values())
    with pytest.MonkeyPatch.context() as quick:
        quick.setattr(requests, "AT_ONCE_S", 9.0)
        quick.setattr(requests, "kept", KeptResults(2**20))
        again = standing(database)
    for name in ("difference", "low", "high", "p", "adjusted"):
        np.testing.assert_array_equal(getattr(found.table, name), getattr(again.table, name))


@pytest.mark.usefixtures("slow")
@pytest.mark.dialect
def test_what_nobody_asked_for_waits_until_somebody_does(database: Database, tmp_path: Path) -> None:
    """One run a team is no default view: it is absent, then queued once, then there."""
    fill(database, tmp_path)
    waiting = board(database, one_per_team=True).standing
    assert waiting is None or isinstance(waiting, Standing | WaitingResult)
    choose(database, "t+bh")
    waiting = board(database).standing
    assert isinstance(waiting, WaitingResult)
    assert waiting.state == "queued"
    with database.write() as session:
        requests.have_computed(session, waiting.request)
    with database.read() as session:
        queued = select(Job).where(Job.kind == queue.COMPARE, Job.state == "queued")
        assert len(session.scalars(queued).all()) == 1, "one of a task at a time"
    build.drain(database)
    assert standing(database).method.key == "t+bh"


@pytest.mark.usefixtures("slow")
def test_a_failed_comparison_says_why(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The board keeps its ranks and shows the message."""
    monkeypatch.setattr("leaderboard.stats.process.MODULE", "leaderboard.stats.nothing")
    fill(database, tmp_path)
    shown = board(database)
    assert isinstance(shown.standing, WaitingResult)
    assert shown.standing.state in ("failed", "queued")
    assert shown.standing.message
    assert [row.rank for row in shown.rows] == [1, 2, 3, 4]


@pytest.mark.usefixtures("slow")
def test_withdrawing_a_run_asks_anew(database: Database, tmp_path: Path) -> None:
    """Without the run there is another board, with another comparison."""
    ids = fill(database, tmp_path)
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, ids["middle"], "a mistake")
    build.drain(database)
    assert len(standing(database).run_ids) == 3
