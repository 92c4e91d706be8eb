"""Writing a mirror: every page reachable from the first one, as visitors see it."""

import hashlib
import json
import mimetypes
import multiprocessing
import os
import posixpath
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from html import escape, unescape
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

from flask import Flask, render_template
from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter, RequestRedirect
from werkzeug.test import TestResponse

from leaderboard.errors import Invalid, NotFound
from leaderboard.runs.web.rankings import WHOLE
from leaderboard.web import filters
from leaderboard.web.filters import PARAMETER
from leaderboard.web.kept import ROOMS
from leaderboard.web.session import database

LINKS = re.compile(r'(\s(?:href|src|xlink:href))="([^"]*)"')
LEADING = re.compile(r"<(?:a|link|img|script|image|use)\b[^>]*>")
"""Tags with links; our pages escape > in all that is written into them."""
CONTENT = re.compile(r"<(?:table|p|h[1-6]|ul|dl)\b")
"""Content for which a form is kept, without its fields."""
SILENCED = {"script", "select", "textarea", "button"}
"""Elements that ask a server, with all that is in them."""
KEPT_SCRIPTS = ("/static/app.", "/search.js")
SITE_SEARCH = {("role", "search"), ("aria-label", "Site")}
SEARCH_FORM = '<a href="/search">Search</a>'
"""The form that searches the site, and its replacement."""
STAYING = ("#", "data:", "mailto:")
"""Beginnings of addresses that stay the same in a mirror."""
Link = Callable[[str], str | None]
"""The address to write for the address of a link; None if it has no target."""


def links(page: str) -> list[str]:
    """The addresses that a page links to or needs.

    >>> links('<a href="/a?x=1&amp;y">A</a><a href="#b">B</a><script src="/htmx.js"></script>')
    ['/a?x=1&y']
    """
    tags = (tag[0] for tag in LEADING.finditer(page))
    kept = (tag for tag in tags if not tag.startswith("<script") or any(name in tag for name in KEPT_SCRIPTS))
    addresses = (unescape(link[2]) for tag in kept for link in LINKS.finditer(tag))
    return [address for address in addresses if not address.startswith(STAYING)]


def rewritten(page: str, link: Link, note: str = "") -> str:
    """The page with its links changed and what needs a server left out; note is HTML for its foot.

    >>> rewritten('<p><a href="/a?x=1&amp;y">A</a><input name="q"></p>', lambda address: None)
    '<p><a>A</a></p>'
    """
    writer = _Writer(link, note)
    writer.feed(page)
    writer.close()
    return writer.text()


class _Writer(HTMLParser):
    """Copies its input, tag by tag, except for parts that need a server."""

    def __init__(self, link: Link, note: str) -> None:
        super().__init__(convert_charrefs=False)
        self._link = link
        self._note = note
        self._written: list[list[str]] = [[]]
        self._silent = ""
        self._depth = 0
        self._instead = ""
        self._navs = 0

    def text(self) -> str:
        return "".join(self._written[0])

    def _say(self, text: str) -> None:
        if not self._silent:
            self._written[-1].append(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silent:
            self._depth += tag == self._silent
        elif self._is_left_out(tag, dict(attrs)):
            self._silent, self._depth = tag, 1
        elif tag == "form":
            self._written.append([])
            self._instead = SEARCH_FORM if set(attrs) >= SITE_SEARCH else ""
        else:
            self.handle_startendtag(tag, attrs)

    def _is_left_out(self, tag: str, attributes: dict[str, str | None]) -> bool:
        """Whether an element is removed with its contents; elsewhere links have informative texts."""
        if tag == "a" and self._navs:
            address = attributes.get("href") or "#"
            return not address.startswith("#") and self._link(address) is None
        return tag in SILENCED and not _is_kept(tag, attributes)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._navs += tag == "nav"
        if tag != "input":
            written = self.get_starttag_text() or ""
            self._say(LINKS.sub(self._linked, written) if LEADING.match(written) else written)

    def _linked(self, match: re.Match[str]) -> str:
        address = unescape(match[2])
        other = address if address.startswith(STAYING) else self._link(address)
        return "" if other is None else f'{match[1]}="{escape(other)}"'

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            self._depth -= tag == self._silent
            self._silent = self._silent if self._depth else ""
        elif tag == "form":
            body = "".join(self._written.pop())
            self._say(body if CONTENT.search(body) else LINKS.sub(self._linked, self._instead))
        else:
            self._navs -= tag == "nav"
            self._say(self._note if tag == "footer" else "")
            self._say(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._say(data)

    def handle_entityref(self, name: str) -> None:
        self._say(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._say(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._say(f"<!{decl}>")


def _is_kept(tag: str, attributes: dict[str, str | None]) -> bool:
    source = attributes.get("src") or ""
    is_data = (attributes.get("type") or "").endswith("+json")
    return tag == "script" and (is_data or any(kept in source for kept in KEPT_SCRIPTS))


MIRRORED = ROOMS | {"static", "run_files", "pictures", "pool_audits", "side_by_side", "bundles", "signatures"}
"""Blueprints of what a visitor may open without a secret, a form or a search, and without a server."""
EVERYWHERE = ("phase", PARAMETER, "table", "of", "kind")
OWN: Mapping[str, tuple[str, ...]] = {
    "boards": ("measure", "edition"),
    "runs": ("measure",),
    "comparisons": ("a", "b"),
    "rankings": ("docno", "topic"),
    "static": (),
}
"""Parameters that make another page, by blueprint; all others sort, filter or fold one that is there."""
DOCUMENT = "rankings.document"
OF_ONE: Mapping[str, tuple[str, ...]] = {"rankings.document_export": (), "rankings.export": ("json",)}
"""Forms of tables of one document and of one ranking: all four would be most of a mirror's files."""
PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}|\.well-known")
OTHERS = re.compile(r"[^A-Za-z0-9._-]+")
HTML = "text/html"
"""The media type of a page."""


@dataclass(frozen=True, slots=True)
class PageAddress:
    """One page or file of the site: its path, and of its parameters those that make it another page."""

    path: str
    query: str
    endpoint: str
    documents: tuple[str, ...] = field(default=(), compare=False)
    """The ids of those that are sections of this page."""

    def __str__(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path


class Addresses:
    """The addresses of one site, or of one of its tasks.

    site: the site's own address. only: the slug of the one task that is mirrored and the ids of its runs.
    """

    def __init__(self, urls: MapAdapter, site: str, only: tuple[str, frozenset[int]] | None = None) -> None:
        self._urls = urls
        self._site = site
        self._only = only
        self._known: dict[str, PageAddress | None] = {}

    def address(self, link: str, of: str = "/") -> PageAddress | None:
        """Target of a link on the page `of`; None if it is elsewhere or not mirrored."""
        # Pages of a site have mostly the same links.
        whole = link if link.startswith("/") and not link.startswith("//") else urljoin(self._site + of, link)
        whole = whole.partition("#")[0]
        if whole not in self._known:
            self._known[whole] = self._found(urljoin(self._site + of, whole))
        return self._known[whole]

    def _found(self, whole: str) -> PageAddress | None:
        parts = urlsplit(whole)
        if not self.is_own(parts.geturl()):
            return None
        path = unquote(parts.path)
        try:
            endpoint, values = self._urls.match(path, "GET")
        except (HTTPException, RequestRedirect):
            return None
        room = endpoint.split(".")[0]
        is_left_out = endpoint in OF_ONE and values["form"] not in OF_ONE[endpoint]
        if room not in MIRRORED or is_left_out or not self._belongs(room, values):
            return None
        kept = (*(() if room == "static" else EVERYWHERE), *OWN.get(room, ()))
        given = [(name, value) for name, value in parse_qsl(parts.query) if name in kept]
        return PageAddress(path, urlencode(sorted(given)), endpoint)

    def is_own(self, address: str) -> bool:
        """Whether an absolute address is one of the site."""
        parts = urlsplit(address)
        return f"{parts.scheme}://{parts.netloc}" == self._site

    def _belongs(self, room: str, values: Mapping[str, object]) -> bool:
        if self._only is None or room in ("static", "measures", "signatures"):
            return True
        slug, run_ids = self._only
        return values.get("slug") == slug or values.get("run_id") in run_ids


def section(address: PageAddress) -> tuple[PageAddress, str] | None:
    """For a document read for a topic: the page of all documents read for it, and this one's id.

    A page for each document of each topic would be most of a mirror's pages.
    """
    given = dict(parse_qsl(address.query))
    if address.endpoint != DOCUMENT or not {"docno", "topic"} <= given.keys():
        return None
    docno = given.pop("docno")
    return PageAddress(address.path, urlencode(given), DOCUMENT), docno


def figure_of(address: PageAddress, page: PageAddress) -> str:
    """The name of the figure that an address has of a page; empty for anything else."""
    given = dict(parse_qsl(address.query))
    name = given.pop(PARAMETER, "")
    return name if address.path == page.path and urlencode(sorted(given.items())) == page.query else ""


def is_table_of(address: PageAddress, page: PageAddress) -> bool:
    """Whether an address is a file of a page's contents: `/tasks/t.csv` of `/tasks/t`."""
    return address.path.rpartition(".")[0] == page.path


def file_of(address: PageAddress, kind: str) -> str:
    """The file that an answer of a media type becomes, a relative path.

    Pages are `index.html` of a folder, so that `/tasks/t` and `/tasks/t/topics` go together. Names that a
    file system may confuse or refuse get a digest.

    >>> file_of(PageAddress("/tasks/t", "", ""), "text/html")
    'tasks/t/index.html'
    >>> file_of(PageAddress("/tasks/t.json", "", ""), "application/json")
    'tasks/t.json'
    >>> file_of(PageAddress("/tasks/t/topics/A b", "", ""), "text/html")
    'tasks/t/topics/A-b-a760b0e1/index.html'
    >>> file_of(PageAddress("/tasks/t", "measure=AP", ""), "text/html")
    'tasks/t/~measure-AP-1edd05ce/index.html'
    """
    parts = [_name(part) for part in address.path.split("/") if part]
    if kind == HTML:
        return "/".join([*parts, *([f"~{_name(address.query)}"] if address.query else []), "index.html"])
    last = PurePosixPath(parts[-1])
    suffix = last.suffix or mimetypes.guess_extension(kind) or ".bin"
    if address.query:
        # A figure belongs to its page.
        suffix = mimetypes.guess_extension(kind) or suffix
        return "/".join([*parts[:-1], f"{last.stem}~{_name(address.query)}{suffix}"])
    return "/".join([*parts[:-1], f"{last.stem}{suffix}"])


def _name(part: str) -> str:
    if PLAIN.fullmatch(part) and ".." not in part:
        return part
    digest = hashlib.sha256(part.encode()).hexdigest()[:8]
    return f"{OTHERS.sub('-', part).strip('-.')[:60]}-{digest}"


RECORD, SUMS = "mirror.json", "SHA256SUMS"
"""File with the description of a mirror and the digests of its files."""
SEARCH, SCRIPT = "search/index.html", "search/search.js"
SEARCHED = (
    *("boards.board", "tasks.about", "runs.show", "teams.show", "topics.show"),
    *("revisions.show", "suites.show", "measures.show"),
)
"""Pages that the search finds by their titles, in the order in which it shows them."""
Tell = Callable[[int, int], None]
"""Called with how many addresses are done, and how many are known."""


@dataclass(frozen=True, slots=True)
class MirrorRecord:
    """Result of a mirror: pages and other files, total bytes, and addresses that are not public."""

    pages: int
    files: int
    size: int
    left_out: tuple[str, ...]


@dataclass(slots=True)
class _Written:
    """Progress of a mirror; files are relative paths, aliases map an address to another.

    documents are the sections of pages of documents, longer the pages that are to be written with more.
    """

    folder: Path
    files: dict[PageAddress, str] = field(default_factory=dict)
    pages: dict[str, PageAddress] = field(default_factory=dict)
    aliases: dict[PageAddress, PageAddress] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    documents: dict[PageAddress, set[str]] = field(default_factory=dict)
    longer: dict[PageAddress, None] = field(default_factory=dict)

    def is_section(self, address: PageAddress) -> bool:
        """Remember a document that is a section of a page; False for any other address."""
        if (part := section(address)) is None:
            return False
        page, docno = part
        self.aliases[address] = page
        self.documents.setdefault(page, set()).add(docno)
        self.longer[page] = None
        return True

    def grown(self) -> list[PageAddress]:
        """The pages that have more sections than when last requested."""
        pages = [replace(page, documents=tuple(sorted(self.documents[page]))) for page in self.longer]
        self.longer.clear()
        return pages

    def note(self, address: PageAddress, taken: "_Taken") -> None:
        """Remember what became of an address."""
        if taken.alias is not None:
            self.aliases[address] = taken.alias
        elif taken.status != 200:
            self.left_out.append(f"{address} ({taken.status})")
        else:
            self.files[address] = taken.file
            if taken.is_page:
                self.pages[taken.file] = address

    def file(self, address: PageAddress | None) -> str | None:
        """The file of an address, also of one that redirects."""
        for _ in range(9):
            if address not in self.aliases:
                break
            address = self.aliases[address]
        return None if address is None else self.files.get(address)


def write(
    app: Flask, folder: Path, site: str, only: tuple[str, frozenset[int]] | None, tell: Tell
) -> MirrorRecord:
    """Mirror a site, or one task (its slug and the ids of its runs), into a folder.

    site is the site's own address, under which absolute links are known. All is written next to the folder
    and replaces it at the end, so that a mirror is complete or unchanged. Raises Invalid where the folder
    holds anything but a mirror, or the first page is not shown to visitors.
    """
    parts = urlsplit(site)
    addresses = Addresses(app.url_map.bind(parts.netloc, url_scheme=parts.scheme), site, only)
    start = addresses.address(f"/tasks/{only[0]}" if only else "/")
    with _taking_place_of(folder) as unfinished:
        written = _Written(unfinished)
        day = f"{datetime.now(UTC):%Y-%m-%d}"
        note = f"<p>Static mirror of {site}, created on {day}. Features that need a server are omitted.</p>"
        work = _Work(app, addresses, written, site, note)
        if start is not None:
            _crawl(work, start, tell)
        if not written.pages or start is None:
            raise Invalid("There is no public start page. Publish the task, or name another one.")
        _link(work, start)
        return _record(written, site, only)


@contextmanager
def _taking_place_of(folder: Path) -> Iterator[Path]:
    if folder.exists() and any(folder.iterdir()) and not (folder / RECORD).is_file():
        raise Invalid(f"{folder} contains files that are not from a mirror. Name a new or empty folder.")
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(unfinished, folder)


def _crawl(work: "_Work", start: PageAddress, tell: Tell) -> None:
    """Write all that leads from the first page, step by step: addresses are requested in the order found.

    Pages of documents come last, when all their sections are known.
    """
    written, wave, addresses = work.written, [start], {start}
    with _processes(work) as each:
        while wave:
            following = []
            for pages in each(_take, wave):
                addresses.update(address for address, _ in pages)
                for address, taken in pages:
                    written.note(address, taken)
                    fresh = [other for other in taken.links if other not in addresses]
                    addresses.update(fresh)
                    following += [other for other in fresh if not written.is_section(other)]
                tell(len(written.files) + len(written.aliases) + len(written.left_out), len(addresses))
            wave = following or written.grown()


@dataclass(frozen=True, slots=True)
class _Taken:
    """Result for an address: a file or the reason why it is missing, and its links."""

    file: str = ""
    is_page: bool = False
    alias: PageAddress | None = None
    status: int = 200
    links: tuple[PageAddress, ...] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    """State shared by the processes that write a mirror."""

    app: Flask
    addresses: Addresses
    written: _Written
    site: str
    note: str = ""


_work: list[_Work] = []
"""That of this process, and of those that are forked from it."""
Each = Callable[[Callable[[PageAddress], Any], Sequence[PageAddress]], Iterable[Any]]


@contextmanager
def _processes(work: _Work) -> Iterator[Each]:
    """A map over addresses, in their order, by as many processes as there are processors."""
    _work.append(work)
    count = (os.cpu_count() or 1) if sys.platform == "linux" else 1
    try:
        if count == 1:
            yield map
            return
        with multiprocessing.get_context("fork").Pool(count, _begin) as pool:
            yield partial(pool.imap, chunksize=4)
    finally:
        _work.pop()


def _begin() -> None:
    """Leave the connections to the process that opened them."""
    with _work[-1].app.app_context():
        database().forget_connections()


def _take(address: PageAddress) -> list[tuple[PageAddress, _Taken]]:
    """Write one address as it is, and the files of its page, whose numbers are in memory now."""
    work = _work[-1]
    answer = _asked(work, address)
    if 300 <= answer.status_code < 400:
        target = work.addresses.address(answer.headers["Location"], address.path)
        if target is not None and target != address:
            return [(address, _Taken(alias=target, links=(target,)))]
    if answer.status_code != 200:
        return [(address, _Taken(status=answer.status_code))]
    kind = answer.mimetype or ""
    file = file_of(address, kind)
    if kind != HTML:
        _write(work.written.folder / file, answer.iter_encoded())
        return [(address, _Taken(file))]
    body = answer.get_data()
    _write(work.written.folder / file, [body])
    page = body.decode()
    targets = (work.addresses.address(link, address.path) for link in links(page))
    led = tuple(dict.fromkeys(other for other in targets if other))
    drawn = [(other, _draw(work, other, name, page)) for other in led if (name := figure_of(other, address))]
    files = [taken for other in led if is_table_of(other, address) for taken in _take(other)]
    return [(address, _Taken(file, is_page=True, links=led)), *drawn, *files]


def _asked(work: "_Work", address: PageAddress) -> TestResponse:
    """The application's answer to a visitor."""
    documents = urlencode([("docno", docno) for docno in address.documents])
    query = "&".join(part for part in (address.query, documents) if part)
    path = quote(address.path) + (f"?{query}" if query else "")
    return work.app.test_client().get(path, base_url=work.site, environ_overrides={WHOLE: True})


def _draw(work: "_Work", address: PageAddress, name: str, page: str) -> _Taken:
    """Write a figure from its page, which the application would otherwise render again."""
    try:
        drawing = filters.drawing(page, name)
    except NotFound:
        return _Taken(status=404)
    file = file_of(address, "image/svg+xml")
    _write(work.written.folder / file, [drawing])
    return _Taken(file)


def _link(work: _Work, start: PageAddress) -> None:
    """Point the links of all pages to the files, and write the search."""
    app, addresses, written, site = work.app, work.addresses, work.written, work.site
    entries = []
    with _processes(work) as each:
        pages = list(written.pages.items())
        for (file, address), title in zip(pages, each(_led, [of for _, of in pages]), strict=True):
            if address.endpoint in SEARCHED and not address.query:
                entries.append((SEARCHED.index(address.endpoint), title, file))
    with app.test_request_context("/search", base_url=site):
        page = render_template("site/mirror/search.html", script=f"/{SCRIPT}")
    leading = _leading(addresses, written, "/search", SEARCH)
    _write(written.folder / SEARCH, [rewritten(page, leading, work.note)])
    script = app.jinja_env.get_template("site/mirror/search.js").render(
        entries=json.dumps([entry[1:] for entry in sorted(entries)], ensure_ascii=False)
    )
    _write(written.folder / SCRIPT, [script])
    if start.path != "/":
        page = f'<!doctype html><meta http-equiv="refresh" content="0; url={quote(written.files[start])}">'
        _write(written.folder / "index.html", [page])


def _led(address: PageAddress) -> str:
    """Rewrite the file of a page; its title."""
    work = _work[-1]
    file = work.written.files[address]
    path = work.written.folder / file
    page = path.read_text(encoding="utf-8")
    leading = _leading(work.addresses, work.written, address.path, file)
    _write(path, [rewritten(page, leading, work.note)])
    return _title(page)


def _title(page: str) -> str:
    """The title of a page, without the site name."""
    return unescape(page.partition("<title>")[2].partition("</title>")[0]).rsplit(" · ", 1)[0]


def _write(path: Path, parts: Iterable[str | bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.writelines(part.encode() if isinstance(part, str) else part for part in parts)


def _leading(addresses: Addresses, written: _Written, path: str, file: str) -> Link:
    """Replacements for the links of one page: relative, so that a mirror works in any place."""
    folder = posixpath.dirname(file) or "."

    def link(address: str) -> str | None:
        parts = urlsplit(address)
        own = {"/search": SEARCH, f"/{SCRIPT}": SCRIPT}.get(parts.path)
        page_address = addresses.address(address, path)
        target = own or written.file(page_address)
        if target is not None:
            part = section(page_address) if page_address else None
            anchor = quote(f"document-{part[1]}") if part else parts.fragment
            return quote(posixpath.relpath(target, folder)) + (f"#{anchor}" if anchor else "")
        is_elsewhere = parts.scheme in ("http", "https") and not addresses.is_own(address)
        return address if is_elsewhere else None

    return link


def _record(written: _Written, site: str, only: tuple[str, frozenset[int]] | None) -> MirrorRecord:
    files = sorted(path for path in written.folder.rglob("*") if path.is_file())
    record = MirrorRecord(
        pages=len(written.pages),
        files=len(files),
        size=sum(path.stat().st_size for path in files),
        left_out=tuple(written.left_out),
    )
    facts: dict[str, Any] = {
        "site": site,
        "task": only[0] if only else None,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": version("ir-leaderboard"),
        "pages": record.pages,
        "left_out": record.left_out,
    }
    _write(written.folder / RECORD, [json.dumps(facts, indent=1, ensure_ascii=False), "\n"])
    names = [*files, written.folder / RECORD]
    sums = (f"{_digest(path)}  {path.relative_to(written.folder).as_posix()}\n" for path in names)
    _write(written.folder / SUMS, sums)
    return record


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
