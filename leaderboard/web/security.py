"""Protection of all requests and responses: hosts, body limits, cross-site requests and headers."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from flask import Flask, Request, Response, g, request
from werkzeug.exceptions import BadRequest, RequestEntityTooLarge, SecurityError
from werkzeug.middleware.proxy_fix import ProxyFix

from leaderboard import temporary
from leaderboard.errors import Forbidden, Invalid
from leaderboard.settings import Settings, is_loopback
from leaderboard.web import addresses, kept, rules
from leaderboard.web.session import OPENID, PENDING, cookie, in_api, is_https, session_token, settings

MAX_FORM_MEMORY = 500_000
MAX_FORM_PARTS = 50
MAX_FIELDS = 2000
"""Of a form without files; the longest of this site's own have some hundred."""
SUFFIX = re.compile(r"(\.[a-z0-9]{1,8}){1,2}$")
PORT = re.compile(r":\d*$")
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
POLICY = (
    "default-src 'none'; object-src 'none'; script-src 'self'; "
    f"style-src 'self' {kept.sources()}; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
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
        app.wsgi_app = behind_proxy(app.wsgi_app, settings)  # type: ignore[method-assign]
    app.after_request(add_headers)
    app.teardown_request(lambda _: _remove_incoming())
    temporary.sweep(temporary.folder(settings.data), temporary.STALE_AFTER_S)


def behind_proxy(application: Any, settings: Settings) -> Callable[..., Any]:
    """The WSGI application, which knows visitors by X-Forwarded headers that come from a trusted proxy.

    Raises Invalid where trusted_proxies names something other than an address or network.
    """
    through = ProxyFix(application, x_for=1, x_proto=1, x_host=1)
    trusted = [_network(text) for text in settings.trusted_proxies.split(",") if text.strip()]

    def answer(environ: Any, start_response: Any) -> Any:
        return (through if _is_in(environ.get("REMOTE_ADDR", ""), trusted) else application)(
            environ, start_response
        )

    return answer


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text.strip())
    except ValueError:
        name = "LEADERBOARD_TRUSTED_PROXIES"
        raise Invalid(
            f"{name} contains {text.strip()!r}; it must be a list of addresses and networks."
        ) from None


def _is_in(address: str, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    try:
        parsed = ip_address(address)
        # A socket for both kinds of addresses writes IPv4 ones as IPv6.
        plain = getattr(parsed, "ipv4_mapped", None) or parsed
        return any(plain in network for network in networks)
    except ValueError:
        # A proxy on a socket file has no address; only this machine can reach it.
        return True


def trusted_hosts(settings: Settings) -> list[str] | None:
    """The configured host names; None if not configured."""
    named = [host.strip() for host in settings.trusted_hosts.split(",") if host.strip()]
    if settings.public_url:
        named.append(urlsplit(settings.public_url).hostname or "")
    return named or None


def incoming_folder() -> Path:
    """A folder for this request's files, removed at its end."""
    if "incoming" not in g:
        g.incoming_files = []
        path = temporary.folder(settings().data)
        g.incoming = Path(tempfile.mkdtemp(prefix=temporary.UPLOAD, dir=path))
    folder: Path = g.incoming
    return folder


def _suffix(name: str) -> str:
    """The ending of a sent file's name, by which readers recognise formats; nothing else of it is used."""
    match = SUFFIX.search(name.lower())
    return match[0] if match else ""


def _remove_incoming() -> None:
    folder = g.pop("incoming", None)
    if folder is not None:
        for file in g.pop("incoming_files"):
            file.close()
        shutil.rmtree(folder)


def refuse_foreign_host() -> None:
    """Raise SecurityError on loopback for a name that is not this machine's own, unless names are set.

    Another site could point its own name here, and read the site as if it were part of it.
    """
    here = settings()
    if here.trusted_hosts or here.public_url or not is_loopback(here.host):
        return
    if not is_loopback(PORT.sub("", request.headers.get("Host", "localhost")).strip("[]").lower()):
        raise SecurityError


def refuse_many_fields() -> None:
    """Raise RequestEntityTooLarge for a form of more fields than any here has: each costs time."""
    is_form = request.mimetype == "application/x-www-form-urlencoded"
    if (
        is_form
        and not in_api()
        and request.method not in SAFE_METHODS
        and request.get_data().count(b"&") >= MAX_FIELDS
    ):
        raise RequestEntityTooLarge


def refuse_cross_site() -> None:
    """Raise Forbidden for a changing request that another site may have made the browser send."""
    # The API accepts no cookies: a page elsewhere has nothing to send it with.
    if request.method in SAFE_METHODS or in_api():
        return
    fetch_site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if fetch_site is None:
        ours = origin == own_origin()
    else:
        # Only the host: behind a proxy that does not report it the scheme is unknown here.
        is_foreign = origin is not None and origin.partition("://")[2] != request.host
        ours = fetch_site == "same-origin" and not is_foreign
    if not ours:
        raise Forbidden(
            "This request was refused because it did not come from a page of this site. Open the page on "
            "this site and try again. Programs must send the site's address in the header `Origin`."
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
    # The API reads bodies itself, and accepts no forms.
    if request.method not in SAFE_METHODS and not in_api():
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
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def checks() -> tuple[Callable[[], None], ...]:
    """Checks before the route's rule is enforced, in this order."""
    return refuse_foreign_host, rules.limit_body, refuse_cross_site


def add_headers(response: Response) -> Response:
    """The response with the headers every one carries."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if is_https():
        response.headers["Strict-Transport-Security"] = "max-age=31536000; includeSubDomains"
    if request.endpoint != "static":
        response.vary.add("Cookie")
        # A public picture is also public for signed-in accounts.
        is_for_ever = response.cache_control.immutable and response.status_code < 400
        if (_is_personal() and not is_for_ever) or response.status_code >= 400:
            response.headers["Cache-Control"] = "no-store"
        response.headers.setdefault("Cache-Control", "no-cache")
    return response


def _is_personal() -> bool:
    """Whether the answer is for one person: to signed-in accounts, sign-in pages or personal addresses."""
    return bool(session_token() or cookie(PENDING) or cookie(OPENID) or "token" in (request.view_args or {}))


def local_path(target: str, otherwise: str = "/") -> str:
    r"""The target where it is a plain path on this site, else `otherwise`.

    >>> local_path("/tasks/a?b=c"), local_path("//evil.example/"), local_path("/\\evil.example"), local_path("http://x")
    ('/tasks/a?b=c', '/', '/', '/')
    """
    plain = target.startswith("/") and not target.startswith("//") and target.isprintable()
    return target if plain and "\\" not in target and " " not in target else otherwise
