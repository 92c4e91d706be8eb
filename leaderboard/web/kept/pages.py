"""Pages of visitors, made once and given again until the site changes or a date passes.

A page is kept under its whole address with the version of the site that was read before it was made: a
change of whatever somebody may see raises that number, so that nothing is ever shown that is out of date.
Whoever sends a cookie or a token is never given a kept page, and no page made for them is kept.
"""

import hashlib
import threading
import time
from dataclasses import dataclass

from flask import Flask, Response, current_app, g, request

from leaderboard.db import site_version
from leaderboard.memory import Kept
from leaderboard.pages.tasks import phases
from leaderboard.web import conditions
from leaderboard.web.kept.coding import SentBody
from leaderboard.web.kept.files import KeptFiles
from leaderboard.web.metrics import request_counts
from leaderboard.web.requests import is_recorded
from leaderboard.web.session import IS_SHARED, database, reading

EXTENSION = "kept pages"
LONGEST_S = 60.0
"""However little happens: what a page says of days that are left goes on with the clock."""
ROOMS = frozenset(
    (
        "tasks",
        "boards",
        "badges",
        "frames",
        "snapshots",
        "intervals",
        "reveal",
        "measure_orders",
        "comparisons",
        "curves",
        "efficiency",
        "topics",
        "heat_maps",
        "runs",
        "run_sections",
        "run_outward",
        "rankings",
        "answers",
        "nuggets",
        "judges",
        "reproductions",
        "judge_labels",
        "news",
        "phases",
        "revisions",
        "combined",
        "teams",
        "measures",
        "feeds",
        "suites",
    )
)
"""The blueprints whose pages are kept: none has an address that is a secret."""

KEPT_HEADERS = ("Content-Disposition", "Content-Security-Policy")
"""What an answer says of itself besides its type; every other header is the same for all."""

Address = tuple[str, str, str, str]


@dataclass(frozen=True)
class KeptPage:
    """One answer of status 200; until is of time.monotonic()."""

    body: SentBody
    headers: dict[str, str]
    """Those of KEPT_HEADERS that it has."""
    until: float

    def response(self) -> Response:
        """The answer to this request; without a body where the browser has it already."""
        response = self.body.response()
        response.headers.update(self.headers)
        response.cache_control.no_cache = True
        response.vary.add("Cookie")
        return conditions.applied(response)


class KeptPages:
    """The pages of one process, within its budget of memory; its methods may be called from any thread.

    files: where other web processes of the site find them, and it theirs.
    """

    def __init__(self, files: KeptFiles | None = None) -> None:
        self._files = files
        self._pages: Kept[KeptPage] = Kept(__name__)
        self._lock = threading.Lock()
        self._version = -1
        self._next_date = 0.0

    def find(self, address: Address, version: int) -> KeptPage | None:
        """The page of an address as it is in this version, None where it is not kept."""
        with self._lock:
            page = self._pages.get(address) if version == self._version else None
        return page if page is not None and page.until > time.monotonic() else None

    def begin(self, version: int) -> float:
        """Drop what is of another version; until when, of time.monotonic(), a page made now may be kept."""
        at = time.monotonic()
        if version != self._version or at >= self._next_date:
            next_date = at + phases.seconds_to_next_date(reading())
            with self._lock:
                is_new = version != self._version
                if is_new:
                    self._pages.clear()
                self._version, self._next_date = version, next_date
            if is_new and self._files is not None:
                self._files.drop_others(version)
        return min(at + LONGEST_S, self._next_date)

    def find_elsewhere(self, address: Address, version: int) -> KeptPage | None:
        """The page as another process made it, kept here from now on; None where none did."""
        kept = self._files.find(_name(address), version) if self._files is not None else None
        if kept is None:
            return None
        page = KeptPage(kept.sent_body(), kept.headers, kept.until)
        self._keep_here(address, version, page)
        return page

    def keep(self, address: Address, version: int, page: KeptPage) -> None:
        """Keep a page, unless the site changed since it was begun."""
        if self._keep_here(address, version, page) and self._files is not None:
            self._files.keep(_name(address), version, page.body, page.headers, page.until)

    def _keep_here(self, address: Address, version: int, page: KeptPage) -> bool:
        with self._lock:
            is_of_now = version == self._version
            if is_of_now:
                self._pages.put(address, page)
            return is_of_now


def _name(address: Address) -> str:
    return "\n".join(address)


@dataclass(frozen=True)
class Asked:
    """What is needed to keep the page that is being made."""

    address: Address
    version: int
    until: float


def register(app: Flask, room: int, files: KeptFiles | None = None) -> None:
    """Keep pages in memory, shared by files where these are given; none where room is 0."""
    app.extensions[EXTENSION] = KeptPages(files) if room else None


def answer() -> Response | None:
    """The kept page of this address, or None; then the page that is made may be kept."""
    store: KeptPages | None = current_app.extensions[EXTENSION]
    if not _may_be_kept():
        return None
    # Templates write style sheets into it.
    g.may_be_kept = True
    if store is None:
        setattr(g, IS_SHARED, True)
        return None
    version = _version()
    if version is None:
        return None
    address = (request.scheme, request.host, request.path, request.environ.get("QUERY_STRING", ""))
    page, found = store.find(address, version), "memory"
    if page is None:
        until = store.begin(version)
        page, found = store.find_elsewhere(address, version), "file"
    request_counts.counter().kept_page(found if page is not None else "none")
    if page is not None:
        return page.response()
    g.to_be_kept = Asked(address, version, until)
    return None


def _version() -> int | None:
    """The version of the server that the page is read from: a replica's must not pass for a newer one."""
    replica = database().replica
    version = site_version.number(replica) if replica is not None else None
    setattr(g, IS_SHARED, version is not None)
    if version is not None:
        return version
    if replica is not None:
        database().lose_replica("it has no version")
    return site_version.number(database().engine)


def offer(response: Response) -> Response | None:
    """The same answer out of what is kept from now on; None where this request's answer may not be kept."""
    asked: Asked | None = g.get("to_be_kept")
    if asked is None or response.status_code != 200:
        return None
    store: KeptPages = current_app.extensions[EXTENSION]
    plain = response.get_data()
    body = SentBody(plain, response.mimetype or "", hashlib.sha256(plain).hexdigest()[:32])
    page = KeptPage(body, _headers(response), asked.until)
    store.keep(asked.address, asked.version, page)
    return page.response()


def _headers(response: Response) -> dict[str, str]:
    return {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}


def _may_be_kept() -> bool:
    """Whether a visitor asks for a page that is the same for all visitors."""
    return (
        request.method in ("GET", "HEAD")
        and request.blueprint in ROOMS
        and not request.cookies
        and "Authorization" not in request.headers
        and not is_recorded(request.endpoint)
    )
