"""What protects every request and response: hosts, body limits, cross-site requests, headers."""

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from flask import Flask, Request, Response, current_app, g, request
from werkzeug.exceptions import BadRequest
from werkzeug.middleware.proxy_fix import ProxyFix

from leaderboard.errors import Forbidden
from leaderboard.settings import Settings
from leaderboard.web import addresses
from leaderboard.web.rules import rule_of
from leaderboard.web.session import cookie_name, is_https, settings

MAX_FORM_MEMORY = 500_000
MAX_FORM_PARTS = 50
SUFFIX = re.compile(r"(\.[a-z0-9]{1,8}){1,2}$")
STALE_AFTER_S = 24 * 3600
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class SiteRequest(Request):
    """A request whose uploaded files go straight to the data folder, where there is room for them."""

    def _get_file_stream(
        self,
        total_content_length: int | None,
        content_type: str | None,
        filename: str | None = None,
        content_length: int | None = None,
    ) -> IO[bytes]:
        folder = incoming_folder()
        file = (folder / f"{len(g.incoming_files)}{_suffix(filename or '')}").open("w+b")
        g.incoming_files.append(file)
        return file


def register(app: Flask, settings: Settings) -> None:
    """Set limits, hosts and checks on an application; its rules are enforced between the checks."""
    app.request_class = SiteRequest
    addresses.register(app)
    app.config["MAX_FORM_MEMORY_SIZE"] = MAX_FORM_MEMORY
    app.config["MAX_FORM_PARTS"] = MAX_FORM_PARTS
    app.config["TRUSTED_HOSTS"] = trusted_hosts(settings)
    if settings.public_url:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1, x_proto=1, x_host=1)  # type: ignore[method-assign]
    app.after_request(add_headers)
    app.teardown_request(lambda _: _remove_incoming())
    _sweep(settings.data / "tmp")


def trusted_hosts(settings: Settings) -> list[str] | None:
    """The host names answered; None is any."""
    named = [host.strip() for host in settings.trusted_hosts.split(",") if host.strip()]
    if settings.public_url:
        named.append(urlsplit(settings.public_url).hostname or "")
    return named or None


def incoming_folder() -> Path:
    """A folder for this request's files, removed at its end."""
    if "incoming" not in g:
        g.incoming_files = []
        g.incoming = Path(tempfile.mkdtemp(prefix="upload-", dir=settings().data / "tmp"))
    found: Path = g.incoming
    return found


def _suffix(name: str) -> str:
    """The ending of a sent file's name, by which readers tell formats; nothing else of it is used."""
    found = SUFFIX.search(name.lower())
    return found[0] if found else ""


def _remove_incoming() -> None:
    folder = g.pop("incoming", None)
    if folder is not None:
        for file in g.pop("incoming_files"):
            file.close()
        shutil.rmtree(folder)


def _sweep(folder: Path) -> None:
    """Make the folder of unfinished uploads; remove what a killed process left there a day ago."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("upload-*"):
        if left.is_dir() and left.stat().st_mtime < time.time() - STALE_AFTER_S:
            shutil.rmtree(left, ignore_errors=True)


def limit_body() -> None:
    """Let the request's body be as large as its route's rule says."""
    declared = rule_of(current_app, request.endpoint) if request.endpoint else None
    if declared is not None:
        request.max_content_length = declared.body.limit(settings())


def refuse_cross_site() -> None:
    """Raise Forbidden for a changing request that another site may have made the browser send."""
    if request.method in SAFE_METHODS:
        return
    fetch_site = request.headers.get("Sec-Fetch-Site")
    if fetch_site is not None:
        ours = fetch_site == "same-origin"
    else:
        ours = request.headers.get("Origin", "") == own_origin()
    if not ours:
        raise Forbidden(
            "This request did not come from a page of this site, so it was refused. "
            "Open the page here and try again; a program must send the site's address in the header `Origin`."
        )


def own_origin() -> str:
    """The site's own scheme, host and port, as a browser writes them in Origin."""
    return f"{'https' if is_https() else request.scheme}://{request.host}"


def refuse_unstorable() -> None:
    """Raise BadRequest for text no database can hold: NUL characters and lone surrogates.

    Call it after the rule let the viewer in: looking at the form reads the whole body.
    """
    if not all(map(is_storable, _texts())):
        raise BadRequest


def _texts() -> Iterable[str]:
    yield request.path
    yield from _pairs(request.args)
    if request.method not in SAFE_METHODS:
        yield from _pairs(request.form)
        for name, file in request.files.items(multi=True):
            yield from (name, file.filename or "")


def _pairs(values: Any) -> Iterable[str]:
    for name, value in values.items(multi=True):
        yield from (name, value)


def is_storable(text: str) -> bool:
    r"""Whether both databases can keep the text.

    >>> is_storable("é"), is_storable("a\x00"), is_storable("\ud800")
    (True, False, False)
    """
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def checks() -> tuple[Callable[[], None], ...]:
    """What to check, in this order, before the route's rule is enforced."""
    return limit_body, refuse_cross_site


def add_headers(response: Response) -> Response:
    """The response with the headers every one carries."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if is_https():
        response.headers["Strict-Transport-Security"] = "max-age=31536000"
    if request.endpoint != "static":
        response.vary.add("Cookie")
        if cookie_name() in request.cookies or response.status_code >= 400:
            response.headers["Cache-Control"] = "no-store"
        response.headers.setdefault("Cache-Control", "no-cache")
    return response


def local_path(target: str, otherwise: str = "/") -> str:
    r"""The target where it is a plain path on this site, else `otherwise`.

    >>> local_path("/tasks/a?b=c"), local_path("//evil.example/"), local_path("/\\evil.example"), local_path("http://x")
    ('/tasks/a?b=c', '/', '/', '/')
    """
    plain = target.startswith("/") and not target.startswith("//") and target.isprintable()
    return target if plain and "\\" not in target and " " not in target else otherwise
