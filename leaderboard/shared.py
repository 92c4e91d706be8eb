"""Memory that the web processes of one site share: what they must count together.

Each process writes to its own part and reads those of the others. What all write to is protected by a file
lock, which ends with its process: a kill releases it. Small, as the supervisor, which makes the memory,
imports this.
"""

import hashlib
import multiprocessing
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

LARGE_BODIES = 64
"""Large bodies that one process may be receiving."""
REMAINDERS = 64
"""Addresses whose cut-off uploads one process may be storing."""
SETS, WAYS = 4096, 8
"""Places for addresses that spent of their budget; of the eight of one the oldest is used again."""


@dataclass(frozen=True)
class Memory:
    """Memory shared by the supervisor and all web processes; secret: known to those of this start alone."""

    processes: int
    secret: bytes
    connections: Any
    """Open connections of each process; -1 while it does not answer yet."""
    bodies: Any
    """Of each large body of each process: whose it is, as a mark, and its limit in bytes; 0 where none is."""
    remainders: Any
    """Marks of addresses, as many places for each process."""
    marks: Any
    """Of addresses that spent of their budget."""
    budgets: Any
    """Remaining budget of each address, and its time by time.monotonic()."""

    def is_up(self, number: int) -> bool:
        """Whether the process of that number, from 0, answers."""
        return bool(self.connections[number] >= 0)


def memory(processes: int) -> Memory:
    """Memory for that many web processes, empty."""
    spawning = multiprocessing.get_context("spawn")
    return Memory(
        processes,
        secrets.token_bytes(32),
        spawning.RawArray("q", [-1] * processes),
        spawning.RawArray("Q", processes * LARGE_BODIES * 2),
        spawning.RawArray("Q", processes * REMAINDERS),
        spawning.RawArray("Q", SETS * WAYS),
        spawning.RawArray("d", SETS * WAYS * 2),
    )


class Shared:
    """The memory as one of the processes has it; number counts them from 0.

    What its predecessor of that number, which died, had open is forgotten.
    """

    def __init__(self, memory: Memory, number: int, lock: Path) -> None:
        self.memory, self.number = memory, number
        self._threads = threading.Lock()
        self._lock = lock.open("wb")
        memory.connections[number] = -1
        for place in range(LARGE_BODIES):
            self.set_body(place, "", 0)
        for place in range(REMAINDERS):
            self.set_remainder(place, "")

    def close(self) -> None:
        """Close the lock's file; the memory is unchanged."""
        self._lock.close()

    def mark(self, text: str) -> int:
        """A number other than 0 for a text, the same in every process of this start; 0 for no text."""
        if not text:
            return 0
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8, key=self.memory.secret)
        return int.from_bytes(digest.digest(), "little") or 1

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold what all processes write to, for some microseconds."""
        with self._threads:
            if sys.platform != "win32":
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                if sys.platform != "win32":
                    fcntl.flock(self._lock, fcntl.LOCK_UN)

    def set_connections(self, count: int) -> None:
        """Publish to the others that this process answers, and how many connections it has."""
        self.memory.connections[self.number] = count

    def is_ahead(self) -> bool:
        """Whether another process has fewer connections."""
        counts = self.memory.connections[:]
        return bool(counts[self.number] > min(count for count in counts if count >= 0))

    def set_body(self, place: int, owner: str, limit: int) -> None:
        """Publish a large body of this process to the others, or that the place is free: limit 0."""
        at = 2 * (self.number * LARGE_BODIES + place)
        self.memory.bodies[at : at + 2] = [self.mark(owner), limit]

    def bodies_elsewhere(self, owner: str) -> list[tuple[bool, int]]:
        """Of each large body of other processes: whether it is this owner's, and its limit in bytes."""
        mark, mine = self.mark(owner), self.number * LARGE_BODIES
        flat = self.memory.bodies[:]
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
        others = pairs[:mine] + pairs[mine + LARGE_BODIES :]
        return [(body_mark == mark, limit) for body_mark, limit in others if limit]

    def set_remainder(self, place: int, path: str) -> None:
        """Publish to the others which address is being received; no address where the place is free."""
        self.memory.remainders[self.number * REMAINDERS + place] = self.mark(path)

    def is_taken_elsewhere(self, path: str) -> bool:
        """Whether another process is storing a cut-off upload of the address."""
        if not path:
            # A request that cannot be read has no address; an empty place has its mark.
            return False
        mine = self.number * REMAINDERS
        all_marks = self.memory.remainders[:]
        return self.mark(path) in all_marks[:mine] + all_marks[mine + REMAINDERS :]


class SharedBudgets:
    """Remaining budgets of addresses with their times; use it only while the memory is locked.

    A process that is killed while it writes leaves one address a wrong number, bounded by its reader.
    """

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def get(self, address: str, otherwise: tuple[float, float]) -> tuple[float, float]:
        """The budget stored for an address, or `otherwise`."""
        memory, mark = self._shared.memory, self._shared.mark(address)
        for place in _places(mark):
            if memory.marks[place] == mark:
                return memory.budgets[2 * place], memory.budgets[2 * place + 1]
        return otherwise

    def __setitem__(self, address: str, value: tuple[float, float]) -> None:
        """Remember what an address has left; the one of its places that was used longest ago makes room."""
        memory, mark = self._shared.memory, self._shared.mark(address)
        places = _places(mark)
        marked = [place for place in places if memory.marks[place] == mark]
        [place] = marked or [min(places, key=lambda place: memory.budgets[2 * place + 1])]
        memory.marks[place] = mark
        memory.budgets[2 * place : 2 * place + 2] = value


def _places(mark: int) -> range:
    first = mark % SETS * WAYS
    return range(first, first + WAYS)
