"""How many pages a second a real site gives to eight visitors at once: `python -m benchmarks.load --help`.

Eight clients of one connection each ask for the same page again and again, over loopback, packed as browsers
ask for it. With wrk on the machine it does the asking; else Python does, which takes more of the same
processors than wrk and so gives lower numbers.
"""

import argparse
import http.client
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import measuring, table
from benchmarks.pages import Site, fill
from leaderboard.db.engine import Database
from tests.make.sites import running_site

SIZE = Site(143, 50, 100, 300, 200)
PAGES = (
    ("board of 143 runs", "/tasks/t"),
    ("run", "/runs/1"),
    ("ranking", "/runs/1/topics/1"),
    ("topic", "/tasks/t/topics/1"),
)
CLIENTS = 8
HEADERS = {"Accept-Encoding": "gzip, deflate, br, zstd"}
RATE = re.compile(r"Requests/sec:\s+([\d.]+)")


def rate(address: str, seconds: float, *, by_wrk: bool) -> float:
    """Answers a second to CLIENTS visitors; raises SystemExit where one is not 200."""
    if by_wrk:
        heads = [part for name, value in HEADERS.items() for part in ("-H", f"{name}: {value}")]
        command = ["wrk", "-t1", f"-c{CLIENTS}", f"-d{max(1, round(seconds))}s", *heads, address]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found = RATE.search(said)
        if found is None or "Non-2xx" in said:
            raise SystemExit(said)
        return float(found[1])
    counts = [0] * CLIENTS
    end = time.perf_counter() + seconds
    asking = [threading.Thread(target=_ask, args=(address, end, counts, at)) for at in range(CLIENTS)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    return sum(counts) / seconds


def size(address: str) -> tuple[int, int]:
    """Bytes of a page as it is, and as it is sent."""
    plain, sent = (len(_answer(_connected(address), address, heads)) for heads in ({}, HEADERS))
    return plain, sent


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="for each page")
    given = parser.parse_args(arguments)
    by_wrk = shutil.which("wrk") is not None
    print(table.facts({**measuring.machine(), "asked by": "wrk" if by_wrk else "Python"}))
    print("| page | KB | KB sent | made each time, 1/s | kept, 1/s |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "site"
        data.mkdir(mode=0o700)
        database = Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")
        fill(database, data, SIZE)
        database.dispose()
        rates: dict[str, list[float]] = {}
        sizes = {}
        for kept in ("0", str(64 * 2**20)):
            with running_site(data, environ={**os.environ, "LEADERBOARD_KEPT_BYTES": kept}) as site:
                for title, path in PAGES:
                    sizes[title] = size(site.address + path)
                    rates.setdefault(title, []).append(
                        rate(site.address + path, given.seconds, by_wrk=by_wrk)
                    )
    for title, (made, again) in rates.items():
        whole, sent = sizes[title]
        print(f"| {title} | {whole / 1024:.0f} | {sent / 1024:.0f} | {made:.0f} | {again:.0f} |")


def _ask(address: str, end: float, counts: list[int], at: int) -> None:
    connection = _connected(address)
    while time.perf_counter() < end:
        _answer(connection, address, HEADERS)
        counts[at] += 1
    connection.close()


def _connected(address: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)


def _answer(connection: http.client.HTTPConnection, address: str, heads: dict[str, str]) -> bytes:
    connection.request("GET", urlsplit(address).path, headers=heads)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{address} answered {answer.status}")
    return body


if __name__ == "__main__":
    main()
