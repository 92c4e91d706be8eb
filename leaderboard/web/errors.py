"""Every error as a page or as JSON: one status a class, a sentence, and never an exception's own text."""

import errno
import logging
from collections.abc import Callable
from typing import Any

from flask import Flask, Response, g, jsonify, redirect, render_template, request, url_for
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection
from werkzeug.exceptions import HTTPException, MethodNotAllowed, SecurityError
from werkzeug.wrappers import Response as AnyResponse

from leaderboard import errors
from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS
from leaderboard.logs import masked
from leaderboard.tables.record import Column, Place, Table, columns_from
from leaderboard.web import marks
from leaderboard.web.session import DEVICE, cookie, in_api, memo, reading, request_id, settings

log = logging.getLogger(__name__)

STATUS: dict[type[errors.LeaderboardError], int] = {
    errors.Invalid: 422,
    errors.NotFound: 404,
    errors.SignInNeeded: 401,
    errors.Forbidden: 403,
    errors.Conflict: 409,
    errors.Closed: 409,
    errors.Changed: 412,
    errors.WrongVersion: 412,
    errors.TooLarge: 413,
    errors.OverQuota: 429,
    errors.SchemaOutdated: 503,
    errors.StoreAway: 503,
    errors.Damaged: 500,
    errors.Busy: 503,
    errors.NoRoom: 507,
}
TITLES = {
    400: "Malformed request",
    401: "Sign-in required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Not possible now",
    412: "Precondition failed",
    413: "Too large",
    422: "Invalid input",
    429: "Limit reached",
    503: "Temporarily unavailable",
    507: "Disk full",
}
SENTENCES = {
    400: "The request contains characters or parts that are not allowed, or it was truncated.",
    404: "This page does not exist, or you do not have access to it.",
    405: "This address does not support this kind of request.",
    413: "The request is larger, or has more parts, than this address allows.",
    415: "This address does not accept this type of content.",
    507: "The server's disk is full and nothing was stored. Report this to its operator.",
}
FULL = ("disk is full", "disk I/O error")
"""SQLite messages for a full disk; the second if a file next to the database cannot grow."""
FULL_STATES = ("53100", "53200")
"""PostgreSQL's states for a full disk and for no memory."""
FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)


def register(app: Flask) -> None:
    """Handle every error of the application here."""
    app.jinja_env.globals.update(problem_rows=problem_rows, anchor=marks.anchor)
    app.register_error_handler(errors.LeaderboardError, _expected)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(DBAPIError, _database)
    app.register_error_handler(NoConnection, _away)
    app.register_error_handler(IntegrityError, _at_once)
    app.register_error_handler(OSError, _system)
    app.register_error_handler(Exception, _unexpected)


def status_of(error: errors.LeaderboardError) -> int:
    """The HTTP status of an error: its class's, or the nearest class above it."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 400)


def wants_json() -> bool:
    """Whether the answer should be JSON: by the address's suffix, else by the Accept header."""
    if in_api() or request.path.endswith((".json", ".csv")):
        return True
    accepted = request.accept_mimetypes
    return accepted["application/json"] > accepted["text/html"]


def problem_rows(problems: tuple[errors.Problem, ...]) -> Table[errors.Problem]:
    """Problems of a request or a file, one per row."""
    # Most problems have no place: then a page needs neither column.
    often = Place.EVERYWHERE if any(row.count > 1 for row in problems) else Place.DATA
    # Reading stops at this number of problems, so there may be more.
    has_stopped = sum(row.count for row in problems) == errors.MAX_PROBLEMS
    columns = columns_from(
        errors.Problem,
        "line field value rule",
        Column("remedy", lambda row: row.remedy, "What to do"),
        Column(
            "count",
            lambda row: row.count,
            "Times",
            digits=0,
            words=lambda row: f"{row.count} or more" if has_stopped and row.count > 1 else None,
            shown=often,
        ),
        Column("examples", lambda row: ", ".join(row.examples) or None, "Example", shown=often),
    )
    return Table("problems", "Problems", columns, problems)


def _expected(error: errors.LeaderboardError) -> AnyResponse:
    g.error = error
    moved = _moved() if isinstance(error, errors.NotFound) else None
    if moved is not None:
        return moved
    if request.method in ("GET", "HEAD") and not wants_json():
        if isinstance(error, errors.SignInNeeded):
            return redirect(url_for(_door(), next=request.full_path.rstrip("?")), 303)
        if isinstance(error, errors.SecondFactorNeeded):
            return redirect(url_for("second_factor.show"), 303)
    if isinstance(error, errors.Damaged):
        log.error("%s %r: %s", request.method, masked(request.path), error.message)
    if isinstance(error, errors.StoreAway):
        log.error("request %s found no object store: %s", request_id(), error.facts.get("why", error.message))
    problems = error.problems if isinstance(error, errors.Invalid) else ()
    # The viewer knows of the task, so its page may link to its visible parts.
    slug = (request.view_args or {}).get("slug", "") if isinstance(error, errors.NotShown) else ""
    response = _answer(status_of(error), error.message, problems, slug=slug)
    response.headers.update(_waiting(error))
    return response


def _moved() -> AnyResponse | None:
    """The way to the same page of the task that had this address's slug before; None if none had one."""
    slug = (request.view_args or {}).get("slug")
    if request.method not in ("GET", "HEAD") or not slug or request.endpoint is None:
        return None
    here = None if slug in memo().tasks else policy.now_at(reading(), slug)
    if here is None:
        return None
    query = request.query_string.decode("ascii", "ignore")
    address = url_for(request.endpoint, **{**(request.view_args or {}), "slug": here})
    return redirect(f"{address}?{query}" if query else address, 301)


def _door() -> str:
    """Address for visitors without rights: a newcomer who submits a run needs an account and a team."""
    is_newcomer = request.endpoint == "uploads.form" and not cookie(DEVICE) and settings().sign_up == "open"
    return "accounts.sign_up" if is_newcomer else "accounts.sign_in"


def form_again(page: str, error: errors.LeaderboardError) -> Response:
    """A page that shows a refused form again, with the status and headers of the error."""
    # Permissions and limits of a form are not about its one control.
    rest = "" if isinstance(error, errors.Forbidden | errors.OverQuota) else error.message
    page = marks.marked(page, marks.problems(error), rest)
    return Response(page, status_of(error), _waiting(error), mimetype="text/html")


def refused(page: Callable[[errors.LeaderboardError], str], error: errors.LeaderboardError) -> Response:
    """A page with the refused form again; a program gets the error itself, which is raised."""
    if wants_json():
        raise error
    return form_again(page(error), error)


def _waiting(error: errors.LeaderboardError) -> dict[str, str]:
    """The headers that say when to try again, {} if unknown."""
    return {"Retry-After": str(error.facts["retry_after_s"])} if "retry_after_s" in error.facts else {}


def _http(error: HTTPException) -> AnyResponse:
    code = error.code or 500
    if isinstance(error, SecurityError):
        # No address of ours can be built for a host that is not ours, so there is no page to show.
        return Response("This site does not answer to this host name.\n", code, mimetype="text/plain")
    if code < 400:
        return error.get_response()
    response = _answer(code, SENTENCES.get(code, "The request could not be completed."))
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def _database(error: DBAPIError) -> Response:
    is_full = getattr(error.orig, "sqlstate", None) in FULL_STATES
    if is_full or any(words in str(error.orig) for words in FULL):
        return _failure(507, SENTENCES[507])
    if isinstance(error, OperationalError | InterfaceError) or error.connection_invalidated:
        return _away(error)
    return _unexpected(error)


def _at_once(_: IntegrityError) -> Response:
    return _failure(
        409,
        "Someone else made the same change at the same time. Nothing was changed. Reload the page, "
        "then try again.",
    )


def _away(error: Exception) -> Response:
    # In a line, not a traceback: every request of ten minutes may say the same.
    reason = " ".join(str(getattr(error, "orig", None) or error).split())
    log.error("request %s found no database: %s", request_id(), reason)
    message = "The database does not answer. Nothing was changed. Try again in a minute."
    response = _apology(503, message)
    response.headers["Retry-After"] = "30"
    return response


def _system(error: OSError) -> Response:
    return _failure(507, SENTENCES[507]) if error.errno in FULL_ERRORS else _unexpected(error)


def _unexpected(_: Exception) -> Response:
    return _failure(500, "An internal error occurred. Nothing was changed.")


def _failure(status: int, message: str) -> Response:
    """An answer with the request's number, under which the traceback is in the log."""
    log.exception("request %s failed: %s %r", request_id(), request.endpoint, masked(request.path))
    return _apology(status, message)


def _apology(status: int, message: str) -> Response:
    # The viewer may be what could not be determined; asking again would fail again.
    g.setdefault("viewer", ANONYMOUS)
    return _answer(status, message, number=request_id())


def _answer(
    status: int, message: str, problems: tuple[errors.Problem, ...] = (), *, number: str = "", slug: str = ""
) -> Response:
    if wants_json():
        facts: dict[str, Any] = {
            "error": message,
            "status": status,
            "problems": problem_rows(problems).facts(),
        }
        if number:
            facts["request"] = number
        response = jsonify(facts)
    else:
        page = render_template(
            "errors/error.html",
            status=status,
            title="Not shown yet" if slug else TITLES.get(status, "Error"),
            message=message,
            problems=problems,
            request_id=number,
            slug=slug,
        )
        response = Response(page, mimetype="text/html")
    response.status_code = status
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Cookie realm="sign-in"'
    return response
