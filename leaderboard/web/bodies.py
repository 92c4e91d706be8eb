"""Whether the body of a request is taken, and how much of it: decided by its header alone."""

import shutil
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any

from flask import Flask, current_app, request
from sqlalchemy import make_url
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

from leaderboard.core import throttles
from leaderboard.errors import NoRoom, TooLarge
from leaderboard.settings import Settings
from leaderboard.web.rules import PUBLIC, VISITORS_BODY, Body, Rule, enforce, rule_of
from leaderboard.web.session import API, BEARER, SESSION, settings, viewer

MOST_PARTS = 250
"""Parts of a form that takes many files: 200 of them and its fields."""
LEAST_ROOM = 2**20
"""Bytes that must be free whatever the settings say: a full disk fails in the middle of a write."""
REFUSAL = "leaderboard.refusal"
"""Key of the environment under which the server says why it read no body."""
ADMITTED = "leaderboard.admitted"
"""Key of the environment that says that the server asks the gate about large bodies."""


class Look(Enum):
    """Result of a first look at a request's header."""

    TAKE = auto()
    REFUSE = auto()
    ASK = auto()


@dataclass(frozen=True, slots=True)
class Admission:
    """A body that may come in: of at most so many bytes, from this account."""

    limit: int
    owner: str


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

    def ask(self, environ: dict[str, Any], length: int | None) -> Admission:
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
            return Admission(limit, network if asker.account_id is None else f"account {asker.account_id}")

    def keeps_parts(self, method: str, path: str) -> bool:
        """Whether the beginning of a body is of use there where its end never came."""
        declared = self._rule(method, path)
        return declared is not None and declared.body is Body.PIECE

    def _rule(self, method: str, path: str) -> Rule | None:
        try:
            endpoint, _ = self._routes.match(path.encode("latin-1").decode("utf-8", "replace"), method)
        except (HTTPException, RequestRedirect):
            return None
        return rule_of(self._app, endpoint)


def _limit(declared: Rule) -> int:
    # Whose request it is takes a look into the database, which most addresses need not have.
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
    # The gate is asked for large bodies only, and has looked for room before it let one in.
    is_let_in = ADMITTED in request.environ and (length is None or length > Gate.small)
    if declared.takes_files and request.method in ("PATCH", "POST", "PUT") and not is_let_in:
        require_room(settings(), length or 0)


def refuse_unread() -> None:
    """Raise why the server read no body, where it read none; call it after the rule was enforced."""
    refusal = request.environ.get(REFUSAL)
    if refusal is not None and request.endpoint is not None:
        raise refusal


def require_room(here: Settings, needed: int) -> None:
    """Raise NoRoom unless the disks of files and of SQLite have so many bytes free, and `free_bytes`."""
    folders = {here.data}
    if (url := make_url(here.url)).get_backend_name() == "sqlite" and url.database:
        folders.add(Path(url.database).parent)
    free = min(shutil.disk_usage(folder).free for folder in folders)
    if free < max(here.free_bytes, needed, LEAST_ROOM):
        raise NoRoom("The server's disk is full and nothing was stored. Report this to its operator.")
