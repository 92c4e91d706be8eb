"""A site that is asked by a worker on another machine, and the job that it holds there."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

from leaderboard.errors import Forbidden, Invalid
from leaderboard.settings import is_loopback

PAUSES_S = (0.2, 1.0)
"""Between the first tries of a request."""
TIMEOUT_S = 120
LOST = "/api/problems/lost-lease"


class Unreachable(Exception):
    """The site did not answer, or answered that it is busy."""


class LeaseLost(Exception):
    """The job is another's by now; nothing of it is handed in."""


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job that this worker holds."""

    number: int
    run_id: int
    fence: int
    lease_s: int

    @property
    def facts(self) -> dict[str, object]:
        """What lines of the log about it have, as those of a site's own evaluators."""
        return {"job": self.number, "kind": "evaluate", "claim": self.fence}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The API never redirects: whatever does would be given the token."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing."""


class Site:
    """A site that is asked with the token of a worker; it needs https but on this machine."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Invalid(f"{url!r} is no address of a site; give one like https://example.org.")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise Invalid("A token is not sent over plain http, where it can be read on the way; use https.")
        self._base, self._token = f"{url.rstrip('/')}/api/v1/worker", token
        self._opener = urllib.request.build_opener(_NoRedirects)

    def ask(
        self, method: str, path: str, body: bytes | Mapping[str, Any] | None = None, **query: int
    ) -> bytes:
        """The answer's bytes; raises LeaseLost, Unreachable, and Forbidden for a refusal.

        What got no answer is asked again at once: under its key a POST is done once however often it comes.
        """
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        address = self._base + path + (f"?{urlencode(query)}" if query else "")
        if method == "POST":
            headers["Idempotency-Key"] = uuid4().hex
        asked = urllib.request.Request(address, data, headers, method=method)
        for pause_s in PAUSES_S:
            try:
                return self._answer(asked)
            except Unreachable:
                time.sleep(pause_s)
        return self._answer(asked)

    def _answer(self, asked: urllib.request.Request) -> bytes:
        try:
            with self._opener.open(asked, timeout=TIMEOUT_S) as answer:
                received: bytes = answer.read()
                return received
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (urllib.error.URLError, HTTPException, OSError) as error:
            raise Unreachable(str(getattr(error, "reason", None) or error)) from None


def _refusal(error: urllib.error.HTTPError) -> Exception:
    with error:
        try:
            said = json.loads(error.read())
            kind, detail = str(said["type"]), str(said["detail"])
        except (ValueError, KeyError, TypeError, OSError, HTTPException):
            return Unreachable(f"it answered {error.code}")
    if kind == LOST:
        return LeaseLost(detail)
    if error.code == 429 or error.code >= 500:
        return Unreachable(detail)
    # Not Invalid, whatever it is: labels that are, leave their judge without a rank.
    return Forbidden(detail)
