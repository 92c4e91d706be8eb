"""A PostgreSQL server of the test session's own, where the binaries are found."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDERS = ["/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt"]


def binaries() -> Path | None:
    """The folder of initdb and pg_ctl, None where PostgreSQL is not installed."""
    for root in FOLDERS:
        found = sorted(Path(root).glob("*/bin/initdb")) if Path(root).is_dir() else []
        if found:
            return found[-1].parent
    found_on_path = shutil.which("initdb")
    return Path(found_on_path).parent if found_on_path else None


@contextmanager
def server() -> Iterator[str]:
    """A running server's URL without database name; it refuses to run as root, so root steps down."""
    folder = binaries()
    assert folder is not None
    home = Path(tempfile.mkdtemp(prefix="leaderboard-pg-"))
    user = _plain_user(home)
    port = _free_port()

    def run(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, user=user, cwd=home)

    run(
        str(folder / "initdb"),
        "-D",
        str(home / "data"),
        "-U",
        "tester",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
    )
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home} -c fsync=off"
    run(
        str(folder / "pg_ctl"),
        "-D",
        str(home / "data"),
        "-o",
        options,
        "-w",
        "-l",
        str(home / "log"),
        "start",
    )
    try:
        yield f"postgresql+psycopg://tester@127.0.0.1:{port}"
    finally:
        run(str(folder / "pg_ctl"), "-D", str(home / "data"), "-m", "immediate", "stop")
        shutil.rmtree(home, ignore_errors=True)


def _plain_user(home: Path) -> int | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(home, entry.pw_uid, entry.pw_gid)
        return entry.pw_uid
    raise RuntimeError("no unprivileged user to run PostgreSQL as")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
