"""Both ends of a broker: the sender of a web process, and an evaluator driven by messages."""

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from leaderboard import logs, temporary
from leaderboard.cli.serving.processes import follow_parent, limit_memory, traced
from leaderboard.settings import Settings

if TYPE_CHECKING:
    from leaderboard.db.engine import Database


@contextmanager
def carrying(settings: Settings) -> Iterator[Callable[[], None]]:
    """The sender of queued jobs to the broker, if there is one."""
    if not settings.broker_url:
        yield lambda: None
        return
    from leaderboard.carrier.sender import sending
    from leaderboard.db.engine import Database

    database = Database(settings.url, settings.lock_wait_s, pool=1)
    try:
        with sending(database, settings) as wake:
            yield wake
    finally:
        database.dispose()


def evaluate_carried(settings: Settings, deadline: Any, count_lost: Callable[[int], None]) -> None:
    """Do jobs that messages name, one after the other, until SIGTERM; its limits are every evaluator's."""
    from leaderboard.db.engine import Database

    follow_parent()
    temporary.use(settings.data)
    limit_memory(settings.evaluator_memory)
    logs.configure(settings.log_format)
    # It would log two lines for every message.
    logging.getLogger("celery").setLevel(logging.WARNING)
    database = Database(
        settings.url, settings.lock_wait_s, pool=settings.pool, objects_url=settings.objects_url
    )
    try:
        with traced():
            _work(database, settings, deadline, count_lost)
    finally:
        database.dispose()


def _work(database: "Database", settings: Settings, deadline: Any, count_lost: Callable[[int], None]) -> None:
    from celery.worker import state

    from leaderboard.carrier import messages, sender
    from leaderboard.carrier.slot import Slot, controller
    from leaderboard.worker import Evaluator

    def tell(moment: float) -> None:
        deadline.value = moment

    def stop(number: int, frame: FrameType | None) -> None:
        state.should_stop = 0

    signal.signal(signal.SIGTERM, stop)
    with sender.sending(database, settings) as wake:
        slot = Slot(Evaluator(database, settings, tell, count_lost), wake)
        with slot.looking():
            worker = controller(messages.app(settings.broker_url), slot)
            worker.start()
    raise SystemExit(worker.exitcode or 0)
