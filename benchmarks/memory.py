"""Memory of a web process under mixed load: `python -m benchmarks.memory --help`.

One web process of its own is asked by visitors, by a signed-in member and by programs: the pages of tasks, of
many runs one after the other, of rankings whole, and files. What it takes is read from the kernel.
"""

import argparse
import http.client
import itertools
import os
import random
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import select

from benchmarks import cold, measuring, sites, table
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, Task, Topic
from tests.make.sites import Site, running_site

MOST_MB = 300
MINUTES, CLIENTS = 20.0, 6
OF_RUNS = ("", "/explained", "/topics", "/curves", "/ties", "/measures", "/origin", ".json")
NOT_MADE = {"people and machine", "audit of the pool", "one revision", "newest revision"}


def addresses(database: Database) -> Iterator[str]:
    """Addresses by chance without end, of all tasks, runs and topics of a site."""
    chance = random.Random(1)
    with database.read() as session:
        tasks = session.scalars(select(Task.slug).order_by(Task.id)).all()
        runs = session.execute(select(Run.id, Run.task_id).order_by(Run.id)).all()
        topics = session.scalars(select(Topic.topic_id).limit(50)).all()
    about = [sites.objects(database, place) for place in (0, -1)]
    kinds = [address for title, address in cold.KINDS if title not in NOT_MADE]
    while True:
        run, topic, slug = chance.choice(runs).id, chance.choice(topics), chance.choice(tasks)
        yield chance.choice(kinds).format(**chance.choice(about))
        yield f"/runs/{run}{chance.choice(OF_RUNS)}"
        yield f"/runs/{run}/topics/{topic}?all"
        yield f"/tasks/{slug}{chance.choice(('', '/topics', '/heatmap', '.csv', '.json'))}"
        yield chance.choice(
            (f"/api/v1/tasks/{slug}/board", f"/api/v1/runs/{run}", "/api/v1/tasks", "/search?q=run")
        )


def ask(site: str, waiting: Iterator[str], turn: threading.Lock, cookie: str, until: float) -> list[int]:
    """Ask until a moment; the statuses."""
    connection, found = http.client.HTTPConnection(urlsplit(site).netloc, timeout=120), list[int]()
    while time.monotonic() < until:
        with turn:
            address = next(waiting)
        connection.request("GET", address, headers={"Cookie": cookie} if cookie else {})
        answer = connection.getresponse()
        answer.read()
        found.append(answer.status)
        if answer.status >= 500:
            print(f"{address} answered {answer.status}", file=sys.stderr)
    return found


def resident_mb(process: int) -> float:
    """The resident memory of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the web process's memory each minute."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a database that `benchmarks.grown` made; else a large site of SQLite")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    given = parser.parse_args(arguments)
    print(table.facts(measuring.machine()))
    with tempfile.TemporaryDirectory() as passing:
        data = Path(passing)
        data.chmod(0o700)
        url = given.url or f"sqlite:///{sites.made(data, 'large')}"
        database = Database(url)
        more = {
            "LEADERBOARD_WEB_PROCESSES": "1",
            "LEADERBOARD_EVALUATORS": "1",
            "LEADERBOARD_COMPUTED_PAGES": "0",
        }
        environ = {**os.environ, **more, "LEADERBOARD_DATABASE_URL": url, "LEADERBOARD_ACCESS_LOG": "0"}
        cookie = f"session={sites.cookie_of_member(database)}"
        with running_site(data, environ=environ) as site:
            _measure(site, addresses(database), cookie, given.minutes)
        database.dispose()


def web_mb(site: Site) -> float:
    """The memory of the site's web process, which is its largest process."""
    parent = site.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return max(resident_mb(int(child)) for child in children)


def _measure(site: Site, asked: Iterator[str], cookie: str, minutes: float) -> None:
    until, turn, statuses = time.monotonic() + 60 * minutes, threading.Lock(), list[list[int]]()
    cookies = itertools.islice(itertools.cycle(("", cookie, "")), CLIENTS)
    clients = [
        threading.Thread(target=lambda own=each: statuses.append(ask(site.address, asked, turn, own, until)))
        for each in cookies
    ]
    for client in clients:
        client.start()
    print("| minute | MB |\n|---:|---:|")
    largest, minute = 0.0, 0
    while time.monotonic() < until:
        time.sleep(min(60.0, max(0.1, until - time.monotonic())))
        minute += 1
        now = web_mb(site)
        largest = max(largest, now)
        print(f"| {minute} | {now:.0f} |", flush=True)
    for client in clients:
        client.join()
    counts = [status for each in statuses for status in each]
    failed = sum(status >= 500 for status in counts)
    print(f"\n{len(counts):,} answers, {failed} failed; {largest:.0f} MB at most, {MOST_MB} wanted")


if __name__ == "__main__":
    main()
