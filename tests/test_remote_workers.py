"""Two workers elsewhere beside a local one: killed and cut off, they score each run once."""

import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.exc import OperationalError

from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, EvaluationMean, Job, Task, TaskRole
from leaderboard.services.accounts import tokens
from leaderboard.services.accounts.tokens import WORKER, TokenRequest
from leaderboard.services.policy import viewer_of
from leaderboard.services.workers.elsewhere import EVALUATOR
from tests.make import build
from tests.make.people import account
from tests.make.sites import free_port, running_site

pytestmark = pytest.mark.trial
RUNS, KILLS = 400, 6
KILL_EVERY_S = 0.7
PATIENCE_S = 600
"""How long a busy machine may take for what is waited for."""


class BadLine(threading.Thread):
    """Forwards connections to a port, and ends some of them in the middle of what is said."""

    def __init__(self, port: int, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self._to, self._chance = port, chance
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.cut = 0

    def run(self) -> None:
        """Take connections until the listening socket is closed."""
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(near,), daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listening.close()

    def _forward(self, near: socket.socket) -> None:
        is_cut = self._chance.random() < 0.15
        # Either end may go away at any moment, the site among them: that is what a bad line is.
        with (
            near,
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self._to)) as far,
            selectors.DefaultSelector() as ready,
        ):
            for one, other in ((near, far), (far, near)):
                ready.register(one, selectors.EVENT_READ, other)
            while True:
                for key, _ in ready.select():
                    piece = key.fileobj.recv(65536)  # type: ignore[union-attr]
                    # Cut on the way back: the site has done what was asked, and nobody heard.
                    if not piece or (is_cut and key.fileobj is far):
                        self.cut += is_cut
                        return
                    key.data.sendall(piece)


def _prepared(url: str, folder: Path) -> tuple[Database, str]:
    """A task with many runs that wait for their scores, and a worker's token."""
    database = Database(url)
    schema.upgrade(database)
    build.task(database, folder, measures=("AP", "RR"))
    for number in range(RUNS):
        build.run(
            database, folder, {"1": ["a", "x", "c"], "2": ["d", f"y{number}"], "3": ["e"]}, f"run{number}"
        )
    olga = account(database, "Olga", is_organiser=True)
    with database.write() as session:
        task = session.scalars(select(Task)).one()
        session.add(TaskRole(task_id=task.id, account_id=olga, role="organiser"))
        session.flush()
        wanted = TokenRequest(label="elsewhere", scopes=("read",), kind=WORKER, slug=task.slug)
        token = tokens.make(session, viewer_of(session, olga, "Olga", True), wanted, factor_needed=False)
        session.execute(update(Job).values(max_attempts=RUNS))
    return database, token.secret


def _worker(port: int, token: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from leaderboard.cli import main; main()", "worker"]
    environment = {**os.environ, "LEADERBOARD_TOKEN": token}
    return subprocess.Popen(
        [*command, "--site", f"http://127.0.0.1:{port}"], env=environment, stderr=subprocess.DEVNULL
    )


def _count(database: Database, *which: Any) -> int:
    try:
        with database.read() as session:
            return session.scalar(select(func.count(Job.id)).where(*which)) or 0
    except OperationalError:
        return -1


def test_runs_are_scored_once_whatever_happens_to_workers(tmp_path: Path) -> None:
    """SIGKILL in the middle of jobs, answers that are lost: no run is lost, none has two scores."""
    data = tmp_path / "site"
    data.mkdir(mode=0o700)
    database, token = _prepared(f"sqlite:///{data / 'leaderboard.sqlite3'}", tmp_path)
    chance, port = random.Random(20261), free_port()
    environ = {**os.environ, "LEADERBOARD_LEASE_S": "3", "LEADERBOARD_EVALUATORS": "1"}
    lines = [BadLine(port, chance), BadLine(port, chance)]
    workers: list[subprocess.Popen[bytes]] = []
    try:
        with running_site(data, "--port", str(port), environ=environ):
            for line in lines:
                line.start()
                workers.append(_worker(line.port, token))
            killed, at, until = 0, time.monotonic(), time.monotonic() + PATIENCE_S
            while _count(database, Job.state != "done") and time.monotonic() < until:
                held = _count(database, Job.state == "leased", Job.owner.startswith("token "))
                if killed < KILLS and held > 0 and time.monotonic() > at + KILL_EVERY_S:
                    victim = chance.randrange(len(workers))
                    workers[victim].send_signal(signal.SIGKILL)
                    workers[victim].wait()
                    workers[victim] = _worker(lines[victim].port, token)
                    killed, at = killed + 1, time.monotonic()
                time.sleep(0.05)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
        for line in lines:
            line.close()
    with database.read() as session:
        assert set(session.scalars(select(Job.state))) == {"done"}
        scored = session.execute(select(Evaluation.run_id, func.count()).group_by(Evaluation.run_id)).all()
        assert [count for _, count in scored] == [2] * RUNS
        assert session.scalar(select(func.count()).select_from(EvaluationMean)) == 2 * RUNS
        elsewhere = select(func.count()).where(Evaluation.evaluator == EVALUATOR)
        by_workers = session.scalar(elsewhere) or 0
    cuts = sum(line.cut for line in lines)
    print(f"{RUNS} runs, {by_workers // 2} scored elsewhere; {killed} kills, {cuts} cuts")
    assert by_workers > 0
    assert killed > 0
    database.dispose()
