"""What web processes count together: nobody is given more by asking another process."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from leaderboard import server, shared
from leaderboard.cli.serving.processes import spawning
from leaderboard.errors import Busy
from leaderboard.server import OpenBodies, OpenBody, Remainders
from leaderboard.shared import LARGE_BODIES, SETS, WAYS, Memory, Shared, SharedBudgets
from leaderboard.web.rules import Budget

PATH = "/api/v1/uploads/1"


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """The file that the processes hold."""
    return tmp_path / "web.lock"


@pytest.fixture
def memory() -> Memory:
    """Of three processes."""
    return shared.memory(3)


@pytest.fixture
def start(memory: Memory, lock: Path) -> Iterator[Callable[[int], Shared]]:
    """The memory as one of the three has it that was just started."""
    with ExitStack() as stack:
        yield lambda number: stack.enter_context(closing(Shared(memory, number, lock)))


@pytest.fixture
def all_of_them(start: Callable[[int], Shared]) -> list[Shared]:
    """The memory as each of the three has it."""
    return [start(number) for number in range(3)]


def test_a_budget_is_one_whoever_is_asked(all_of_them: list[Shared]) -> None:
    """Six a minute are six over three processes, and refill at one pace."""
    moment = 100.0
    budgets = [Budget(lambda: moment, each) for each in all_of_them]
    assert [budgets[turn % 3].spend("a", 6) for turn in range(6)] == [0.0] * 6
    assert [each.spend("a", 6) for each in budgets] == [pytest.approx(10)] * 3
    assert budgets[1].spend("b", 6) == 0.0
    moment = 110.0
    assert budgets[2].spend("a", 6) == 0.0
    assert budgets[0].spend("a", 6) > 0


def test_of_many_addresses_those_that_asked_last_are_remembered(
    all_of_them: list[Shared], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory does not grow; an address that comes back after many others begins anew."""
    monkeypatch.setattr(shared, "SETS", 1)
    left = SharedBudgets(all_of_them[0])
    for number in range(WAYS + 1):
        left[f"address {number}"] = (float(number), 1.0 + number)
    assert left.get("address 0", (-1.0, 0.0)) == (-1.0, 0.0)
    assert [left.get(f"address {number}", (-1.0, 0.0))[0] for number in range(1, WAYS + 1)] == [
        float(number) for number in range(1, WAYS + 1)
    ]
    assert len(all_of_them[0].memory.marks) == SETS * WAYS


def test_large_bodies_are_counted_over_all_processes(start: Callable[[int], Shared]) -> None:
    """Those of one account and all together; a process that died has none."""
    first, second, third = (OpenBodies(800, start(number)) for number in range(3))
    first.add(OpenBody(60, "a"))
    own = OpenBody(40, "a")
    second.add(own)
    with pytest.raises(Busy, match="Your account"):
        third.add(OpenBody(1, "a"))
    third.add(OpenBody(700, "b"))
    with pytest.raises(Busy, match="Too many files"):
        first.add(OpenBody(1, "c"))
    second.remove(own)
    first.add(OpenBody(40, "a"))
    start(2)
    second.add(OpenBody(700, "b"))


def test_large_bodies_have_a_number_over_all_processes(all_of_them: list[Shared]) -> None:
    """However small they are, and wherever they come in."""
    processes = [OpenBodies(10**6, each) for each in all_of_them]
    for number in range(LARGE_BODIES):
        processes[number % 3].add(OpenBody(1, f"account {number}"))
    for each in processes:
        with pytest.raises(Busy, match="Too many files"):
            each.add(OpenBody(1, "one more"))
        each.add(OpenBody(1))


def test_who_asks_another_process_waits_for_what_was_cut_off(
    all_of_them: list[Shared], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as it is being taken of this very address, and as often as it is looked."""
    taking, asked = Remainders(all_of_them[0]), Remainders(all_of_them[1])
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            taking.end(PATH)

    monkeypatch.setattr(server.time, "sleep", pause)
    taking.begin(PATH)
    asked.wait_for(f"{PATH}2")
    asked.wait_for("")
    assert pauses == [], "neither of another one, nor a request that cannot be read"
    asked.wait_for(PATH)
    assert len(pauses) == 3
    asked.wait_for(PATH)
    assert len(pauses) == 3


def test_who_has_not_started_yet_is_waited_for_by_nobody(start: Callable[[int], Shared]) -> None:
    """It takes no connections, so nobody leaves it any."""
    first = start(0)
    first.set_connections(3)
    assert not first.is_ahead()
    assert [first.memory.is_up(number) for number in range(3)] == [True, False, False]
    second = start(1)
    assert not first.is_ahead()
    second.set_connections(0)
    assert first.is_ahead()
    assert [first.memory.is_up(number) for number in range(3)] == [True, True, False]
    start(1)
    assert not first.is_ahead()


def test_who_has_more_connections_than_another_is_ahead(all_of_them: list[Shared]) -> None:
    """Until it has as few."""
    first, second, third = all_of_them
    for each in all_of_them:
        each.set_connections(1)
    assert not any(each.is_ahead() for each in all_of_them)
    first.set_connections(2)
    assert [each.is_ahead() for each in all_of_them] == [True, False, False]
    second.set_connections(5)
    third.set_connections(2)
    assert [each.is_ahead() for each in all_of_them] == [False, True, False]


def _hold(memory: Memory, lock: Path, sender: Connection) -> None:
    with closing(Shared(memory, 0, lock)) as own, own.locked():
        sender.send("held")
        signal.pause()


@pytest.mark.trial
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system kills otherwise")
def test_a_killed_process_holds_nothing(memory: Memory, lock: Path, start: Callable[[int], Shared]) -> None:
    """A kill while the memory is held keeps nobody else from it."""
    receiver, sender = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_hold, args=(memory, lock, sender))
    process.start()
    assert receiver.recv() == "held"
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with start(1).locked():
        assert process.exitcode == -signal.SIGKILL
