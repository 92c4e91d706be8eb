"""Page cache for visitors: pages are reused as long as nothing on them changed.

A file has its name by rename, so that none is read half written, and begins with a digest that only processes
of this start can make: what an earlier program or another hand left there is never given.

A page is kept under its whole address with the version of the site that was read before it was made: any
change of visible data increments that number, so that nothing outdated is ever shown. Anyone who sends a
cookie or a token is never given a kept page, and no page made for them is kept.

A visitor's first page waits for one answer that way, not for a second one that comes after it. Kept pages are
sent packed, so that it costs them 5 to 7 KB; those of signed-in accounts are not, and their browsers have the
files already.
"""

import base64
import hashlib
import logging
import mimetypes
import os
import shutil
import tempfile
import threading
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec
import zstandard
from flask import Flask, Request, Response, current_app, g, request
from markupsafe import Markup
from werkzeug.exceptions import NotFound

from leaderboard.core import phase_rules
from leaderboard.db import engine
from leaderboard.errors import Invalid
from leaderboard.memory import Kept
from leaderboard.shared import Memory
from leaderboard.web import session
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import IS_SHARED, database, reading

PLAIN, GZIP, ZSTD = "", "gzip", "zstd"
SMALLEST = 1024
"""Bytes below which packing saves no packet."""
GZIP_LEVEL, ZSTD_LEVEL = 6, 6


@dataclass(frozen=True)
class SentBody:
    """Bytes of a kind and their tag, packed in each coding once."""

    plain: bytes
    mimetype: str
    tag: str
    _packed: dict[str, bytes] = field(default_factory=dict)

    def packed(self, coding: str) -> bytes:
        """The bytes in a coding, made once."""
        if coding not in self._packed:
            self._packed[coding] = packed(self.plain, coding)
        return self._packed[coding]

    def response(self) -> Response:
        """The bytes in the best coding that this request accepts, with the tag of that coding."""
        coding = _coding(request, len(self.plain))
        response = Response(self.packed(coding), mimetype=self.mimetype)
        if coding:
            response.content_encoding = coding
        # A tag names the very bytes, so that each coding has one of its own.
        response.set_etag(f"{self.tag}-{coding}" if coding else self.tag)
        response.vary.add("Accept-Encoding")
        return response


def packed(body: bytes, coding: str) -> bytes:
    """The body in a coding; the same bytes each time."""
    if coding == ZSTD:
        return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(body)
    if coding == GZIP:
        packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
        return packer.compress(body) + packer.flush()
    return body


def _coding(asking: Request, size: int) -> str:
    if size < SMALLEST:
        return PLAIN
    accepted = asking.accept_encodings
    return next((name for name in (ZSTD, GZIP) if accepted.quality(name) > 0), PLAIN)


log = logging.getLogger(__name__)

FILES_FOLDER = "kept"
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class KeptFile:
    """Content of a file: the compressed answer, and its expiry by time.monotonic()."""

    body: bytes
    mimetype: str
    tag: str
    headers: dict[str, str]
    until: float

    def sent_body(self) -> SentBody:
        """The body as it was, with what it was packed in."""
        plain = zstandard.ZstdDecompressor().decompress(self.body)
        return SentBody(plain, self.mimetype, self.tag, {ZSTD: self.body})


class KeptFiles:
    """The files, with a total size limit; outdated versions are removed."""

    def __init__(self, data: Path, memory: Memory, room: int) -> None:
        self._folder = data / "tmp" / FILES_FOLDER
        self._secret = memory.secret
        # What every process may add between its sweeps stays with what a sweep leaves within the room.
        self._left, self._added_most = room // 2, room // (2 * memory.processes)
        self._added = self._added_most

    def find(self, address: str, version: int) -> KeptFile | None:
        """Answer that another process kept for an address in this version, None if absent or damaged."""
        try:
            content = self._path(address, version).read_bytes()
        except OSError:
            return None
        if content[:DIGEST_BYTES] != self._digest(content[DIGEST_BYTES:]):
            return None
        kept = msgspec.msgpack.decode(content[DIGEST_BYTES:], type=KeptFile)
        return kept if kept.until > time.monotonic() else None

    def keep(self, address: str, version: int, body: SentBody, headers: dict[str, str], until: float) -> None:
        """Let the other processes have a page; without room on the disk they make it themselves."""
        kept = KeptFile(body.packed(ZSTD), body.mimetype, body.tag, headers, until)
        content = msgspec.msgpack.encode(kept)
        try:
            self._write(self._path(address, version), self._digest(content) + content)
        except FileNotFoundError:
            # Another process knows of a newer version, and removed the folder.
            return
        except OSError as error:
            log.warning("a page could not be kept for other processes: %s", error)

    def drop_others(self, version: int) -> None:
        """Remove files of any other version."""
        for folder in self._folder.glob("*"):
            if folder.name != str(version):
                shutil.rmtree(folder, ignore_errors=True)

    def _write(self, path: Path, content: bytes) -> None:
        self._added += len(content)
        if self._added > self._added_most:
            self._sweep()
            self._added = len(content)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise

    def _sweep(self) -> None:
        """Remove the oldest files, half-written ones of killed processes too, down to half of the room."""
        files = []
        for path in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self._left:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _path(self, address: str, version: int) -> Path:
        return self._folder / str(version) / self._digest(address.encode("utf-8", "replace")).hex()

    def _digest(self, content: bytes) -> bytes:
        return hashlib.blake2b(content, digest_size=DIGEST_BYTES, key=self._secret).digest()


EXTENSION = "kept pages"
LONGEST_S = 60.0
"""Even without changes: the remaining days on a page depend on the clock."""
ROOMS = frozenset(
    (
        "tasks",
        "boards",
        "badges",
        "frames",
        "snapshots",
        "intervals",
        "reveal",
        "measure_orders",
        "comparisons",
        "curves",
        "efficiency",
        "topics",
        "heat_maps",
        "runs",
        "run_sections",
        "run_outward",
        "rankings",
        "answers",
        "nuggets",
        "judges",
        "reproductions",
        "judge_labels",
        "news",
        "phases",
        "revisions",
        "combined",
        "teams",
        "measures",
        "feeds",
        "suites",
    )
)
"""The blueprints whose pages are kept: none has an address that is a secret."""

KEPT_HEADERS = ("Content-Disposition", "Content-Security-Policy")
"""Headers kept with an answer in addition to its type; all others are the same everywhere."""

Address = tuple[str, str, str, str]


@dataclass(frozen=True)
class KeptPage:
    """One answer of status 200; until is of time.monotonic()."""

    body: SentBody
    headers: dict[str, str]
    """Those of KEPT_HEADERS that it has."""
    until: float

    def response(self) -> Response:
        """The answer to this request; without a body where the browser has it already."""
        response = self.body.response()
        response.headers.update(self.headers)
        response.cache_control.no_cache = True
        response.vary.add("Cookie")
        return session.applied(response)


class KeptPages:
    """The pages of one process, within its budget of memory; its methods may be called from any thread.

    files: where other web processes of the site find them, and it theirs.
    """

    def __init__(self, files: KeptFiles | None = None) -> None:
        self._files = files
        self._pages: Kept[KeptPage] = Kept(__name__)
        self._lock = threading.Lock()
        self._version = -1
        self._next_date = 0.0

    def find(self, address: Address, version: int) -> KeptPage | None:
        """The page of an address in this version, None where it is not kept."""
        with self._lock:
            page = self._pages.get(address) if version == self._version else None
        return page if page is not None and page.until > time.monotonic() else None

    def begin(self, version: int) -> float:
        """Drop pages of another version; until when, of time.monotonic(), a page made now may be kept."""
        at = time.monotonic()
        if version != self._version or at >= self._next_date:
            next_date = at + phase_rules.seconds_to_next_date(reading())
            with self._lock:
                is_new = version != self._version
                if is_new:
                    self._pages.clear()
                self._version, self._next_date = version, next_date
            if is_new and self._files is not None:
                self._files.drop_others(version)
        return min(at + LONGEST_S, self._next_date)

    def find_elsewhere(self, address: Address, version: int) -> KeptPage | None:
        """The page as another process made it, kept here from now on; None if none did."""
        kept = self._files.find(_name(address), version) if self._files is not None else None
        if kept is None:
            return None
        page = KeptPage(kept.sent_body(), kept.headers, kept.until)
        self._keep_here(address, version, page)
        return page

    def keep(self, address: Address, version: int, page: KeptPage) -> None:
        """Keep a page, unless the site changed since it was rendered."""
        if self._keep_here(address, version, page) and self._files is not None:
            self._files.keep(_name(address), version, page.body, page.headers, page.until)

    def _keep_here(self, address: Address, version: int, page: KeptPage) -> bool:
        with self._lock:
            is_of_now = version == self._version
            if is_of_now:
                self._pages.put(address, page)
            return is_of_now


def _name(address: Address) -> str:
    return "\n".join(address)


@dataclass(frozen=True)
class Asked:
    """Data needed to cache the page being rendered."""

    address: Address
    version: int
    until: float


def register_pages(app: Flask, room: int, files: KeptFiles | None = None) -> None:
    """Keep pages in memory, shared by files where these are given; none where room is 0."""
    app.extensions[EXTENSION] = KeptPages(files) if room else None


def answer_page() -> Response | None:
    """The kept page of this address, or None; then the page that is made may be kept."""
    store: KeptPages | None = current_app.extensions[EXTENSION]
    if not _may_be_kept():
        return None
    # Templates write style sheets into it.
    g.may_be_kept = True
    if store is None:
        setattr(g, IS_SHARED, True)
        return None
    version = _version()
    if version is None:
        return None
    address = (request.scheme, request.host, request.path, request.environ.get("QUERY_STRING", ""))
    page, source = store.find(address, version), "memory"
    if page is None:
        until = store.begin(version)
        page, source = store.find_elsewhere(address, version), "file"
    session.counter().kept_page(source if page is not None else "none")
    if page is not None:
        return page.response()
    g.to_be_kept = Asked(address, version, until)
    return None


def _version() -> int | None:
    """The version of the server that the page is read from: a replica's must not pass for a newer one."""
    replica = database().replica
    version = engine.present_version(replica) if replica is not None else None
    setattr(g, IS_SHARED, version is not None)
    if version is not None:
        return version
    if replica is not None:
        database().lose_replica("it has no version")
    return engine.present_version(database().engine)


def offer(response: Response) -> Response | None:
    """The same answer from the cache from now on; None where this request's answer may not be kept."""
    asked: Asked | None = g.get("to_be_kept")
    if asked is None or response.status_code != 200:
        return None
    store: KeptPages = current_app.extensions[EXTENSION]
    plain = response.get_data()
    body = SentBody(plain, response.mimetype or "", hashlib.sha256(plain).hexdigest()[:32])
    page = KeptPage(body, _headers(response), asked.until)
    store.keep(asked.address, asked.version, page)
    return page.response()


def _headers(response: Response) -> dict[str, str]:
    return {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}


def _may_be_kept() -> bool:
    """Whether a visitor requests a page that is the same for all visitors."""
    return (
        request.method in ("GET", "HEAD")
        and request.blueprint in ROOMS
        and not request.cookies
        and "Authorization" not in request.headers
        and not session.is_recorded(request.endpoint)
    )


STATIC_FOLDER = Path(__file__).parent / "static"
A_YEAR_S = 31_536_000
DIGITS = 12
"""Of the digest in an address."""
FILES = "leaderboard-static"
LOGO_SETTING = "LEADERBOARD_SITE_LOGO"
LOGOS = (".svg", ".png", ".jpg", ".jpeg", ".webp")
JOINED = {"app.css": ("charts.css", "app.css")}
"""Files sent as one, because every page waits for each file that it requests."""
# What a machine's own table says of these two differs.
KINDS = {".js": "text/javascript", ".css": "text/css"}


def register_static(app: Flask, logo: str) -> None:
    """Serve the files; templates have the address of each by its name, as in static["app.css"].

    logo: the configured path of the site's own logo; empty: none, and its address is not found.
    """
    app.add_url_rule("/static/<path:filename>", endpoint="static", view_func=static)
    own = {f"site-logo{Path(logo).suffix}": _logo(Path(logo))} if logo else {}
    files = app.extensions[FILES] = _files() | own
    addresses = {name: f"/static/{name}?v={file.tag}" for name, file in files.items()}
    app.jinja_env.globals.update(static=addresses, site_logo=next((addresses[name] for name in own), ""))


@rule(PUBLIC)
def static(filename: str) -> Response:
    """A static file: permanently if its address identifies its bytes."""
    file = current_app.extensions[FILES].get(filename)
    if file is None:
        raise NotFound
    response = file.response()
    if request.args.get("v") == file.tag:
        response.cache_control.public = True
        response.cache_control.max_age = A_YEAR_S
        response.cache_control.immutable = True
    else:
        response.cache_control.no_cache = True
    return session.applied(response)


@cache
def _files() -> dict[str, SentBody]:
    """Every file by its name in addresses; read once, as a new version of the site is a new process."""
    return {
        path.relative_to(STATIC_FOLDER).as_posix(): _file(path)
        for path in STATIC_FOLDER.rglob("*")
        if path.is_file()
    }


def _logo(path: Path) -> SentBody:
    """Raises Invalid for a file that cannot be read or does not have the name of a picture."""
    if path.suffix.lower() not in LOGOS:
        raise Invalid(f"{LOGO_SETTING} is {str(path)!r}; it must be the path of one of {', '.join(LOGOS)}.")
    try:
        return _file(path)
    except OSError as error:
        raise Invalid(f"The file {path} of {LOGO_SETTING} cannot be read: {error.strerror}.") from None


def sent_bytes(path: Path) -> bytes:
    """Bytes sent for a file, with those that precede it."""
    return b"".join((path.parent / name).read_bytes() for name in JOINED.get(path.name, (path.name,)))


def _file(path: Path) -> SentBody:
    body = sent_bytes(path)
    kind = KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    return SentBody(body, kind, hashlib.sha256(body).hexdigest()[:DIGITS])


STYLES_NAMES = ("app", "board", "matrix")
"""Style sheets of the pages that may be kept."""


def register_styles(app: Flask) -> None:
    """Templates have the element of each of these sheets by its name, as in sheets["app"]."""
    app.jinja_env.globals["sheets"] = {
        name: Markup("<style>{}</style>").format(Markup(text)) for name, text in sheets().items()
    }


@cache
def sheets() -> dict[str, str]:
    """The text of these sheets by their names; read once, as a new version of the site is a new process."""
    return {name: sent_bytes(STATIC_FOLDER / f"{name}.css").decode() for name in STYLES_NAMES}


def sources() -> str:
    """Sources for styles within pages in the content security policy: exactly these."""
    digests = (hashlib.sha256(text.encode()).digest() for text in sheets().values())
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
