"""Counters of the processes of one `serve` for /metrics: requests by route, cached pages, lost leases.

Each process adds to its own part of memory that the supervisor made, and any of them adds the parts up:
no process waits for another. A part outlives its process, so that no count decreases when one dies. Small:
the supervisor imports it.
"""

import multiprocessing
import threading
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ROUTES = 1024
"""Routes, each with its method, that a site may have at most."""
STATUSES = (
    *(200, 201, 202, 204, 206, 301, 302, 303, 304, 308),
    *(400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 416, 422, 429, 500, 503, 507),
    0,
)
"""Statuses that are counted; 0: any other."""
BOUNDS_S = (0.05, 0.25, 1.0, 5.0)
"""Upper bounds of spans of seconds; after them comes what took longer than the last."""
FOUND = ("memory", "file", "none")
"""Sources of a cached page: this process, another process, none."""
OF_A_ROUTE = len(STATUSES) + len(BOUNDS_S) + 2
"""Cells: requests by status, requests by span, the sum of their seconds."""
OF_A_PROCESS = ROUTES * OF_A_ROUTE + len(FOUND)


@dataclass(frozen=True)
class Counters:
    """The counters that the supervisor shares with its children."""

    web: Any
    """Of each web process, its cells; doubles count exactly up to 2**53."""
    leases: Any
    """Of each evaluator, how many job leases it released because their holders were dead."""


def counters(web_processes: int = 1, evaluators: int = 0) -> Counters:
    """Counters of that many processes, all at 0."""
    spawning = multiprocessing.get_context("spawn")
    return Counters(
        spawning.RawArray("d", web_processes * OF_A_PROCESS), spawning.RawArray("q", max(1, evaluators))
    )


@dataclass(frozen=True, slots=True)
class RouteCount:
    """Requests of one route: by status, by span of seconds (BOUNDS_S, then above), and seconds in all."""

    statuses: dict[int, int]
    spans: tuple[int, ...]
    seconds: float


class WebCounter:
    """The counters of one web process; number counts these from 0."""

    def __init__(self, counters: Counters, number: int) -> None:
        self._counters, self._start = counters, number * OF_A_PROCESS
        # To add to a cell is to read and to write it, and the process has several threads.
        self._lock = threading.Lock()

    def answered(self, route: int, status: int, seconds: float) -> None:
        """Count a request of the route of that number, from 0."""
        cells, first = self._counters.web, self._start + route * OF_A_ROUTE
        place = STATUSES.index(status) if status in STATUSES else len(STATUSES) - 1
        with self._lock:
            cells[first + place] += 1
            cells[first + len(STATUSES) + bisect_left(BOUNDS_S, seconds)] += 1
            cells[first + OF_A_ROUTE - 1] += seconds

    def kept_page(self, found: str) -> None:
        """Count where a page that may be kept was found."""
        with self._lock:
            self._counters.web[self._start + ROUTES * OF_A_ROUTE + FOUND.index(found)] += 1

    def route(self, number: int) -> RouteCount | None:
        """The requests of a route in all processes, None if there were none."""
        first = number * OF_A_ROUTE
        cells = self._summed(first, first + OF_A_ROUTE)
        statuses = {status: int(count) for status, count in zip(STATUSES, cells, strict=False) if count}
        spans = tuple(int(count) for count in cells[len(STATUSES) : -1])
        return RouteCount(statuses, spans, cells[-1]) if statuses else None

    def kept_pages(self) -> dict[str, int]:
        """Number of cached pages by source, in all processes."""
        return dict(zip(FOUND, map(int, self._summed(ROUTES * OF_A_ROUTE, OF_A_PROCESS)), strict=True))

    def leases_lost(self) -> int:
        """Number of leases released by the evaluators of this machine."""
        return sum(self._counters.leases[:])

    def _summed(self, begin: int, end: int) -> list[float]:
        """The same cells of all processes, added up."""
        web = self._counters.web
        parts = (web[start + begin : start + end] for start in range(0, len(web), OF_A_PROCESS))
        return [sum(cells) for cells in zip(*parts, strict=True)]


def count_lost(counters: Counters, number: int, leases: int) -> None:
    """Count leases that the evaluator of that number, from 0, gave back."""
    counters.leases[number] += leases


@dataclass(frozen=True, slots=True)
class Sample:
    """One number, with its labels; suffix is what it adds to the name of its metric."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number about the site's work, by labels; kind is counter, gauge or histogram."""

    name: str
    kind: str
    meaning: str
    samples: tuple[Sample, ...]
