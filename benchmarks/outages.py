"""Losses of a site when its database is away or its processes are killed: there should be none.

    python -m benchmarks.outages --stopped 75     PostgreSQL is stopped for 75 seconds
    python -m benchmarks.outages --locked 75      SQLite's write lock is held for 75 seconds
    python -m benchmarks.outages --kills 50       50 processes get SIGKILL at random moments

A real site runs on a database of its own in a temporary folder; clients send runs all the while and repeat
what is not answered. The builders of the tests make the site, so this needs a checkout.
"""

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import create_engine, func, select, text

from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, Job, Run, Worker
from tests.make import postgres
from tests.make.senders import Sender, answered, sending_site
from tests.make.sites import Site, running_site

SENDERS = 3
MOST_RUNS = 100_000
EVALUATORS = 2
PATIENCE_S = 600
"""How long whatever is waited for may take before a trial is given up."""
EACH_S = 1.0
"""Between two looks of a reader while the database is away."""


@dataclass
class Report:
    """The result of a trial."""

    accepted: int = 0
    lost: int = 0
    """Accepted runs that are not in the database."""
    unscored: int = 0
    """Runs that are not scored exactly once."""
    refused: Counter[int] = field(default_factory=Counter)
    """Answers to submissions that were not yes, by status."""
    pages: Counter[int] = field(default_factory=Counter)
    """Answers to readers while the database was away, by status."""
    health: Counter[int] = field(default_factory=Counter)
    """The same of /healthz."""
    scored_after_s: float = 0.0
    """From the database's return to the last score of what was accepted before it."""
    stopped_in_s: float = 0.0
    """From SIGTERM, sent while the database is away, to the site's end."""
    exit_code: int | None = None
    slots: int = 0
    """Evaluators at work at the end."""


Outage = Callable[[], AbstractContextManager[None]]


@contextmanager
def on_postgresql() -> Iterator[tuple[str, Outage]]:
    """A new database's URL, and a context that stops its server."""
    with postgres.own_server() as server:
        engine = create_engine(f"{server.url}/postgres", isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text("CREATE DATABASE site"))
        engine.dispose()

        @contextmanager
        def stopped() -> Iterator[None]:
            server.stop()
            try:
                yield
            finally:
                server.start()

        yield f"{server.url}/site", stopped


@contextmanager
def on_sqlite() -> Iterator[tuple[str, Outage]]:
    """A new database's URL, and a context that holds its write lock."""
    with tempfile.TemporaryDirectory(prefix="leaderboard-outage-") as folder:
        path = Path(folder) / "site.sqlite3"

        @contextmanager
        def locked() -> Iterator[None]:
            other = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE_S)
            other.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                other.execute("ROLLBACK")
                other.close()

        yield f"sqlite:///{path}", locked


@dataclass(frozen=True)
class Trial:
    """A site at work: its processes, its database, and clients that send runs to it."""

    site: Site
    database: Database
    senders: list[Sender]

    def accepted(self) -> dict[str, int | None]:
        """Name -> id of every run that was answered with yes."""
        return {name: run_id for sender in self.senders for name, run_id in sender.accepted.items()}

    def children(self) -> list[int]:
        """The process ids of the web server and the evaluators."""
        command = ["ps", "-ww", "-eo", "pid,ppid,args"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
        mine = [row for row in rows if int(row[1]) == self.site.process.pid and "spawn_main" in row[2]]
        return [int(row[0]) for row in mine]

    def is_settled(self) -> bool:
        """Whether no job waits or is being done."""
        with self.database.read() as session:
            waiting = select(Job.id).where(Job.state.in_(("queued", "leased"))).limit(1)
            return session.scalar(waiting) is None

    def stop_sending(self) -> None:
        """Let every sender end what it began."""
        for sender in self.senders:
            sender.stop.set()
        for sender in self.senders:
            sender.join()


@contextmanager
def at_work(url: str, **settings: str) -> Iterator[Trial]:
    """A site on a database with clients that send runs to it."""
    with tempfile.TemporaryDirectory(prefix="leaderboard-site-") as made:
        data = Path(made) / "data"
        database, cookie, team_id = sending_site(url, Path(made), ("AP",))
        named = {"DATABASE_URL": url, "WEB_PROCESSES": "2", "EVALUATORS": str(EVALUATORS), **settings}
        environ = os.environ | {f"LEADERBOARD_{name}": value for name, value in named.items()}
        with running_site(data, environ=environ) as site:
            senders = [Sender(site.address, cookie, team_id, number, MOST_RUNS) for number in range(SENDERS)]
            for sender in senders:
                sender.start()
            trial = Trial(site, database, senders)
            wait_for(lambda: len(trial.accepted()) >= SENDERS)
            try:
                yield trial
            finally:
                trial.stop_sending()
                database.dispose()


def away(url: str, outage: Outage, seconds: float, **settings: str) -> Report:
    """A trial with the database away for some seconds, then again while the site is stopped."""
    report = Report()
    with at_work(url, **settings) as trial:
        with outage():
            _read_for(trial, seconds, report)
        back = time.monotonic()
        before = set(trial.accepted())
        wait_for(lambda: before <= scored(trial.database))
        report.scored_after_s = time.monotonic() - back
        _end(trial, report)
        with outage():
            stop(trial.site, report)
    return report


def killed(url: str, kills: int, seed: int = 20030, longest_s: float = 4.0) -> Report:
    """A trial in which processes of the site are killed at random moments, up to longest_s apart."""
    report, chance = Report(), random.Random(seed)
    with at_work(url) as trial:
        for _ in range(kills):
            time.sleep(chance.uniform(0.05, longest_s))
            wait_for(lambda: bool(trial.children()))
            os.kill(chance.choice(trial.children()), signal.SIGKILL)
        _use_every_slot(trial)
        _end(trial, report)
        stop(trial.site, report)
    return report


def scored(database: Database) -> set[str]:
    """The names of the runs that have scores."""
    with database.read() as session:
        return set(session.scalars(select(Run.name).join(Evaluation, Evaluation.run_id == Run.id)))


def stop(site: Site, report: Report) -> None:
    """Send SIGTERM and wait for the end of the site."""
    begun = time.monotonic()
    report.exit_code = site.stop(signal.SIGTERM)
    report.stopped_in_s = time.monotonic() - begun


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when the condition holds; raises TimeoutError after a long time."""
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError("what was waited for did not come")
        time.sleep(0.1)


def _read_for(trial: Trial, seconds: float, report: Report) -> None:
    """Read pages for this number of seconds, at least once."""
    until = time.monotonic() + seconds
    while True:
        for path, answers in (("/tasks/t", report.pages), ("/healthz", report.health)):
            answers[answered(f"{trial.site.address}{path}")[0]] += 1
        if time.monotonic() > until:
            return
        time.sleep(min(EACH_S, max(0.0, until - time.monotonic())))


def _use_every_slot(trial: Trial) -> None:
    """Wait until each evaluator that runs now has done a job."""

    def done() -> bool:
        with trial.database.read() as session:
            owners = session.scalars(select(Job.owner).distinct()).all()
        return len({str(pid) for pid in trial.children()} & _numbers(owners)) == EVALUATORS

    wait_for(done)


def _end(trial: Trial, report: Report) -> None:
    """Let the clients end and the queue run empty, then count."""
    trial.stop_sending()
    wait_for(trial.is_settled)
    accepted = trial.accepted()
    report.accepted = len(accepted)
    report.refused = Counter(status for sender in trial.senders for status, _ in sender.refused)
    with trial.database.read() as session:
        report.lost = len(accepted.keys() - set(session.scalars(select(Run.name))))
        counts = session.execute(
            select(Run.id, func.count(Evaluation.id))
            .outerjoin(Evaluation, Evaluation.run_id == Run.id)
            .group_by(Run.id)
        )
        report.unscored = sum(count != 1 for _, count in counts)
        owners = session.scalars(select(Worker.owner)).all()
    report.slots = len({str(pid) for pid in trial.children()} & _numbers(owners))


def _numbers(owners: Sequence[str]) -> set[str]:
    """The process ids of owners."""
    return {owner.rpartition(":")[2] for owner in owners}


def main(arguments: Sequence[str]) -> int:
    """Run the requested trials and print their results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outages", description=__doc__)
    parser.add_argument("--stopped", type=float, metavar="SECONDS", help="stop PostgreSQL")
    parser.add_argument("--locked", type=float, metavar="SECONDS", help="hold SQLite's write lock")
    parser.add_argument("--kills", type=int, metavar="NUMBER", help="kill processes of a site on SQLite")
    asked = parser.parse_args(arguments)
    found: dict[str, Report] = {}
    if asked.stopped is not None:
        with on_postgresql() as (url, outage):
            found[f"PostgreSQL stopped for {asked.stopped:g} s"] = away(url, outage, asked.stopped)
    if asked.locked is not None:
        with on_sqlite() as (url, outage):
            found[f"SQLite locked for {asked.locked:g} s"] = away(url, outage, asked.locked)
    if asked.kills is not None:
        with on_sqlite() as (url, _):
            found[f"{asked.kills} processes killed"] = killed(url, asked.kills)
    for title, report in found.items():
        print(title)
        for name, value in vars(report).items():
            shown = dict(value) if isinstance(value, Counter) else value
            print(f"  {name:15} {shown:.1f}" if isinstance(shown, float) else f"  {name:15} {shown}")
    return 0 if all(report.lost == report.unscored == 0 for report in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
