"""Comparisons queued before anybody asks: one of a task waits at a time, and only what can be computed."""

from pathlib import Path

import pytest
from sqlalchemy import func, select

from leaderboard.boards.ops import board
from leaderboard.core.jobs import queue
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job, Statistic
from leaderboard.scoring.ops.statistics import requests, standings
from leaderboard.scoring.ops.statistics.requests import KeptResults, WaitingResult
from leaderboard.scoring.ops.statistics.standings import Standing
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator
from tests.make import build, people

pytestmark = pytest.mark.dialect

MEASURES = ("AP", "RR")


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every comparison counts as one a page should not compute."""
    monkeypatch.setattr(requests, "AT_ONCE_S", -1.0)
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def _send_and_score(database: Database, folder: Path, number: int) -> None:
    """A run whose evaluation is done before any comparison."""
    build.run(
        database, folder, {"1": ["a", f"x{number}"], "2": ["d"], "3": [f"y{number}", "e"]}, f"r{number}"
    )
    assert Evaluator(database, Settings()).work()


def _jobs(database: Database, *states: str) -> list[str]:
    """The procedures of the comparisons in a state, in the order they were queued."""
    with database.read() as session:
        rows = select(Statistic.request).join(Job, Job.subject_id == Statistic.id)
        rows = rows.where(Job.kind == queue.COMPARE, Job.state.in_(states)).order_by(Job.id)
        return [f"{each['procedure']} {each['measure']}" for each in session.scalars(rows)]


def _statistics(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(Statistic)) or 0


@pytest.mark.trial
def test_of_many_submissions_one_comparison_waits(database: Database, tmp_path: Path) -> None:
    """Each makes the one before obsolete, and nothing of that one is left."""
    build.task(database, tmp_path, measures=MEASURES, primary="RR")
    for number in range(1, 13):
        _send_and_score(database, tmp_path, number)
        assert len(_jobs(database, "queued")) == (number > 1)
        assert _statistics(database) == (number > 1)
    build.drain(database)
    assert _jobs(database, "done") == ["pairs RR", "reliability RR", "pairs AP", "reliability AP"]
    assert _jobs(database, "queued", "failed") == []


def test_one_run_is_compared_with_nothing(database: Database, tmp_path: Path) -> None:
    """A board's reliability can be told from two runs and two topics on; before that no job is to fail."""
    build.task(database, tmp_path, measures=MEASURES)
    _send_and_score(database, tmp_path, 1)
    build.task(database, tmp_path, "one-topic", topics=("1",), judgments={"1": {"a": 1}})
    for name in ("first", "second"):
        build.run(database, tmp_path, {"1": ["a"]}, name, slug="one-topic")
    build.drain(database)
    assert _jobs(database, "queued", "leased", "done", "failed") == []


def test_what_somebody_asked_for_stays(database: Database, tmp_path: Path) -> None:
    """A comparison that a reader waits for is done, although the board went on."""
    build.task(database, tmp_path, measures=MEASURES, primary="AP")
    for number in (1, 2):
        _send_and_score(database, tmp_path, number)
    with database.read() as session:
        waiting = board.board(session, ANONYMOUS, "t").standing
    assert isinstance(waiting, WaitingResult)
    viewer = people.viewer(database, people.account(database, "Ann"))
    with database.write() as session:
        requests.ask_for(session, viewer, [waiting])
    _send_and_score(database, tmp_path, 3)
    assert _jobs(database, "queued") == ["pairs AP", "pairs AP"]
    build.drain(database)
    with database.read() as session:
        assert not isinstance(requests.find(session, waiting.request), WaitingResult)


def test_one_that_failed_does_not_hold_up_the_rest(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it is given up, the next of the board's comparisons is queued."""
    build.task(database, tmp_path, measures=MEASURES, primary="AP")
    for number in (1, 2):
        _send_and_score(database, tmp_path, number)
    with monkeypatch.context() as broken:
        broken.setattr("leaderboard.stats.process.MODULE", "leaderboard.stats.nothing")
        broken.setattr(queue, "RETRY_AFTER_S", 0)
        build.drain(database)
    assert _jobs(database, "failed") == ["pairs AP", "reliability AP", "pairs RR", "reliability RR"]


def test_all_pairs_of_many_runs_are_stored_ready(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the measure that ranks the board, as its page computes them, and of its newest state alone."""
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.3)
    monkeypatch.setattr(requests, "READY_S", 0.0)
    build.task(database, tmp_path, measures=MEASURES, primary="RR")
    for number in (1, 2, 3):
        _send_and_score(database, tmp_path, number)
        build.drain(database)
    assert _jobs(database, "done") == ["pairs RR"]
    with database.read() as session:
        stored = board.board(session, ANONYMOUS, "t").standing
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    monkeypatch.setattr(standings, "compute", _must_not)
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "t").standing
    assert isinstance(stored, Standing)
    assert isinstance(shown, Standing)
    assert len(shown.run_ids) == 3
    assert (shown.table.p == stored.table.p).all()


def _must_not(*_: object) -> None:
    raise AssertionError("it is there")
