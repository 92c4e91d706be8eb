"""Object stores: a folder for quick tests; a SeaweedFS of a test's own, which speaks S3 and can be killed."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaderboard.db.engine import Database
from leaderboard.errors import StoreAway
from leaderboard.objects import ObjectStore
from tests.make.sites import free_port

START_S = 60
BUCKET = "files"
PORTS = (
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
)


def folder_store(database: Database, folder: Path) -> Path:
    """Give a database a store that is a folder; where its objects are."""
    place = folder / "objects"
    database.objects = ObjectStore(place.as_uri())
    return place


def objects_in(place: Path) -> list[Path]:
    """The objects of a store that is a folder."""
    return sorted(path for path in place.rglob("*") if path.is_file())


def program() -> str | None:
    """Where SeaweedFS is: beside this Python, or on the path."""
    return shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")


@dataclass
class S3Server:
    """A server of S3 on a port of its own; what it was given stays in its folder when it is killed."""

    home: Path
    port: int = field(default_factory=free_port)
    others: tuple[int, ...] = field(default_factory=lambda: tuple(free_port() for _ in (*PORTS, "s3")))
    process: subprocess.Popen[bytes] | None = None

    @property
    def environ(self) -> dict[str, str]:
        """What a program needs to speak to it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "of-this-test-alone",
        }

    def start(self) -> None:
        """Start it, with what it has, and wait until it stores and gives back."""
        numbers = [
            f"-{name}={port}" for name, port in zip((*PORTS, "s3.port.grpc"), self.others, strict=True)
        ]
        command = [
            str(program()),
            "server",
            "-s3",
            "-s3.port.iceberg=0",
            f"-s3.port={self.port}",
            "-dir=data",
        ]
        (self.home / "data").mkdir(exist_ok=True)
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "-ip=127.0.0.1", "-volume.max=8", "-master.volumeSizeLimitMB=64", *numbers],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.home,
                env={**os.environ, **self.environ},
                start_new_session=True,
            )
        self._wait()

    def _wait(self) -> None:
        store, until = ObjectStore(f"s3://{BUCKET}/probe"), time.monotonic() + START_S
        while time.monotonic() < until:
            try:
                store.put("probe", [b"probe"])
                store.open("probe", 5).close()
                return
            except StoreAway:
                time.sleep(0.1)
        raise AssertionError((self.home / "log").read_text(errors="replace"))

    def kill(self) -> None:
        """Kill it with all its threads, in the middle of whatever it does."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


@contextmanager
def seaweed(monkeypatch: Any) -> Iterator[S3Server]:
    """A SeaweedFS that runs; this process and those it starts speak to it by their environment."""
    with tempfile.TemporaryDirectory(prefix="seaweed-") as folder:
        server = S3Server(Path(folder))
        for name, value in server.environ.items():
            monkeypatch.setenv(name, value)
        try:
            server.start()
            yield server
        finally:
            server.kill()
