"""An evaluator behind Celery: it does the job that a message names, once, whatever messages come."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, Job
from leaderboard.scoring.ops.evaluations import score
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator
from tests.make import build

pytest.importorskip("celery", reason="the extra celery is not installed")

from celery.worker import state

from leaderboard.carrier import messages, slot
from leaderboard.carrier.sender import Sender
from leaderboard.carrier.slot import Slot, controller
from tests.make.copies import built_once
from tests.make.messages import BROKER, throw_away

pytestmark = pytest.mark.dialect

RANKINGS = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}
SETTINGS = Settings(broker_url=BROKER)
PATIENCE_S = 180
"""Far more than anything here takes: a busy machine is no fault of the evaluator."""
NO_JOB = 10_000


@pytest.fixture
@built_once
def runs(database: Database, tmp_path: Path) -> tuple[int, int]:
    """Two queued jobs, each to score a run by one measure."""
    build.task(database, tmp_path, measures=("AP",))
    for name in ("first", "second"):
        build.run(database, tmp_path, RANKINGS, name)
    with database.read() as session:
        first, second = session.scalars(select(Job.id).order_by(Job.id))
    return first, second


def _slot(database: Database, woken: list[None] | None = None) -> Slot:
    calls = [] if woken is None else woken
    return Slot(Evaluator(database, SETTINGS), lambda: calls.append(None))


def _states(database: Database) -> list[tuple[str, int]]:
    """State and attempts of each evaluation."""
    with database.read() as session:
        jobs = select(Job.state, Job.attempts).where(Job.kind == queue.EVALUATE).order_by(Job.id)
        return [(row.state, row.attempts) for row in session.execute(jobs)]


def _evaluations(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(Evaluation)) or 0


def test_a_message_claims_exactly_its_job(database: Database, runs: tuple[int, int]) -> None:
    """Not the one that is the most urgent; after it, what it queued is sent."""
    woken: list[None] = []
    assert _slot(database, woken).do(runs[1])
    assert (_states(database), len(woken)) == ([("queued", 0), ("done", 1)], 1)


def test_duplicates_and_stale_messages_find_nothing(database: Database, runs: tuple[int, int]) -> None:
    """Of a job that is done, that another evaluator holds, or that does not exist."""
    here = _slot(database)
    assert [here.do(runs[0]), here.do(runs[0])] == [True, False]
    with database.write() as session:
        assert queue.claim(session, "there:1", SETTINGS, Job.id == runs[1]) is not None
    assert [here.do(runs[1]), here.do(NO_JOB)] == [False, False]
    assert (_states(database), _evaluations(database)) == ([("done", 1), ("leased", 1)], 1)


def test_a_message_is_lost_with_the_database_and_costs_nothing(
    database: Database, runs: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was claimed is given back when the database is back, without an attempt."""
    here, compute = _slot(database), score.compute

    def lose(*arguments: Any) -> Any:
        monkeypatch.setattr(score, "compute", compute)
        monkeypatch.setattr(database, "write", away)
        return compute(*arguments)

    write = database.write

    @contextmanager
    def away(*_: Any, **__: Any) -> Iterator[Any]:
        raise OperationalError("", {}, ConnectionError("the database is away"))
        yield

    monkeypatch.setattr(score, "compute", lose)
    here.do(runs[0])
    here.look()
    assert _states(database)[0] == ("leased", 1)
    monkeypatch.setattr(database, "write", write)
    here.look()
    assert _states(database)[0] == ("queued", 0)
    assert here.do(runs[0])
    assert _states(database)[0] == ("done", 1)


def test_nobody_looks_round_in_the_middle_of_a_job(
    database: Database, runs: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that looks round goes on without waiting: it could give back what is being done."""
    here, looked, began, go_on = _slot(database), list[None](), threading.Event(), threading.Event()
    compute = score.compute

    def slow(*arguments: Any) -> Any:
        began.set()
        assert go_on.wait(PATIENCE_S)
        return compute(*arguments)

    monkeypatch.setattr(score, "compute", slow)
    job = threading.Thread(target=here.do, args=(runs[0],))
    job.start()
    assert began.wait(PATIENCE_S)
    monkeypatch.setattr(here._evaluator, "look_round", lambda: looked.append(None))
    here.look()
    assert looked == []
    go_on.set()
    job.join()
    here.look()
    assert (looked, _states(database)[0]) == ([None], ("done", 1))


def test_looking_round_gives_back_what_others_left(
    database: Database, runs: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a thread, whether messages come or not."""
    with database.write() as session:
        held = queue.claim(session, "gone:1", SETTINGS)
        assert held is not None
        queue.heartbeat(session, held, -1)
    monkeypatch.setattr(slot, "LOOK_S", 0.01)
    pause = threading.Event()
    with _slot(database).looking():
        for _ in range(PATIENCE_S * 100):
            if _states(database)[0][0] == "queued":
                break
            pause.wait(0.01)
    assert _states(database) == [("queued", 1), ("queued", 0)]


@contextmanager
def _celery(here: Slot) -> Iterator[None]:
    """Celery's worker on the broker in memory, in a thread."""
    # Celery's own way to be told to end is a number of the whole process.
    state.should_stop = None
    worker = controller(messages.app(BROKER), here)
    thread = threading.Thread(target=worker.start)
    thread.start()
    try:
        yield
    finally:
        state.should_stop = 0
        thread.join()
        state.should_stop = None


def test_celery_takes_jobs_from_the_table_to_the_evaluator(
    database: Database, runs: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each message comes twice here; each run is scored once."""
    throw_away()
    answers, last = list[bool](), threading.Event()
    here = _slot(database)
    do = here.do

    def noted(job_id: int) -> bool:
        answers.append(do(job_id))
        if len(answers) == 4:
            last.set()
        return answers[-1]

    monkeypatch.setattr(here, "do", noted)
    sender = Sender(database, SETTINGS)
    assert sender.send()
    with database.write() as session:
        for job in session.scalars(select(Job)):
            job.carried_at = None
    assert sender.send()
    with _celery(here):
        assert last.wait(PATIENCE_S)
    assert sorted(answers) == [False, False, True, True]
    assert (_states(database), _evaluations(database)) == ([("done", 1), ("done", 1)], 2)
    throw_away()


@pytest.mark.parametrize("url", [BROKER, "redis://127.0.0.1:1/0", "amqp://127.0.0.1:1//"])
def test_celery_is_used_as_the_table_needs_it(url: str) -> None:
    """Acknowledged before the work, one at a time, nothing kept, nothing obeyed; quorum queues on AMQP."""
    app = messages.app(url)
    conf = app.conf
    assert (conf.task_acks_late, conf.worker_prefetch_multiplier, conf.worker_concurrency) == (False, 1, 1)
    assert (conf.result_backend, conf.task_ignore_result, conf.accept_content) == (None, True, ["json"])
    assert not conf.worker_enable_remote_control
    kinds = {queue.queue_arguments and queue.queue_arguments["x-queue-type"] for queue in conf.task_queues}
    assert kinds == ({"quorum"} if url.startswith("amqp") else {None})


def test_no_queues_for_later_are_made() -> None:
    """Times are in the table; Celery would make them on every broker with quorum queues."""
    steps = slot._Consumer.Blueprint.default_steps
    assert steps
    assert not any("Delayed" in step for step in steps)
