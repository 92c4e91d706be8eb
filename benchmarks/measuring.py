"""What a command costs, and what machine it ran on. Standard library only, see `measure`."""

import importlib.metadata
import os
import platform
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

MEGABYTE = 2**20


class Cost(NamedTuple):
    """Wall time, peak resident memory and processor time of a process and what it started."""

    seconds: float
    megabytes: float
    processor: float = 0.0


class Failed(Exception):
    """A command that ended with an error: what it said last."""


def measure(command: Sequence[str], output: Path, environment: Mapping[str, str], folder: Path) -> Cost:
    """Run the command there, its output into the file.

    Its modules are compiled once, as an installation does it, whatever the environment says. Linux counts
    the memory of the process that starts another to the other's peak, so ours must stay small: nothing large
    may be imported or held here.
    """
    errors = output.with_suffix(".stderr")
    given = {**os.environ, **environment}
    given.pop("PYTHONDONTWRITEBYTECODE", None)
    with output.open("wb") as out, errors.open("wb") as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=folder, env=given)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        last = errors.read_text(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise Failed(f"exit code {process.returncode}: {last[0]}")
    return Cost(seconds, used.ru_maxrss * 1024 / MEGABYTE, used.ru_utime + used.ru_stime)


def warm(path: Path) -> None:
    """Read the file once, so that none of the tools pays for the disk."""
    with path.open("rb", buffering=0) as file:
        while file.read(MEGABYTE):
            pass


def own_peak() -> float:
    """Peak memory of this process in MB: no measured peak can be below."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE


def machine() -> dict[str, str]:
    """Facts that decide about times."""
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": _field("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.release()}, {' '.join(platform.libc_ver())}",
        "Python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"),
        "load before": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def _field(path: str, name: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return ""
