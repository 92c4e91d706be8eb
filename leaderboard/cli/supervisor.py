"""The processes behind `leaderboard serve` and `leaderboard worker`: started, watched, restarted, stopped."""

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any

from leaderboard.db.engine import Database
from leaderboard.errors import Conflict
from leaderboard.services.jobs import queue
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator

log = logging.getLogger(__name__)
spawning = multiprocessing.get_context("spawn")

LOOK_S = 0.2
GRACE_S = 10.0
WEB_THREADS = 8
CONNECTIONS = 2000
"""Open at once: browsers keep theirs for a while, and hundreds of assessors may judge at a time."""
QUICK_DEATH_S = 5.0
"""A child that dies sooner than this is not restarted at once, lest it spin."""


@dataclass
class Child:
    """One process to keep alive; deadline is shared memory it writes its kill time to."""

    name: str
    target: Callable[..., None]
    arguments: tuple[Any, ...]
    deadline: Any = None
    process: SpawnProcess | None = None
    started: float = 0.0
    not_before: float = field(default=0.0)

    def start(self) -> None:
        """Spawn the process."""
        self.process = spawning.Process(target=self.target, args=self.arguments, name=self.name, daemon=False)
        self.process.start()
        self.started = time.monotonic()

    @property
    def is_overdue(self) -> bool:
        """Whether its job runs longer than allowed."""
        return self.deadline is not None and 0 < self.deadline.value < time.monotonic()


class Supervisor:
    """Keeps children running until it is asked to stop, then stops them cleanly."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.settings = settings
        self.database = database
        self.children: list[Child] = []
        self.wakers: list[Connection] = []
        self._stop = threading.Event()

    def add_evaluators(self, count: int) -> None:
        """Prepare that many evaluation slots."""
        for number in range(count):
            reader, writer = spawning.Pipe(duplex=False)
            os.set_blocking(writer.fileno(), False)
            deadline = spawning.RawValue("d", 0.0)
            self.wakers.append(writer)
            arguments = (self.settings, reader, deadline)
            self.children.append(Child(f"evaluator-{number + 1}", evaluate_forever, arguments, deadline))

    def add_web(self, listening: socket.socket) -> None:
        """Prepare the web server on a socket that is bound already."""
        self.children.append(Child("web", serve_forever, (self.settings, listening, tuple(self.wakers))))

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Start all children and keep them alive until SIGINT or SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._asked_to_stop)
        for child in self.children:
            child.start()
        ready()
        while not self._stop.wait(LOOK_S):
            for child in self.children:
                self._look_after(child)
        self._stop_all()

    def _asked_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()

    def _look_after(self, child: Child) -> None:
        assert child.process is not None
        if child.is_overdue and child.process.is_alive():
            log.error("%s: its job ran over the time limit; the process is killed", child.name)
            child.process.kill()
            child.process.join()
        if child.process.is_alive():
            return
        self._free(child)
        if child.not_before == 0.0:
            log.error("%s ended with code %s; it is started again", child.name, child.process.exitcode)
            quick = time.monotonic() - child.started < QUICK_DEATH_S
            child.not_before = time.monotonic() + (1.0 if quick else 0.0)
        if time.monotonic() >= child.not_before:
            child.not_before = 0.0
            if child.deadline is not None:
                child.deadline.value = 0.0
            child.start()

    def _free(self, child: Child) -> None:
        assert child.process is not None
        if child.deadline is not None and child.not_before == 0.0:
            with self.database.write() as session:
                queue.free(session, f"{socket.gethostname()}:{child.process.pid}")

    def _stop_all(self) -> None:
        processes = [child.process for child in self.children if child.process is not None]
        for process in processes:
            process.terminate()
        until = time.monotonic() + GRACE_S
        for process in processes:
            process.join(max(0.0, until - time.monotonic()))
        for child in self.children:
            if child.process is not None and child.process.is_alive():
                child.process.kill()
                child.process.join()
                self._free(child)


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
            f"Port {port} on {host} cannot be used ({reason.lower()}); "
            "stop what uses it or choose another with --port."
        ) from None
    return listening


def serve_forever(settings: Settings, listening: socket.socket, wakers: tuple[Connection, ...]) -> None:
    """The web process: waitress on the given socket until SIGTERM."""
    from waitress.server import create_server

    from leaderboard.web import create_app

    _follow_parent()
    database = Database(settings.url)
    app = create_app(settings, database, lambda: _wake(wakers))
    server = create_server(
        app,
        sockets=[listening],
        threads=WEB_THREADS,
        connection_limit=CONNECTIONS,
        # Where select() is the only way, more than 1,024 connections would end the server.
        asyncore_use_poll=True,
        max_request_body_size=max(settings.upload_bytes, settings.plain_bytes) + 2**20,
        clear_untrusted_proxy_headers=not settings.public_url,
        ident=None,
    )

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    try:
        server.run()
    finally:
        database.dispose()


def evaluate_forever(settings: Settings, wakened: Connection, deadline: Any) -> None:
    """An evaluator process: jobs one after the other until SIGTERM."""
    _follow_parent()
    _limit_memory(settings.evaluator_memory)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(processName)s %(levelname)s %(message)s")
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.set())

    def tell(moment: float) -> None:
        deadline.value = moment

    def pause(seconds: float) -> None:
        until = time.monotonic() + seconds
        while not stopping.is_set() and time.monotonic() < until:
            if wakened.poll(LOOK_S):
                wakened.recv_bytes()
                return

    database = Database(settings.url)
    try:
        Evaluator(database, settings, tell).run(stopping.is_set, pause)
    finally:
        database.dispose()


def _wake(wakers: tuple[Connection, ...]) -> None:
    for waker in wakers:
        try:
            waker.send_bytes(b"!")
        except BlockingIOError:
            # Its pipe is full of wake-ups it has not read yet: it will look anyway.
            continue


def _follow_parent() -> None:
    """Ignore Ctrl-C, which the parent turns into an orderly stop, and exit when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "started by a supervisor"
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def _limit_memory(limit: int) -> None:
    if limit and sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
