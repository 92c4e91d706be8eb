"""The site's own web server in a thread of the test, and raw connections to it."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from flask import Flask
from waitress import wasyncore

from leaderboard.server import SiteServer
from leaderboard.settings import Settings

HOST = "127.0.0.1"
TIMEOUT_S = 180
"""Far more than any answer takes: a busy machine is no fault of the server."""


@dataclass(frozen=True)
class Served:
    """A server that runs, and the port it listens on."""

    server: SiteServer
    port: int

    def connect(self, source: str = HOST) -> socket.socket:
        """A connection to it from an address of this machine."""
        return socket.create_connection((HOST, self.port), TIMEOUT_S, source_address=(source, 0))

    def client(self) -> http.client.HTTPConnection:
        """A client that keeps its connection."""
        return http.client.HTTPConnection(HOST, self.port, timeout=TIMEOUT_S)

    def status(self, path: str, method: str = "GET", **options: object) -> int:
        """The status of an answer on a connection of its own."""
        client = self.client()
        try:
            client.request(method, path, **options)  # type: ignore[arg-type]
            with client.getresponse() as answer:
                answer.read()
                return answer.status
        finally:
            client.close()


@contextmanager
def served(app: Flask, settings: Settings) -> Iterator[Served]:
    """The application behind the site's server on a free port, until the end."""
    with socket.create_server((HOST, 0)) as listening:
        server = SiteServer(app, listening, settings)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield Served(server, listening.getsockname()[1])
        finally:
            # A worker that ends its answer wakes the server too, which then may be closed before it is here.
            with suppress(OSError):
                server.trigger.pull_trigger(lambda: wasyncore.close_all(server._map))
            thread.join()
            server.task_dispatcher.shutdown()


def ending(connection: socket.socket) -> bytes:
    """All that still comes until the server ends the connection."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received
