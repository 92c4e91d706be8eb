"""Access rules of routes, and rate limits of visitors for computed pages; every view declares one.

One without a declaration stops the start. Budgets of visitors are counts in memory that refill by the second.

This is the outer door only; what a viewer may see or do inside is decided by core/policy.py.
"""

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum, auto
from math import ceil
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from cachetools import LRUCache
from flask import Flask, current_app, request
from sqlalchemy import make_url
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

from leaderboard.core import throttles
from leaderboard.core.actions import Received
from leaderboard.core.picture_kinds import LARGEST_BYTES
from leaderboard.core.policy import require_operator, require_second_factor
from leaderboard.core.throttles import network
from leaderboard.errors import Forbidden, Invalid, NoRoom, OverQuota, Problem, SignInNeeded, TooLarge
from leaderboard.settings import Settings, is_loopback
from leaderboard.shared import Shared, SharedBudgets
from leaderboard.trec.read.bundles import base_name, member_name
from leaderboard.web.addresses import whole
from leaderboard.web.session import API, BEARER, CARRYING, OF_AN_EDITION, SESSION, client_ip, settings, viewer

LARGEST_NUMBER_DIGITS = 18
KEY_CHARACTERS = 100


def received(field: str) -> Received | None:
    """The file of a form field, the first of several, None if none was chosen; gone with the request."""
    first = next(iter(received_all(field)), None)
    return first and Received(first.path, base_name(first.name))


def received_all(field: str) -> list[Received]:
    """The files of a form field with the folders that they came from in their names, as browsers say them."""
    return [_kept(file, member_name(file.filename)) for file in request.files.getlist(field) if file.filename]


def _kept(file: FileStorage, name: str) -> Received:
    file.stream.flush()
    return Received(Path(file.stream.name), name)


def form_key() -> str | None:
    """The form's key, made the sender's own: guessing does not lead to another account's upload."""
    given = request.form.get("key", "")[:KEY_CHARACTERS]
    return f"{viewer().account_id}:{given}" if given else None


def number(field: str, default: int | None) -> int | None:
    """The whole number of a form field, `default` where it is empty; raises Invalid for anything else."""
    given = request.form.get(field, "").strip()
    if not given:
        return default
    value = whole(given, digits=LARGEST_NUMBER_DIGITS)
    if value is None:
        problem = Problem("must be a whole number.", "Write digits only.", field=field, value=given[:40])
        raise Invalid(f"{field.capitalize()} must be a whole number.", [problem])
    return value


VISITORS_BODY = 2**16
"""Bytes a request may have at an address that is open to everybody."""
SMALL_BODY = 2**20
"""Bytes a request without files may have."""

BUDGET = "budget"
ADDRESSES = 20_000
"""Number of remembered network addresses; the least recent one is dropped first."""

Carries = Literal["", "board", "edition"]
View = TypeVar("View", bound=Callable[..., Any])


class Access(Enum):
    """Who may open a route."""

    PUBLIC = auto()
    SIGNED_IN = auto()
    ORGANISER = auto()
    OPERATOR = auto()


class Body(Enum):
    """Maximum size of a request's body."""

    SMALL = auto()
    UPLOAD = auto()
    FILES = auto()
    FOLDER = auto()
    """Files as large as FILES, and many of them."""
    CHECK = auto()
    PIECE = auto()
    """Of a file that is sent in pieces: what came of one that was cut off counts."""
    PICTURE = auto()

    def limit(self, settings: Settings, *, is_visitor: bool = False) -> int:
        """The limit in bytes; visitors and accounts may differ."""
        if self is Body.UPLOAD:
            return settings.upload_bytes + SMALL_BODY
        if self is Body.PIECE:
            return settings.upload_bytes
        if self is Body.CHECK:
            most = settings.inline_bytes if is_visitor else max(settings.inline_bytes, settings.check_bytes)
            return most + VISITORS_BODY
        if self is Body.PICTURE:
            return LARGEST_BYTES + SMALL_BODY
        if self in (Body.FILES, Body.FOLDER):
            return settings.plain_bytes + SMALL_BODY
        return SMALL_BODY


PUBLIC, SIGNED_IN, ORGANISER, OPERATOR = Access.PUBLIC, Access.SIGNED_IN, Access.ORGANISER, Access.OPERATOR


@dataclass(frozen=True, slots=True)
class Rule:
    """Declaration of one view; is_computed: whether its answer is so costly that visitors get few.

    carries: "board" where links to the page take the board's settings along, for its link back; "edition"
    where all pages and files of its room can also show an earlier edition.
    """

    access: Access
    body: Body = Body.SMALL
    is_computed: bool = False
    carries: Carries = ""

    @property
    def takes_files(self) -> bool:
        """Whether files may be sent there."""
        return self.body is not Body.SMALL

    def limit(self, settings: Settings, *, is_visitor: bool = False) -> int:
        """The largest body in bytes."""
        if self.access is PUBLIC and self.body is not Body.CHECK:
            return VISITORS_BODY
        return self.body.limit(settings, is_visitor=is_visitor)


def rule(
    access: Access, body: Body = Body.SMALL, *, is_computed: bool = False, carries: Carries = ""
) -> Callable[[View], View]:
    """A decorator, put under the route decorator, that declares a view's rule."""

    def declare(view: View) -> View:
        view.rule = Rule(access, body, is_computed, carries)  # type: ignore[attr-defined]
        return view

    return declare


def rule_of(app: Flask, endpoint: str) -> Rule | None:
    """The rule of an endpoint's view, None where it declares none."""
    rule = getattr(app.view_functions[endpoint], "rule", None)
    return rule if isinstance(rule, Rule) else None


def require_rules(app: Flask) -> None:
    """Raise RuntimeError naming every route whose view declares no rule; note which pages carry settings."""
    bare = sorted(
        {
            f"{route.rule} ({route.endpoint})"
            for route in app.url_map.iter_rules()
            if not rule_of(app, route.endpoint)
        }
    )
    if bare:
        raise RuntimeError(f"These routes declare no rule; put @rule(...) on their views: {', '.join(bare)}")
    pages = (route.endpoint for route in app.url_map.iter_rules() if "form" not in route.arguments)
    carried = {page: declared.carries for page in pages if (declared := rule_of(app, page))}
    app.extensions[CARRYING] = frozenset(page for page, carries in carried.items() if carries)
    of_editions = (page.partition(".")[0] for page, carries in carried.items() if carries == "edition")
    app.extensions[OF_AN_EDITION] = frozenset(of_editions)


def enforce() -> None:
    """Raise SignInNeeded or Forbidden where the route's rule keeps the viewer out."""
    if request.endpoint is None:
        return
    declared = rule_of(current_app, request.endpoint)
    if declared is None:
        raise Forbidden("This address is not available.")
    if declared.access is PUBLIC:
        return
    if viewer().account_id is None:
        raise SignInNeeded("Sign in first.")
    if declared.access is OPERATOR:
        require_operator(viewer())
    if declared.access is ORGANISER and not viewer().is_organiser:
        require_second_factor(viewer())
        raise Forbidden("Only organiser accounts can do this. Ask the operator of this site.")


COMPUTED = Rule(PUBLIC, is_computed=True)


class Left(Protocol):
    """Remaining budgets of addresses, with their times."""

    def get(self, address: str, otherwise: tuple[float, float], /) -> tuple[float, float]:
        """Of one address."""

    def __setitem__(self, address: str, value: tuple[float, float], /) -> None:
        """Remember it."""


@dataclass
class Budget:
    """Budget of each address: a number of pages a minute, and as many again each minute."""

    clock: Callable[[], float] = time.monotonic
    shared: Shared | None = None
    """Counts that several web processes share."""

    def __post_init__(self) -> None:
        """Begin with every address's full budget."""
        self._left: Left = LRUCache(ADDRESSES) if self.shared is None else SharedBudgets(self.shared)
        self._lock = threading.Lock()

    def _locked(self) -> AbstractContextManager[Any]:
        return self._lock if self.shared is None else self.shared.locked()

    def spend(self, address: str, a_minute: int) -> float:
        """Take one page of the address's budget; seconds until there is one, 0 where there was."""
        with self._locked():
            at = self.clock()
            left, seen = self._left.get(address, (float(a_minute), at))
            left = min(a_minute, left + (at - seen) * a_minute / 60)
            wait = 0.0 if left >= 1 else (1 - left) * 60 / a_minute
            self._left[address] = (left if wait else left - 1, at)
            return wait


def enforce_budget() -> None:
    """Spend the visitor's budget where the rule of the address says that its page is computed."""
    declared = rule_of(current_app, request.endpoint) if request.endpoint else None
    if declared is not None and declared.is_computed:
        spend()


def spend() -> None:
    """Raise OverQuota, with retry_after_s, where a visitor's address requested too many computed pages.

    People on this machine and accounts have no limit. Called by views where only some pages are
    computed.
    """
    limit, ip = settings().computed_pages, client_ip()
    if not limit or not ip or is_loopback(ip):
        return
    if viewer().account_id is not None:
        return
    budget: Budget = current_app.extensions[BUDGET]
    if wait := ceil(budget.spend(network(ip), limit)):
        raise OverQuota(
            f"Your network address has reached the limit of {limit} computed pages per minute. Sign in, or "
            f"try again in {wait} s.",
            retry_after_s=wait,
        )


MOST_PARTS = 250
"""Parts of a form for many files: 200 of them and its fields."""
LEAST_ROOM = 2**20
"""Bytes that must be free regardless of the settings: a full disk fails in the middle of a write."""
REFUSAL = "leaderboard.refusal"
"""Key of the environment under which the server says why it read no body."""
ADMITTED = "leaderboard.admitted"
"""Key of the environment that says that the server asks the gate about large bodies."""


class Look(Enum):
    """Result of a first look at a request's header."""

    TAKE = auto()
    REFUSE = auto()
    ASK = auto()


class Gate:
    """Tells by a request's header whether its body is taken; small: bytes that are kept in memory at once."""

    small = VISITORS_BODY

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._routes = app.url_map.bind("localhost")

    def look(self, method: str, path: str, cookies: str, length: int | None, bearer: str = "") -> Look:
        """First look at the address and at whether there is a cookie or token; it asks no database.

        length: None where unknown; bearer: the header Authorization.
        """
        declared = self._rule(method, path)
        if declared is None:
            return Look.REFUSE
        is_small = length is not None and length <= self.small
        if declared.access is PUBLIC:
            if is_small or length is None:
                return Look.TAKE
            return Look.ASK if declared.body is Body.CHECK else Look.REFUSE
        is_somebody = bearer.startswith(BEARER) if path.startswith(f"{API}/") else f"{SESSION}=" in cookies
        if not is_somebody:
            return Look.REFUSE
        return Look.TAKE if is_small else Look.ASK

    def ask(self, environ: dict[str, Any], length: int | None) -> tuple[int, str]:
        """Allowed size of a body; raises what the application would, and NoRoom where the disk is full."""
        with self._app.request_context(environ):
            enforce()
            declared = rule_of(current_app, request.endpoint or "")
            assert declared is not None, "an address without a rule has been refused"
            limit = _limit(declared)
            if length is not None and length > limit:
                raise TooLarge(
                    f"This address accepts at most {limit:,} bytes; the request has {length:,}. Compress "
                    "the file."
                )
            # The form's parser writes the files of the body once more.
            require_room(settings(), 2 * (limit if length is None else length))
            asker = viewer()
            network = f"network {throttles.network(asker.ip)}"
            return limit, network if asker.account_id is None else f"account {asker.account_id}"

    def keeps_parts(self, method: str, path: str) -> bool:
        """Whether an incomplete body is useful there."""
        declared = self._rule(method, path)
        return declared is not None and declared.body is Body.PIECE

    def _rule(self, method: str, path: str) -> Rule | None:
        try:
            endpoint, _ = self._routes.match(path.encode("latin-1").decode("utf-8", "replace"), method)
        except (HTTPException, RequestRedirect):
            return None
        return rule_of(self._app, endpoint)


def _limit(declared: Rule) -> int:
    # Finding the sender requires a database query, which most addresses do not need.
    is_visitor = declared.body is Body.CHECK and viewer().account_id is None
    return declared.limit(settings(), is_visitor=is_visitor)


def limit_body() -> None:
    """Let the request's body be as large as its route's rule says; raises NoRoom where the disk is full."""
    declared = rule_of(current_app, request.endpoint) if request.endpoint else None
    if declared is None:
        return
    request.max_content_length = _limit(declared)
    if declared.body in (Body.UPLOAD, Body.FOLDER):
        request.max_form_parts = MOST_PARTS
    length = request.content_length
    # The gate is asked for large bodies only, and has checked the space before it admitted one.
    is_let_in = ADMITTED in request.environ and (length is None or length > Gate.small)
    if declared.takes_files and request.method in ("PATCH", "POST", "PUT") and not is_let_in:
        require_room(settings(), length or 0)


def refuse_unread() -> None:
    """Raise why the server read no body, where it read none; call it after the rule was enforced."""
    refusal = request.environ.get(REFUSAL)
    if refusal is not None and request.endpoint is not None:
        raise refusal


def require_room(here: Settings, needed: int) -> None:
    """Raise NoRoom unless the disks of files and of SQLite have `needed` bytes free, and `free_bytes`."""
    folders = {here.data}
    if (url := make_url(here.url)).get_backend_name() == "sqlite" and url.database:
        folders.add(Path(url.database).parent)
    free = min(shutil.disk_usage(folder).free for folder in folders)
    if free < max(here.free_bytes, needed, LEAST_ROOM):
        raise NoRoom("The server's disk is full and nothing was stored. Report this to its operator.")
