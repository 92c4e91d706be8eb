"""Requests to the API of a site: JSON or a file out, JSON in, tried again where that is safe."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urlencode, urlsplit

from leaderboard_submit.errors import ClientError, NotAllowed, NotFound, OverQuota, Refused, Unreachable

API = "/api/v1"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
TRIES = 6
LONGEST_PAUSE_S = 60.0
PIECE = 2**16
BUSY = (429, 500, 502, 503, 504)
"""Answers after which the same request may be sent again."""
Progress = Callable[[int, int], None]
"""Called with the bytes sent so far, and all of them."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The API never redirects: a redirect comes from something between, and would get the token."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Transport:
    """How one site is asked with one token."""

    def __init__(
        self, url: str, token: str | None, timeout_s: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(f"{url!r} is not a valid site address.", "Use a form like https://example.org.")
        if token and parts.scheme == "http" and parts.hostname not in LOOPBACK and not _may_be_read():
            raise Refused(
                "Tokens are not sent over plain http, where others can read them.",
                "Use https, or set LEADERBOARD_INSECURE=1 in a network that you trust.",
            )
        self.url = url.rstrip("/")
        self.token, self._timeout_s, self._sleep = token, timeout_s, sleep
        self._opener = urllib.request.build_opener(_NoRedirects)

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        file: Path | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """The answer's JSON; raises a ClientError for what the site refuses, Unreachable for no site.

        What may safely come twice is tried again with growing pauses, or those that the site asks for: GET,
        PUT and DELETE always, others with an Idempotency-Key.
        """
        sent = {"Accept": "application/json", "User-Agent": "leaderboard-submit", **(headers or {})}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            sent["Content-Type"] = "application/json"
        elif file is not None:
            sent.setdefault("Content-Type", "application/octet-stream")
        address = self._address(path, query)
        tries = TRIES if method in ("GET", "PUT", "DELETE") or "Idempotency-Key" in sent else 1
        for left in reversed(range(tries)):
            try:
                with _Payload(body, file, progress) as payload:
                    sent["Content-Length"] = str(payload.length)
                    asked = urllib.request.Request(address, data=payload.data, headers=sent, method=method)
                    with self._opener.open(asked, timeout=self._timeout_s) as answer:
                        return _read(answer.read())
            except urllib.error.HTTPError as error:
                refused = _refusal(error)
                if error.code not in BUSY or not left:
                    raise refused from None
                pause = _asked_pause(error)
                if pause is not None and pause > LONGEST_PAUSE_S:
                    raise refused from None
            except ssl.SSLCertVerificationError as error:
                raise Unreachable(f"The certificate of {self.url} is not trusted: {error.reason}.") from None
            except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
                if not left:
                    reason = getattr(error, "reason", None) or error
                    raise Unreachable(
                        f"{self.url} does not answer: {reason}.", "Check the address, and try again later."
                    ) from None
                pause = None
            self._sleep(pause if pause is not None else 0.5 * 2 ** (tries - 1 - left))
        raise AssertionError("a last try raises or answers")

    def pieces(self, path: str, **query: Any) -> Iterator[bytes]:
        """A file of the site, piece by piece; raises as `ask` does."""
        sent = {"User-Agent": "leaderboard-submit"}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        asked = urllib.request.Request(self._address(path, query), headers=sent)
        try:
            with self._opener.open(asked, timeout=self._timeout_s) as answer:
                while piece := answer.read(PIECE):
                    yield piece
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            raise Unreachable(f"{self.url} does not answer: {getattr(error, 'reason', error)}.") from None

    def _address(self, path: str, query: Mapping[str, Any] | None) -> str:
        given = {key: _text(value) for key, value in (query or {}).items() if value not in (None, "")}
        return f"{self.url}{API}{quote(path, safe='/%')}" + (f"?{urlencode(given, True)}" if given else "")


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _may_be_read() -> bool:
    return os.environ.get("LEADERBOARD_INSECURE", "") == "1"


class _Payload:
    """What a request carries, opened again for each try."""

    def __init__(
        self, body: Mapping[str, Any] | None, file: Path | bytes | None, progress: Progress | None
    ) -> None:
        self._progress, self._path = progress, file if isinstance(file, Path) else None
        self.data: bytes | _Counted | None = file if isinstance(file, bytes) else None
        if body is not None:
            self.data = json.dumps(body).encode()
        self.length = len(self.data) if isinstance(self.data, bytes) else 0

    def __enter__(self) -> _Payload:
        if self._path is not None:
            self.length = self._path.stat().st_size
            self.data = _Counted(self._path.open("rb"), self.length, self._progress)
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self.data, _Counted):
            self.data.file.close()


class _Counted:
    """A file that says how far it was read."""

    def __init__(self, file: BinaryIO, length: int, progress: Progress | None) -> None:
        self.file, self._length, self._progress = file, length, progress

    def read(self, size: int = PIECE) -> bytes:
        piece = self.file.read(size)
        if self._progress is not None:
            self._progress(self.file.tell(), self._length)
        return piece


def _read(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        raise Unreachable(
            "The response is not JSON, so it is not from the API of a leaderboard.", "Check the address."
        ) from None


def _asked_pause(error: urllib.error.HTTPError) -> float | None:
    text = error.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else None


def _refusal(error: urllib.error.HTTPError) -> ClientError:
    """The error that a problem document says, or one that stands in its place."""
    try:
        facts = json.loads(error.read())
    except (ValueError, OSError, http.client.HTTPException):
        facts = None
    if not isinstance(facts, dict) or "detail" not in facts:
        if error.code in BUSY:
            return Unreachable(f"The site returned HTTP status {error.code}.", "Try again later.")
        return Unreachable(
            f"The site returned HTTP status {error.code} without a reason. It may not be a leaderboard.",
            "Check the address.",
        )
    kinds: dict[int, type[ClientError]] = {
        **{401: NotAllowed, 403: NotAllowed, 404: NotFound, 410: NotFound, 429: OverQuota},
        **dict.fromkeys((500, 502, 503, 504), Unreachable),
    }
    kind = kinds.get(error.code, Refused)
    return kind(str(facts["detail"]), str(facts.get("remedy") or ""), facts)
