"""Errors of the API as problem documents (RFC 9457): a stable type with a page of its own, and a remedy."""

from dataclasses import dataclass
from typing import Any

import msgspec
from flask import Response, g, request

from leaderboard import errors

MEDIA_TYPE = "application/problem+json"
ADDRESS = "/api/problems"


@dataclass(frozen=True, slots=True)
class ProblemType:
    """One type of problem: what it is called, what it means, and what to do about it."""

    name: str
    status: int
    title: str
    meaning: str
    remedy: str


TYPES = {
    kind.name: kind
    for kind in (
        ProblemType(
            "malformed",
            400,
            "Malformed request",
            "It is truncated, or contains characters that are not allowed.",
            "Compare the request with the API reference.",
        ),
        ProblemType(
            "token-needed",
            401,
            "Token required",
            "The operation is not public, or the token is not valid.",
            "Create a token on your account page and send it as `Authorization: Bearer lb_...`.",
        ),
        ProblemType(
            "not-allowed",
            403,
            "Not allowed",
            "The token or its owner is not allowed to do this; `detail` says who is.",
            "Use a token with the required scope, or ask the organisers.",
        ),
        ProblemType(
            "not-joined",
            403,
            "Team not entered",
            "Teams must enter this task before they submit runs.",
            "Enter on the task page; its address is in `detail`.",
        ),
        ProblemType(
            "not-found",
            404,
            "Not found",
            "The resource does not exist, or you do not have access to it.",
            "Compare the address with the API reference. For private resources, send a token.",
        ),
        ProblemType(
            "unknown-task",
            404,
            "Unknown task",
            "There is no task with this name, or it is a draft that you cannot see.",
            "List the tasks with GET /api/v1/tasks.",
        ),
        ProblemType(
            "wrong-method",
            405,
            "Method not allowed",
            "The address does not support this method; `Allow` lists those it supports.",
            "Use one of the methods in the header `Allow`.",
        ),
        ProblemType(
            "conflict",
            409,
            "Conflict",
            "The request conflicts with stored data, or the same request is still running.",
            "Read the current state, then try again.",
        ),
        ProblemType(
            "closed",
            409,
            "Closed",
            "The task or phase is closed for this request; `detail` gives the dates.",
            "Check the dates of the task.",
        ),
        ProblemType(
            "changed-meanwhile",
            412,
            "Precondition failed",
            "`If-Match` differs from the current entity tag of the resource, or `If-None-Match` equals it.",
            "Read the resource again and repeat the request with its new ETag.",
        ),
        ProblemType(
            "wrong-version",
            412,
            "Unsupported protocol version",
            "This site does not support the tus version in `Tus-Resumable`; see `Tus-Version`.",
            "Use a client of tus 1.0.0.",
        ),
        ProblemType(
            "too-large",
            413,
            "Too large",
            "The request body is larger than the operation allows.",
            "Compress the file.",
        ),
        ProblemType(
            "wrong-content",
            415,
            "Unsupported content type",
            "The operation accepts JSON, or the bytes of a file, but no forms.",
            "Send `Content-Type: application/json`, or the file as the body.",
        ),
        ProblemType(
            "invalid",
            422,
            "Validation failed",
            "A parameter, field or file breaks a rule; `problems` lists line, value, rule and remedy.",
            "Correct the entries listed in `problems`.",
        ),
        ProblemType(
            "over-quota",
            429,
            "Limit reached",
            "The rules of the task or the site allow no more such requests now.",
            "Wait for the time in `Retry-After`, or until the next submission day given in `detail`.",
        ),
        ProblemType(
            "failed",
            500,
            "Internal error",
            "Nothing was changed. The site's log has the cause under the number in `request`.",
            "Try again later. If the error persists, report the number to the operator.",
        ),
        ProblemType(
            "not-available",
            503,
            "Temporarily unavailable",
            "The database does not answer, or the site is overloaded.",
            "Try again after the number of seconds in `Retry-After`.",
        ),
        ProblemType(
            "no-room",
            507,
            "Disk full",
            "The server's disk is full; nothing was stored.",
            "Report this to the operator of the site.",
        ),
    )
}
WAITS = {429: "86400", 503: "30"}
"""Status -> the seconds to wait where nothing better is known: what is used up for good is not soon free."""
FACTS = ("did_you_mean", "upload", "retry_after_s")
"""Names of further facts in an error."""
OF_STATUS = {kind.status: kind for kind in reversed(TYPES.values())}
"""Problem type of a status; the first where several have the same."""
OF_ERROR: tuple[tuple[type[errors.LeaderboardError], str], ...] = (
    (errors.Closed, "closed"),
    (errors.NotEntered, "not-joined"),
    (errors.Changed, "changed-meanwhile"),
    (errors.WrongVersion, "wrong-version"),
)


def as_answer_of_the_api(response: Response) -> Response:
    """The response as the API gives it: errors as problem documents, no redirects, no cookies."""
    if 300 <= response.status_code < 400 and response.status_code != 304:
        response = Response(status=404)
    if response.status_code >= 400:
        response = _as_problem(response)
    response.headers.pop("Set-Cookie", None)
    response.headers["Vary"] = "Authorization"
    is_open = "Authorization" not in request.headers
    response.headers["Cache-Control"] = "no-cache" if is_open and response.status_code < 400 else "no-store"
    if request.method in ("GET", "HEAD") and is_open:
        # Public data may be read by any page; a browser sends no token of its own accord.
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Expose-Headers"] = (
            "ETag, Link, RateLimit, RateLimit-Policy, Retry-After"
        )
    return response


def _as_problem(answer: Response) -> Response:
    error: errors.LeaderboardError | None = g.get("error")
    body = msgspec.json.decode(answer.get_data()) if answer.mimetype == "application/json" else {}
    kind = _kind(error, answer.status_code)
    remedies = [row["remedy"] for row in body.get("problems", ()) if row["remedy"]]
    has_rows = body.get("problems") or kind.name != "invalid"
    usual = kind.remedy if has_rows else "Correct the request as described in `detail`."
    facts: dict[str, Any] = {
        "type": f"{ADDRESS}/{kind.name}",
        "title": kind.title,
        "status": answer.status_code,
        "detail": body.get("error") or kind.meaning,
        "remedy": remedies[0] if len(remedies) == 1 else usual,
    }
    for key in ("problems", "request"):
        if body.get(key):
            facts[key] = body[key]
    if isinstance(error, errors.Invalid) and len(error.problems) == 1 and error.problems[0].line is not None:
        facts["line"] = error.problems[0].line
    error_facts = error.facts if error is not None else {}
    facts |= {key: error_facts[key] for key in FACTS if error_facts.get(key) is not None}
    response = Response(msgspec.json.encode(facts) + b"\n", answer.status_code, mimetype=MEDIA_TYPE)
    for name, value in answer.headers.items():
        if name in ("Allow", "Retry-After") or name.startswith(("Tus-", "Upload-", "X-")):
            response.headers[name] = value
    if kind.status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="api"'
    if kind.status in WAITS:
        response.headers.setdefault("Retry-After", WAITS[kind.status])
    return response


def _kind(error: errors.LeaderboardError | None, status: int) -> ProblemType:
    if isinstance(error, errors.NotFound) and "task" in error.facts and status == 404:
        return TYPES["unknown-task"]
    for kind, name in OF_ERROR:
        if isinstance(error, kind):
            return TYPES[name]
    return OF_STATUS.get(status, TYPES["failed" if status >= 500 else "malformed"])
