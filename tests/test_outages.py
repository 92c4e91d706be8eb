"""An evaluator outlives whatever its database does, and does what was queued when it is back."""

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, Job, Worker
from leaderboard.scoring.ops.evaluations import score
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator
from tests.make import build

pytestmark = pytest.mark.trial

RANKINGS = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}
ROUNDS = 200
"""How often an evaluator may pause before a test gives it up."""


class Stopped:
    """The two callbacks of an evaluator's loop: it stops when `is_over`, which is asked at every pause."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        self.is_over = is_over
        self.pauses: list[float] = []
        self.stopped = False

    def stopping(self) -> bool:
        """Whether the loop is to end."""
        return self.stopped

    def wait(self, seconds: float) -> None:
        """Pause for no time at all."""
        self.pauses.append(seconds)
        self.stopped = self.is_over() or len(self.pauses) > ROUNDS


def _states(database: Database) -> list[tuple[str, int]]:
    with database.read() as session:
        rows = session.execute(select(Job.state, Job.attempts).order_by(Job.id))
        return [(state, attempts) for state, attempts in rows]


def _evaluations(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(Evaluation)) or 0


@contextmanager
def _held(database: Database) -> Iterator[None]:
    """SQLite's write lock held by another connection."""
    other = sqlite3.connect(str(database.engine.url.database), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@pytest.fixture
def impatient(database: Database) -> Iterator[Database]:
    """The test's database, opened by somebody who hardly waits for locks."""
    opened = Database(str(database.engine.url), lock_wait_s=0.01)
    yield opened
    opened.dispose()


@pytest.mark.sqlite
def test_an_evaluator_outlives_a_held_lock(
    database: Database, impatient: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It asks again every second, says so once, and scores the run when the lock is given back."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, RANKINGS)
    held = _held(database)
    held.__enter__()

    def is_over() -> bool:
        if len(loop.pauses) == 3:
            held.__exit__(None, None, None)
        return _states(database) == [("done", 1)]

    loop = Stopped(is_over)
    with caplog.at_level(logging.WARNING):
        Evaluator(impatient, Settings()).run(loop.stopping, loop.wait)
    assert _states(database) == [("done", 1)]
    assert len([record for record in caplog.records if "does not answer" in record.message]) == 1
    assert len([record for record in caplog.records if "answers again" in record.message]) == 1


@pytest.mark.sqlite
def test_a_lock_held_in_the_middle_of_a_job_costs_no_attempt(
    database: Database, impatient: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was computed cannot be stored: the job is given back when the database is, and done again."""
    build.task(database, tmp_path, measures=("AP",))
    build.run(database, tmp_path, RANKINGS)
    compute, held = score.compute, _held(database)

    def computing(*arguments: Any) -> Any:
        monkeypatch.setattr(score, "compute", compute)
        held.__enter__()
        return compute(*arguments)

    monkeypatch.setattr(score, "compute", computing)

    def is_over() -> bool:
        if len(loop.pauses) == 1:
            assert _states(database) == [("leased", 1)]
            held.__exit__(None, None, None)
        return _states(database) == [("done", 1)]

    loop = Stopped(is_over)
    Evaluator(impatient, Settings()).run(loop.stopping, loop.wait)
    assert _states(database) == [("done", 1)]
    assert _evaluations(database) == 1


@pytest.mark.dialect
def test_an_evaluator_outlives_any_transaction_failing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of its transactions does not commit, the run is scored once."""
    build.task(database, tmp_path, measures=("AP",))
    monkeypatch.setattr(queue, "RETRY_AFTER_S", 0)
    write = database.write
    for broken in range(7):
        turns = iter(range(10_000))

        @contextmanager
        def failing(
            turns: Iterator[int] = turns, broken: int = broken, *, is_shown: bool = True
        ) -> Iterator[Any]:
            with write(is_shown=is_shown) as session:
                yield session
                if next(turns) == broken:
                    raise OperationalError("COMMIT", {}, Exception("server closed the connection"))

        build.run(database, tmp_path, RANKINGS, f"run-{broken}")
        with monkeypatch.context() as patch:
            patch.setattr(database, "write", failing)
            loop = Stopped(lambda: {state for state, _ in _states(database)} == {"done"})
            Evaluator(database, Settings()).run(loop.stopping, loop.wait)
        assert {state for state, _ in _states(database)} == {"done"}
        assert _evaluations(database) == broken + 1


def test_a_heartbeat_outlives_an_error(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After errors of the database the lease is pushed on all the same, while the job is being done."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, RANKINGS)
    heartbeat, compute = queue.heartbeat, score.compute
    errors = iter([OperationalError("UPDATE", {}, Exception("locked")), SQLAlchemyError("again")])
    beaten = threading.Event()

    def beating(*arguments: Any) -> bool:
        if (error := next(errors, None)) is not None:
            raise error
        alive = heartbeat(*arguments)
        beaten.set()
        return alive

    def waiting(*arguments: Any) -> Any:
        assert beaten.wait(60), "the heartbeat ended"
        return compute(*arguments)

    monkeypatch.setattr(queue, "heartbeat", beating)
    monkeypatch.setattr(score, "compute", waiting)
    monkeypatch.setattr("leaderboard.worker.BEAT_S", 0.01)
    assert Evaluator(database, Settings()).work()
    assert _states(database) == [("done", 1)]


@pytest.mark.dialect
def test_an_evaluator_says_that_it_is_at_work(database: Database) -> None:
    """Before its first pause, and by its own name."""
    evaluator = Evaluator(database, Settings())
    loop = Stopped(lambda: True)
    evaluator.run(loop.stopping, loop.wait)
    with database.read() as session:
        assert session.scalars(select(Worker.owner)).all() == [evaluator.owner]


@pytest.mark.sqlite
def test_a_reader_does_not_wait_for_those_who_write(database: Database) -> None:
    """While the write lock is held, what is there can be read, and a hurried write gives up at once."""
    with _held(database):
        assert _states(database) == []
        with pytest.raises(OperationalError, match="locked"), database.write(0.01) as session:
            session.execute(select(Job.id))
    with database.write() as session:
        queue.enqueue(session, queue.EVALUATE, 1, priority=queue.FRESH)
    assert _states(database) == [("queued", 0)]
