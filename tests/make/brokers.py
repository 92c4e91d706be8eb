"""Brokers of a test's own, in a folder of their own, that can be killed with all they hold."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.make.sites import free_port

START_S = 180
RABBITS = "/usr/lib/rabbitmq/lib"
"""Where Debian keeps RabbitMQ; its command on the path is for root and changes to another user."""


@dataclass
class Broker:
    """A broker on a port of its own."""

    url: str
    port: int
    home: Path
    command: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it without any data and wait until it listens."""
        (self.home / "data").mkdir(mode=0o700)
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **self.environ},
                start_new_session=True,
            )
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError((self.home / "log").read_text(errors="replace"))

    def lose(self) -> None:
        """Kill it, unless it is dead, and throw all it holds away."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
        shutil.rmtree(self.home / "data", ignore_errors=True)

    def freeze(self) -> None:
        """Let it answer nothing from now on, though connections to it stay open."""
        assert self.process is not None, "it runs"
        os.killpg(self.process.pid, signal.SIGSTOP)


def has_redis() -> bool:
    """Whether Redis is installed."""
    return shutil.which("redis-server") is not None


def has_rabbit() -> bool:
    """Whether RabbitMQ is installed."""
    return _rabbit() is not None and shutil.which("epmd") is not None


def _rabbit() -> Path | None:
    return next(iter(Path(RABBITS).glob("*/sbin/rabbitmq-server")), None)


@contextmanager
def redis() -> Iterator[Broker]:
    """A Redis that runs."""
    with _home() as home:
        port = free_port()
        command = (
            "redis-server",
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(home),
        )
        yield from _running(Broker(f"redis://127.0.0.1:{port}/0", port, home, command))


@contextmanager
def rabbit() -> Iterator[Broker]:
    """A RabbitMQ that runs."""
    program = _rabbit()
    assert program is not None
    with _home() as home:
        port, names = free_port(), str(free_port())
        environ = {
            "HOME": str(home),
            "RABBITMQ_MNESIA_BASE": str(home / "data"),
            "RABBITMQ_LOG_BASE": str(home),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
            "RABBITMQ_NODENAME": f"leaderboard{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": names,
        }
        try:
            broker = Broker(f"amqp://guest:guest@127.0.0.1:{port}//", port, home, (str(program),), environ)
            yield from _running(broker)
        finally:
            _end_names(names)


def _end_names(port: str) -> None:
    """End the process that Erlang leaves behind to know the names of nodes; it refuses while it knows one."""
    until = time.monotonic() + START_S
    while subprocess.run(["epmd", "-port", port, "-kill"], capture_output=True, check=False).returncode:
        assert time.monotonic() < until, "epmd does not end"
        time.sleep(0.05)


@contextmanager
def _home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="leaderboard-broker-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _running(broker: Broker) -> Iterator[Broker]:
    broker.start()
    try:
        yield broker
    finally:
        broker.lose()
