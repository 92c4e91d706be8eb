"""The web process's server: accepts connections, ends those that are overdue, makes room for new ones."""

import heapq
import signal
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from math import ceil
from types import FrameType
from typing import Any

from flask import Flask
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from leaderboard import memory, temporary
from leaderboard.counters import WebCounter
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from leaderboard.shared import Shared
from leaderboard.web import create_app, load_templates
from leaderboard.web.bodies import Gate
from leaderboard.web.rehearsal import rehearse
from leaderboard.web.server.channels import Remainders, SiteChannel
from leaderboard.web.server.open_bodies import OpenBodies
from leaderboard.web.server.requests import Door

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
