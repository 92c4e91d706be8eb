"""What a request leaves: its number, a line in the log, for refusals and judgments a row in the audit."""

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import uuid4

from flask import Flask, Response, current_app, g, request
from sqlalchemy.exc import SQLAlchemyError

from leaderboard import logs, traces
from leaderboard.db.engine import Database
from leaderboard.logs import masked
from leaderboard.services import audit
from leaderboard.services.policy import ANONYMOUS, Viewer
from leaderboard.web import metrics
from leaderboard.web.session import client_ip, database, settings, viewer

log = logging.getLogger(__name__)

HEADER = "X-Request-ID"
REFUSED = {403: "request.refuse", 429: "request.throttle"}
QRELS = "qrels.download"
RECORD_WAIT_S = 5.0
"""How long a record waits for other writers, while it holds one of the server's threads."""

View = TypeVar("View", bound=Callable[..., Any])


def register(app: Flask) -> None:
    """Number and time every request of an application; register it before all else that looks at requests."""
    app.before_request(_begin)
    app.after_request(_finish)
    app.teardown_request(lambda _: logs.begin())


def hands_out_judgments(view: View) -> View:
    """A decorator, put under the route decorator: who takes this file is on record."""
    view.recorded = QRELS  # type: ignore[attr-defined]
    return view


def is_recorded(endpoint: str | None) -> bool:
    """Whether it is on record who asks for this."""
    return bool(endpoint and getattr(current_app.view_functions[endpoint], "recorded", ""))


def request_id() -> str:
    """The number of this request: in the log, in a header, and on the page of an error of ours."""
    if "request_id" not in g:
        g.request_id = new_id()
    found: str = g.request_id
    return found


def new_id() -> str:
    """A number that no other request has."""
    return uuid4().hex[:12]


def _begin() -> None:
    g.began = time.perf_counter()
    logs.begin(request=request_id())


def _finish(response: Response) -> Response:
    response.headers[HEADER] = request_id()
    metrics.count_request(response.status_code, _seconds())
    if traces.tracing is not None:
        _trace(response)
    action = _action(response.status_code)
    if action:
        _record_later(response, action)
    if settings().access_log and not (request.endpoint == "static" and response.status_code < 400):
        _log(response)
    return response


def _trace(response: Response) -> None:
    method, route = metrics.present_route()
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
    """How long this request has taken so far."""
    return time.perf_counter() - float(g.get("began", time.perf_counter()))


def _action(status: int) -> str:
    """What of this request is recorded, empty for nothing: judgments that were sent, and refusals.

    Of visitors, only that they are throttled: who is nobody is refused every day.
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
