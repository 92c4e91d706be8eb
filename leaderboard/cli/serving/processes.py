"""Processes that end with the one that started them."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, TypeVar

import click

from leaderboard import traces

Result = TypeVar("Result")
spawning = multiprocessing.get_context("spawn")


class StopSignals:
    """Whether a signal asked this process to stop; made in its main thread.

    threading.Event would not do: its set() holds a lock, for which a second signal that comes while the first
    one is handled would wait for ever. SimpleQueue.put is reentrant.
    """

    def __init__(self, *numbers: signal.Signals) -> None:
        self._signals: SimpleQueue[int] = SimpleQueue()
        self._is_asked = False
        for number in numbers:
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._is_asked = True
        self._signals.put(number)

    def is_asked(self) -> bool:
        """Whether a signal came."""
        return self._is_asked

    def wait(self, seconds: float) -> bool:
        """Wait for a signal, at most this many seconds; whether one came."""
        if not self._is_asked:
            try:
                self._signals.get(timeout=seconds)
            except Empty:
                return self._is_asked
        return True


def in_a_process(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call the function in a separate process, which ends with its imports.

    Raises ClickException where the process ended without a word.
    """
    receiver, sender = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_send_outcome, args=(sender, function, arguments), daemon=False)
    process.start()
    sender.close()
    try:
        error, result = receiver.recv()
    except EOFError:
        process.join()
        raise click.ClickException("The start was interrupted. Start again.") from None
    except BaseException:
        process.kill()
        raise
    process.join()
    if error is not None:
        raise error
    returned: Result = result
    return returned


def _send_outcome(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    follow_parent()
    outcome: tuple[Exception | None, Any]
    try:
        outcome = None, function(*arguments)
    except Exception as error:
        outcome = error, None
    sender.send(outcome)


def follow_parent() -> None:
    """Ignore Ctrl-C, which the parent turns into an orderly stop, and exit when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "started by a supervisor"
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


@contextmanager
def loading() -> Iterator[None]:
    """Modules of a process of its own are loaded here: garbage is not looked for among what stays to its end.

    That takes a fifth of a web process's start, and finds nothing.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def traced() -> Iterator[None]:
    """Send the spans of this process, if any are wanted, to its end."""
    traces.configure(multiprocessing.current_process().name)
    try:
        yield
    finally:
        traces.stop()


def limit_memory(limit: int) -> None:
    """Limit the address space of this process to this many bytes; 0: no limit."""
    if limit and sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
