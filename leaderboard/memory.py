"""Values that a process keeps in memory to be fast, all within one budget of bytes.

Caches share the budget: the least recently used value goes first, from any cache. A
value is measured when it is kept, and again as it is used: some work out more of themselves when asked.
"""

import ctypes
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from functools import wraps
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

Value = TypeVar("Value")
Given = ParamSpec("Given")

USUAL = 24 * 2**20
"""Bytes of the budget, unless the settings say otherwise."""
OF_AN_ENTRY = 300
"""Bytes of an entry in addition to its key and value."""
TRIM_EVERY_S = 10.0
"""Seconds between returns of freed memory to the machine while values are kept."""
_OPAQUE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, type(threading.Lock()))
_FLAT = (str, bytes, bytearray, int, float, complex, bool, type(None))


class _Entry:
    __slots__ = ("cache", "hits", "key", "size", "value")

    def __init__(self, cache: "Kept[Any]", key: Hashable, value: Any, size: int) -> None:
        self.cache, self.key, self.value, self.size = cache, key, value, size
        self.hits = 0


class MemoryBudget:
    """A byte limit shared by all caches of a process; its methods may be called from any thread."""

    def __init__(self, most: int = USUAL) -> None:
        self._most = most
        self._used = 0
        self._order: OrderedDict[_Entry, None] = OrderedDict()
        self._lock = threading.RLock()
        self._trimmed_at = 0.0

    @property
    def most(self) -> int:
        """The budget in bytes."""
        return self._most

    @most.setter
    def most(self, most: int) -> None:
        with self._lock:
            self._most = most
            self._make_room()

    @property
    def used(self) -> int:
        """Bytes in use."""
        return self._used

    def by_cache(self) -> dict[str, int]:
        """Name of a cache -> its bytes, for non-empty caches."""
        sizes: dict[str, int] = {}
        with self._lock:
            for entry in self._order:
                sizes[entry.cache.name] = sizes.get(entry.cache.name, 0) + entry.size
        return sizes

    def _make_room(self) -> None:
        while self._used > self._most:
            self._drop(next(iter(self._order)))
        self._trim()

    def _drop(self, entry: _Entry) -> None:
        del self._order[entry]
        del entry.cache._entries[entry.key]
        self._used -= entry.size

    def _trim(self) -> None:
        at = time.monotonic()
        if at - self._trimmed_at >= TRIM_EVERY_S:
            self._trimmed_at = at
            give_back()


budget = MemoryBudget()
"""That of this process."""


class Kept(Generic[Value]):
    """A cache by key; its methods may be called from any thread."""

    def __init__(self, name: str, within: MemoryBudget = budget) -> None:
        self.name = name
        self._budget = within
        self._entries: dict[Hashable, _Entry] = {}

    def get(self, key: Hashable) -> Value | None:
        """The value kept under a key, or None."""
        with self._budget._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._budget._order.move_to_end(entry)
            entry.hits += 1
            is_measured = entry.hits & (entry.hits - 1) == 0
        if is_measured:
            self._measure_again(entry)
        value: Value = entry.value
        return value

    def put(self, key: Hashable, value: Value) -> Value:
        """Keep a value, unless it would take more than half of the budget, and return it."""
        size = OF_AN_ENTRY + size_of((key, value))
        with self._budget._lock:
            self.drop(key)
            if 2 * size <= self._budget._most:
                entry = _Entry(self, key, value, size)
                self._entries[key] = entry
                self._budget._order[entry] = None
                self._budget._used += size
                self._budget._make_room()
        return value

    def drop(self, key: Hashable) -> None:
        """Drop the entry of a key."""
        with self._budget._lock:
            if (entry := self._entries.get(key)) is not None:
                self._budget._drop(entry)

    def clear(self) -> None:
        """Forget all of it."""
        with self._budget._lock:
            for entry in list(self._entries.values()):
                self._budget._drop(entry)
            self._budget._trim()

    def __len__(self) -> int:
        return len(self._entries)

    def _measure_again(self, entry: _Entry) -> None:
        size = OF_AN_ENTRY + size_of((entry.key, entry.value))
        with self._budget._lock:
            if self._entries.get(entry.key) is entry:
                self._budget._used += size - entry.size
                entry.size = size
                self._budget._make_room()


class KeptCall(Generic[Given, Value]):
    """A function whose results are kept: under its arguments, or under what `key` makes of them."""

    def __init__(self, function: Callable[Given, Value], key: Callable[..., Hashable] | None = None) -> None:
        wraps(function)(self)
        self._function = function
        self._key = key
        self.kept: Kept[tuple[Value]] = Kept(f"{function.__module__}.{function.__qualname__}")

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> Value:
        """The function's result, now or from an earlier call."""
        key = (given, *sorted(named.items())) if self._key is None else self._key(*given, **named)
        cached = self.kept.get(key)
        if cached is None:
            # Computed outside any lock: two threads may do so at once, with the same result.
            cached = self.kept.put(key, (self._function(*given, **named),))
        return cached[0]


def keep(function: Callable[Given, Value]) -> KeptCall[Given, Value]:
    """Keep what a function returns, by its arguments, within the budget of the process."""
    return KeptCall(function)


def keep_by(key: Callable[..., Hashable]) -> Callable[[Callable[Given, Value]], KeptCall[Given, Value]]:
    """The same by what `key` makes of the arguments."""
    return lambda function: KeptCall(function, key)


def size_of(value: object) -> int:
    """Approximate bytes of a value with all that it holds; what it holds twice is counted once.

    >>> size_of(np.zeros(1000)) // 1000, size_of([b"x" * 1000] * 5) // 1000
    (8, 1)
    """
    total, seen, waiting = 0, set[int](), deque([value])
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, _OPAQUE):
            continue
        seen.add(id(part))
        total += sys.getsizeof(part, 64)
        if isinstance(part, np.ndarray):
            # An array without data of its own keeps the whole that it is a part of.
            waiting.append(part.base)
        elif isinstance(part, memoryview):
            waiting.append(part.obj)
        elif not isinstance(part, _FLAT):
            waiting.extend(_parts(part))
    return total


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, (list, tuple, set, frozenset, deque)):
        yield from value
    else:
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            # A row of the database is measured without its session's state.
            yield from (part for name, part in own.items() if name != "_sa_instance_state")
        for kind in type(value).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                yield getattr(value, name, None)


def _libc() -> Any:
    return ctypes.CDLL(None) if sys.platform == "linux" else None


def give_back() -> None:
    """Give memory that was freed back to the machine, where the C library can."""
    trim = getattr(_libc(), "malloc_trim", None)
    if trim is not None:
        trim(0)


M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
ARENAS, MAPPED_FROM = 1, 128 * 1024


def hold_together() -> None:
    """Keep what the C library allocates for threads together, and large pieces apart, where it can.

    Eight threads would else have an arena each, and memory that one freed is used by no other; separately
    mapped blocks are returned when they are freed. To be called before threads are started.
    """
    options = getattr(_libc(), "mallopt", None)
    if options is not None:
        options(M_ARENA_MAX, ARENAS)
        options(M_MMAP_THRESHOLD, MAPPED_FROM)
