"""Request context: viewer, reading and writing sessions, and a way to wake evaluators.

Every request leaves traces: a number, a count, a line of the log, and an audit entry for refusals and
judgments.
"""

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from flask import Flask, Response, current_app, g, request
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from leaderboard import logs, temporary, traces
from leaderboard.accounts.ops import device_logins, names, sessions, tokens
from leaderboard.accounts.ops.accounts import PENDING_MINUTES, AccountBrowser, NewSession
from leaderboard.accounts.ops.sessions import NEWCOMER_MINUTES
from leaderboard.accounts.ops.tokens import TokenViewer
from leaderboard.core import audit
from leaderboard.core.actions import Sessions
from leaderboard.core.jobs.health import WriteCheck
from leaderboard.core.policy import ANONYMOUS, TaskMemo, Viewer, without_organising
from leaderboard.db.engine import Database, lock_key
from leaderboard.errors import Changed, Forbidden, NotFound, SignInNeeded
from leaderboard.logs import ROUTES, RouteCount, WebCounter, masked
from leaderboard.settings import Settings, is_loopback

Tag = tuple[str, bool] | tuple[None, None]
"""An entity tag and whether it is weak; (None, None) where there is nothing, or nothing with a tag."""

READ_AGAIN = "Read the resource again and repeat the request with its new ETag."


def applied(response: Response) -> Response:
    """The answer to a GET or HEAD, without its body where the asker has it; raises Changed for If-Match."""
    if request.method in ("GET", "HEAD"):
        tag = response.get_etag()
        _require_match(tag)
        if "If-None-Match" in request.headers and _is_named(tag):
            response.status_code = 304
    return response


def is_pending() -> bool:
    """Whether the change that this request makes still depends on an entity tag."""
    return "condition" in g


def set_condition(tag: Callable[[], Tag]) -> None:
    """Make the change of this request depend on the tag its address has when the change is committed."""
    if "If-Match" in request.headers or "If-None-Match" in request.headers:
        g.condition = tag


def meet_condition() -> None:
    """Raise Changed unless the condition of this request holds; it is checked once."""
    tag = g.pop("condition", None)
    if tag is not None:
        _require(tag())


def _require(tag: Tag) -> None:
    _require_match(tag)
    if "If-None-Match" in request.headers and _is_named(tag):
        raise Changed(f"If-None-Match matches the current version. {READ_AGAIN}")


def _require_match(tag: Tag) -> None:
    """Raise Changed where If-Match is given and does not name the tag by the strong comparison."""
    if "If-Match" not in request.headers:
        return
    name, is_weak = tag
    if name is None:
        raise Changed("If-Match cannot be used here: this address has no entity tag. Leave it out.")
    if not request.if_match.star_tag and (is_weak or name not in request.if_match):
        given = request.headers["If-Match"][:80]
        raise Changed(f'If-Match is {given}, but the entity tag is now "{name}". {READ_AGAIN}')


def _is_named(tag: Tag) -> bool:
    """Whether If-None-Match names the tag by the weak comparison."""
    return tag[0] is not None and request.if_none_match.contains_weak(tag[0])


log = logging.getLogger(__name__)

EXTENSION = "leaderboard"
API = "/api/v1"
"""Everything below is for programs, who ask by a token."""
BEARER = "Bearer "
STAMP_WAIT_S = 0.2
IS_SHARED = "is_shared"
"""Set in a request for a page that is the same for all visitors: a replica may answer it."""
CARRYING, OF_AN_EDITION = "carrying", "of_an_edition"
"""Of the application: pages with a link back to the board, and rooms that can show an earlier edition."""
SESSION, DEVICE, PENDING, OPENID = "session", "device", "pending", "openid"
"""Cookies: of a signed-in account, a known browser, a session that waits for a code or provider."""
LIFETIMES = {
    SESSION: sessions.LIFETIME,
    DEVICE: device_logins.DEVICE_LIFETIME,
    PENDING: timedelta(minutes=PENDING_MINUTES),
    OPENID: timedelta(minutes=NEWCOMER_MINUTES),
}


@dataclass(frozen=True, slots=True)
class Site:
    """Objects that the application was made with."""

    settings: Settings
    database: Database
    wake: Callable[[], None]
    probe: WriteCheck = field(default_factory=WriteCheck)


def register(app: Flask, site: Site) -> None:
    """Keep the site with the application and close what a request leaves open."""
    app.extensions[EXTENSION] = site
    app.teardown_request(lambda _: finish_reading())


def site() -> Site:
    """Objects that this application was made with."""
    current: Site = current_app.extensions[EXTENSION]
    return current


def settings() -> Settings:
    """The settings of this process."""
    return site().settings


def database() -> Database:
    """The database of this process."""
    return site().database


def wake() -> None:
    """Wake idle evaluators after jobs were queued; call it after the commit."""
    site().wake()


def reading() -> Session:
    """This request's reading session, opened at first use and closed at its end."""
    if "reading" not in g:
        g.reading_stack = ExitStack()
        opened = database().read_replica() if g.get(IS_SHARED) else database().read()
        g.reading = g.reading_stack.enter_context(opened)
    session: Session = g.reading
    return session


def memo() -> TaskMemo:
    """Data of tasks that this request's reading session has read for its viewer."""
    if "memo" not in g:
        g.memo = TaskMemo()
    task_memo: TaskMemo = g.memo
    return task_memo


@contextmanager
def writing() -> Iterator[Session]:
    """A session in one transaction of its own, committed at the end.

    The reading session is closed first: it would continue to show the old data. The condition of a
    conditional request is checked last: a refusal that needs no condition goes before it, and no one else
    writes between the check and the commit.
    """
    finish_reading()
    try:
        with database().write() as session:
            if is_pending():
                lock_key(session, f"address {request.path}")
            yield session
            meet_condition()
    finally:
        # Data read in the meantime may be rolled back.
        memo().clear()
    finish_reading()


@contextmanager
def _looking() -> Iterator[Session]:
    yield reading()
    finish_reading()


def incoming_folder() -> Path:
    """A folder for this request's files, removed at its end."""
    if "incoming" not in g:
        g.incoming_files = []
        path = temporary.folder(settings().data)
        g.incoming = Path(tempfile.mkdtemp(prefix=temporary.UPLOAD, dir=path))
    folder: Path = g.incoming
    return folder


SESSIONS = Sessions(_looking, writing, incoming_folder)
"""What actions are done with in a request."""


def finish_reading() -> None:
    """Close the request's reading session, if one is open: before slow work and before writing."""
    stack = g.pop("reading_stack", None)
    g.pop("reading", None)
    if stack is not None:
        stack.close()
    # What it read was as it was then.
    memo().clear()


def client_ip() -> str:
    """The address the request came from, empty where it is unknown."""
    return request.remote_addr or ""


def known_to_templates() -> dict[str, Any]:
    """What every template knows."""
    return {"viewer": viewer(), "has_mail": bool(settings().smtp_url)}


def of_the_api(change: Callable[[Response], Response]) -> Callable[[Response], Response]:
    """The change of a response for the API alone."""
    return lambda response: change(response) if in_api() else response


def in_api() -> bool:
    """Whether the request is for the API, where cookies mean nothing."""
    return request.path == API or request.path.startswith(f"{API}/")


def token() -> TokenViewer | None:
    """Owner of the request's token; None without a token. Raises SignInNeeded for one not in force."""
    if "token" not in g:
        g.token = _by_token()
    token_viewer: TokenViewer | None = g.token
    return token_viewer


def _by_token() -> TokenViewer | None:
    given = request.headers.get("Authorization", "")
    if not given:
        return None
    if not given.startswith(BEARER):
        raise SignInNeeded("Send the token as `Authorization: Bearer lb_...`.")
    secret = given.removeprefix(BEARER).strip()
    needed = settings().require_second_factor
    asking = tokens.token_viewer(reading(), secret, ip=client_ip(), factor_needed=needed)
    if asking is None:
        raise SignInNeeded(tokens.why_refused(reading(), secret))
    if asking.stamp_due:
        _stamp(f"token {asking.token_id}", lambda now: tokens.stamp(now, asking.token_id, asking.viewer))
    return asking


def viewer() -> Viewer:
    """The viewer: the account of the session cookie or, in the API, of the token; else a visitor."""
    if "viewer" not in g:
        g.viewer = replace(_of_api() if in_api() else _resume(), memo=memo())
        if asked := request.args.get("phase"):
            g.viewer = replace(g.viewer, phase=asked)
        if request.blueprint in current_app.extensions[OF_AN_EDITION] and request.args.get("edition"):
            # No edition has the number 0: other texts are not found either.
            g.viewer = replace(g.viewer, edition=request.args.get("edition", 0, type=int))
    current: Viewer = g.viewer
    return current


def _of_api() -> Viewer:
    asking = token()
    return asking.viewer if asking is not None else Viewer(ip=client_ip())


def _resume() -> Viewer:
    token = session_token()
    resumed = sessions.resume(reading(), token, client_ip()) if token else None
    if resumed is None:
        return Viewer(ip=client_ip()) if client_ip() else ANONYMOUS
    if resumed.stamp_due:
        number = resumed.session_id
        _stamp(f"session {number}", lambda now: sessions.stamp(now, number))
    asker = replace(resumed.viewer, operates=_operates(resumed.viewer))
    if settings().require_second_factor and not resumed.has_second_factor:
        return without_organising(asker)
    return asker


def _operates(asker: Viewer) -> bool:
    # Only operators make organiser accounts: signing up under a name in the setting does not make one.
    named = map(names.canonical, settings().operator_names)
    return asker.is_organiser and names.canonical(asker.name) in named


def _stamp(what: str, stamp: Callable[[Session], None]) -> None:
    """Record the account's activity; without space, or during long writes by others, pages skip it."""
    try:
        # Not writing(): it would close the reading session that the caller may hold already, as in
        # page(reading(), viewer()), which would then open a connection that is never returned.
        with database().write(STAMP_WAIT_S, is_shown=False) as session:
            stamp(session)
    except OperationalError as error:
        log.warning("when %s was last seen could not be noted: %s", what, error.orig)


def session_token() -> str:
    """The token in the session cookie, empty if absent."""
    return cookie(SESSION)


def cookie(kind: str) -> str:
    """The token in a cookie of ours, empty if absent."""
    return request.cookies.get(cookie_name(kind), "")


def browser() -> AccountBrowser:
    """The browser that asks, with the tokens it has."""
    agent = request.headers.get("User-Agent", "")
    return AccountBrowser(client_ip(), agent, session_token(), cookie(DEVICE))


def is_https() -> bool:
    """Whether the visitor's browser speaks https with the site."""
    return settings().public_url.startswith("https:") or request.is_secure


def cookie_name(kind: str = SESSION) -> str:
    """The name of a cookie: the locked-down prefix needs https."""
    return f"__Host-{kind}" if is_https() else kind


def require_safe_sign_in() -> None:
    """Raise Forbidden where a password would cross a network in the clear."""
    here = settings()
    host = urlsplit(here.public_url).hostname if here.public_url else here.host
    if not (is_https() or here.insecure_http or is_loopback(host or "")):
        raise Forbidden(
            "Sign-in requires https. Put the site behind an https proxy and set LEADERBOARD_PUBLIC_URL, or "
            "start it with --insecure-http."
        )


def require_mail() -> None:
    """Raise NotFound on a site that sends no mail."""
    if not settings().smtp_url:
        raise NotFound("This site does not send mail.")


def welcome(response: AnyResponse, new_session: NewSession) -> AnyResponse:
    """The response with the cookies of a new session and its device."""
    set_cookie(response, new_session.token)
    set_cookie(response, new_session.device, DEVICE)
    if cookie(PENDING):
        drop_cookie(response, PENDING)
    return response


def set_cookie(response: AnyResponse, token: str, kind: str = SESSION) -> None:
    """Give the browser a cookie of ours."""
    response.set_cookie(
        cookie_name(kind),
        token,
        max_age=int(LIFETIMES[kind].total_seconds()),
        secure=is_https(),
        httponly=True,
        samesite="Lax",
        path="/",
    )


def goodbye(response: AnyResponse) -> AnyResponse:
    """The response to who signed out: the browser forgets the session and what it kept of its pages."""
    drop_cookie(response)
    # Not "storage": it has judgments that assessors could not send yet.
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


def drop_cookie(response: AnyResponse, kind: str = SESSION) -> None:
    """Make the browser forget a cookie of ours."""
    response.delete_cookie(cookie_name(kind), path="/", secure=is_https(), httponly=True, samesite="Lax")


HEADER = "X-Request-ID"
REFUSED = {403: "request.refuse", 429: "request.throttle"}
QRELS = "qrels.download"
RECORD_WAIT_S = 5.0
"""Seconds that a record waits for other writers, while it holds one of the server's threads."""

COUNTS = "request counts"
OTHER = ("other", "other")
"""Method and route of unknown addresses: its addresses are arbitrary."""

Route = tuple[str, str]
"""Method and rule, such as GET and /tasks/<slug>."""

View = TypeVar("View", bound=Callable[..., Any])


def register_traces(app: Flask) -> None:
    """Number and time every request of an application; register it before other handlers of requests."""
    app.before_request(_begin)
    app.after_request(_finish)
    app.teardown_request(lambda _: logs.begin())


def hands_out_judgments(view: View) -> View:
    """A decorator, put under the route decorator: downloads of this file are logged."""
    view.recorded = QRELS  # type: ignore[attr-defined]
    return view


def is_recorded(endpoint: str | None) -> bool:
    """Whether the requester is recorded."""
    return bool(endpoint and getattr(current_app.view_functions[endpoint], "recorded", ""))


def request_id() -> str:
    """The number of this request: in the log, in a header, and on the page of an error of ours."""
    if "request_id" not in g:
        g.request_id = new_id()
    identifier: str = g.request_id
    return identifier


def new_id() -> str:
    """A number that no other request has."""
    return uuid4().hex[:12]


def _begin() -> None:
    g.began = time.perf_counter()
    logs.begin(request=request_id())


def _finish(response: Response) -> Response:
    response.headers[HEADER] = request_id()
    count_request(response.status_code, _seconds())
    if traces.tracing is not None:
        _trace(response)
    action = _action(response.status_code)
    if action:
        _record_later(response, action)
    if settings().access_log and not (request.endpoint == "static" and response.status_code < 400):
        _log(response)
    return response


def _trace(response: Response) -> None:
    method, route = present_route()
    facts: dict[str, str | int] = {
        "http.request.method": method,
        "http.route": route,
        "http.response.status_code": response.status_code,
        "leaderboard.request": request_id(),
    }
    is_error = response.status_code >= 500
    traces.record(f"{method} {route}", traces.REQUEST, _seconds(), facts, is_error=is_error)


def _log(response: Response) -> None:
    asker: Viewer = g.get("viewer", ANONYMOUS)
    facts = {
        "request": request_id(),
        "method": request.method,
        "path": masked(request.path),
        "status": response.status_code,
        "ms": round(1000 * _seconds(), 1),
        "account": asker.account_id,
        "ip": client_ip(),
    }
    log.info("answered", extra={"facts": facts})


def _seconds() -> float:
    """Duration of this request up to now."""
    return time.perf_counter() - float(g.get("began", time.perf_counter()))


def _action(status: int) -> str:
    """Action to record for this request, empty if none: submitted judgments, and refusals.

    Of visitors, only that they are throttled: anonymous requests are refused every day.
    """
    if status == 200 and request.method == "GET" and request.endpoint:
        return str(getattr(current_app.view_functions[request.endpoint], "recorded", ""))
    if status == 403 and viewer().account_id is None:
        return ""
    return REFUSED.get(status, "")


def _record_later(response: Response, action: str) -> None:
    """Record the request once its answer is sent: reading a page waits for no writer."""
    asker, here, number = viewer(), database(), request_id()
    subject = f"address:{masked(request.path)}" if action == QRELS else f"route:{request.endpoint}"
    response.call_on_close(lambda: _record(here, asker, action, subject, number))


def _record(here: Database, asker: Viewer, action: str, subject: str, number: str) -> None:
    try:
        with here.write(RECORD_WAIT_S, is_shown=False) as session:
            audit.notice(session, asker, action, subject, request=number)
    except SQLAlchemyError:
        facts = {"request": number}
        log.exception("request %s could not be recorded in the audit", number, extra={"facts": facts})


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Counters of this application, and the number of each route: the same in every process of a site."""

    counter: WebCounter
    numbers: dict[Route, int]

    def by_route(self) -> dict[Route, RouteCount]:
        """Counters of all processes for the requested routes."""
        counts = ((route, self.counter.route(number)) for route, number in self.numbers.items())
        return {route: count for route, count in counts if count is not None}


def register_request_counts(app: Flask, counter: WebCounter | None) -> None:
    """Number the routes of an application, which has all of them by now, and count in the counter given.

    Raises RuntimeError where they are more than there is room for.
    """
    methods = ((method, rule.rule) for rule in app.url_map.iter_rules() for method in rule.methods or ())
    routes = [OTHER, *sorted(route for route in set(methods) if route[0] not in ("HEAD", "OPTIONS"))]
    if len(routes) > ROUTES:
        raise RuntimeError(f"There are {len(routes)} routes; make room for them in counters.ROUTES.")
    numbers = {route: number for number, route in enumerate(routes)}
    app.extensions[COUNTS] = RequestCounts(counter or WebCounter(logs.counters(), 0), numbers)


def counted_requests() -> RequestCounts:
    """The counters of this application."""
    request_counts: RequestCounts = current_app.extensions[COUNTS]
    return request_counts


def counter() -> WebCounter:
    """Counters of this process."""
    return counted_requests().counter


def present_route() -> Route:
    """The route of the present request."""
    rule, method = request.url_rule, "GET" if request.method == "HEAD" else request.method
    route = (method, rule.rule) if rule is not None else OTHER
    return route if route in counted_requests().numbers else OTHER


def count_request(status: int, seconds: float) -> None:
    """Count the present request."""
    request_counts = counted_requests()
    request_counts.counter.answered(request_counts.numbers[present_route()], status, seconds)
