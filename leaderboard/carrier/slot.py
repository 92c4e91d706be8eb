"""One evaluator behind Celery: a message names a job, which it claims from the table as others do."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery
from celery.worker import WorkController, state
from celery.worker.consumer import Consumer
from sqlalchemy.exc import SQLAlchemyError

from leaderboard.carrier import messages
from leaderboard.db.tables import Job
from leaderboard.worker import Evaluator

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Seconds between an idle evaluator's checks for expired leases and a returned database."""
RETRY_S, LONGEST_RETRY_S = 1, 5
"""Between two tries to reach a broker that is away, which Celery would leave alone for 30 s in the end."""


class Slot:
    """An evaluator that receives jobs; between jobs it does its upkeep, with or without messages."""

    def __init__(self, evaluator: Evaluator, wake: Callable[[], None]) -> None:
        """Wake is called after each job: it may have queued others."""
        self._evaluator = evaluator
        self._wake = wake
        # Only its holder uses the evaluator: messages arrive in one thread, and another one polls.
        self._turn = threading.Lock()

    def do(self, job_id: int) -> bool:
        """Do this job, unless it was started or done by then; whether it was done."""
        with self._turn:
            is_done = self._guarded(lambda: self._evaluator.work(Job.id == job_id))
        self._wake()
        return is_done

    def look(self) -> None:
        """Look round, unless a job is being done: its heartbeat then shows that this evaluator is alive."""
        if self._turn.acquire(blocking=False):
            try:
                self._guarded(lambda: False)
            finally:
                self._turn.release()

    def _guarded(self, work: Callable[[], bool]) -> bool:
        try:
            self._evaluator.look_round()
            return work()
        except SQLAlchemyError as error:
            # The message is gone; the job stays in the table and is sent again.
            self._evaluator.lose(error)
            return False

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Look round from a thread until the end."""
        over = threading.Event()

        def look() -> None:
            while not over.wait(LOOK_S):
                self.look()

        thread = threading.Thread(target=look, name="look-round", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


class _Consumer(Consumer):  # type: ignore[misc]
    """Celery's, but for two things: what it would set up for later times, and how long it waits."""

    class Blueprint(Consumer.Blueprint):  # type: ignore[misc]
        """All steps but the one that makes 28 queues for tasks with a time on brokers with quorum queues."""

        default_steps = [  # noqa: RUF012
            step for step in Consumer.Blueprint.default_steps if not step.endswith(":DelayedDelivery")
        ]

    def ensure_connected(self, conn: Any) -> Any:
        """The connection, once it is open; a signal to stop ends the waiting."""
        return conn.ensure_connection(
            _say_lost,
            interval_start=RETRY_S,
            interval_step=RETRY_S,
            interval_max=LONGEST_RETRY_S,
            callback=state.maybe_shutdown,
        )


def _say_lost(error: BaseException, seconds: float) -> None:
    log.warning("the broker does not answer; retrying in %.0f s: %s", seconds, error)


def controller(app: Celery, slot: Slot, **options: Any) -> WorkController:
    """Celery's worker, which ends where `celery.worker.state.should_stop` is a number.

    options: more of Celery's own.
    """
    # Where it works Celery looks the task up in the app of the process.
    app.set_default()
    app.task(name=messages.TASK, shared=False)(slot.do)
    app.conf.worker_consumer = f"{_Consumer.__module__}:{_Consumer.__qualname__}"
    quiet = dict.fromkeys(("without_gossip", "without_heartbeat", "without_mingle"), True)
    return app.WorkController(app=app, **quiet, **options)
