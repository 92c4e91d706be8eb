"""Errors of the API as problem documents (RFC 9457): a stable type with a page of its own, and a remedy."""

from dataclasses import dataclass
from typing import Any

import msgspec
from flask import Response, g, request

from leaderboard import errors
from leaderboard.web.session import in_api

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
            "The request cannot be read",
            "It is cut off, or holds characters that no address or text here may have.",
            "Compare it with the reference of the operation.",
        ),
        ProblemType(
            "token-needed",
            401,
            "A token is needed",
            "The operation is not open to everybody, or the token that came with it is not in force.",
            "Make a token on the page of your account and send it as `Authorization: Bearer lb_...`.",
        ),
        ProblemType(
            "not-allowed",
            403,
            "Not allowed",
            "The token, or its owner, may not do this here; `detail` says who may.",
            "Ask with a token that has the scope, or ask the organisers.",
        ),
        ProblemType(
            "not-joined",
            403,
            "The team has not entered the task",
            "Teams enter this task before they send runs.",
            "Enter on the task's page, which says how; its address is in `detail`.",
        ),
        ProblemType(
            "not-found",
            404,
            "Not found",
            "There is nothing at this address, or it is not open to you: both look the same.",
            "Compare the address with the reference; ask with a token if it may be yours.",
        ),
        ProblemType(
            "unknown-task",
            404,
            "Unknown task",
            "There is no task of that name, or it is a draft of others.",
            "List the tasks with GET /api/v1/tasks.",
        ),
        ProblemType(
            "wrong-method",
            405,
            "Not possible here",
            "The address does not take this method; `Allow` says which it takes.",
            "Use one of the methods in the header `Allow`.",
        ),
        ProblemType(
            "conflict",
            409,
            "Not possible now",
            "It contradicts what is stored already, or the same request is still running.",
            "Read the present state, then decide.",
        ),
        ProblemType(
            "closed",
            409,
            "Closed",
            "The task or phase does not take this now; `detail` says since when or until when.",
            "Look at the task's dates.",
        ),
        ProblemType(
            "changed-meanwhile",
            412,
            "Changed meanwhile",
            "`If-Match` does not name the entity tag that GET of the address gives now, "
            "or `If-None-Match` does.",
            "Read the address again and send the request with its new ETag.",
        ),
        ProblemType(
            "wrong-version",
            412,
            "Another version of the protocol",
            "`Tus-Resumable` names a version of tus that this site does not speak; see `Tus-Version`.",
            "Use a client of tus 1.0.0.",
        ),
        ProblemType(
            "too-large",
            413,
            "Too large",
            "The body is larger than the operation takes.",
            "Compress the file.",
        ),
        ProblemType(
            "wrong-content",
            415,
            "This kind of content is not taken",
            "The operation takes JSON, or a file as it is; no forms.",
            "Send `Content-Type: application/json`, or the file as the body.",
        ),
        ProblemType(
            "invalid",
            422,
            "Something needs fixing",
            "A parameter, field or file breaks a rule; `problems` lists line, value, rule and remedy.",
            "Correct what `problems` lists.",
        ),
        ProblemType(
            "over-quota",
            429,
            "Over quota",
            "More often than the rules of the task or the site allow.",
            "Wait as long as `Retry-After` says, or until the day of runs in `detail` begins.",
        ),
        ProblemType(
            "failed",
            500,
            "Something went wrong on our side",
            "Nothing was changed; the site's log has the reason under the number in `request`.",
            "Try again later; tell the operator the number if it goes on.",
        ),
        ProblemType(
            "not-available",
            503,
            "Not available just now",
            "The database does not answer, or too much is going on.",
            "Try again after the seconds that `Retry-After` says.",
        ),
        ProblemType(
            "no-room",
            507,
            "No room left",
            "The server's disk is full; nothing was stored.",
            "Tell the operator of the site.",
        ),
    )
}
WAITS = {429: "86400", 503: "30"}
"""Status -> the seconds to wait where nothing better is known: what is used up for good is not soon free."""
FACTS = ("did_you_mean", "upload", "retry_after_s")
"""What else an error may say, by name."""
OF_STATUS = {kind.status: kind for kind in reversed(TYPES.values())}
"""Where several have one status, the first."""
OF_ERROR: tuple[tuple[type[errors.LeaderboardError], str], ...] = (
    (errors.Closed, "closed"),
    (errors.NotEntered, "not-joined"),
    (errors.Changed, "changed-meanwhile"),
    (errors.WrongVersion, "wrong-version"),
)


def as_answer_of_the_api(response: Response) -> Response:
    """The response as the API gives it: errors as problem documents, no redirects, no cookies."""
    if not in_api():
        return response
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
    said = msgspec.json.decode(answer.get_data()) if answer.mimetype == "application/json" else {}
    kind = _kind(error, answer.status_code)
    remedies = [row["remedy"] for row in said.get("problems", ()) if row["remedy"]]
    usual = kind.remedy if said.get("problems") or kind.name != "invalid" else "Correct what `detail` says."
    facts: dict[str, Any] = {
        "type": f"{ADDRESS}/{kind.name}",
        "title": kind.title,
        "status": answer.status_code,
        "detail": said.get("error") or kind.meaning,
        "remedy": remedies[0] if len(remedies) == 1 else usual,
    }
    for key in ("problems", "request"):
        if said.get(key):
            facts[key] = said[key]
    if isinstance(error, errors.Invalid) and len(error.problems) == 1 and error.problems[0].line is not None:
        facts["line"] = error.problems[0].line
    known = error.facts if error is not None else {}
    facts |= {key: known[key] for key in FACTS if known.get(key) is not None}
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
