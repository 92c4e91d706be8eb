"""The web server: waitress with limits on connections, bodies and slow clients."""

import heapq
import re
import signal
import socket
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import ceil
from types import FrameType
from typing import Any

from flask import Flask
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, ThreadedTaskDispatcher, WSGITask
from werkzeug.exceptions import RequestEntityTooLarge

from leaderboard import memory, temporary
from leaderboard.application import create_app, load_templates
from leaderboard.core.throttles import network
from leaderboard.db.engine import Database
from leaderboard.errors import Busy
from leaderboard.logs import WebCounter
from leaderboard.settings import Settings
from leaderboard.shared import LARGE_BODIES, REMAINDERS, Shared
from leaderboard.site.web.rehearsal import rehearse
from leaderboard.web.http import HEADERS
from leaderboard.web.rules import ADMITTED, REFUSAL, Gate, Look

SMALL_BODIES = 32 * 2**20
"""Total memory of small bodies, in bytes."""
OF_ONE_OWNER = 4
"""Large bodies that one account sends at a time."""
SHARE_OF_ONE_OWNER = 8
"""One account has an eighth of the bytes at most, or one body."""
RETRY_AFTER_S = 30
SOMEBODY = "somebody else"
"""Sender of a body to another process, if it is not the account that is checked."""


@dataclass(frozen=True, eq=False)
class OpenBody:
    """A body that is being received, of at most `limit` bytes; owner: the account that sends a large one."""

    limit: int
    owner: str = ""

    @property
    def is_large(self) -> bool:
        """Whether it is kept in a file."""
        return bool(self.owner)


class OpenBodies:
    """The bodies that are open; its methods may be called from any thread.

    room: bytes that large bodies may have together, those of other web processes too.
    """

    def __init__(self, room: int, shared: Shared | None = None) -> None:
        self._room = room
        self._shared = shared
        self._lock = threading.Lock()
        self._open: set[OpenBody] = set()
        self._places: dict[OpenBody, int] = {}

    def add(self, body: OpenBody) -> None:
        """Count a body as open; raises Busy where there are too many already."""
        with self._locked(body):
            others = [other for other in self._open if other.is_large == body.is_large]
            if body.is_large:
                others += self._elsewhere(body.owner)
                self._require_share([other for other in others if other.owner == body.owner], body)
                if len(others) >= LARGE_BODIES or (others and _bytes(others, body) > self._room):
                    raise _busy("Too many files are being uploaded")
            elif _bytes(others, body) > SMALL_BODIES:
                raise _busy("Too many forms are being sent")
            self._open.add(body)
            self._tell(body)

    def remove(self, body: OpenBody) -> None:
        """Count a body as done; one that is not open is skipped."""
        with self._locked(body):
            self._open.discard(body)
            place = self._places.pop(body, None)
            if self._shared is not None and place is not None:
                self._shared.set_body(place, "", 0)

    @contextmanager
    def _locked(self, body: OpenBody) -> Iterator[None]:
        # Small bodies are counted by the thread that accepts connections, which should wait for no process.
        everywhere = self._shared.locked() if self._shared is not None and body.is_large else nullcontext()
        with everywhere, self._lock:
            yield

    def _elsewhere(self, owner: str) -> list[OpenBody]:
        bodies = self._shared.bodies_elsewhere(owner) if self._shared is not None else []
        return [OpenBody(limit, owner if is_own else SOMEBODY) for is_own, limit in bodies]

    def _tell(self, body: OpenBody) -> None:
        if self._shared is not None and body.is_large:
            place = min(set(range(LARGE_BODIES)) - set(self._places.values()))
            self._places[body] = place
            self._shared.set_body(place, body.owner, body.limit)

    def __len__(self) -> int:
        """Number of open connections."""
        return len(self._open)

    def _require_share(self, own: list[OpenBody], body: OpenBody) -> None:
        share = self._room // SHARE_OF_ONE_OWNER
        if len(own) >= OF_ONE_OWNER or (own and _bytes(own, body) > share):
            raise _busy("Your account is uploading other files")


def _bytes(others: list[OpenBody], body: OpenBody) -> int:
    return body.limit + sum(other.limit for other in others)


def _busy(reason: str) -> Busy:
    return Busy(f"{reason}. Try again in half a minute.", retry_after_s=RETRY_AFTER_S)


BODY_GRACE_S = 10.0
BODY_RATE = 8 * 2**10
"""Minimum average rate of a body in bytes per second, once the grace period is over."""

AUTHORITY = re.compile(rb"(\[[0-9a-f:.]+\]|([a-z0-9._~!$&'()*+,;=-]|%[0-9a-f]{2})*)(:[0-9]*)?")
"""Allowed values of `Host`, in lower case: RFC 3986, 3.2.2 and 3.2.3."""


@dataclass(frozen=True)
class Door:
    """Entrance of every request: the application's gate, and the count of open bodies."""

    gate: Gate
    bodies: OpenBodies


class IncomingRequest(HTTPRequestParser):  # type: ignore[misc]
    """A request that is being received.

    is_asking: its header is there and a thread finds out whether its body is taken. refusal: why it is not.
    """

    expect_continue: bool

    def __init__(self, adj: Any, door: Door) -> None:
        super().__init__(adj)
        self.began = time.monotonic()
        self.is_asking = False
        self.is_unread = False
        self.refusal: Exception | None = None
        self._door = door
        self._open: OpenBody | None = None
        self._wants_continue = False

    def parse_header(self, header_plus: bytes) -> None:
        """Read the header; if a body follows, check whether it is accepted."""
        _require_one_reading(header_plus)
        super().parse_header(header_plus)
        if self.body_rcv is None:
            return
        self.began = time.monotonic()
        cookies, bearer = self.headers.get("COOKIE", ""), self.headers.get("AUTHORIZATION", "")
        look = self._door.gate.look(self.command, self.path, cookies, self.length, bearer)
        if look is Look.ASK:
            self.is_asking = True
            # A client that asks before sending gets its answer once that is known.
            self._wants_continue = self.expect_continue
            self.expect_continue = False
        elif look is Look.REFUSE:
            self.refuse(RequestEntityTooLarge())
        else:
            self.take(OpenBody(self._door.gate.small if self.length is None else self.length))

    @property
    def length(self) -> int | None:
        """Bytes of the body, None where its header does not say."""
        return None if self.chunked else self.content_length

    def take(self, body: OpenBody) -> None:
        """Receive the body, or refuse it where too many are open."""
        self.is_asking = False
        try:
            self._door.bodies.add(body)
        except Exception as busy:
            self.refuse(busy)
            return
        self._open = body
        if self._wants_continue:
            self.expect_continue = True

    def refuse(self, reason: Exception) -> None:
        """Do not read the body: the application answers by the header alone, and the connection ends."""
        self.refusal, self.is_unread, self.is_asking = reason, True, False
        self.close()
        self.body_rcv, self.chunked, self.content_length = None, False, 0
        self.headers.pop("CONTENT_LENGTH", None)
        self.headers["CONNECTION"] = "close"
        self.expect_continue = False
        self.completed = self.headers_finished = True

    def received(self, data: bytes) -> int:
        """Take in bytes; how many were consumed."""
        try:
            consumed: int = super().received(data)
        except OSError as error:
            self.refuse(error)
            return len(data)
        if self._open is not None and self.body_bytes_received > self._open.limit:
            self.refuse(RequestEntityTooLarge())
        # What follows a refused header is its body, not another request.
        return len(data) if self.is_unread else consumed

    def end_early(self) -> bool:
        """Make a request from the received part of its body, where that is useful; whether it does."""
        if self.completed or self._open is None or self.body_rcv is None:
            return False
        came = len(self.body_rcv)
        if not came or not self._door.gate.keeps_parts(self.command, self.path):
            return False
        self.headers["CONTENT_LENGTH"] = str(came)
        return True

    def is_late(self, moment: float) -> bool:
        """Whether its body comes too slowly."""
        due = BODY_RATE * (moment - self.began - BODY_GRACE_S)
        return self._open is not None and not self.completed and self.body_bytes_received < due

    def close(self) -> None:
        """Give its body up."""
        super().close()
        if self._open is not None:
            self._door.bodies.remove(self._open)


def _require_one_reading(header_plus: bytes) -> None:
    """Raise ParsingError for a header that a proxy could read otherwise; RFC 9112, 3.2, 5.2 and 6.1.

    Who hides a request in another one's body relies on the two taking its length from different lines.
    """
    first, *lines = header_plus.split(b"\r\n")
    version = first.rstrip().rpartition(b" HTTP/")[2]
    if any(line.startswith((b" ", b"\t")) for line in lines):
        raise ParsingError("A header line may not be folded.")
    given: dict[bytes, list[bytes]] = {}
    for line in lines:
        name, _, value = line.partition(b":")
        given.setdefault(name.strip().lower(), []).append(value.strip(b" \t").lower())
    codings = given.get(b"transfer-encoding", [])
    if codings and b"content-length" in given:
        raise ParsingError("Transfer-Encoding and Content-Length exclude each other.")
    if codings and version != b"1.1":
        raise ParsingError("Only HTTP/1.1 has Transfer-Encoding.")
    if len(codings) > 1 or b"" in codings or any(b"," in coding for coding in codings):
        raise ParsingError("Transfer-Encoding must be given once, as chunked.")
    for name in (b"content-length", b"host"):
        if len(given.get(name, [])) > 1:
            raise ParsingError(f"{name.decode().title()} must be given once.")
    hosts = given.get(b"host", [])
    if not hosts and version == b"1.1":
        raise ParsingError("Host must be given.")
    if not all(map(AUTHORITY.fullmatch, hosts)):
        raise ParsingError("Host must be a name or an address, and may have a port.")


HEADER_S = 10.0
"""Limit for receiving a whole header, from the start of the connection or request."""
IDLE_S = 75.0
"""Seconds that an idle connection is kept between two requests."""
STALLED_S = 30.0
"""Seconds for which a client may read nothing of an answer."""
REMAINDER_S = 5.0
"""Seconds that a request waits for a cut-off one to the same address."""
LOOK_ELSEWHERE_S = 0.02
"""Between two looks whether another process is done with it."""
LINGER_S = 5.0
"""Seconds that a refused body is still read, so that its sender sees the answer and no broken connection."""


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
        """Answer with the error."""
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
        """Take in bytes; those that follow a refused header are skipped."""
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
        """Whether more may be read: not while the gate decides on the body."""
        if self.is_draining:
            return True
        return not self._has_question and bool(super().readable())

    def answer_question(self, request: IncomingRequest) -> None:
        """Continue a request after the gate's decision; called by the thread that asked."""
        with self.requests_lock:
            self._has_question = False
            if request.is_unread:
                self.requests.append(request)
                self.request = None
                self.server.add_task(self)
            elif request.expect_continue:
                self.send_continue()
        self.server.pull_trigger()

    def _flush_some(self, do_close: bool = True) -> bool:
        # Without a task waitress takes no lock here, as it knows nothing of the thread that asks the gate.
        with self.outbuf_lock:
            return bool(super()._flush_some(do_close))

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
        """Close the connection; of partly received bodies, only pieces of uploads are used."""
        request, self.request = self.request, None
        if request is not None and request.end_early():
            self.server.add_task(Remainder(self, request))
        elif request is not None:
            request.close()
        self.server.forget(self)
        super().handle_close()


class Remainders:
    """The addresses whose cut-off uploads are being stored, by any process that shares it."""

    def __init__(self, shared: Shared | None = None) -> None:
        self._shared = shared
        self._taking: Counter[str] = Counter()
        self._taken = threading.Condition()

    def begin(self, path: str) -> None:
        """An upload to this address is to be stored."""
        with self._taken:
            self._taking[path] += 1
            self._tell()

    def end(self, path: str) -> None:
        """It was stored."""
        with self._taken:
            self._taking[path] -= 1
            self._taking += Counter()
            self._tell()
            self._taken.notify_all()

    def wait_for(self, path: str) -> None:
        """Wait briefly until nothing of this address is being stored."""
        # Who was cut off asks at once how much came: before it is stored the answer would be too low, and the
        # same bytes would be sent again.
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
        """Pass it to the application."""
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
    """Whether the body of a request is accepted, decided in a thread: it needs the database."""

    def __init__(self, channel: SiteChannel, request: IncomingRequest) -> None:
        self._channel = channel
        self._request = request

    def service(self) -> None:
        """Ask the application's gate; what it raises is the answer to the sender."""
        request = self._request
        environ = SiteTask(self._channel, request).get_environment()
        try:
            limit, owner = self._channel.server.door.gate.ask(environ, request.length)
        except Exception as refusal:
            request.refuse(refusal)
        else:
            request.take(OpenBody(limit if request.length is None else request.length, owner))
        self._channel.answer_question(request)

    def cancel(self) -> None:
        """Cancel the question: the server stops."""
        self._channel.cancel()


if sys.platform != "win32":
    import resource

THREADS = 8
LOOK_S = 1
"""Seconds between two checks for overdue connections."""
ACCEPTED_AT_ONCE = 64
POLITE_S = 0.001
"""Seconds for which a process with more connections leaves a new one to another."""
MADE_FREE_AT_ONCE = 16
"""Connections that are ended together where there are too many: finding them takes time."""
HEADER_BYTES = 2**15
RECEIVED_BYTES = 2**16
SERVING_FILES = 256
"""Descriptors that are kept for other things than connections."""
UPLOADS_AT_ONCE = 16
"""Uploads of the largest size that may be on their way together."""
NO_LIMIT = 2**62
"""Limits given to waitress where this server has its own."""


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
            # They are trusted from a proxy only (web.http), but show that there is one.
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
        """Accept new connections, several at once; where there are too many, spare ones make room."""
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
        """Stop counting a connection: it is closed."""
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
    """End those that have been spare for longest; if none is, the new connection."""
    spare = [channel for channel in others if channel is not new and channel.is_spare()]
    for channel in heapq.nsmallest(MADE_FREE_AT_ONCE, spare, key=lambda channel: channel.since) or [new]:
        channel.handle_close()


def _possible(connections: int) -> int:
    """Maximum number of connections: the process's limit of open files, less some."""
    if sys.platform == "win32":
        return connections
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        most = connections + SERVING_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, connections + SERVING_FILES), most))
    return max(1, min(connections, most - SERVING_FILES))


def serve(
    settings: Settings,
    listening: socket.socket,
    wake: Callable[[], None],
    shared: Shared | None = None,
    counter: WebCounter | None = None,
) -> None:
    """Answer requests on a bound socket until SIGTERM; wake is called when jobs were queued.

    shared: what this process shares with others that answer on the same socket; None where it is alone.
    counter: where it counts requests; its own if that is None.
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
