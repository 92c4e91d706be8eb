"""Reads mutated files within limits of time and memory, in a process of its own or in this one."""

import random
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fuzz.mutate import mutated
from benchmarks.fuzz.readers import LIMITS, READERS, Read, Reader, require_storable
from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.trec.read import kernel
from leaderboard.trec.read.archives import Limits

SECONDS = 2.0
"""CPU time that a reader may take for one file, which unpacked may have some MB."""
MEGABYTES = 512
"""How much more address space a process may take than it has when it starts to read."""


class TooSlow(BaseException):
    """A file took more than its time; no reader may take this for a fault of the file."""


@dataclass
class Findings:
    """What became of the files of one reader; faults are numbers of files with what happened."""

    files: int = 0
    taken: int = 0
    refused: int = 0
    crashes: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def timed(self, read: Read, path: Path, limits: Limits) -> Any:
        """What a way to read makes of a file; raises TooSlow."""
        started = time.process_time()
        try:
            with _alarm():
                return _said(read, path, limits)
        finally:
            self.slowest = max(self.slowest, time.process_time() - started)

    @property
    def faults(self) -> list[str]:
        """All of them."""
        return [*self.crashes, *self.disagreements, *self.over]


def content(name: str, seed: int, number: int, reader: Reader) -> bytes:
    """The file of that number: the same for ever."""
    return mutated(random.Random(f"{seed}/{name}/{number}"), reader.files)


def fuzz(name: str, numbers: range, seed: int, folder: Path, reader: Reader | None = None) -> Findings:
    """Read the files of these numbers in every way with every kernel; the last one stays in the folder."""
    reader = reader or READERS[name]
    found, path = Findings(), folder / name
    for number in numbers:
        path.write_bytes(content(name, seed, number, reader))
        (folder / "number").write_text(str(number))
        limits = LIMITS[number % len(LIMITS)]
        try:
            said = [[found.timed(read, path, limits) for read in reader.ways] for _ in _kernels()]
            if reader.stored:
                require_storable(said[0][0])
        except TooSlow:
            found.over.append(f"{number}: more than {SECONDS:g} s")
        except MemoryError:
            found.over.append(f"{number}: more than {MEGABYTES} MB")
        except Exception as error:
            found.crashes.append(f"{number}: {type(error).__name__}: {error}"[:300])
        else:
            _compare(found, number, said, reader.alike)
        found.files += 1
    return found


def limit_memory() -> None:
    """Let this process take no more than MEGABYTES above what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEGABYTES * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _compare(found: Findings, number: int, said: list[list[Any]], alike: bool) -> None:
    first = said[0]
    if any(others != first for others in said[1:]):
        found.disagreements.append(f"{number}: the kernels differ")
    elif alike and any(one != first[0] for one in first):
        found.disagreements.append(f"{number}: two ways to read it differ")
    if isinstance(first[0], tuple) and first[0][:1] == ("refused",):
        found.refused += 1
    else:
        found.taken += 1


def _said(read: Read, path: Path, limits: Limits) -> Any:
    """What a way to read makes of a file; its own errors are answers too, with all their problems."""
    try:
        return read(path, limits)
    except LeaderboardError as error:
        problems = error.problems if isinstance(error, Invalid) else ()
        return "refused", type(error).__name__, error.message, tuple(map(str, problems))


def _kernels() -> Iterator[None]:
    """Once with the C kernel, where there is one, and once without."""
    built = kernel.native
    for native in (built, None) if built else (None,):
        kernel.native = native
        try:
            yield
        finally:
            kernel.native = built


@contextmanager
def _alarm() -> Iterator[None]:
    """Raise TooSlow once SECONDS of CPU time are used, however busy the machine is."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def peak_megabytes() -> float:
    """The most memory this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
