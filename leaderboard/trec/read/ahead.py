"""Work on a stream of items in several threads, and blocks that can be worked on before their turn."""

import os
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

ALONE = 4
"""Items that are worked on without threads: with fewer nothing would be gained."""
MOST_THREADS = 2
"""The reading of the file would not keep more of them busy."""
FRUITLESS_LINES = 100
"""Lines without an entry that are passed over in search of one."""


class Irregular(Exception):
    """A block that has to be read without threads: it is not known beforehand where the next one begins."""


def available_threads() -> int:
    """How many threads this process has cores for, at most 2."""
    # Not everywhere can a process be kept to some cores.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_THREADS, cores)


def in_order(
    items: Iterator[Item], work: Callable[[Item], Result], threads: int, alone: int = ALONE
) -> Generator[Result]:
    """What work makes of the items, in their order; after the first few it is done by so many threads.

    The caller takes the items, as many as there are threads before a result is given. An exception of
    work comes in place of its result, one of items after all results before it.
    """
    yield from map(work, islice(items, alone))
    waiting: deque[Future[Result]] = deque()
    failure: Exception | None = None
    # It starts a thread when it is given work, not before.
    with ThreadPoolExecutor(threads) as pool:
        while not failure:
            try:
                waiting.append(pool.submit(work, next(items)))
            except Exception as error:
                failure = error
            while waiting and (failure or len(waiting) >= threads):
                yield waiting.popleft().result()
    if not isinstance(failure, StopIteration):
        raise failure


def last_topic(body: bytearray, end: int) -> int:
    """Where in body[:end], whole lines, the last topic begins, by a few looks at lines.

    It is wrong where a topic's lines are not all together: who parses the block has to compare. Raises
    Irregular among very many lines without an entry.
    """
    last = end
    for _ in range(FRUITLESS_LINES):
        last = body.rfind(b"\n", 0, max(last - 1, 0)) + 1
        topic = _topic(body, last, end)
        if topic or not last:
            break
    if not topic:
        raise Irregular
    place = bisect_left(range(last), True, key=lambda start: _entry(body, start, end)[1] == topic)
    return _entry(body, place, end)[0]


def _entry(body: bytearray, place: int, end: int) -> tuple[int, bytes]:
    """The first line that begins at this place or later and holds an entry, and its topic."""
    start = body.find(b"\n", place - 1, end) + 1 if place else 0
    for _ in range(FRUITLESS_LINES):
        if topic := _topic(body, start, end):
            return start, topic
        start = body.find(b"\n", start, end) + 1
    raise Irregular


def _topic(body: bytearray, start: int, end: int) -> bytes:
    """The topic of the line that begins there, empty where it holds no entry."""
    line = bytes(body[start : body.find(b"\n", start, end)])
    return b"" if line.startswith(b"#") else b"".join(line.split(None, 1)[:1])
