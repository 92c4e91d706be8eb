"""Traces of a request: number, count, log line, and audit log entry for refusals and judgments."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

from flask import Flask, Response, current_app, g, request
from sqlalchemy.exc import SQLAlchemyError

from leaderboard import logs, traces
from leaderboard.core import audit
from leaderboard.core.policy import ANONYMOUS, Viewer
from leaderboard.db.engine import Database
from leaderboard.logs import ROUTES, RouteCount, WebCounter, masked
from leaderboard.web.session import client_ip, database, settings, viewer

log = logging.getLogger(__name__)

HEADER = "X-Request-ID"
REFUSED = {403: "request.refuse", 429: "request.throttle"}
QRELS = "qrels.download"
RECORD_WAIT_S = 5.0
"""Seconds that a record waits for other writers, while it holds one of the server's threads."""

EXTENSION = "request counts"
OTHER = ("other", "other")
"""Method and route of unknown addresses: its addresses are arbitrary."""

Route = tuple[str, str]
"""Method and rule, such as GET and /tasks/<slug>."""

View = TypeVar("View", bound=Callable[..., Any])


def register(app: Flask) -> None:
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
    app.extensions[EXTENSION] = RequestCounts(counter or WebCounter(logs.counters(), 0), numbers)


def counted_requests() -> RequestCounts:
    """The counters of this application."""
    request_counts: RequestCounts = current_app.extensions[EXTENSION]
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
