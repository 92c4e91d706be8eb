"""A site of several web processes is one site: to its readers, its senders, and to who stops or kills it."""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import func, select, update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase, Run, Task, Upload
from tests.make.senders import Sender, sending_site
from tests.make.sites import START_S, Site, all_answer, running_site, web_processes

PROCESSES = 2
CONNECTIONS = 12
READERS, SENDERS, LIMIT = 4, 40, 5
CALM_S = 0.1
"""Between two requests of a reader while nobody is killed."""
NAMES = tuple(f" web-{number + 1} " for number in range(PROCESSES))
pytestmark = pytest.mark.trial


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Database, str, int]]:
    """A site of two web processes with a task, and who sends runs to it: session cookie and team."""
    with _started(tmp_path_factory.mktemp("started")) as started:
        yield started


@contextmanager
def _started(folder: Path) -> Iterator[tuple[Site, Database, str, int]]:
    data = folder / "site"
    data.mkdir(mode=0o700)
    database, cookie, team_id = sending_site(f"sqlite:///{data / 'leaderboard.sqlite3'}", folder, ("AP",))
    environ = {**os.environ, "LEADERBOARD_WEB_PROCESSES": str(PROCESSES), "LEADERBOARD_EVALUATORS": "1"}
    with running_site(data, environ=environ) as site:
        all_answer(site, PROCESSES)
        yield site, database, cookie, team_id
    database.dispose()


@contextmanager
def _connections(site: Site, count: int) -> Iterator[list[HTTPConnection]]:
    """Connections that are open together, each of which was answered once."""
    opened = [HTTPConnection(urlsplit(site.address).netloc, timeout=START_S) for _ in range(count)]
    try:
        for connection in opened:
            _ask(connection, "/healthz")
        yield opened
    finally:
        for connection in opened:
            connection.close()


def _ask(connection: HTTPConnection, path: str) -> str:
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read().decode()
    assert answer.status == 200, body
    return body


def _eventually(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False


def _answers(site: Site, path: str) -> Counter[str]:
    """How many requests for the path each web process has logged."""
    lines = [line for line in list(site.output) if f"path={path} " in line]
    return Counter(name for line in lines for name in NAMES if name in line)


def test_connections_are_shared_out_and_a_change_is_seen_by_all(
    started: tuple[Site, Database, str, int],
) -> None:
    """Each process answers some of the open connections; what is changed elsewhere all show at once."""
    site, database, *_ = started
    del site.output[:]
    with _connections(site, CONNECTIONS) as opened:
        for name in ("first", "second", "third"):
            with database.write() as session:
                session.execute(update(Task).values(name=f"The {name} name"))
            for connection in (*opened, *opened):
                assert f"The {name} name" in _ask(connection, "/tasks/t")
        assert _eventually(lambda: _answers(site, "/tasks/t").total() == 6 * CONNECTIONS)
        assert len(_answers(site, "/tasks/t")) == PROCESSES


def _read(site: Site, calm: threading.Event, over: threading.Event) -> Counter[int]:
    """Ask for the board until it is over, by a new connection after each that broke; answers by status.

    Where it is calm, now and then only: a process that starts needs the processor more than they do.
    """
    answers: Counter[int] = Counter()
    while not over.is_set():
        connection = HTTPConnection(urlsplit(site.address).netloc, timeout=START_S)
        with suppress(OSError, HTTPException):
            while not over.is_set():
                connection.request("GET", "/tasks/t")
                answer = connection.getresponse()
                answer.read()
                answers[answer.status] += 1
                if calm.is_set():
                    over.wait(CALM_S)
        connection.close()
    return answers


def test_a_killed_process_takes_nothing_along(started: tuple[Site, Database, str, int]) -> None:
    """While requests run each is killed in turn: the other goes on alone, and the killed one comes back."""
    site, *_ = started
    calm, over = threading.Event(), threading.Event()
    with ThreadPoolExecutor(READERS) as people:
        reading = [people.submit(_read, site, calm, over) for _ in range(READERS)]
        for _ in range(PROCESSES):
            before = web_processes(site)
            calm.clear()
            with _connections(site, READERS) as others:
                # The readers are at it again.
                for other in others:
                    _ask(other, "/tasks/t")
            os.kill(before[0], signal.SIGKILL)
            with _connections(site, 1) as [connection]:
                _ask(connection, "/tasks/t")
            calm.set()
            assert _eventually(
                lambda gone=before[0]: gone not in (now := web_processes(site)) and len(now) == 2
            )
        over.set()
        answers = sum((each.result() for each in reading), Counter[int]())
    assert answers.keys() == {200}
    ended = [line for line in site.output if "ended with code -9; restarting" in line]
    assert len(ended) == PROCESSES
    assert all("web-" in line for line in ended)
    assert len(web_processes(site)) == PROCESSES
    del site.output[:]
    all_answer(site, PROCESSES)


def _uploads(database: Database, state: str) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).where(Upload.state == state)) or 0


def test_a_limit_holds_over_all_processes(started: tuple[Site, Database, str, int]) -> None:
    """Forty runs sent at once to a task that takes five a day: five are taken, whoever was asked."""
    site, database, cookie, team_id = started
    with database.write() as session:
        session.execute(update(Phase).values(runs_per_day=LIMIT))
    senders = [Sender(site.address, cookie, team_id, number, 1) for number in range(SENDERS)]
    for sender in senders:
        sender.start()
    assert _eventually(lambda: all(sender.accepted or sender.refused for sender in senders))
    for sender in senders:
        sender.stop.set()
        sender.join()
    assert sum(len(sender.accepted) for sender in senders) == LIMIT
    assert {status for sender in senders for status, _ in sender.refused} == {429}
    # What was taken while the web processes were busy is a run once an evaluator has checked it.
    assert _eventually(lambda: not _uploads(database, "received"))
    assert _uploads(database, "accepted") == LIMIT
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == LIMIT
    assert len(_answers(site, "/tasks/t/submit")) == PROCESSES


def test_health_is_one_whoever_is_asked(started: tuple[Site, Database, str, int]) -> None:
    """Every process says the same of the site's work."""
    site, *_ = started
    with _connections(site, CONNECTIONS) as opened:
        assert {json.loads(_ask(each, "/healthz"))["status"] for each in opened} == {"ok"}


def test_a_signal_stops_all_and_a_start_finds_nothing_left(tmp_path: Path) -> None:
    """SIGTERM ends every web process, in time and with code 0."""
    with _started(tmp_path) as (site, *_):
        processes = web_processes(site)
        assert len(processes) == PROCESSES
        with _connections(site, CONNECTIONS):
            assert site.stop(signal.SIGTERM) == 0
        assert not any(Path(f"/proc/{number}").exists() for number in processes)
        assert not any("killing" in line for line in site.output)
