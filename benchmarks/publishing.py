"""How long a submission waits while a large revision of judgments is published, on PostgreSQL.

    python -m benchmarks.publishing --judgments 100000

Runs are sent one after the other, in this process, while a thread publishes. The builders of the tests make
the task, so this needs a checkout.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.outages import on_postgresql
from leaderboard.core.policy import OPERATOR
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision
from leaderboard.scoring.ops.qrels import files
from tests.make import build

TOPICS = 50
RUNS_BEFORE = 20


def main(arguments: Sequence[str]) -> int:
    """Publish once and print how long it took and how long the slowest submission did."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.publishing", description=__doc__)
    parser.add_argument("--judgments", type=int, default=100_000)
    asked = parser.parse_args(arguments)
    with on_postgresql() as (url, _), tempfile.TemporaryDirectory() as folder:
        database = Database(url)
        schema.upgrade(database)
        published_s, submitted_s = _measure(database, Path(folder), asked.judgments)
        database.dispose()
    print(f"{asked.judgments:,} judgments published in {published_s:.1f} s")
    print(f"{len(submitted_s)} submissions meanwhile, the slowest in {max(submitted_s):.2f} s")
    return 0


def _measure(database: Database, folder: Path, judgments: int) -> tuple[float, list[float]]:
    """Seconds of the publication, and of each submission that began while it went on."""
    topics = [str(number) for number in range(TOPICS)]
    build.task(database, folder, topics=topics, judgments={topic: {"a": 1} for topic in topics})
    for number in range(RUNS_BEFORE):
        build.run(database, folder, {"1": ["a"]}, f"before-{number}")
    each = judgments // TOPICS
    qrels = {topic: {f"d{number}": number % 2 for number in range(each)} for topic in topics}
    prepared = files.prepare(build.qrels_file(folder, qrels, "large"))
    took: list[float] = []

    def publish_it() -> None:
        begun = time.monotonic()
        with database.write() as session:
            revisions.revise(session, OPERATOR, "t", NewRevision(prepared=prepared, note=""))
        took.append(time.monotonic() - begun)

    thread = threading.Thread(target=publish_it)
    thread.start()
    submitted: list[float] = []
    while thread.is_alive():
        begun = time.monotonic()
        build.run(database, folder, {"1": ["a"]}, f"run-{len(submitted)}")
        submitted.append(time.monotonic() - begun)
    thread.join()
    return took[0], submitted


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
