"""What a request has at hand: its viewer, its reading and writing sessions, a way to wake evaluators."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Flask, current_app, g, request
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from leaderboard.db.engine import Database
from leaderboard.errors import Forbidden
from leaderboard.services.accounts import sessions
from leaderboard.services.policy import ANONYMOUS, Viewer
from leaderboard.settings import Settings

EXTENSION = "leaderboard"
SECURE_COOKIE = "__Host-session"
PLAIN_COOKIE = "session"


@dataclass(frozen=True, slots=True)
class Site:
    """What the application was made with."""

    settings: Settings
    database: Database
    wake: Callable[[], None]


def register(app: Flask, site: Site) -> None:
    """Keep the site with the application and close what a request leaves open."""
    app.extensions[EXTENSION] = site
    app.teardown_request(lambda _: finish_reading())


def site() -> Site:
    """What this application was made with."""
    found: Site = current_app.extensions[EXTENSION]
    return found


def settings() -> Settings:
    """The settings of this process."""
    return site().settings


def database() -> Database:
    """The database of this process."""
    return site().database


def wake() -> None:
    """Tell idle evaluators that jobs were queued; call it after the commit."""
    site().wake()


def reading() -> Session:
    """This request's reading session, opened at first use and closed at its end."""
    if "reading" not in g:
        g.reading_stack = ExitStack()
        g.reading = g.reading_stack.enter_context(database().read())
    found: Session = g.reading
    return found


@contextmanager
def writing() -> Iterator[Session]:
    """A session in one transaction of its own, committed at the end.

    The reading session is closed first: it would go on showing what was there before.
    """
    finish_reading()
    with database().write() as session:
        yield session


def finish_reading() -> None:
    """Close the request's reading session, if one is open: before slow work and before writing."""
    stack = g.pop("reading_stack", None)
    g.pop("reading", None)
    if stack is not None:
        stack.close()


def client_ip() -> str:
    """The address the request came from, empty where it is unknown."""
    return request.remote_addr or ""


def viewer() -> Viewer:
    """Who asks: the account whose session cookie came along, else a visitor."""
    if "viewer" not in g:
        g.viewer = _resume()
    found: Viewer = g.viewer
    return found


def _resume() -> Viewer:
    token = session_token()
    resumed = sessions.resume(reading(), token, client_ip()) if token else None
    if resumed is None:
        return Viewer(ip=client_ip()) if client_ip() else ANONYMOUS
    if resumed.stamp_due:
        # Not writing(): it would close the reading session that the caller may hold already, as in
        # page(reading(), viewer()), which would then open a connection that nobody gives back.
        with database().write() as session:
            sessions.stamp(session, resumed.session_id)
    return resumed.viewer


def session_token() -> str:
    """The token in the session cookie, empty where there is none."""
    return request.cookies.get(cookie_name(), "")


def is_https() -> bool:
    """Whether the visitor's browser speaks https with the site."""
    return settings().public_url.startswith("https:") or request.is_secure


def cookie_name() -> str:
    """The session cookie's name: the locked-down prefix needs https."""
    return SECURE_COOKIE if is_https() else PLAIN_COOKIE


def require_safe_sign_in() -> None:
    """Raise Forbidden where a password would cross a network in the clear."""
    here = settings()
    host = urlsplit(here.public_url).hostname if here.public_url else here.host
    if not (is_https() or here.insecure_http or is_loopback(host or "")):
        raise Forbidden(
            "Signing in needs https: put the site behind an https proxy and set LEADERBOARD_PUBLIC_URL, "
            "or start it with --insecure-http."
        )


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def set_cookie(response: Response, token: str) -> None:
    """Give the browser its session cookie."""
    response.set_cookie(
        cookie_name(),
        token,
        max_age=int(sessions.LIFETIME.total_seconds()),
        secure=is_https(),
        httponly=True,
        samesite="Lax",
        path="/",
    )


def drop_cookie(response: Response) -> None:
    """Make the browser forget its session cookie."""
    response.delete_cookie(cookie_name(), path="/", secure=is_https(), httponly=True, samesite="Lax")
