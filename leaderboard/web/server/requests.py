"""One request as it comes in: its header is read first, its body only where the application takes one."""

import re
import time
from dataclasses import dataclass
from typing import Any

from waitress.parser import HTTPRequestParser, ParsingError
from werkzeug.exceptions import RequestEntityTooLarge

from leaderboard.web.bodies import Gate, Look
from leaderboard.web.server.open_bodies import OpenBodies, OpenBody

BODY_GRACE_S = 10.0
BODY_RATE = 8 * 2**10
"""Bytes a second that a body must have come with on average, once the grace is over."""

AUTHORITY = re.compile(rb"(\[[0-9a-f:.]+\]|([a-z0-9._~!$&'()*+,;=-]|%[0-9a-f]{2})*)(:[0-9]*)?")
"""What `Host` may say, in small letters: RFC 3986, 3.2.2 and 3.2.3."""


@dataclass(frozen=True)
class Door:
    """What every request is let in by: the application's gate, and the count of open bodies."""

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
        """Read the header; where a body follows, look whether it is taken."""
        _require_one_reading(header_plus)
        super().parse_header(header_plus)
        if self.body_rcv is None:
            return
        self.began = time.monotonic()
        cookies, bearer = self.headers.get("COOKIE", ""), self.headers.get("AUTHORIZATION", "")
        look = self._door.gate.look(self.command, self.path, cookies, self.length, bearer)
        if look is Look.ASK:
            self.is_asking = True
            # Who asks before sending is told once that is known.
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
        """Read nothing of the body: the application answers by the header alone, and the connection ends."""
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
        """Make a request of what came of its body, where that is of use; whether it does."""
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
