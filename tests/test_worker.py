"""Evaluators that die, freeze or fail: nothing is lost and nothing is stored twice."""

import logging
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select

from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, Job
from leaderboard.errors import Invalid
from leaderboard.scoring.ops.evaluations import score
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator, free_dead_owners
from tests import ROOT
from tests.make import build

pytestmark = pytest.mark.dialect

RANKINGS = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}

PATIENCE_S = 180
"""How long a busy machine may take to start a process."""
SLOW_WORKER = """
import sys, time
from pathlib import Path
from leaderboard.db.engine import Database
from leaderboard.scoring.ops.evaluations import score
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator

real, marks = score.compute, Path(sys.argv[2])

def slow(database, run_id, plan):
    (marks / "started").touch()
    while not (marks / "go on").exists():
        time.sleep(0.02)
    return real(database, run_id, plan)

score.compute = slow
Evaluator(Database(sys.argv[1]), Settings(lease_s=int(sys.argv[3]))).work()
(marks / "ended").touch()
"""


def _slow_worker(url: str, marks: Path, lease_s: int = 60) -> subprocess.Popen[bytes]:
    """A real evaluator process that waits in the middle of its evaluation."""
    script = textwrap.dedent(SLOW_WORKER)
    process = subprocess.Popen([sys.executable, "-c", script, url, str(marks), str(lease_s)], cwd=ROOT)
    _wait_for(marks / "started")
    return process


def _wait_for(mark: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if mark.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"{mark.name} never came")


def _evaluations(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(Evaluation)) or 0


def _job(database: Database) -> Job:
    with database.read() as session:
        return session.scalars(select(Job)).one()


@pytest.mark.trial
def test_a_worker_killed_in_the_middle_loses_nothing(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    """After SIGKILL in the middle of an evaluation the run is scored after restart, once."""
    build.task(database, tmp_path, measures=("AP", "RR"))
    build.run(database, tmp_path, RANKINGS)
    process = _slow_worker(database_url, tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert (_job(database).state, _evaluations(database)) == ("leased", 0)
    free_dead_owners(database)
    assert build.drain(database) == 1
    assert (_job(database).state, _job(database).attempts, _evaluations(database)) == ("done", 2, 2)
    assert build.drain(database) == 0


@pytest.mark.trial
def test_a_frozen_worker_that_wakes_up_late_stores_nothing(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    """A worker stopped past its lease computes to the end, but its result is refused."""
    build.task(database, tmp_path, measures=("AP", "RR"))
    build.run(database, tmp_path, RANKINGS)
    process = _slow_worker(database_url, tmp_path, lease_s=1)
    os.kill(process.pid, signal.SIGSTOP)
    for _ in range(10 * PATIENCE_S):
        if build.drain(database):
            break
        time.sleep(0.1)
    first = _job(database)
    os.kill(process.pid, signal.SIGCONT)
    (tmp_path / "go on").touch()
    _wait_for(tmp_path / "ended")
    process.wait()
    assert (first.state, first.token, _evaluations(database)) == ("done", 2, 2)
    assert (_job(database).state, _job(database).finished_at) == ("done", first.finished_at)


@pytest.mark.trial
def test_owners_that_are_alive_keep_their_jobs(database: Database, database_url: str, tmp_path: Path) -> None:
    """Freeing what dead processes held leaves a living one alone."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, RANKINGS)
    process = _slow_worker(database_url, tmp_path)
    free_dead_owners(database)
    assert _job(database).state == "leased"
    (tmp_path / "go on").touch()
    process.wait()
    assert _job(database).state == "done"


def test_an_unexpected_error_is_logged_with_a_reference_and_tried_again(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The run's page gets a reference, the log the reason, the job another attempt."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, RANKINGS)

    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(score, "compute", broken)
    with caplog.at_level(logging.ERROR):
        assert Evaluator(database, Settings()).work()
    job = _job(database)
    assert job.state == "queued"
    reference = job.error.rsplit(" ", 1)[1].rstrip(".")
    assert "secret detail" not in job.error
    assert reference in caplog.text
    assert "secret detail" in caplog.text


def test_an_error_that_says_why_fails_the_job_at_once(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trying again does not help where the data is at fault; the message is kept for the page."""
    build.task(database, tmp_path)
    run_id = build.run(database, tmp_path, RANKINGS)

    def refused(*_: object) -> None:
        raise Invalid("Topic 1 holds a document twice.")

    monkeypatch.setattr(score, "compute", refused)
    Evaluator(database, Settings()).work()
    with database.read() as session:
        state = queue.run_states(session, [run_id])[run_id]
    assert (state.state, state.message) == ("failed", "Topic 1 holds a document twice.")


def test_the_deadline_is_told_while_a_job_runs(database: Database, tmp_path: Path) -> None:
    """A parent learns when to kill: a moment while a job runs, zero when it is over."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, RANKINGS)
    told: list[float] = []
    Evaluator(database, Settings(), told.append).work()
    assert told[0] > time.monotonic() + 500
    assert told[1:] == [0.0]
