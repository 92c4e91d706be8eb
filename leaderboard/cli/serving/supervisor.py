"""The processes behind `leaderboard serve` and `leaderboard worker`: started, watched, restarted, stopped."""

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import IO, Any

from leaderboard import logs, shared, temporary
from leaderboard.cli.serving.carried import carrying, evaluate_carried
from leaderboard.cli.serving.kept_backups import keep_backups
from leaderboard.cli.serving.processes import (
    StopSignals,
    follow_parent,
    limit_memory,
    loading,
    spawning,
    traced,
)
from leaderboard.errors import Conflict
from leaderboard.settings import Settings

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

OVERDUE = "%s: its job exceeded the time limit; killing the process"
ENDED = "%s ended with code %s; restarting in %.0f s"
NOT_DONE = "%s did not end within %.0f s; killing it"
LOOK_S = 0.2
GRACE_S = 10.0
READ_BYTES = 65_536
QUICK_DEATH_S = 5.0
"""A child that dies sooner than this is restarted with a delay, to avoid a busy loop."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
"""Before a child that died quickly is started again; each quick death in a row doubles the pause."""


SERVING = "serving"
"""File of the data folder that the one `serve` on it holds locked, with its process and address."""
_claims: list[IO[str]] = []
"""Locks that this process holds until it ends."""


@dataclass
class Child:
    """One process to keep alive; deadline is shared memory it writes its kill time to."""

    name: str
    target: Callable[..., None]
    arguments: tuple[Any, ...]
    deadline: Any = None
    process: SpawnProcess | None = None
    started: float = 0.0
    not_before: float | None = None
    """When it is to be started again; None while it runs."""
    quick_deaths: int = 0
    """Consecutive quick deaths."""
    may_start: Callable[[], bool] = lambda: True
    """Asked before its first start; it is restarted regardless of the others."""

    def start(self) -> None:
        """Spawn the process; where the system has no room for one, it is tried again later."""
        self.not_before = None
        self.may_start = lambda: True
        self.started = time.monotonic()
        if self.deadline is not None:
            self.deadline.value = 0.0
        self.process = spawning.Process(target=self.target, args=self.arguments, name=self.name, daemon=False)
        try:
            self.process.start()
        except OSError as error:
            log.error("%s cannot be started: %s", self.name, error, extra=self.facts)
            self.process = None
            self.rest()

    def rest(self) -> float:
        """Plan the next start; in how many seconds it is."""
        is_quick = time.monotonic() - self.started < QUICK_DEATH_S
        self.quick_deaths = self.quick_deaths + 1 if is_quick else 0
        pause_s = min(FIRST_PAUSE_S * 2 ** (self.quick_deaths - 1), LONGEST_PAUSE_S) if is_quick else 0.0
        self.not_before = time.monotonic() + pause_s
        return pause_s

    @property
    def facts(self) -> dict[str, dict[str, str]]:
        """Log fields for it."""
        return {"facts": {"child": self.name}}

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self.process is not None and self.process.is_alive()

    @property
    def is_overdue(self) -> bool:
        """Whether its job runs longer than allowed."""
        return self.deadline is not None and 0 < self.deadline.value < time.monotonic()


class Supervisor:
    """Keeps children running until it is asked to stop, then stops them cleanly.

    It never asks the database, so that no trouble with one can reach it; an evaluator that starts releases
    the leases of its predecessor.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.children: list[Child] = []
        self.wakers: list[Connection] = []
        self.counters = logs.counters(settings.web_slots, settings.evaluator_slots)

    def add_evaluators(self, count: int) -> None:
        """Prepare that many evaluation slots."""
        for number in range(count):
            reader, writer = spawning.Pipe(duplex=False)
            for end in (reader, writer):
                os.set_blocking(end.fileno(), False)
            deadline = spawning.RawValue("d", 0.0)
            self.wakers.append(writer)
            arguments = (self.settings, reader, deadline, self._count_lost(number))
            self.children.append(Child(f"evaluator-{number + 1}", evaluate_forever, arguments, deadline))

    def add_carried_evaluators(self, count: int) -> None:
        """Prepare that many evaluation slots that a broker gives work."""
        for number in range(count):
            deadline = spawning.RawValue("d", 0.0)
            arguments = (self.settings, deadline, self._count_lost(number))
            self.children.append(Child(f"evaluator-{number + 1}", evaluate_carried, arguments, deadline))

    def _count_lost(self, number: int) -> Callable[[int], None]:
        return partial(logs.count_lost, self.counters, number)

    def add_web(self, listening: socket.socket) -> None:
        """Prepare the web processes, which all accept connections from one bound socket."""
        count = self.settings.web_slots
        memory = shared.memory(count) if count > 1 else None
        for number in range(count):
            arguments = (self.settings, listening, tuple(self.wakers), memory, self.counters, number)
            child = Child(f"web-{number + 1}", serve_forever, arguments)
            if memory is not None and number:
                # One after the other: together they would take longer until the first one answers.
                child.may_start = partial(memory.is_up, number - 1)
            self.children.append(child)

    def add_backups(self) -> None:
        """Prepare the process that backs the site up."""
        self.children.append(Child("backups", keep_backups, (self.settings,)))

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Start all children and keep them alive until SIGINT or SIGTERM."""
        stop = StopSignals(signal.SIGINT, signal.SIGTERM)
        try:
            for child in self.children:
                child.not_before = 0.0
                self._look_after(child)
            ready()
            while not stop.wait(LOOK_S):
                for child in self.children:
                    self._look_after(child)
        finally:
            # Whatever the error: without this, Python would wait for the children for ever.
            self._stop_all()

    def _look_after(self, child: Child) -> None:
        if child.is_alive:
            if child.is_overdue:
                log.error(OVERDUE, child.name, extra=child.facts)
                _kill(child)
        elif child.not_before is None:
            code = child.process.exitcode if child.process is not None else None
            log.error(ENDED, child.name, code, child.rest(), extra=child.facts)
        elif time.monotonic() >= child.not_before and child.may_start():
            child.start()

    def _stop_all(self) -> None:
        running = [child for child in self.children if child.is_alive]
        for child in running:
            _process(child).terminate()
        until = time.monotonic() + GRACE_S
        for child in running:
            _process(child).join(max(0.0, until - time.monotonic()))
        for child in running:
            if child.is_alive:
                log.warning(NOT_DONE, child.name, GRACE_S, extra=child.facts)
                _kill(child)


def _process(child: Child) -> SpawnProcess:
    assert child.process is not None, "it runs"
    return child.process


def _kill(child: Child) -> None:
    _process(child).kill()
    _process(child).join()


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to the address; raises Conflict, in one sentence, where it is taken or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # Without listening a second server could bind the same port too.
        listening.listen(1024)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise Conflict(
            f"Port {port} on {host} is not available ({reason.lower()}). Stop the program that uses it, or "
            "choose another port with --port."
        ) from None
    return listening


def claim_folder(settings: Settings) -> None:
    """Hold the data folder of a site on SQLite until this process ends; raises Conflict where another does.

    A second one would make the same backups and empty the other's temporary files.
    """
    if sys.platform == "win32" or not settings.url.startswith("sqlite"):
        return
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = settings.data / SERVING
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = file.read().strip() or "still starting"
        file.close()
        raise Conflict(
            f"Another `leaderboard serve` already uses {settings.data} ({holder}). Stop it, or use another "
            "--data."
        ) from None
    file.truncate(0)
    file.write(f"process {os.getpid()}, {settings.address}\n")
    file.flush()
    _claims.append(file)


def serve_forever(
    settings: Settings,
    listening: socket.socket,
    wakers: tuple[Connection, ...],
    memory: shared.Memory | None,
    counted: logs.Counters,
    number: int,
) -> None:
    """A web process: answers on the given socket until SIGTERM; memory is None for a single one."""
    with loading():
        from leaderboard.server import serve

    def wake() -> None:
        carry()
        _wake(wakers)

    follow_parent()
    logs.configure(settings.log_format)
    lock = temporary.folder(settings.data) / "web.lock"
    with (
        traced(),
        carrying(settings) as carry,
        closing(shared.Shared(memory, number, lock)) if memory else nullcontext() as own,
    ):
        serve(settings, listening, wake, own, logs.WebCounter(counted, number))


def evaluate_forever(
    settings: Settings, wakened: Connection, deadline: Any, count_lost: Callable[[int], None]
) -> None:
    """An evaluator process: jobs one after the other until SIGTERM."""
    with loading():
        from leaderboard.db.engine import Database
        from leaderboard.worker import Evaluator

    follow_parent()
    temporary.use(settings.data)
    limit_memory(settings.evaluator_memory)
    logs.configure(settings.log_format)
    stop = StopSignals(signal.SIGTERM)

    def tell(moment: float) -> None:
        deadline.value = moment

    def pause(seconds: float) -> None:
        until = time.monotonic() + seconds
        while not stop.is_asked() and time.monotonic() < until:
            if _was_wakened(wakened):
                return

    database = Database(
        settings.url, settings.lock_wait_s, pool=settings.pool, objects_url=settings.objects_url
    )
    try:
        with traced():
            Evaluator(database, settings, tell, count_lost).run(stop.is_asked, pause)
    finally:
        database.dispose()


def _wake(wakers: tuple[Connection, ...]) -> None:
    # Bytes without messages around them: a reader killed in between leaves no half of one behind.
    for waker in wakers:
        try:
            os.write(waker.fileno(), b"!")
        except BlockingIOError:
            # Its pipe is full of wake-ups it has not read yet: it will look anyway.
            continue


def _was_wakened(wakened: Connection) -> bool:
    """Whether a wake-up came within a moment; all that came are taken at once."""
    if not wait([wakened], LOOK_S):
        return False
    try:
        return bool(os.read(wakened.fileno(), READ_BYTES))
    except BlockingIOError:
        return False
