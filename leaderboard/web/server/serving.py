"""The web process's server: accepts connections, ends those that are overdue, makes room for new ones."""

import heapq
import signal
import socket
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from math import ceil
from types import FrameType
from typing import Any

from flask import Flask
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, ThreadedTaskDispatcher, WSGITask

from leaderboard import memory, temporary
from leaderboard.counters import WebCounter
from leaderboard.db.engine import Database
from leaderboard.services.throttles import network
from leaderboard.settings import Settings
from leaderboard.shared import REMAINDERS, Shared
from leaderboard.web import create_app, load_templates
from leaderboard.web.bodies import ADMITTED, REFUSAL, Gate
from leaderboard.web.rehearsal import rehearse
from leaderboard.web.security import HEADERS
from leaderboard.web.server.open_bodies import OpenBodies, OpenBody
from leaderboard.web.server.requests import Door, IncomingRequest

HEADER_S = 10.0
"""In which a whole header must have come, from the connection's or the request's first moment on."""
IDLE_S = 75.0
"""How long a connection is kept between two requests."""
STALLED_S = 30.0
"""How long nothing of an answer may be taken."""
REMAINDER_S = 5.0
"""How long a request waits for what came of another one of its address that was cut off."""
LOOK_ELSEWHERE_S = 0.02
"""Between two looks whether another process is done with it."""
LINGER_S = 5.0
"""How long a refused body is read past, so that its sender sees the answer and no broken connection."""


class SiteTask(WSGITask):  # type: ignore[misc]
    """A request that the application answers."""

    def get_environment(self) -> dict[str, Any]:
        """The request's environment, with what became of its body."""
        environ: dict[str, Any] = super().get_environment()
        environ[ADMITTED] = True
        if self.request.refusal is not None:
            environ[REFUSAL] = self.request.refusal
        return environ


class SiteErrorTask(ErrorTask):  # type: ignore[misc]
    """A request that cannot be read: the answer has the headers of every other one."""

    def execute(self) -> None:
        """Answer with what is wrong."""
        self.response_headers.extend(HEADERS.items())
        super().execute()


class SiteChannel(HTTPChannel):  # type: ignore[misc]
    """A connection whose header, body, pauses and taking of answers are timed.

    It belongs to an event loop: only `answer_question` runs in another thread.
    """

    task_class = SiteTask
    error_task_class = SiteErrorTask

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Any, map: Any = None) -> None:
        self.network = network(addr[0])
        self.parser_class = partial(IncomingRequest, door=server.door)
        self.since = time.monotonic()
        self.is_draining = False
        self._has_question = False
        self._has_answered = False
        self._is_unread = False
        super().__init__(server, sock, addr, adj, map=map)

    def is_spare(self) -> bool:
        """Whether nothing is lost with it but a half-sent header or a pause."""
        is_waiting = self.request is None or not self.request.headers_finished
        return self.is_draining or (is_waiting and not self.requests and not self.total_outbufs_len)

    def is_overdue(self, moment: float) -> bool:
        """Whether it takes longer than it may (moment: of time.monotonic())."""
        if self.total_outbufs_len:
            return bool(time.time() - self.last_activity > STALLED_S)
        if self.is_spare():
            return moment - self.since > self._allowed()
        return self.request is not None and self.request.is_late(moment)

    def _allowed(self) -> float:
        if self.is_draining:
            return LINGER_S
        return IDLE_S if self.request is None and self._has_answered else HEADER_S

    def received(self, data: bytes) -> bool:
        """Take in bytes; those that follow a refused header are passed over."""
        if self.is_draining or self._is_unread:
            return False
        if self.request is None:
            self.since = time.monotonic()
        taken: bool = super().received(data)
        if self.request is not None and self.request.is_asking and not self._has_question:
            self._has_question = True
            self.server.add_task(Question(self, self.request))
        return taken

    def readable(self) -> bool:
        """Whether more may be read: not while it is being asked whether the body is taken."""
        if self.is_draining:
            return True
        return not self._has_question and bool(super().readable())

    def answer_question(self, request: IncomingRequest) -> None:
        """Go on with a request whose question was answered; called by the thread that asked."""
        with self.requests_lock:
            self._has_question = False
            if request.is_unread:
                self.requests.append(request)
                self.request = None
                self.server.add_task(self)
            elif request.expect_continue:
                self.send_continue()
        self.server.pull_trigger()

    def service(self) -> None:
        """Answer a request."""
        self._has_answered, self._is_unread = True, self.requests[0].is_unread
        self.server.remainders.wait_for(getattr(self.requests[0], "path", ""))
        super().service()
        self.since = time.monotonic()

    def handle_write(self) -> None:
        """Send what waits; after the answer to a refused body, read past what its sender still sends."""
        if self._is_unread and self.close_when_flushed and not self.will_close:
            self._flush_exception(self._flush_some)
            if not self.total_outbufs_len and not self.will_close:
                self._drain()
            if not self.will_close:
                return
        super().handle_write()

    def _drain(self) -> None:
        self.close_when_flushed, self.is_draining, self.since = False, True, time.monotonic()
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def handle_close(self) -> None:
        """Close the connection; of what was being received only pieces of uploads are of use."""
        request, self.request = self.request, None
        if request is not None and request.end_early():
            self.server.add_task(Remainder(self, request))
        elif request is not None:
            request.close()
        self.server.forget(self)
        super().handle_close()


class Remainders:
    """The addresses of which something that was cut off is being taken, by any process that shares it."""

    def __init__(self, shared: Shared | None = None) -> None:
        self._shared = shared
        self._taking: Counter[str] = Counter()
        self._taken = threading.Condition()

    def begin(self, path: str) -> None:
        """Something of this address is to be taken."""
        with self._taken:
            self._taking[path] += 1
            self._tell()

    def end(self, path: str) -> None:
        """It was taken."""
        with self._taken:
            self._taking[path] -= 1
            self._taking += Counter()
            self._tell()
            self._taken.notify_all()

    def wait_for(self, path: str) -> None:
        """Wait until nothing of this address is being taken, but not for long."""
        # Who was cut off asks at once how much came: before it is taken the answer would be too little, and
        # the same bytes would be sent again.
        until = time.monotonic() + REMAINDER_S
        with self._taken:
            self._taken.wait_for(lambda: path not in self._taking, REMAINDER_S)
        if self._shared is not None:
            while self._shared.is_taken_elsewhere(path) and time.monotonic() < until:
                time.sleep(LOOK_ELSEWHERE_S)

    def _tell(self) -> None:
        if self._shared is not None:
            for place, path in enumerate([*self._taking, *[""] * REMAINDERS][:REMAINDERS]):
                self._shared.set_remainder(place, path)


class Remainder:
    """A request whose connection ended before its body did: what came is taken, and nobody is answered."""

    def __init__(self, channel: SiteChannel, request: IncomingRequest) -> None:
        self._channel = channel
        self._request = request
        channel.server.remainders.begin(request.path)

    def service(self) -> None:
        """Let the application have it."""
        environ = SiteTask(self._channel, self._request).get_environment()
        try:
            with closing(self._channel.server.application(environ, lambda *_: None)):
                pass
        finally:
            self.cancel()

    def cancel(self) -> None:
        """Be done with it; also where the server stops."""
        self._request.close()
        self._channel.server.remainders.end(self._request.path)


class Question:
    """Whether the body of a request is taken, asked in a thread: it needs the database."""

    def __init__(self, channel: SiteChannel, request: IncomingRequest) -> None:
        self._channel = channel
        self._request = request

    def service(self) -> None:
        """Ask the application's gate; what it raises is what the sender will be told."""
        request = self._request
        environ = SiteTask(self._channel, request).get_environment()
        try:
            admission = self._channel.server.door.gate.ask(environ, request.length)
        except Exception as refusal:
            request.refuse(refusal)
        else:
            limit = admission.limit if request.length is None else request.length
            request.take(OpenBody(limit, admission.owner))
        self._channel.answer_question(request)

    def cancel(self) -> None:
        """Ask no more: the server stops."""
        self._channel.cancel()


if sys.platform != "win32":
    import resource

THREADS = 8
LOOK_S = 1
"""Seconds between two looks for connections that are overdue."""
ACCEPTED_AT_ONCE = 64
POLITE_S = 0.001
"""How long a process that has more connections than another leaves the other a new one."""
MADE_FREE_AT_ONCE = 16
"""Connections that are ended together where there are too many: looking for them takes time."""
HEADER_BYTES = 2**15
RECEIVED_BYTES = 2**16
FILES = 256
"""Descriptors that are kept for other things than connections."""
UPLOADS_AT_ONCE = 16
"""Uploads of the largest size that may be on their way together."""
NO_LIMIT = 2**62
"""What waitress is told where this server has a limit of its own."""


class SiteServer(TcpWSGIServer):  # type: ignore[misc]
    """Waitress with connections that are timed and counted."""

    channel_class = SiteChannel

    def __init__(
        self, app: Flask, listening: socket.socket, settings: Settings, shared: Shared | None = None
    ) -> None:
        self.door = Door(Gate(app), OpenBodies(UPLOADS_AT_ONCE * settings.upload_bytes, shared))
        self.remainders = Remainders(shared)
        self._shared = shared
        processes = shared.memory.processes if shared else 1
        self._connections = _possible(ceil(settings.connections / processes))
        # Behind a proxy all connections come from its address.
        of_one = self._connections if settings.public_url else settings.address_connections
        self._of_one = ceil(of_one / processes)
        self._open: dict[str, set[SiteChannel]] = defaultdict(set)
        adj = Adjustments(
            sockets=[listening],
            threads=THREADS,
            connection_limit=NO_LIMIT,
            # Where select() is the only way, more than 1,024 connections would end the server.
            asyncore_use_poll=True,
            asyncore_loop_timeout=LOOK_S,
            cleanup_interval=LOOK_S,
            recv_bytes=RECEIVED_BYTES,
            max_request_body_size=NO_LIMIT,
            max_request_header_size=HEADER_BYTES,
            # They are believed from a proxy alone (web.security), but tell that one stands between.
            clear_untrusted_proxy_headers=False,
            ident=None,
        )
        dispatcher = ThreadedTaskDispatcher()
        dispatcher.set_thread_count(THREADS)
        about = (listening.family, listening.type, listening.proto, listening.getsockname())
        super().__init__(
            app, map={}, _sock=listening, dispatcher=dispatcher, adj=adj, sockinfo=about, bind_socket=False
        )
        self._tell()

    def handle_accept(self) -> None:
        """Take new connections, several at once; where there are too many, spare ones make room."""
        for taken in range(ACCEPTED_AT_ONCE):
            if self._shared is not None and self._shared.is_ahead():
                if taken:
                    return
                time.sleep(POLITE_S)
            try:
                accepted = self.accept()
            except OSError:
                # Gone again, or no descriptor left: those that wait are asked for at the next look.
                return
            if accepted is None:
                return
            self._take(*accepted)
            self._tell()

    def maintenance(self, now: float) -> None:
        """End the connections that are overdue."""
        moment = time.monotonic()
        for channel in list(self.active_channels.values()):
            if channel.is_overdue(moment):
                channel.handle_close()

    def forget(self, channel: SiteChannel) -> None:
        """Count a connection no more: it is closed."""
        mine = self._open[channel.network]
        mine.discard(channel)
        if not mine:
            del self._open[channel.network]
        self._tell()

    def _tell(self) -> None:
        if self._shared is not None:
            self._shared.set_connections(sum(map(len, self._open.values())))

    def _take(self, accepted: socket.socket, address: Any) -> None:
        try:
            self.set_socket_options(accepted)
            channel = self.channel_class(self, accepted, address, self.adj, map=self._map)
        except OSError:
            accepted.close()
            return
        mine = self._open[channel.network]
        mine.add(channel)
        if len(mine) > self._of_one:
            _make_room(channel, mine)
        elif len(self.active_channels) > self._connections:
            _make_room(channel, chain.from_iterable(self._open.values()))


def _make_room(new: SiteChannel, others: Iterable[SiteChannel]) -> None:
    """End those that have been spare for longest; where none is, the new connection."""
    spare = [channel for channel in others if channel is not new and channel.is_spare()]
    for channel in heapq.nsmallest(MADE_FREE_AT_ONCE, spare, key=lambda channel: channel.since) or [new]:
        channel.handle_close()


def _possible(wanted: int) -> int:
    """How many connections there can be: at most as many as the process may have files, less some."""
    if sys.platform == "win32":
        return wanted
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        most = wanted + FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, wanted + FILES), most))
    return max(1, min(wanted, most - FILES))


def serve(
    settings: Settings,
    listening: socket.socket,
    wake: Callable[[], None],
    shared: Shared | None = None,
    counter: WebCounter | None = None,
) -> None:
    """Answer requests on a bound socket until SIGTERM; wake is called when jobs were queued.

    shared: what this process shares with others that answer on the same socket; None where it is alone.
    counter: where it counts requests; its own where that is None.
    """
    memory.hold_together()
    memory.budget.most = settings.kept_bytes
    temporary.use(settings.data)
    temporary.clean(settings.data)
    database = Database(
        settings.url,
        settings.lock_wait_s,
        pool=settings.pool,
        replica_url=settings.replica_url,
        objects_url=settings.objects_url,
    )
    app = create_app(settings, database, wake, shared, counter)
    load_templates(app, settings.data)
    rehearse(app, database)
    server = SiteServer(app, listening, settings, shared)

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    try:
        server.run()
    finally:
        database.dispose()
