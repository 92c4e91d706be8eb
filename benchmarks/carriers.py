"""Jobs carried by a broker, while workers and the broker are killed: every run is scored, once.

    python -m benchmarks.carriers redis --runs 500 --kills 10 --losses 3
    python -m benchmarks.carriers rabbit --runs 500 --kills 10 --losses 3
    python -m benchmarks.carriers redis --waits 200      how long a sender waits, whatever the broker does
    python -m benchmarks.carriers redis --claims 2000    how many jobs a second the table alone hands out

A real site and two `leaderboard worker --celery` run on a PostgreSQL of their own; evaluators get SIGKILL in
the middle of jobs, and the broker with all it holds. The database itself writes down what was finished and
stored. The builders of the tests make the site, so this needs a checkout; Redis and RabbitMQ are Debian's.
"""

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from leaderboard import worker
from leaderboard.core.jobs import queue
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from tests.make import brokers, carried, postgres
from tests.make.brokers import Broker
from tests.make.carried import MEASURES, TimedSender
from tests.make.senders import answered, sending_site
from tests.make.sites import Site, running_site

BROKERS: dict[str, Callable[[], AbstractContextManager[Broker]]] = {
    "redis": brokers.redis,
    "rabbit": brokers.rabbit,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested trial; exit code 1 where a run was lost or scored twice."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("broker", choices=BROKERS)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--losses", type=int, default=3)
    parser.add_argument("--waits", type=int, help="Time this number of submissions instead of killing.")
    parser.add_argument("--claims", type=int, help="Claim and finish this many empty jobs, do not kill.")
    asked = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory() as folder,
        postgres.own_server() as server,
        postgres.fresh(f"{server.url}/postgres") as url,
        BROKERS[asked.broker]() as broker,
    ):
        if asked.waits:
            _time(url, Path(folder), broker, asked.waits)
            return 0
        if asked.claims:
            _count_claims(url, asked.claims)
            return 0
        outcome = carried.carried_through(
            url, Path(folder), broker, runs=asked.runs, kills=asked.kills, losses=asked.losses
        )
    for name, value in asdict(outcome).items():
        print(f"{name:12} {value:.2f}" if isinstance(value, float) else f"{name:12} {value}")
    return int(outcome.lost > 0 or outcome.twice > 0 or outcome.accepted != asked.runs)


def _time(url: str, folder: Path, broker: Broker, count: int) -> None:
    """Print how long submissions take without a broker and with one that answers, is dead, is frozen."""
    database, cookie, team_id = sending_site(url, folder, MEASURES)
    database.dispose()
    for number, (name, broker_url, do) in enumerate(
        (
            ("no broker", "", lambda: None),
            ("answers", broker.url, lambda: None),
            ("dead", broker.url, broker.lose),
            ("frozen", broker.url, lambda: (broker.start(), broker.freeze())),
        )
    ):
        data = folder / f"site-{number}"
        data.mkdir(mode=0o700)
        do()
        with running_site(data, "--no-evaluators", environ=carried.environment(url, broker_url)) as site:
            waits = _waits(site, cookie, team_id, number, count)
        print(
            f"{name:10} median {statistics.median(waits) * 1000:.1f} ms, slowest {max(waits) * 1000:.0f} ms"
        )


def _waits(site: Site, cookie: str, team_id: int, number: int, count: int) -> list[float]:
    answered(f"{site.address}/healthz")
    sender = TimedSender(site.address, cookie, team_id, number, count)
    sender.run()
    return sender.waits


def _count_claims(url: str, count: int) -> None:
    """Print how many empty jobs a second two processes claim from the table and finish, without a broker."""
    database = Database(url)
    schema.upgrade(database)
    with database.write() as session:
        queue.enqueue_new(session, queue.EVALUATE, range(count), priority=queue.FRESH)
    database.dispose()
    began = time.monotonic()
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as processes:
        done = sum(processes.map(_claim_all, [url] * 2))
    seconds = time.monotonic() - began
    print(f"{done} jobs in {seconds:.1f} s, {done / seconds:.0f} a second, starting two processes included")


def _claim_all(url: str) -> int:
    database, settings, done = Database(url), Settings(), 0
    while True:
        with database.write() as session:
            job = queue.claim(session, worker.owner_name(), settings)
        if job is None:
            database.dispose()
            return done
        with database.write() as session:
            queue.finish(session, job)
        done += 1


if __name__ == "__main__":
    sys.exit(main())
