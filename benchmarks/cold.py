"""The cost of uncached pages after a change of the site: `python -m benchmarks.cold --help`.

Every kind of page of the demo and of a made-up task, the server's share only. A process first makes every
kind of page of a small site, so that programs, templates and statements are compiled; then another site's
file takes the place of the small one, and for every page the process is copied, which makes it for the first
time (what is kept under digests is not there yet) and then again and again, for a visitor and for a member of
a team. Processor time is shown with the time that passed: it does not depend on what else the machine does.
"""

import argparse
import json
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from flask import Flask
from flask.testing import FlaskClient

from benchmarks import measuring, table
from benchmarks.pages import PACKED, counted
from benchmarks.sites import cookie_of_member, made, objects
from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from leaderboard.web import kept as kept_pages

TARGET_MS = 60.0
MOST_KB, MOST_KB_OF_A_RUN = 40.0, 60.0
KINDS: Sequence[tuple[str, str]] = (
    ("home", "/"),
    ("search, every run", "/search?q=run"),
    ("search, a name", "/search?q={name}"),
    ("measures", "/measures"),
    ("one measure", "/measures/nDCG"),
    ("a team", "/teams/{team}"),
    ("board", "/tasks/{slug}"),
    ("board, bounds", "/tasks/{slug}?bounds"),
    ("board, chosen topics", "/tasks/{slug}?topics={topic}+{other_topic}"),
    ("about", "/tasks/{slug}/about"),
    ("history", "/tasks/{slug}/history"),
    ("news", "/tasks/{slug}/news"),
    ("phases", "/tasks/{slug}/phases"),
    ("revisions", "/tasks/{slug}/revisions"),
    ("one revision", "/tasks/{slug}/revisions/1"),
    ("newest revision", "/tasks/{slug}/revisions/{revision}"),
    ("choice of runs to compare", "/tasks/{slug}/compare"),
    ("pair", "/tasks/{slug}/compare?a={run}&b={second}"),
    ("pair, one topic", "/tasks/{slug}/compare?a={run}&b={second}&topic={topic}"),
    ("many", "/tasks/{slug}/compare?run={run}&run={second}&run={third}"),
    ("orders by measures", "/tasks/{slug}/measures"),
    ("intervals", "/tasks/{slug}/intervals"),
    ("efficiency", "/tasks/{slug}/efficiency"),
    ("curves", "/tasks/{slug}/curves"),
    ("curves, ROC", "/tasks/{slug}/curves?kind=roc"),
    ("topics", "/tasks/{slug}/topics"),
    ("topic", "/tasks/{slug}/topics/{topic}"),
    ("heat map", "/tasks/{slug}/heatmap"),
    ("heat map, similar", "/tasks/{slug}/heatmap?show=difference&rows=similarity"),
    ("document", "/tasks/{slug}/documents?docno={docno}"),
    ("document for a topic", "/tasks/{slug}/documents?docno={docno}&topic={topic}"),
    ("people and machine", "/tasks/{slug}/combined"),
    ("audit of the pool", "/tasks/{slug}/pools/audit"),
    ("run", "/runs/{run}"),
    ("run, explained", "/runs/{run}/explained"),
    ("run by topic", "/runs/{run}/topics"),
    ("run, curves", "/runs/{run}/curves"),
    ("run, ties", "/runs/{run}/ties"),
    ("run, all measures", "/runs/{run}/measures"),
    ("run, origin", "/runs/{run}/origin"),
    ("ranking", "/runs/{run}/topics/{topic}"),
    ("ranking, first 200", "/runs/{run}/topics/{topic}?first"),
)
"""What is timed and its address."""


@dataclass(frozen=True)
class Cost:
    """Milliseconds of one answer: those that passed, and those of the processor."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Costs:
    """Of one page: made for the first time, and made again for a visitor and a member; submitted bytes."""

    first: Cost
    visitor: Sequence[Cost]
    member: Sequence[Cost]
    packed: int
    statements: int
    statements_first: int


class Ready(NamedTuple):
    """A site's application over a small site, whose file another one's takes the place of."""

    app: Flask
    database: Database
    file: Path


def warm(folder: Path) -> Ready:
    """An application that made every kind of page of the small site."""
    file = folder / "site.sqlite3"
    shutil.copy(made(folder, "small"), file)
    url = f"sqlite:///{file}"
    database = Database(url)
    app = create_app(Settings(data=folder, database_url=url), database)
    kept_pages.register_pages(app, 0)
    about = objects(database)
    client, member = app.test_client(), app.test_client()
    member.set_cookie("session", cookie_of_member(database))
    for _, address in KINDS:
        for asking in (client, member):
            asked(asking, address.format(**about))
    database.dispose()
    return Ready(app, database, file)


def measured(ready: Ready, site: Path, only: str, repeats: int) -> Iterator[tuple[str, str, Costs]]:
    """Title, address and costs of every page of a site, or of those whose title holds a word."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{ready.file}{suffix}").unlink(missing_ok=True)
    shutil.copy(site, ready.file)
    about, cookie = objects(ready.database), cookie_of_member(ready.database)
    ready.database.dispose()
    context = multiprocessing.get_context("fork")
    for title, address in KINDS:
        if only in title:
            path = address.format(**about)
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_measure, args=(theirs, ready, path, cookie, repeats))
            process.start()
            theirs.close()
            facts = ours.recv()
            process.join()
            yield title, path, facts


def _measure(answer: Connection, ready: Ready, path: str, cookie: str, repeats: int) -> None:
    app, database = ready.app, ready.database
    client, member = app.test_client(), app.test_client()
    member.set_cookie("session", cookie)
    # The connection, and when the member was last seen, are no page's own work. The first answer may say that
    # no evaluator runs: none does.
    client.get("/healthz")
    asked(member, "/sign-in")
    with counted(database) as sent:
        first = asked(client, path)
    at_first = len(sent)
    with counted(database) as sent:
        asked(client, path)
    by_visitor = [asked(client, path) for _ in range(repeats)]
    by_member = [asked(member, path) for _ in range(repeats)]
    kept_pages.register_pages(app, 2**30)
    packed = len(client.get(path, headers=PACKED).data)
    answer.send(Costs(first, by_visitor, by_member, packed, len(sent), at_first))
    answer.close()


def asked(client: FlaskClient, path: str) -> Cost:
    """The cost of one page; ends the benchmark if it is not shown."""
    start, cpu = time.perf_counter(), time.process_time()
    answer = client.get(path)
    cost = Cost((time.perf_counter() - start) * 1000, (time.process_time() - cpu) * 1000)
    if answer.status_code != 200:
        raise SystemExit(f"{path} answered {answer.status}")
    return cost


HEADS = (
    *("page", "first ms", "CPU", "visitor ms", "CPU", "most", "member CPU", "most"),
    *("SQL first", "SQL", "KB sent", "over"),
)


def line(title: str, path: str, costs: Costs) -> str:
    """One row of the table."""
    visitor, member = ([cost.cpu for cost in each] for each in (costs.visitor, costs.member))
    kilobytes = costs.packed / 1024
    most_kb = MOST_KB_OF_A_RUN if path.startswith("/runs/") else MOST_KB
    over = [
        name
        for name, is_over in (
            ("first", costs.first.cpu > TARGET_MS),
            ("visitor", median(visitor) > TARGET_MS),
            ("member", median(member) > TARGET_MS),
            ("KB", kilobytes > most_kb),
        )
        if is_over
    ]
    numbers = (
        *(costs.first.wall, costs.first.cpu, median(cost.wall for cost in costs.visitor)),
        *(median(visitor), max(visitor), median(member), max(member)),
        *(costs.statements_first, costs.statements, kilobytes),
    )
    return f"| {title} | {' | '.join(f'{number:.0f}' for number in numbers)} | {', '.join(over)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--site", choices=("demo", "small", "large"), action="append")
    parser.add_argument("--only", default="", help="pages whose name holds this")
    parser.add_argument("--keep", type=Path, help="a folder where the sites stay, to be measured again")
    parser.add_argument("--json", type=Path, help="a file that all numbers go into")
    given = parser.parse_args(arguments)
    print(table.facts(measuring.machine()))
    everything: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as passing:
        folder = given.keep or Path(passing)
        ready = warm(folder)
        for name in given.site or ("demo", "large"):
            print(f"\n{name}\n\n| {' | '.join(HEADS)} |\n|---{'|---:' * (len(HEADS) - 2)}|---|")
            for title, path, costs in measured(ready, made(folder, name), given.only, given.repeats):
                print(line(title, path, costs))
                sys.stdout.flush()
                everything.setdefault(name, {})[title] = asdict(costs)
    if given.json:
        given.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
