"""The process that keeps the others alive: small, patient, and ended by nothing but a signal."""

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.cli.serving import supervisor as module
from leaderboard.cli.serving.processes import loading
from leaderboard.cli.serving.supervisor import (
    LONGEST_PAUSE_S,
    QUICK_DEATH_S,
    READ_BYTES,
    Child,
    Supervisor,
    bind,
)
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job
from leaderboard.settings import Settings
from tests.make import build
from tests.make.sites import free_port, running_site

MOST_KB = 60_000
HEAVY = ("numpy", "sqlalchemy", "flask", "waitress", "alembic", "leaderboard.core.policy", "leaderboard.web")
POLL_S = 0.05
PATIENCE = 3600
"""Looks at what is waited for."""


def _eventually(condition: Callable[[], bool]) -> bool:
    pause = threading.Event()
    return any(condition() or pause.wait(POLL_S) for _ in range(PATIENCE))


def _sleep() -> None:
    threading.Event().wait()


def _end() -> None:
    """A child that dies at once."""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor without children, which are stopped at the end."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    made = Supervisor(Settings(data=tmp_path))
    yield made
    made._stop_all()
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.trial
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_supervisor_stays_small(tmp_path: Path) -> None:
    """After the start it holds less than 60 MB: what was needed for it is gone with another process."""
    with running_site(tmp_path / "data") as site:
        status = Path(f"/proc/{site.process.pid}/status").read_text()
    [resident] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    assert int(resident.split()[1]) < MOST_KB


def test_the_commands_that_wait_import_little() -> None:
    """What `serve` and `worker` import they would keep for months."""
    script = f"import sys, leaderboard.cli.serving.serve; print([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_web_processes_are_as_many_as_processors_and_four_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the setting says otherwise; never fewer than one."""
    for processors, expected in ((1, 1), (2, 2), (64, 4), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda count=processors: count)
        assert Settings().web_slots == expected
    assert Settings.from_env({"LEADERBOARD_WEB_PROCESSES": "7"}).web_slots == 7
    assert Settings(web_processes=-1).web_slots == 1


def test_pauses_grow_while_a_child_dies_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """One second, two, four, up to thirty; a child that lived on is started at once."""
    moment = 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: moment)
    child = Child("child", _end, (), started=moment)
    assert [child.rest() for _ in range(7)] == [1, 2, 4, 8, 16, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    child.started = moment - QUICK_DEATH_S
    assert child.rest() == 0
    child.started = moment
    assert child.rest() == 1


def test_a_child_is_started_once_it_may(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that waits for another is looked after until then, and is not said to have ended."""
    looks, errors = iter([False, False, True]), list[str]()
    child = Child("child", _sleep, (), may_start=lambda: next(looks))
    supervisor.children.append(child)
    monkeypatch.setattr(module.log, "error", lambda message, *_: errors.append(message))
    child.not_before = 0.0
    alive = []
    for _ in range(4):
        supervisor._look_after(child)
        alive.append(child.is_alive)
    assert (alive, errors) == ([False, False, True, True], [])


def test_web_processes_start_one_after_the_other(supervisor: Supervisor) -> None:
    """Each when the one before it is about to answer."""
    supervisor.settings = replace(supervisor.settings, web_processes=3)
    with bind("127.0.0.1", free_port()) as listening:
        supervisor.add_web(listening)
    memory = supervisor.children[0].arguments[3]
    assert [child.name for child in supervisor.children] == ["web-1", "web-2", "web-3"]
    for number in range(3):
        assert [child.may_start() for child in supervisor.children] == [at <= number for at in range(3)]
        memory.connections[number] = 0


def test_a_child_that_cannot_be_started_is_tried_again(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system without room for a process ends nothing."""
    child = Child("child", _sleep, ())
    supervisor.children.append(child)

    class NoRoom:
        def __init__(self, **_: object) -> None: ...

        def start(self) -> None:
            raise OSError("Cannot allocate memory")

    with monkeypatch.context() as patch:
        patch.setattr(module.spawning, "Process", NoRoom)
        child.start()
    assert not child.is_alive
    assert child.not_before is not None
    child.not_before = 0.0
    supervisor._look_after(child)
    assert child.is_alive


def test_an_error_leaves_no_child_behind(supervisor: Supervisor) -> None:
    """Whatever ends the loop, the children are stopped; Python would wait for them for ever."""
    child = Child("child", _sleep, ())
    supervisor.children.append(child)

    def fails() -> None:
        raise RuntimeError("unexpected")

    with pytest.raises(RuntimeError, match="unexpected"):
        supervisor.run(fails)
    assert not child.is_alive


def test_wake_ups_are_taken_all_at_once(supervisor: Supervisor) -> None:
    """However many came there is one look; a full pipe is no error, and half of anything is a wake-up."""
    supervisor.add_evaluators(1)
    [waker] = supervisor.wakers
    reader = supervisor.children[0].arguments[1]
    for _ in range(READ_BYTES):
        module._wake((waker,))
    module._wake((waker,))
    assert module._was_wakened(reader)
    assert not module._was_wakened(reader)
    os.write(waker.fileno(), b"\x00")
    assert module._was_wakened(reader)


@pytest.mark.trial
def test_a_slot_works_after_a_kill_between_two_bytes(
    supervisor: Supervisor, database: Database, tmp_path: Path
) -> None:
    """What a killed evaluator left in its pipe does not stop its successor, nor SIGTERM."""
    supervisor.settings = Settings(data=tmp_path, database_url=str(database.engine.url))
    supervisor.add_evaluators(1)
    [child], [waker] = supervisor.children, supervisor.wakers
    os.write(waker.fileno(), b"\x01")
    build.task(database, tmp_path)
    child.start()
    build.run(database, tmp_path, {"1": ["a"]})

    def is_done() -> bool:
        with database.read() as session:
            return session.scalars(select(Job.state)).all() == ["done"]

    assert _eventually(is_done)
    assert child.process is not None
    child.process.terminate()
    child.process.join()
    assert child.process.exitcode == 0


MANY_SIGNALS = """
import signal
from leaderboard.cli.serving.processes import StopSignals

class Counted(StopSignals):
    calls = depth = 0

    def _note(self, number, frame):
        Counted.calls += 1
        Counted.depth += 1
        # Deeper than this only a machine would get on which handling takes longer than the pause between two.
        if Counted.depth < 20:
            signal.setitimer(signal.ITIMER_REAL, 1e-5)
        super()._note(number, frame)
        Counted.depth -= 1
        if Counted.depth == 0:
            signal.setitimer(signal.ITIMER_REAL, 1e-5)

stop = Counted(signal.SIGALRM)
signal.setitimer(signal.ITIMER_REAL, 1e-5)
while Counted.calls < 30_000:
    stop.wait(10)
signal.setitimer(signal.ITIMER_REAL, 0)
print(stop.wait(0), stop.is_asked())
"""


@pytest.mark.trial
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that send signals")
def test_signals_that_interrupt_each_other_stop_it() -> None:
    """One that comes while another is handled waits for nothing: thirty thousand, one in another."""
    done = subprocess.run(
        [sys.executable, "-c", MANY_SIGNALS], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.stdout.split(), done.stderr) == (["True", "True"], "")


def test_garbage_is_looked_for_again_once_modules_are_loaded() -> None:
    """Also where one of them cannot be."""
    with pytest.raises(ImportError), loading():
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled()
