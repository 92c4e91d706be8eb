"""Behaviour of a site under denial-of-service attacks: `python -m benchmarks.attacks`.

It starts `leaderboard serve --demo` on 127.0.0.1 with a folder of its own, attacks that site only, for a
minute or two, and prints what others saw meanwhile. Linux only: memory and open files are read from /proc.
"""

import argparse
import gzip
import http.client
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from benchmarks import measuring, table

HOST = "127.0.0.1"
BOARD = "/tasks/python-docs"
CLIENTS = 4
HALF_OPEN = ((0, 1), (1000, 1), (2000, 1), (2000, 40))
"""How many connections send half a header, and from how many addresses."""
BODIES = 20
BODY_BYTES = 8 * 2**20
BAD_LINES = 2_000_000
BOUNDARY = "attack"


@dataclass
class Site:
    """A running site: its port, the path that signs its organiser in, and its web process."""

    port: int
    link: str
    web: int


@contextmanager
def running(folder: Path) -> Iterator[Site]:
    """A demo site in that folder, stopped at the end."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", "from leaderboard.cli import main; main()", "serve", "--demo"]
    process = subprocess.Popen(
        [*command, "--data", str(folder / "data"), "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = next(match for line in process.stdout if (match := re.search(r"/sign-in/\S+", line)))
        while _status(port, "/healthz", 60) != 200 or not _is_idle(port):
            time.sleep(0.5)
        yield Site(port, found[0], _listener(process.pid, port))
    finally:
        process.terminate()
        process.wait()


def _listener(supervisor: int, port: int) -> int:
    """The child that answers: the one with most descriptors of sockets that listen on the port."""
    inodes = {
        line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines() if f":{port:04X} " in line
    }
    children = subprocess.run(["pgrep", "-P", str(supervisor)], capture_output=True, text=True).stdout.split()
    return max(map(int, children), key=lambda pid: len(inodes & _sockets(pid)))


def _sockets(pid: int) -> set[str]:
    return {found[1] for link in _open_files(pid) if (found := re.fullmatch(r"socket:\[(\d+)\]", link))}


def _open_files(pid: int) -> list[str]:
    links = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(os.readlink(entry))
        except FileNotFoundError:
            continue
    return links


def _status(port: int, path: str, timeout: float) -> int | None:
    """The status of an answer on a connection of its own; None where none came in time."""
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _is_idle(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    connection.request("GET", "/healthz")
    return b'"queued":0' in connection.getresponse().read().replace(b" ", b"")


def throughput(port: int, path: str, seconds: float) -> float:
    """Requests a second of a few clients that keep their connections."""
    counts = [0] * CLIENTS
    until = time.perf_counter() + seconds

    def ask(place: int) -> None:
        connection = http.client.HTTPConnection(HOST, port, timeout=60)
        while time.perf_counter() < until:
            connection.request("GET", path)
            connection.getresponse().read()
            counts[place] += 1
        connection.close()

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def half_open(port: int, count: int, addresses: int) -> tuple[str, int]:
    """Others' waits for /healthz in ms while clients send half a header; how many answers came."""
    opened = [_half(port, f"127.0.0.{1 + number % addresses}") for number in range(count)]
    times, answered = [], 0
    for _ in range(20):
        start = time.perf_counter()
        answered += _status(port, "/healthz", 6) == 200
        times.append((time.perf_counter() - start) * 1000)
    for one in opened:
        one.close()
    return f"{median(times):.0f} (at most {max(times):.0f})", answered


def _half(port: int, source: str) -> socket.socket:
    one = socket.create_connection((HOST, port), timeout=6, source_address=(source, 0))
    one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half")
    return one


def bodies(site: Site) -> tuple[int, float]:
    """How many large bodies without a cookie stay open, and how many MB of them the server keeps in files."""
    opened = []
    head = f"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: {2**31}\r\n\r\n".encode()
    for _ in range(BODIES):
        one = socket.create_connection((HOST, site.port), timeout=6)
        try:
            one.sendall(head)
            one.sendall(bytes(BODY_BYTES))
        except OSError:
            one.close()
            continue
        opened.append(one)
    kept = 0
    for entry in Path(f"/proc/{site.web}/fd").iterdir():
        if "(deleted)" in os.readlink(entry):
            kept += os.stat(entry).st_size
    for one in opened:
        one.close()
    return len(opened), kept / 2**20


def rejected(site: Site, lines: int) -> tuple[int, str, float, float, float]:
    """Status and state of a bad file, seconds until the answer, seconds and MB it cost the web process."""
    body = gzip.compress("".join(f"{line} Q0 d 1 1 t\n" for line in range(lines)).encode(), 6)
    connection = http.client.HTTPConnection(HOST, site.port, timeout=300)
    headers = {"Sec-Fetch-Site": "same-origin"}
    connection.request("POST", site.link, headers=headers)
    answer = connection.getresponse()
    answer.read()
    headers["Cookie"] = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    form = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/teams", urlencode({"name": f"Attack {lines}"}), form)
    answer = connection.getresponse()
    answer.read()
    team = (answer.getheader("Location") or "").rsplit("/", 1)[-1]
    _reset_peak(site.web)
    before, cpu = _memory(site.web, "VmRSS"), _seconds(site.web)
    start = time.perf_counter()
    headers |= {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Accept": "application/json"}
    connection.request("POST", f"{BOARD}/submit", _multipart({"team": team}, body), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    seconds = time.perf_counter() - start
    state = re.search(r'"state":\s*"(\w+)"', text)
    cost = _memory(site.web, "VmHWM") - before
    return answer.status, state[1] if state else "", seconds, _seconds(site.web) - cpu, cost


def _multipart(fields: dict[str, str], file: bytes) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="bad.gz"\r\n\r\n'.encode()
    return b"".join((*parts, head, file, f"\r\n--{BOUNDARY}--\r\n".encode()))


def _memory(pid: int, name: str) -> float:
    """A field of a process's status in MB."""
    line = next(
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(name)
    )
    return int(line.split()[1]) / 1024


def _reset_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _speed(site: Site) -> None:
    for path in ("/healthz", BOARD):
        throughput(site.port, path, 1)
        print(f"{path}: {throughput(site.port, path, 5):.0f} requests/s")


def _half_open(site: Site) -> None:
    for count, addresses in HALF_OPEN:
        times, answered = half_open(site.port, count, addresses)
        print(f"{count} half-open connections of {addresses} addresses: ", end="")
        print(f"/healthz in {times} ms, {answered} of 20 answered")


def _bodies(site: Site) -> None:
    opened, kept = bodies(site)
    print(f"{BODIES} bodies without a cookie, 8 MB of each sent: {opened} taken, {kept:.0f} MB kept in files")


def _rejected(site: Site) -> None:
    status, state, seconds, cpu, megabytes = rejected(site, BAD_LINES)
    print(f"{BAD_LINES:,} bad lines as .gz: {status} {state} after {seconds:.1f} s;", end=" ")
    print(f"the web process: {cpu:.1f} CPU s, {megabytes:.0f} MB more at its peak")


ATTACKS: dict[str, Callable[[Site], None]] = {
    "speed": _speed,
    "half-open": _half_open,
    "bodies": _bodies,
    "rejected": _rejected,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what the site did, one line for each attack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=ATTACKS, help="one of the attacks")
    given = parser.parse_args(arguments)
    print(table.facts(measuring.machine()))
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as site:
        for name, attack in ATTACKS.items():
            if given.only in (None, name):
                attack(site)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
