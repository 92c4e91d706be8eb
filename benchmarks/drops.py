"""How long the runs of a whole track take: one request with all files and a list, until all are scored.

    python -m benchmarks.drops DATA

DATA has the files `topics`, `qrels` and `runs.csv` (run,team,kind) and a folder `runs`. Where it does not
exist it is made, as large as round 1 of TREC-COVID: 143 runs of 56 teams, 30 topics, 1,000 documents each.
The site runs in this process with two separate evaluators. The builders of the tests sign in, so a checkout
is needed.
"""

import argparse
import io
import multiprocessing
import random
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import func, select

from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job, Run, Upload
from leaderboard.settings import Settings
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.worker import Evaluator
from tests.make import people
from tests.make.apps import application
from tests.web.conftest import browser, enter

RUNS, TEAMS, TOPICS, DEPTH, DOCUMENTS = 143, 56, 30, 1000, 51_000
TARGET_S = 120
EVALUATORS = 2


def main(arguments: Sequence[str]) -> int:
    """File the runs once and print how long it took; 1 where some did not become runs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drops", description=__doc__)
    parser.add_argument("data", type=Path)
    data = parser.parse_args(arguments).data
    if not data.exists():
        _make(data)
    with tempfile.TemporaryDirectory() as folder:
        return _measure(data, Settings(data=Path(folder)))


def _make(data: Path) -> None:
    """Runs that no system made: documents drawn at random, the relevant ones somewhat earlier."""
    chance = random.Random(20200503)
    (data / "runs").mkdir(parents=True)
    topics = range(1, TOPICS + 1)
    (data / "topics").write_text("".join(f"{topic}\ttopic {topic}\n" for topic in topics))
    documents = [f"{number:08x}" for number in chance.sample(range(2**32), DOCUMENTS)]
    judged = {topic: chance.sample(documents, 300) for topic in topics}
    (data / "qrels").write_text(
        "".join(f"{t} 0 {docno} {n % 3}\n" for t in topics for n, docno in enumerate(judged[t]))
    )
    rows = ["run,team,kind"]
    for number in range(RUNS):
        lines = []
        for topic in topics:
            ranked = list(
                dict.fromkeys([*chance.sample(judged[topic], 200), *chance.sample(documents, DEPTH)])
            )
            lines += [
                f"{topic} Q0 {docno} {rank} {1 / (60 + rank):.6f} run{number}\n"
                for rank, docno in enumerate(ranked[:DEPTH], start=1)
            ]
        (data / "runs" / f"run{number}.txt").write_text("".join(lines))
        rows.append(f"run{number},Team {number % TEAMS},official")
    (data / "runs.csv").write_text("\n".join(rows))


def _archive(data: Path) -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz", compresslevel=1) as archive:
        archive.add(data / "runs", arcname="runs")
    return body.getvalue()


def _measure(data: Path, settings: Settings) -> int:
    database = Database(settings.url)
    schema.upgrade(database)
    organiser = people.account(database, "Olga", is_organiser=True)
    draft = drafts.prepare(
        TaskDraft(slug="covid", name="Covid", topics=data / "topics", qrels=data / "qrels")
    )
    with database.write() as session:
        drafts.create(session, people.viewer(database, organiser), draft)
    with database.write() as session:
        drafts.publish(session, people.viewer(database, organiser), "covid")
    client = browser(application(settings, database))
    enter(database, client, "Olga")
    body = _archive(data)
    context = multiprocessing.get_context("spawn")
    over = context.Event()
    workers = [context.Process(target=_evaluate, args=(settings, over)) for _ in range(EVALUATORS)]
    for worker in workers:
        worker.start()
    begun = time.monotonic()
    form = {
        "key": "one",
        "team": "list",
        "make_teams": "1",
        "list": (data / "runs.csv").read_text(),
        "file": (io.BytesIO(body), "runs.tar.gz"),
    }
    answer = client.post("/tasks/covid/submit", data=form, headers={"Accept": "application/json"})
    sent_s = time.monotonic() - begun
    assert answer.status_code == 202, answer.text[:500]
    waiting = threading.Event()
    while _left(database):
        waiting.wait(0.2)
    scored_s = time.monotonic() - begun
    over.set()
    for worker in workers:
        worker.join()
    return _print(database, len(body), sent_s, scored_s)


def _evaluate(settings: Settings, over: threading.Event) -> None:
    database = Database(settings.url)
    Evaluator(database, settings).run(over.is_set, lambda seconds: over.wait(min(seconds, 0.2)))
    database.dispose()


def _left(database: Database) -> int:
    """How many files wait, and how many checks and evaluations are not done."""
    unfinished = Job.kind.in_(("check", "evaluate")), Job.state.in_(("queued", "leased"))
    with database.read() as session:
        files = session.scalar(select(func.count(Upload.id)).where(Upload.state == "received")) or 0
        return files + (session.scalar(select(func.count(Job.id)).where(*unfinished)) or 0)


def _print(database: Database, sent: int, sent_s: float, scored_s: float) -> int:
    with database.read() as session:
        runs = session.scalar(select(func.count(Run.id))) or 0
        teams = session.scalar(select(func.count(Run.team_id.distinct()))) or 0
        uploads = session.scalar(select(func.count(Upload.id))) or 0
    print(f"{uploads} files in {sent / 2**20:.0f} MiB received in {sent_s:.1f} s")
    print(f"{runs} runs of {teams} teams checked and scored after {scored_s:.1f} s (target {TARGET_S} s)")
    database.dispose()
    return 0 if runs == uploads else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
