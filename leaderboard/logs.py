"""What a process says of itself: its log, and counters for /metrics.

The log has one event a line, as text or JSON, without tokens and without lines written by others.
Of the counters each process of a `serve` adds to its own part of memory that the supervisor made, and any of
them adds the parts up: no process waits for another. A part outlives its process, so that no count decreases
when one dies. Small: the supervisor imports it.
"""

import json
import logging
import multiprocessing
import re
import sys
import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from leaderboard.errors import Invalid

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

    def kept_page(self, source: str) -> None:
        """Count where a page that may be kept was found."""
        with self._lock:
            self._counters.web[self._start + ROUTES * OF_A_ROUTE + FOUND.index(source)] += 1

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


TEXT, JSON = "text", "json"
TOKENS = re.compile(
    r"(/+(?:judge|sign-in|join|drafts|confirm-mail|review|tasks/+[^/\s]+/+(?:uploads|pieces))/+)[^/\s?#\"']+",
    re.IGNORECASE,
)
"""Addresses that hold a secret."""
SECRETS = re.compile(r"\b(lb_[prw])[0-9A-Za-z]{8,}")
"""Tokens of the API, whole or cut off."""
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
PLAIN = re.compile(r"[^\s\"'=]+")
INDENT = "    | "
_present: ContextVar[Mapping[str, Any]] = ContextVar("present", default=MappingProxyType({}))
"""Fields that this thread adds to each line it logs for now."""


class _Stderr(logging.Handler):
    """Writes to the current stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record and what ends its line at once, so that processes do not mix theirs."""
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except Exception:  # as logging.StreamHandler does
            self.handleError(record)


def configure(form: str) -> None:
    """Send what this process logs to stderr, from INFO on; raises Invalid unless form is text or json."""
    if form not in (TEXT, JSON):
        raise Invalid(f"LEADERBOARD_LOG_FORMAT is {form!r}; it must be {TEXT} or {JSON}.")
    handler = _Stderr()
    handler.setFormatter(JsonLines() if form == JSON else TextLines())
    root = logging.getLogger()
    for earlier in [each for each in root.handlers if isinstance(each, _Stderr)]:
        root.removeHandler(earlier)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("alembic").setLevel(logging.WARNING)


def begin(**facts: Any) -> None:
    """Put these facts into every line of this thread from now on, in place of those before."""
    _present.set(facts)


@contextmanager
def about(**facts: Any) -> Iterator[None]:
    """Put these facts into every line that this thread logs inside."""
    before = _present.set({**_present.get(), **facts})
    try:
        yield
    finally:
        _present.reset(before)


def masked(text: str) -> str:
    """The text with tokens masked: those in addresses, and those of the API anywhere.

    >>> masked("/judge/SECRET/1 and /tasks/join")
    '/judge/<token>/1 and /tasks/join'
    >>> masked("Bearer lb_pAbCdEfGh12345")
    'Bearer lb_p<token>'
    """
    return SECRETS.sub(r"\1<token>", TOKENS.sub(r"\1<token>", text))


def one_line(text: str) -> str:
    r"""The text with characters that could end a line or move the cursor written out, and tokens masked.

    >>> one_line("a\nERROR b")
    'a\\nERROR b'
    """
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), masked(text))


class TextLines(logging.Formatter):
    """`time level process logger message name=value ...`; a traceback follows, each line indented."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as lines; all but the first are indented."""
        facts = "".join(f" {name}={_plain(value)}" for name, value in _facts(record).items())
        place = f"{_moment(record)} {record.levelname} {record.processName} {record.name}"
        lines = [f"{place} {one_line(record.getMessage())}{facts}"]
        lines += [INDENT + one_line(line) for line in _trace(self, record).split("\n") if line]
        return "\n".join(lines)


class JsonLines(logging.Formatter):
    """One JSON object a line: at, level, process, logger, message, the facts of the event, trace."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON, with line breaks escaped."""
        event: dict[str, Any] = {
            "at": _moment(record),
            "level": record.levelname,
            "process": record.processName,
            "logger": record.name,
            "message": masked(record.getMessage()),
            **_facts(record),
        }
        trace = _trace(self, record)
        return json.dumps({**event, "trace": masked(trace)} if trace else event, default=str)


def _facts(record: logging.LogRecord) -> Mapping[str, Any]:
    return {**_present.get(), **getattr(record, "facts", {})}


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _plain(value: object) -> str:
    text = "-" if value is None else masked(str(value))
    return text if PLAIN.fullmatch(text) and text.isprintable() else json.dumps(text)


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return formatter.formatException(record.exc_info) if record.exc_info else ""
