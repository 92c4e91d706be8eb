"""Style sheets, scripts and icons: in memory, packed, under addresses that change with their bytes."""

import hashlib
import mimetypes
from functools import cache
from pathlib import Path

from flask import Flask, Response, request
from werkzeug.exceptions import NotFound

from leaderboard.web import conditions
from leaderboard.web.kept.coding import SentBody
from leaderboard.web.rules import PUBLIC, rule

FOLDER = Path(__file__).parent.parent / "static"
A_YEAR_S = 31_536_000
DIGITS = 12
"""Of the digest in an address."""
JOINED = {"app.css": ("charts.css", "app.css")}
"""What is sent as one file, as every page waits for each that it asks for."""
# What a machine's own table says of these two differs.
KINDS = {".js": "text/javascript", ".css": "text/css"}


def register(app: Flask) -> None:
    """Serve the files; templates have the address of each by its name, as in static["app.css"]."""
    app.add_url_rule("/static/<path:filename>", endpoint="static", view_func=static)
    app.jinja_env.globals["static"] = {
        name: f"/static/{name}?v={file.tag}" for name, file in _files().items()
    }


@rule(PUBLIC)
def static(filename: str) -> Response:
    """A static file: for ever where its address names these very bytes."""
    found = _files().get(filename)
    if found is None:
        raise NotFound
    response = found.response()
    if request.args.get("v") == found.tag:
        response.cache_control.public = True
        response.cache_control.max_age = A_YEAR_S
        response.cache_control.immutable = True
    else:
        response.cache_control.no_cache = True
    return conditions.applied(response)


@cache
def _files() -> dict[str, SentBody]:
    """Every file by its name in addresses; read once, as a new version of the site is a new process."""
    return {path.relative_to(FOLDER).as_posix(): _file(path) for path in FOLDER.rglob("*") if path.is_file()}


def sent_bytes(path: Path) -> bytes:
    """What is sent of a file: with those that go before it."""
    return b"".join((path.parent / name).read_bytes() for name in JOINED.get(path.name, (path.name,)))


def _file(path: Path) -> SentBody:
    body = sent_bytes(path)
    kind = KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    return SentBody(body, kind, hashlib.sha256(body).hexdigest()[:DIGITS])
