"""A real server in a thread of the test's own that takes webhooks, and answers as it is told."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from leaderboard.settings import Settings

NETWORK = "127.0.0.0/8"


@dataclass
class Receiver:
    """What came in: path, headers in small letters, body; `answers` are its next ones, then it takes all."""

    port: int = 0
    taken: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)

    def address(self, host: str = "127.0.0.1", path: str = "/hook") -> str:
        """Where it takes webhooks."""
        return f"http://{host}:{self.port}{path}"


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A server on this machine."""
    received = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            headers = {key.lower(): value for key, value in self.headers.items()}
            received.taken.append((self.path, headers, self.rfile.read(length)))
            status, more, body = received.answers.pop(0) if received.answers else (204, {}, b"")
            self.send_response(status)
            for key, value in more.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Be quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def settings_of(**more: Any) -> Settings:
    """Settings that let webhooks go to this machine."""
    return Settings(webhook_networks=NETWORK, **more)
