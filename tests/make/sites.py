"""Sites that answer on a port: a real one in processes of its own, or the application in a thread."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from werkzeug.serving import make_server

from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from tests.make.apps import application
from tests.make.memory import lend_templates

FEW = {"LEADERBOARD_WEB_PROCESSES": "1", "LEADERBOARD_EVALUATORS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Of the environment of a site with one process of each kind: each takes seconds to start. Nor has a process
a second thread of NumPy's library, which spins for a tenth of a second.

Tests start sites so unless they are about several.
"""
MANY = {"LEADERBOARD_WEB_PROCESSES": "2", "LEADERBOARD_EVALUATORS": "2"}
START_S = STOP_S = 180
"""Far more than either takes: a busy machine is no fault of the site."""


@dataclass
class Site:
    """A running site: address, one-time sign-in link if there is one, process and output so far."""

    address: str
    sign_in: str
    process: subprocess.Popen[str]
    output: list[str]
    reader: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        """Read what it says: a process whose pipe is full waits for ever."""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output.append(line.rstrip("\n"))

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Ask it to stop, as Ctrl-C does; its exit code."""
        self.process.send_signal(number)
        self.process.wait(timeout=STOP_S)
        self.reader.join(timeout=STOP_S)
        return self.process.returncode


def all_answer(site: Site, count: int, told: str = " web-{} ") -> None:
    """Wait until so many web processes of the site answer, as its log tells: in these words."""
    waiting, held = {told.format(number + 1) for number in range(count)}, []
    until = time.monotonic() + START_S
    while waiting:
        assert time.monotonic() < until, f"{waiting} did not answer"
        # Held open, as a new one goes to the process that has the fewest.
        held.append(HTTPConnection(urlsplit(site.address).netloc, timeout=START_S))
        held[-1].request("GET", "/healthz")
        held[-1].getresponse().read()
        time.sleep(0.05)
        waiting = {name for name in waiting if not any(name in line for line in list(site.output))}
    for connection in held:
        connection.close()


def web_processes(site: Site) -> list[int]:
    """The process ids of a site's web processes, where it has several: those that have their lock open."""
    found = []
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):  # It may have ended, or is another user's.
            parent = (folder.parent / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == site.process.pid and any(_leads_to_lock(link) for link in folder.iterdir()):
                found.append(int(folder.parent.name))
    return sorted(found)


def _leads_to_lock(link: Path) -> bool:
    with suppress(FileNotFoundError):
        return link.readlink().name == "web.lock"
    return False


def free_port() -> int:
    """A port nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running_site(
    data: Path,
    *options: str,
    command: Sequence[str] = (),
    cwd: Path | None = None,
    environ: dict[str, str] | None = None,
    from_nothing: bool = False,
) -> Iterator[Site]:
    """`leaderboard serve` on a free port, stopped at the end.

    from_nothing: the folder is left as it is, so that the site makes all of it and compiles its templates.
    """
    if not from_nothing:
        lend_templates(data)
    start = list(command) or [str(Path(sys.executable).parent / "leaderboard")]
    process = subprocess.Popen(
        [*start, "serve", "--data", str(data), "--port", str(free_port()), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=cwd,
        env=environ,
    )
    site = _started(process)
    try:
        yield site
    finally:
        if process.poll() is None:
            site.stop()
        site.reader.join(timeout=STOP_S)
        assert process.stdout is not None
        process.stdout.close()


def _started(process: subprocess.Popen[str]) -> Site:
    assert process.stdout is not None
    pipe, text = process.stdout.fileno(), ""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if not select.select([pipe], [], [], 1)[0]:
            continue
        # Not readline: its buffer would hide lines from select.
        piece = os.read(pipe, 65536).decode()
        text += piece
        if "Press Ctrl-C to stop." in text:
            [address] = re.findall(r"is at (http://\S+)/\n", text)
            link = re.search(r"http://\S+/sign-in/\S+", text)
            return Site(address, link[0] if link else "", process, text.splitlines())
        if not piece:
            break
    process.kill()
    process.wait()
    raise AssertionError(f"the site did not start:\n{text}")


@contextmanager
def application_thread(database: Database, data: Path, **more: Any) -> Iterator[str]:
    """The address of the application over a database, answered by this process without evaluators.

    more are settings of it.
    """
    url = database.engine.url.render_as_string(False)
    app = application(Settings(data=data, database_url=url, **more), database)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
