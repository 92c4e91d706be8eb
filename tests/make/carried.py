"""A site whose jobs a broker carries, while workers and the broker are killed; what became of its runs."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import func, select, text

from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, Job, Run
from tests.make.brokers import Broker
from tests.make.senders import Sender, answered, sending_site
from tests.make.sites import STOP_S, running_site

MEASURES = ("AP", "RR")
SENDERS, MACHINES = 4, 2
POLL_S = 0.05
PATIENCE_S = 900
"""How long a busy machine may take for what is waited for."""
LEDGER = (
    "CREATE TABLE ledger (what text, run_id bigint, measure text)",
    """CREATE FUNCTION note_done() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO ledger VALUES ('done', NEW.subject_id, ''); RETURN NULL; END $$""",
    """CREATE FUNCTION note_stored() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO ledger VALUES ('stored', NEW.run_id, NEW.measure); RETURN NULL; END $$""",
    """CREATE TRIGGER done AFTER UPDATE ON job FOR EACH ROW
         WHEN (NEW.kind = 'evaluate' AND NEW.state = 'done') EXECUTE FUNCTION note_done()""",
    "CREATE TRIGGER stored AFTER INSERT OR UPDATE ON evaluation FOR EACH ROW EXECUTE FUNCTION note_stored()",
)
"""The database itself writes down each claim that finished and each score that was stored, also one that is
stored over another."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done to a site, and what became of the runs that it had accepted."""

    accepted: int
    refused: tuple[str, ...]
    """What was answered in place of yes, each once; the sender tries again then."""
    lost: int
    """Accepted runs that are not there or have not all their scores."""
    twice: int
    """Runs of which more than one claim finished, or a score was stored more than once."""
    begun_again: int
    """Runs whose evaluation was claimed more than once, as its evaluator was killed."""
    seconds: float
    slowest_s: float
    """The longest that a sender waited for an answer."""


class TimedSender(Sender):
    """A sender that notes how long each answer took, in seconds."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.waits: list[float] = []

    def _send(self, name: str) -> tuple[int, str]:
        began = time.monotonic()
        answer = super()._send(name)
        self.waits.append(time.monotonic() - began)
        return answer


class Machine:
    """`leaderboard worker --celery` in a data folder of its own."""

    def __init__(self, data: Path, environ: dict[str, str]) -> None:
        self.data, self.environ = data, environ
        data.mkdir(mode=0o700)
        self.start()

    def start(self) -> None:
        """Start its processes."""
        command = [str(Path(sys.executable).with_name("leaderboard")), "worker", "--celery"]
        with (self.data / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--data", str(self.data)], stdout=log, stderr=log, env=self.environ
            )

    def evaluators(self) -> list[int]:
        """The process ids of its evaluators."""
        listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True)
        rows = [line.split(None, 2) for line in listed.stdout.splitlines()[1:]]
        mine = str(self.process.pid)
        return [int(pid) for pid, parent, args in rows if parent == mine and "spawn_main" in args]

    def die(self) -> None:
        """Kill the process that keeps the others; they end with it, and all are started anew."""
        self.process.kill()
        self.process.wait()
        self.start()

    def stop(self) -> None:
        """End it as SIGTERM does."""
        self.process.terminate()
        self.process.wait(STOP_S)


@contextmanager
def _machines(folder: Path, environ: dict[str, str]) -> Iterator[list[Machine]]:
    machines: list[Machine] = []
    try:
        for number in range(MACHINES):
            machines.append(Machine(folder / f"machine-{number}", environ))
        yield machines
    finally:
        for machine in machines:
            machine.stop()


def environment(url: str, broker_url: str) -> dict[str, str]:
    """The settings of each process of such a site: one web process, one evaluator a machine."""
    return {
        **os.environ,
        "LEADERBOARD_DATABASE_URL": url,
        "LEADERBOARD_BROKER_URL": broker_url,
        "LEADERBOARD_WEB_PROCESSES": "1",
        "LEADERBOARD_EVALUATORS": "1",
    }


def carried_through(url: str, folder: Path, broker: Broker, *, runs: int, kills: int, losses: int) -> Outcome:
    """Send runs to a site on PostgreSQL whose jobs are done by two machines behind a broker.

    kills: of evaluators in the middle of a job, every third of a machine as a whole; losses: of the broker,
    with all it holds. They are spread over the scored runs.
    """
    database, cookie, team_id = sending_site(url, folder, MEASURES)
    with database.write() as session:
        for statement in LEDGER:
            session.execute(text(statement))
    environ = environment(url, broker.url)
    data = folder / "site"
    data.mkdir(mode=0o700)
    began = time.monotonic()
    with (
        running_site(data, "--no-evaluators", environ=environ) as site,
        _machines(folder, environ) as machines,
    ):
        senders = [
            TimedSender(site.address, cookie, team_id, number, runs // SENDERS) for number in range(SENDERS)
        ]
        # Until the site has started it keeps who asks waiting, whatever carries its jobs.
        answered(f"{site.address}/healthz")
        for sender in senders:
            sender.start()
        _break(database, broker, machines, runs, kills, losses)
        for sender in senders:
            sender.join()
        _until(lambda: _settled(database), "every job is done")
        seconds = time.monotonic() - began
    outcome = _outcome(database, senders, seconds)
    database.dispose()
    return outcome


def _break(
    database: Database, broker: Broker, machines: list[Machine], runs: int, kills: int, losses: int
) -> None:
    """Kill one after the other, each once a further share of the runs is scored."""
    chance = random.Random(20040)
    faults = ["kill"] * kills + ["loss"] * losses
    chance.shuffle(faults)
    killed = 0
    for number, fault in enumerate(faults, start=1):
        share, next_share = (runs * place // (len(faults) + 2) for place in (number, number + 1))
        _until(lambda share=share: _scored(database) >= share, f"{share} runs are scored")
        if fault == "loss":
            broker.lose()
            broker.start()
            continue
        killed += 1
        evaluator = _in_a_job(database, next_share)
        for machine in machines:
            if evaluator in machine.evaluators():
                machine.die() if killed % 3 == 0 else os.kill(evaluator, signal.SIGKILL)


def _in_a_job(database: Database, before: int) -> int:
    """The process id of an evaluator that holds a run; of the last one that did, once so many are done."""
    held = select(Job.owner).where(Job.kind == queue.EVALUATE).order_by(Job.started_at.desc().nulls_last())
    while True:
        with database.read() as session:
            owner = session.scalar(held.where(Job.state == "leased").limit(1))
            if owner is None and _scored(database) >= before:
                owner = session.scalar(held.limit(1))
        if owner is not None:
            return int(owner.rsplit(":", 1)[1])


def _until(condition, what: str) -> None:  # type: ignore[no-untyped-def]
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, f"it never came that {what}"
        time.sleep(POLL_S)


def _scored(database: Database) -> int:
    with database.read() as session:
        done = select(func.count()).where(Job.kind == queue.EVALUATE, Job.state == "done")
        return session.scalar(done) or 0


def _settled(database: Database) -> bool:
    with database.read() as session:
        # Where the web process was busy, an evaluator checks what it took, and makes its run.
        kinds = Job.kind.in_((queue.CHECK, queue.EVALUATE))
        open_jobs = select(Job.id).where(kinds, Job.state.in_(("queued", "leased")))
        return session.scalar(open_jobs.limit(1)) is None


def _outcome(database: Database, senders: list[TimedSender], seconds: float) -> Outcome:
    accepted = [name for sender in senders for name in sender.accepted]
    with database.read() as session:
        ids = {name: run_id for name, run_id in session.execute(select(Run.name, Run.id))}
        whole = select(Evaluation.run_id).group_by(Evaluation.run_id).having(func.count() == len(MEASURES))
        scored = set(session.scalars(whole))
        again = (
            "SELECT count(*) FROM (SELECT 1 FROM ledger GROUP BY what, run_id, measure HAVING count(*) > 1) x"
        )
        twice = session.scalar(text(again))
        claimed = select(func.count()).where(Job.kind == queue.EVALUATE, Job.attempts > 1)
        begun_again = session.scalar(claimed)
    return Outcome(
        accepted=len(accepted),
        refused=tuple(sorted({f"{status} {said}" for sender in senders for status, said in sender.refused})),
        lost=sum(1 for name in accepted if ids.get(name) not in scored),
        twice=twice or 0,
        begun_again=begun_again or 0,
        seconds=seconds,
        slowest_s=max(max(sender.waits) for sender in senders),
    )
