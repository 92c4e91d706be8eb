"""The thread that sends the numbers of queued jobs to the broker; no other thread waits for a broker."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError

from leaderboard.carrier import messages
from leaderboard.carrier.messages import Line
from leaderboard.core.jobs import carried
from leaderboard.db.engine import Database
from leaderboard.settings import Settings

log = logging.getLogger(__name__)

LOOK_S = 2.0
"""Seconds between searches for jobs that others queued, or whose messages were lost."""
AGAIN_S = 1.0
"""Seconds that the broker or the database is left alone after a failure."""
STOP_S = 3.0
"""Seconds that a stopping process waits for it; others send the rest."""


class Sender:
    """Sends queued jobs when it is woken, and every two seconds.

    A broker failure only delays: the jobs stay in the table.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._app = messages.app(settings.broker_url)
        self._failures: tuple[type[BaseException], ...] = (SQLAlchemyError, *messages.failures(self._app))
        self._line: Line | None = None
        self._is_lost = False
        self._woken, self._over = threading.Event(), threading.Event()

    def wake(self) -> None:
        """Say that jobs were queued; returns at once."""
        self._woken.set()

    def stop(self) -> None:
        """Stop `run`."""
        self._over.set()
        self._woken.set()

    def run(self) -> None:
        """Send until `stop`."""
        while not self._over.is_set():
            self._woken.wait(LOOK_S)
            self._woken.clear()
            if not self.send():
                self._over.wait(AGAIN_S)
        self._hang_up()

    def send(self) -> bool:
        """Send what waits; False where the broker or the database does not answer, which is logged once."""
        try:
            self._send()
        except self._failures as error:
            self._hang_up()
            if not self._is_lost:
                log.error("jobs cannot be sent to the broker; retrying until they can: %s", error)
            self._is_lost = True
            return False
        if self._is_lost:
            log.warning("jobs are sent to the broker again")
        self._is_lost = False
        return True

    def _send(self) -> None:
        # Before anything is marked as sent: while the broker is away, jobs wait unmarked and are sent at once
        # when it is back.
        self._line = self._line or messages.opened(self._app)
        with self._database.write(is_shown=False) as session:
            jobs = carried.take(session, self._settings)
        try:
            self._line.send(jobs)
        except self._failures:
            # A line that nothing was sent by for a while may be lost; some of them go out twice then.
            self._hang_up()
            self._line = messages.opened(self._app)
            self._line.send(jobs)

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None


@contextmanager
def sending(database: Database, settings: Settings) -> Iterator[Callable[[], None]]:
    """Send from a thread until the end; gives what wakes it."""
    sender = Sender(database, settings)
    thread = threading.Thread(target=sender.run, name="carrier", daemon=True)
    thread.start()
    try:
        yield sender.wake
    finally:
        sender.stop()
        thread.join(STOP_S)
