"""A site whose processes are killed while runs come in loses nothing it has accepted."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, EvaluationMean, Job, Run, Upload
from tests.make.senders import Sender, sending_site
from tests.make.sites import MANY, Site, running_site

SENDERS, EACH, KILLS = 4, 40, 8
PATIENCE_S = 600
"""How long a busy machine may take for what is waited for."""
MEASURES = ("AP", "RR")


def _children(site: Site) -> list[int]:
    """The web and evaluator processes."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return [
        int(pid) for pid, parent, args in rows if int(parent) == site.process.pid and "spawn_main" in args
    ]


def _settled(database: Database) -> bool:
    with database.read() as session:
        waiting = select(Job.id).where(Job.state.in_(("queued", "leased"))).limit(1)
        return session.scalar(waiting) is None


@pytest.mark.trial
def test_accepted_runs_survive_killed_processes_and_are_scored_once(tmp_path: Path) -> None:
    """Web and evaluators are killed at random while clients send; every acknowledged run is scored once."""
    data = tmp_path / "site"
    data.mkdir(mode=0o700)
    url = f"sqlite:///{data / 'leaderboard.sqlite3'}"
    database, cookie, team_id = sending_site(url, tmp_path, MEASURES)
    chance = random.Random(20030)
    with running_site(data, environ={**os.environ, **MANY}) as site:
        senders = [Sender(site.address, cookie, team_id, number, EACH) for number in range(SENDERS)]
        for sender in senders:
            sender.start()
        for _ in range(KILLS):
            time.sleep(0.7)
            if processes := _children(site):
                os.kill(chance.choice(processes), signal.SIGKILL)
        try:
            while any(sender.is_alive() for sender in senders):
                # Nobody answers any more: they would send for ever.
                assert site.process.poll() is None, site.output[-9:]
                time.sleep(0.2)
        finally:
            for sender in senders:
                sender.stop.set()
        until = time.monotonic() + PATIENCE_S
        while not _settled(database) and time.monotonic() < until:
            time.sleep(0.2)
    accepted = {name: run_id for sender in senders for name, run_id in sender.accepted.items()}
    assert [answer for sender in senders for answer in sender.refused] == []
    assert len(accepted) == SENDERS * EACH
    _check(database, accepted)
    database.dispose()


def _check(database: Database, accepted: dict[str, int | None]) -> None:
    """None: the file was received, and its run made by an evaluator."""
    with database.read() as session:
        runs = {name: run_id for name, run_id in session.execute(select(Run.name, Run.id))}
        assert {name: run_id and runs.get(name) for name, run_id in accepted.items()} == accepted
        assert runs.keys() == accepted.keys()
        assert session.scalar(select(func.count()).select_from(Upload)) == len(accepted)
        # What was to be compared for a board is dropped once the board has other runs.
        of_runs = select(Job.state).where(Job.kind != queue.COMPARE)
        assert set(session.scalars(of_runs)) == {"done"}
        scored = session.execute(select(Evaluation.run_id, func.count()).group_by(Evaluation.run_id)).all()
        assert {run_id: count for run_id, count in scored} == dict.fromkeys(runs.values(), len(MEASURES))
        means = session.scalar(select(func.count()).select_from(EvaluationMean))
        assert means == len(accepted) * len(MEASURES)
        assert session.scalar(text("PRAGMA integrity_check")) == "ok"
