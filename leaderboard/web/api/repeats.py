"""The header Idempotency-Key: a POST that comes again is answered again, and done once.

After the Internet-Draft draft-ietf-httpapi-idempotency-key-header-07: same key and body, the first answer;
the same key with another body, 422; while the first still runs, 409. A key counts for one method and
address: elsewhere the same text is another key.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from flask import Response, request
from sqlalchemy import ColumnElement, delete, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import add_unless_taken, now
from leaderboard.db.tables import IdempotencyKey
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.web.session import token, writing

HEADER = "Idempotency-Key"
LONGEST = 128
KEPT = timedelta(hours=24)
LONGEST_RUN = timedelta(minutes=10)
"""After that long the process that ran a request is taken to have died with it."""
DESCRIBING = ("Upload-Length", "Upload-Metadata")
KEPT_HEADERS = ("Content-Type", "Location")


def once(act: Callable[[], Response], file: Path | None = None) -> Response:
    """Response of act, or its earlier response if the same request came with this key before.

    file: where the body lies that was a file.
    """
    key, asking = given_key(), token()
    if not key or asking is None:
        return act()
    digest = _digest(file)
    with writing() as session:
        before = _begun(session, asking.token_id, key, digest)
    if before is not None:
        return before
    try:
        response = act()
    except BaseException:
        # What failed changed nothing and may be tried again under the same key.
        with writing() as session:
            _forget(session, asking.token_id, key)
        raise
    with writing() as session:
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        done = {"state": "done", "status": response.status_code, "body": response.get_data()}
        # The row is gone where the account of the token went meanwhile: then nobody asks again.
        session.execute(
            update(IdempotencyKey).where(*_of(asking.token_id, key)).values(**done, headers=headers)
        )
    return response


def given_key() -> str:
    """The request's key, empty where it has none; raises Invalid for a long one."""
    key = request.headers.get(HEADER, "")
    if len(key) > LONGEST or not key.isascii() or not (key == "" or key.isprintable()):
        problem = Problem(
            f"must have at most {LONGEST} printable ASCII characters.", "Send a UUID.", field=HEADER
        )
        raise Invalid(f"{HEADER} must have at most {LONGEST} printable ASCII characters.", [problem])
    return key


def _begun(session: Session, token_id: int, key: str, digest: str) -> Response | None:
    """The answer that was given before, None where this is the first; raises Conflict, Invalid."""
    at = now(session)
    is_dead = (IdempotencyKey.state == "running") & (IdempotencyKey.created_at < at - LONGEST_RUN)
    session.execute(delete(IdempotencyKey).where((IdempotencyKey.created_at < at - KEPT) | is_dead))
    row = IdempotencyKey(
        token_id=token_id,
        key=_scoped(key),
        request_sha256=digest,
        state="running",
        headers={},
        body=b"",
        created_at=at,
    )
    # What 1.0 stored counted for all addresses; who was cut off by the upgrade may ask again.
    stored = session.get(IdempotencyKey, (token_id, key))
    if stored is None or stored.request_sha256 != digest:
        if add_unless_taken(session, row):
            return None
        stored = session.get(IdempotencyKey, (token_id, row.key))
    if stored is None:
        raise Conflict("The first request with this key failed. Send it again.")
    if stored.request_sha256 != digest:
        raise Invalid(f"This {HEADER} was already used for another request. Use a new key for each request.")
    if stored.state == "running":
        raise Conflict("The first request with this key is still running. Try again in a moment.")
    response = Response(stored.body, stored.status)
    response.headers.update(stored.headers)
    return response


def _forget(session: Session, token_id: int, key: str) -> None:
    session.execute(delete(IdempotencyKey).where(*_of(token_id, key)))


def _of(token_id: int, key: str) -> tuple[ColumnElement[bool], ...]:
    return IdempotencyKey.token_id == token_id, IdempotencyKey.key == _scoped(key)


def _scoped(key: str) -> str:
    """The key as it is stored: that of the request's method and address alone."""
    return hashlib.sha256("\0".join((request.method, request.path, key)).encode()).hexdigest()


def _digest(file: Path | None) -> str:
    """Of method, address, body and what headers say of a file: it tells two requests of one key apart."""
    body = hashlib.sha256(request.get_data(cache=True)) if file is None else _digest_of(file)
    described = "".join(request.headers.get(name, "") for name in DESCRIBING)
    parts = (request.method.encode(), request.full_path.encode(), described.encode(), body.digest())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _digest_of(file: Path) -> "hashlib._Hash":
    with file.open("rb") as body:
        return hashlib.file_digest(body, "sha256")
