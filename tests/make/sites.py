"""A real site in processes of its own, for tests that need one."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_S = STOP_S = 180
"""Far more than either takes: a busy machine is no fault of the site."""


@dataclass
class Site:
    """A running site: its address, the one-time sign-in link, its process and its output so far."""

    address: str
    sign_in: str
    process: subprocess.Popen[str]
    output: list[str]

    def stop(self) -> int:
        """Ask it to stop as Ctrl-C does; its exit code."""
        self.process.send_signal(signal.SIGINT)
        self.output += self.process.communicate(timeout=STOP_S)[0].splitlines()
        return self.process.returncode


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
) -> Iterator[Site]:
    """`leaderboard serve` on a free port, stopped at the end."""
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
        found = re.search(r"(http://\S+)/sign-in/\S+\n", text)
        if found:
            return Site(found[1], found[0].strip(), process, text.splitlines())
        if not piece:
            break
    process.kill()
    process.wait()
    raise AssertionError(f"the site did not start:\n{text}")
