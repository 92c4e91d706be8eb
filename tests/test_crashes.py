"""A site whose processes are killed while runs come in loses nothing it has accepted."""

import json
import os
import random
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, EvaluationMean, Job, Run, Upload
from leaderboard.services.accounts import accounts, sessions, teams
from leaderboard.services.policy import Viewer
from tests.make import build
from tests.make.sites import Site, running_site

SENDERS, EACH, KILLS = 4, 40, 8
PATIENCE_S = 600
"""How long a busy machine may take for what is waited for."""
MEASURES = ("AP", "RR")


class Sender(threading.Thread):
    """A client that sends runs one after the other and repeats each until it is answered."""

    def __init__(self, site: Site, cookie: str, team_id: int, number: int) -> None:
        super().__init__()
        self.site, self.cookie, self.team_id, self.number = site, cookie, team_id, number
        self.accepted: dict[str, int] = {}
        self.wrong: list[str] = []

    def run(self) -> None:
        """Send every run."""
        for place in range(EACH):
            name = f"run-{self.number}-{place}"
            until = time.monotonic() + PATIENCE_S
            while name not in self.accepted and time.monotonic() < until:
                self._try(name)

    def _try(self, name: str) -> None:
        request = urllib.request.Request(
            f"{self.site.address}/tasks/t/submit",
            data=_form({"key": f"key-{name}", "team": str(self.team_id), "name": name}, name),
            headers={
                "Content-Type": "multipart/form-data; boundary=edge",
                "Cookie": f"session={self.cookie}",
                "Sec-Fetch-Site": "same-origin",
                "Accept": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                self.accepted[name] = json.load(answer)["run"]
        except urllib.error.HTTPError as error:
            self.wrong.append(f"{name}: {error.code} {error.read()[:200]!r}")
            time.sleep(0.1)
        except OSError:
            # The server was killed under the request: what a client does then is send it again.
            time.sleep(0.1)


def _form(fields: dict[str, str], name: str) -> bytes:
    number = int(name.rsplit("-", 1)[1])
    run = "".join(
        f"{topic} Q0 d{number}-{rank} {rank} {9 - rank} tag\n" for topic in "123" for rank in range(1, 6)
    )
    parts = [
        f'--edge\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in fields.items()
    ]
    head = f'--edge\r\nContent-Disposition: form-data; name="file"; filename="{name}.txt"\r\n\r\n'
    file = f"{head}{run}\r\n--edge--\r\n"
    return ("".join(parts) + file).encode()


def _children(site: Site) -> list[int]:
    """The web and evaluator processes."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return [
        int(pid) for pid, parent, args in rows if int(parent) == site.process.pid and "spawn_main" in args
    ]


def _settled(database: Database) -> bool:
    with database.read() as session:
        waiting = select(Job.id).where(Job.state.in_(("queued", "leased"))).limit(1)
        return session.scalar(waiting) is None


@pytest.mark.slow
def test_accepted_runs_survive_killed_processes_and_are_scored_once(tmp_path: Path) -> None:
    """Web and evaluators are killed at random while clients send; every acknowledged run is scored once."""
    data = tmp_path / "site"
    data.mkdir(mode=0o700)
    database = Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")
    schema.upgrade(database)
    build.task(database, tmp_path, measures=MEASURES)
    with database.write() as session:
        account_id = accounts.create(session, "Sender")
        team_id = teams.create(session, Viewer(account_id=account_id, name="Sender"), "Senders")
        cookie = sessions.start(session, account_id, "127.0.0.1", "test")
    chance = random.Random(20030)
    with running_site(data) as site:
        senders = [Sender(site, cookie, team_id, number) for number in range(SENDERS)]
        for sender in senders:
            sender.start()
        for _ in range(KILLS):
            time.sleep(0.7)
            if processes := _children(site):
                os.kill(chance.choice(processes), signal.SIGKILL)
        for sender in senders:
            sender.join()
        until = time.monotonic() + PATIENCE_S
        while not _settled(database) and time.monotonic() < until:
            time.sleep(0.2)
    accepted = {name: run_id for sender in senders for name, run_id in sender.accepted.items()}
    assert [wrong for sender in senders for wrong in sender.wrong] == []
    assert len(accepted) == SENDERS * EACH
    _check(database, accepted)
    database.dispose()


def _check(database: Database, accepted: dict[str, int]) -> None:
    with database.read() as session:
        assert {name: run_id for name, run_id in session.execute(select(Run.name, Run.id))} == accepted
        assert session.scalar(select(func.count()).select_from(Upload)) == len(accepted)
        assert set(session.scalars(select(Job.state))) == {"done"}
        scored = session.execute(select(Evaluation.run_id, func.count()).group_by(Evaluation.run_id)).all()
        assert {run_id: count for run_id, count in scored} == dict.fromkeys(accepted.values(), len(MEASURES))
        means = session.scalar(select(func.count()).select_from(EvaluationMean))
        assert means == len(accepted) * len(MEASURES)
        assert session.scalar(text("PRAGMA integrity_check")) == "ok"
