"""Work on a stream of items in several threads, and blocks that can be worked on before their turn."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar, cast

from leaderboard.trec.read import kernel

Item = TypeVar("Item")
Result = TypeVar("Result")

ALONE = 4
"""Items that are worked on without threads: with fewer nothing would be gained."""
MOST_THREADS = 2
"""The reading of the file would not keep more of them busy."""
FRUITLESS_LINES = 100
"""The number of lines without an entry that are skipped in search of one."""


class Irregular(Exception):
    """A block that has to be read without threads: it is not known beforehand where the next one begins."""


def available_threads() -> int:
    """Number of threads that this process has cores for, at most 2."""
    # Not everywhere can a process be kept to some cores.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_THREADS, cores)


def in_order(
    items: Iterator[Item], work: Callable[[Item], Result], threads: int, alone: int = ALONE, each: int = 1
) -> Generator[Result]:
    """The results of work on the items, in order; after the first few it runs in this number of threads.

    The caller takes the items, `each` of them for each thread before a result is given: with more than one
    the threads go on while the caller works on a result. An exception of work replaces its result, one of
    items after all results before it.
    """
    yield from map(work, islice(items, alone))
    with _Team(work, threads) as team:
        yield from team.in_order(items, each * threads)


@dataclass(slots=True)
class _Outcome(Generic[Result]):
    """The outcome of one piece of work."""

    result: Result | None = None
    error: BaseException | None = None


class _Team(Generic[Item, Result]):
    """Threads, started with the first items; all have ended at the end of the context.

    concurrent.futures offers the same, but importing it takes as long as reading a small run.
    """

    def __init__(self, work: Callable[[Item], Result], threads: int) -> None:
        self._work = work
        self._size = threads
        self._threads: list[Thread] = []
        self._tasks: SimpleQueue[tuple[Item, SimpleQueue[_Outcome[Result]]] | None] = SimpleQueue()

    def __enter__(self) -> "_Team[Item, Result]":
        return self

    def __exit__(self, *_: object) -> None:
        for _thread in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()

    def in_order(self, items: Iterator[Item], ahead: int) -> Generator[Result]:
        """The results for the items, in order, so many of them begun before one is given."""
        waiting: deque[SimpleQueue[_Outcome[Result]]] = deque()
        failure: Exception | None = None
        while not failure:
            try:
                waiting.append(self._begin(next(items)))
            except Exception as error:
                failure = error
            while waiting and (failure or len(waiting) >= ahead):
                outcome = waiting.popleft().get()
                if outcome.error:
                    raise outcome.error
                yield cast(Result, outcome.result)
        if not isinstance(failure, StopIteration):
            raise failure

    def _begin(self, item: Item) -> SimpleQueue[_Outcome[Result]]:
        if len(self._threads) < self._size:
            self._threads.append(Thread(target=self._run))
            self._threads[-1].start()
        answer: SimpleQueue[_Outcome[Result]] = SimpleQueue()
        self._tasks.put((item, answer))
        return answer

    def _run(self) -> None:
        while task := self._tasks.get():
            item, answer = task
            answer.put(self._outcome(item))
            # While the thread waits, nothing else needs the large objects.
            del task, item, answer

    def _outcome(self, item: Item) -> _Outcome[Result]:
        try:
            return _Outcome(self._work(item))
        except BaseException as error:
            return _Outcome(error=error)


def last_topic(body: bytearray, end: int) -> int:
    """Start of the last topic in body[:end], whole lines, found from behind with the kernel in C.

    It is wrong where a topic's lines are not all together: who parses the block has to compare. Raises
    Irregular among very many lines without an entry.
    """
    start: int = kernel.native.last_topic(body, end, FRUITLESS_LINES)
    if start < 0:
        raise Irregular
    return start
