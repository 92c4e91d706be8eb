"""Connections that do nothing end, and never keep others out."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from leaderboard import server
from tests.make.servers import TIMEOUT_S, Served, ending, served
from tests.web.conftest import Site

HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half"
MANY = 40
FEW = 5


def _half_open(site: Served, source: str) -> socket.socket:
    connection = site.connect(source)
    with suppress(ConnectionError):  # It may have been ended already.
        connection.sendall(HALF)
    return connection


@pytest.mark.parametrize("limit", ["connections", "address_connections"])
def test_half_open_connections_make_room(site: Site, limit: str) -> None:
    """With more half-sent headers than connections allowed others are answered, and the oldest are ended."""
    settings = replace(site.settings, **{limit: FEW})
    with served(site.app, settings) as running:
        sources = [
            f"127.0.0.{2 + number}" if limit == "connections" else "127.0.0.1" for number in range(MANY)
        ]
        opened = [_half_open(running, source) for source in sources]
        assert running.status("/healthz") == 200
        assert ending(opened[0]) == b""
        assert running.status("/tasks/robots") == 200
        assert len(running.server.active_channels) <= FEW + 1
        for connection in opened:
            connection.close()


def test_a_connection_at_work_is_not_ended_for_others(site: Site) -> None:
    """A body that is being received stays where half-sent headers come in numbers."""
    with served(site.app, replace(site.settings, address_connections=FEW)) as running:
        sending = running.connect()
        sending.sendall(
            b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"
        )
        assert sending.recv(12) == b"HTTP/1.1 100"
        assert sending.recv(100).endswith(b"\r\n\r\n")
        opened = [_half_open(running, "127.0.0.1") for _ in range(MANY)]
        assert ending(opened[0]) == b""
        sending.sendall(b"name=Berta")
        assert sending.recv(12) == b"HTTP/1.1 403"
        for connection in (sending, *opened):
            connection.close()


def test_half_a_header_is_not_waited_for(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header must come in time; a connection between two requests has longer."""
    with served(site.app, site.settings) as running:
        kept = running.client()
        kept.request("GET", "/healthz")
        assert kept.getresponse().read()
        monkeypatch.setattr(server, "HEADER_S", 0.0)
        with _half_open(running, "127.0.0.1") as half, running.connect() as silent:
            assert ending(half) == ending(silent) == b""
        kept.request("GET", "/healthz")
        assert kept.getresponse().status == 200
        kept.close()


def test_a_body_must_come_at_some_rate(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that trickles is ended once its grace is over."""
    monkeypatch.setattr(server, "BODY_GRACE_S", 0.0)
    monkeypatch.setattr(server, "BODY_RATE", 2**40)
    with served(site.app, site.settings) as running, running.connect() as slow:
        slow.sendall(b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nname=")
        assert ending(slow) == b""
        assert len(running.server.door.bodies) == 0


def test_an_answer_must_be_taken(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for much and reads nothing is left, so that no thread waits for him."""
    monkeypatch.setattr(server, "STALLED_S", 0.0)
    ended = threading.Event()
    monkeypatch.setattr(server.SiteChannel, "del_channel", _and_then(server.SiteChannel.del_channel, ended))
    with served(site.app, site.settings) as running, running.connect() as lazy:
        asked = b"GET /static/vendor/htmx-2.0.11.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with suppress(ConnectionError):  # It may be ended before all was asked for.
            lazy.sendall(asked * 400)
        assert ended.wait(TIMEOUT_S)


def _and_then(method: Callable[..., None], done: threading.Event) -> Callable[..., None]:
    def both(*arguments: object) -> None:
        method(*arguments)
        done.set()

    return both


def test_a_header_has_a_largest_size(site: Site) -> None:
    """A header larger than any browser's is refused."""
    with served(site.app, site.settings) as running:
        assert running.status("/healthz", headers={"X-Long": "x" * 40_000}) == 431
