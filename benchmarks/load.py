"""How many pages a second a real site gives to eight visitors at once: `python -m benchmarks.load --help`.

Eight clients of one connection each ask for the same page again and again, over loopback, packed as browsers
ask for it. With wrk on the machine it does the asking; else Python does, which takes more of the same
processors than wrk and so gives lower numbers. Sites of one web process and of several run at the same time
and are asked in turn, in rounds of which the medians are printed: whatever else goes on slows all alike.
"""

import argparse
import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit, urlunsplit

from benchmarks import measuring, table
from benchmarks.pages import Site, fill
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.demo import SLUG
from leaderboard.settings import Settings
from leaderboard.site.ops.demo import loading
from leaderboard.worker import Evaluator
from tests.make.sites import all_answer, running_site

SIZE = Site(143, 50, 100, 300, 200)
DEMO, MADE_UP = "demo", "143 runs"
TOPICS = {DEMO: "PY001", MADE_UP: "1"}
TASKS = {DEMO: SLUG, MADE_UP: "t"}
RUNS = {DEMO: 14, MADE_UP: SIZE.runs}
CLIENTS = 8
ROUNDS = 5
HEADERS = {"Accept-Encoding": "gzip, deflate, br, zstd"}
MADE, ANEW = "made each time", {"Cookie": "theirs=1"}
"""Who sends a cookie, even one that means nothing here, never gets a kept page."""
RATE = re.compile(r"Requests/sec:\s+([\d.]+)")
LATENCY = re.compile(r"^\s+(50|99)%\s+([\d.]+)(us|ms|s)\s*$", re.MULTILINE)
MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
HEADS = (
    *("site", "page", "KB", "KB sent", "web processes"),
    *("made each time, 1/s", "kept, 1/s", "median ms", "99 % ms", "unchanged, 1/s", "median ms"),
)


@dataclass(frozen=True)
class Load:
    """What CLIENTS visitors were given: answers a second, and after how many milliseconds each came."""

    rate: float
    median_ms: float
    slow_ms: float
    """Of a hundred answers one took longer."""


def load(address: str, seconds: float, *, by_wrk: bool, known: str = "") -> Load:
    """Ask for a page; raises SystemExit for an answer that is not 200 or, to who knows its tag, 304."""
    heads = HEADERS
    if known:
        heads = {**HEADERS, **(ANEW if known == MADE else {"If-None-Match": known})}
    return _by_wrk(address, seconds, heads) if by_wrk else _by_python([address], seconds, heads)


def first_views(addresses: Sequence[str]) -> Load:
    """CLIENTS visitors ask for each of the addresses once, one after the other."""
    return _by_python(addresses, None, HEADERS)


def size(address: str) -> tuple[int, int]:
    """Bytes of a page as it is, and as it is sent."""
    plain, sent = (len(_asked(_connected(address), address, heads)[0]) for heads in ({}, HEADERS))
    return plain, sent


def tag(address: str) -> str:
    """The tag of a page as browsers ask for it."""
    return _asked(_connected(address), address, HEADERS)[1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="for each page")
    parser.add_argument("--only", choices=(DEMO, MADE_UP), help="one of the sites")
    parser.add_argument("--processes", type=int, nargs="+", help="web processes [1, and what `serve` starts]")
    given = parser.parse_args(arguments)
    counts = given.processes or sorted({1, Settings().web_slots})
    by_wrk = shutil.which("wrk") is not None
    print(table.facts({**measuring.machine(), "asked by": "wrk" if by_wrk else "Python"}))
    print(f"| {' | '.join(HEADS)} |\n|---|---{'|---:' * (len(HEADS) - 2)}|")
    with tempfile.TemporaryDirectory() as folder:
        for name in (DEMO, MADE_UP):
            if given.only in (None, name):
                _site(name, _filled(Path(folder) / name, name), counts, given.seconds, by_wrk=by_wrk)


def _filled(data: Path, name: str) -> Path:
    data.mkdir(mode=0o700)
    database = Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")
    if name == DEMO:
        schema.upgrade(database)
        loading.load(database, lambda: None, loading.RANKINGS)
        Evaluator(database, Settings()).drain()
    else:
        fill(database, data, SIZE)
    database.dispose()
    return data


def _site(name: str, data: Path, counts: Sequence[int], seconds: float, *, by_wrk: bool) -> None:
    """The lines of one site: each page by each number of processes, then all runs for the first time."""
    board, topic = f"/tasks/{TASKS[name]}", TOPICS[name]
    pages = (
        ("board", board),
        ("run", "/runs/1"),
        ("ranking", f"/runs/1/topics/{topic}"),
        ("topic", f"{board}/topics/{topic}"),
    )
    with _running(data, counts) as sites:
        for title, path in pages:
            for address in sites.values():
                # Each process makes some of these, and so loads what the page needs.
                first_views([f"{address}{path}?warm={number}" for number in range(CLIENTS * max(counts))])
            asked = {count: _loads(sites[count] + path) for count in counts}
            found = _in_turn([each for loads in asked.values() for each in loads], seconds, by_wrk=by_wrk)
            for count, loads in asked.items():
                sizes = size(sites[count] + path)
                _print(name, title, sizes, count, [found[each] for each in loads])
        runs = range(2, RUNS[name] + 1)
        for count in counts:
            first = first_views([f"{sites[count]}/runs/{run}" for run in runs])
            _print(name, f"{len(runs)} runs, for the first time", None, count, [first])


def _loads(address: str) -> list[tuple[str, str]]:
    """Address and known tag of what is asked of a page: made each time, kept, and kept by who has it."""
    return [(address, MADE), (address, ""), (address, tag(address))]


def _in_turn(
    asked: Sequence[tuple[str, str]], seconds: float, *, by_wrk: bool
) -> dict[tuple[str, str], Load]:
    """Address and known tag -> the medians of what was found in rounds of this number of seconds in all."""
    rounds: dict[tuple[str, str], list[Load]] = {each: [] for each in asked}
    for _ in range(ROUNDS):
        for address, known in asked:
            rounds[address, known].append(load(address, seconds / ROUNDS, by_wrk=by_wrk, known=known))
    return {
        each: Load(
            median(one.rate for one in found),
            median(one.median_ms for one in found),
            median(one.slow_ms for one in found),
        )
        for each, found in rounds.items()
    }


def _print(name: str, title: str, sizes: tuple[int, int] | None, count: int, found: Sequence[Load]) -> None:
    made, *others = found
    kilobytes = [f"{each / 1024:.0f}" for each in sizes] if sizes else ["–", "–"]
    cells = [name, title, *kilobytes, str(count), f"{made.rate:.0f}"]
    if others:
        kept, unchanged = others
        cells += [f"{kept.rate:.0f}", f"{kept.median_ms:.1f}", f"{kept.slow_ms:.1f}"]
        cells += [f"{unchanged.rate:.0f}", f"{unchanged.median_ms:.1f}"]
    else:
        cells += ["–", f"{made.median_ms:.1f}", f"{made.slow_ms:.1f}", "–", "–"]
    print(f"| {' | '.join(cells)} |")
    sys.stdout.flush()


@contextmanager
def _running(data: Path, counts: Sequence[int]) -> Iterator[dict[int, str]]:
    """Addresses of sites by their web processes; each has a copy of the data."""
    with ExitStack() as stack:
        sites = {}
        for count in counts:
            copy = data.with_name(f"{data.name}-{count}")
            shutil.copytree(data, copy)
            more = {
                "LEADERBOARD_WEB_PROCESSES": str(count),
                "LEADERBOARD_EVALUATORS": "1",
                "LEADERBOARD_COMPUTED_PAGES": "0",
            }
            site = stack.enter_context(running_site(copy, environ={**os.environ, **more}))
            sites[count] = site.address
            all_answer(site, count)
        yield sites


def _by_wrk(address: str, seconds: float, heads: dict[str, str]) -> Load:
    given = [part for name, value in heads.items() for part in ("-H", f"{name}: {value}")]
    command = ["wrk", "-t1", f"-c{CLIENTS}", f"-d{max(1, round(seconds))}s", "--latency", *given, address]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate = RATE.search(said)
    took = {share: float(number) * MILLISECONDS[unit] for share, number, unit in LATENCY.findall(said)}
    if rate is None or "Non-2xx" in said:
        raise SystemExit(said)
    return Load(float(rate[1]), took["50"], took["99"])


def _by_python(addresses: Sequence[str], seconds: float | None, heads: dict[str, str]) -> Load:
    """So long again and again, or without a time each address once."""
    start = time.perf_counter()
    waiting = iter(addresses) if seconds is None else _until(start + seconds, addresses[0])
    turn = threading.Lock()
    with ThreadPoolExecutor(CLIENTS) as clients:
        asking = [clients.submit(_ask, addresses[0], waiting, turn, heads) for _ in range(CLIENTS)]
        took = [each for asked in asking for each in asked.result()]
    slow = quantiles(took, n=100)[-1] if len(took) > 1 else took[0]
    return Load(len(took) / (time.perf_counter() - start), median(took), slow)


def _until(end: float, address: str) -> Iterator[str]:
    while time.perf_counter() < end:
        yield address


def _ask(first: str, waiting: Iterator[str], turn: threading.Lock, heads: dict[str, str]) -> list[float]:
    """Take addresses as long as there are some, by one connection; the milliseconds of each answer."""
    connection, took = _connected(first), list[float]()
    while True:
        with turn:
            address = next(waiting, None)
        if address is None:
            connection.close()
            return took
        began = time.perf_counter()
        _asked(connection, address, heads)
        took.append((time.perf_counter() - began) * 1000)


def _connected(address: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)


def _asked(connection: http.client.HTTPConnection, address: str, heads: dict[str, str]) -> tuple[bytes, str]:
    """Body and tag of an answer."""
    asked = urlsplit(address)
    connection.request("GET", urlunsplit(("", "", asked.path, asked.query, "")), headers=heads)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != (304 if "If-None-Match" in heads else 200):
        raise SystemExit(f"{address} answered {answer.status}")
    return body, answer.headers.get("ETag", "")


if __name__ == "__main__":
    main()
