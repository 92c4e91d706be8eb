"""Clients that submit runs to a real site: how long they wait, and what is lost when it is killed.

python -m benchmarks.clients            from submit to verdict and to scores: 1 client, then 10
python -m benchmarks.clients --load     50 clients, 1,000 runs, 20 processes killed meanwhile

The first run of each client is not timed: the site has just been started.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import click
from sqlalchemy import func, select

from leaderboard.accounts.ops import accounts, teams, tokens
from leaderboard.accounts.ops.tokens import TokenRequest
from leaderboard.core.policy import OPERATOR, viewer_of
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, Job, Run, Upload
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import TaskDraft
from tests.make.sites import Site, running_site

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "client"))
from leaderboard_submit import Client, ClientError

TOPICS, DEPTH, JUDGED = 50, 20, 30
MEASURES = ("AP", "nDCG@10")
PATIENCE_S = 900


def _prepared(folder: Path, count: int) -> tuple[Database, list[str]]:
    """A site with a task of 50 judged topics; the tokens of this number of accounts, each in its own team."""
    chance = random.Random(1)
    topics, judged = folder / "topics.tsv", folder / "qrels.txt"
    topics.write_text("".join(f"{topic}\ttopic {topic}\n" for topic in range(TOPICS)))
    judged.write_text(
        "".join(
            f"{topic} 0 d{number} {chance.randrange(3)}\n"
            for topic in range(TOPICS)
            for number in range(JUDGED)
        )
    )
    data = folder / "site"
    data.mkdir(mode=0o700)
    database = Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")
    schema.upgrade(database)
    draft = TaskDraft(
        slug="t", name="Task", topics=topics, qrels=judged, qrels_name="qrels.txt", measures=MEASURES
    )
    prepared = drafts.prepare(draft)
    with database.write() as session:
        drafts.create(session, OPERATOR, prepared)
        drafts.publish(session, OPERATOR, "t")
    secrets = []
    for number in range(count):
        with database.write() as session:
            account_id = accounts.create(session, f"Client {number}")
            owner = viewer_of(session, account_id, f"Client {number}", False)
            teams.create(session, owner, f"Team {number}")
        with database.write() as session:
            owner = viewer_of(session, account_id, f"Client {number}", False)
            wanted = TokenRequest(label="benchmark", scopes=("read", "submit"))
            secrets.append(tokens.make(session, owner, wanted, factor_needed=False).secret)
    return database, secrets


def _run(seed: int) -> bytes:
    """A run of 1,000 lines."""
    chance = random.Random(seed)
    lines = []
    for topic in range(TOPICS):
        documents = chance.sample(range(3 * JUDGED), DEPTH)
        lines += [
            f"{topic} Q0 d{number} {rank} {DEPTH - rank} r{seed}\n" for rank, number in enumerate(documents)
        ]
    return "".join(lines).encode()


class _Submitting(threading.Thread):
    """A client that submits runs one after the other.

    accepted: name -> id. waited: seconds until each was answered.
    """

    def __init__(self, address: str, secret: str, number: int, runs: int, *, scores: bool) -> None:
        super().__init__(daemon=True)
        self._client = Client(address, secret)
        self._names = [f"run-{number}-{place}" for place in range(runs)]
        self._seed, self._scores = 1000 * number, scores
        self.accepted: dict[str, int] = {}
        self.waited: list[float] = []
        self.failures: list[str] = []

    def run(self) -> None:
        """Submit every run until it is acknowledged."""
        for place, name in enumerate(self._names):
            content = _run(self._seed + place)
            began = time.perf_counter()
            while name not in self.accepted:
                try:
                    made = self._client.submit("t", content, name=name, wait=self._scores)
                except ClientError as error:
                    # A client gives up after half a minute; its user gives the command again.
                    self.failures.append(f"{type(error).__name__}: {error}")
                    time.sleep(1.0)
                else:
                    self.accepted[name] = made.run_id
            self.waited.append(time.perf_counter() - began)


def _children(site: Site) -> list[int]:
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return [
        int(pid) for pid, parent, args in rows if int(parent) == site.process.pid and "spawn_main" in args
    ]


def _load(folder: Path, clients: int, runs: int, kills: int) -> bool:
    """Whether every acknowledged run was scored once, though processes of the site were killed."""
    database, secrets = _prepared(folder, clients)
    chance = random.Random(7)
    began = time.perf_counter()
    with running_site(folder / "site") as site:
        threads = [
            _Submitting(site.address, secret, number, runs // clients, scores=False)
            for number, secret in enumerate(secrets)
        ]
        for thread in threads:
            thread.start()
        killed = 0
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.7)
            if killed < kills and (processes := _children(site)):
                os.kill(chance.choice(processes), signal.SIGKILL)
                killed += 1
        sent_s = time.perf_counter() - began
        until = time.monotonic() + PATIENCE_S
        while _open_jobs(database) and time.monotonic() < until:
            time.sleep(0.2)
    accepted = {name: run_id for thread in threads for name, run_id in thread.accepted.items()}
    with database.read() as session:
        stored = {name: run_id for name, run_id in session.execute(select(Run.name, Run.id))}
        uploads = session.scalar(select(func.count()).select_from(Upload))
        states = set(session.scalars(select(Job.state)))
        scored = session.execute(select(Evaluation.run_id, func.count()).group_by(Evaluation.run_id)).all()
    once = dict.fromkeys(stored.values(), len(MEASURES)) == {run_id: count for run_id, count in scored}
    database.dispose()
    failures = [failure for thread in threads for failure in thread.failures]
    click.echo(
        f"{clients} clients, {runs} runs, {killed} kills: {len(accepted)} acknowledged in {sent_s:.0f} s, "
        f"{len(stored)} stored ({uploads} uploads), all scored once: {once}; "
        f"{len(failures)} commands were given again"
    )
    return once and stored == accepted and uploads == len(accepted) and states <= {"done"}


def _open_jobs(database: Database) -> bool:
    with database.read() as session:
        return session.scalar(select(Job.id).where(Job.state.in_(("queued", "leased"))).limit(1)) is not None


def _latency(folder: Path, clients: int, runs: int, *, scores: bool) -> None:
    database, secrets = _prepared(folder, clients)
    with running_site(folder / "site") as site:
        threads = [
            _Submitting(site.address, secret, number, runs, scores=scores)
            for number, secret in enumerate(secrets)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    database.dispose()
    waited = sorted(seconds for thread in threads for seconds in thread.waited[1:])
    p95 = waited[min(len(waited) - 1, round(0.95 * len(waited)))]
    what = "scores" if scores else "verdict"
    click.echo(
        f"{clients} clients, {len(waited)} runs of 1,000 lines, submit to {what}: "
        f"median {1000 * median(waited):.0f} ms, p95 {1000 * p95:.0f} ms, most {1000 * waited[-1]:.0f} ms"
    )


@click.command()
@click.option("--load", is_flag=True, help="Kill processes of the site while clients submit.")
@click.option("--clients", default=50, show_default=True)
@click.option("--runs", default=1000, show_default=True)
@click.option("--kills", default=20, show_default=True)
def main(load: bool, clients: int, runs: int, kills: int) -> None:
    """Time clients that submit runs, or see what a site that is killed loses."""
    with tempfile.TemporaryDirectory() as folder:
        if load:
            sys.exit(0 if _load(Path(folder), clients, runs, kills) else 1)
        for place, (count, scores) in enumerate(((1, False), (10, False), (1, True), (10, True))):
            own = Path(folder) / str(place)
            own.mkdir()
            _latency(own, count, 40 if count == 1 else 20, scores=scores)


if __name__ == "__main__":
    main()
