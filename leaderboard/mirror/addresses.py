"""Which addresses of a site are mirrored, and the file that each becomes."""

import hashlib
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit

from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter, RequestRedirect

from leaderboard.web.figures import PARAMETER
from leaderboard.web.kept.pages import ROOMS

MIRRORED = ROOMS | {"static", "run_files", "pictures", "pool_audits", "side_by_side", "bundles"}
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
PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
OTHERS = re.compile(r"[^A-Za-z0-9._-]+")
HTML = "text/html"
"""The type of what is a page."""


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
        """What a link on the page `of` leads to; None where that is elsewhere or not mirrored."""
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
        if self._only is None or room in ("static", "measures"):
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
    """Whether an address is a file of what is on a page: `/tasks/t.csv` of `/tasks/t`."""
    return address.path.rpartition(".")[0] == page.path


def file_of(address: PageAddress, kind: str) -> str:
    """The file that an answer of a media type becomes, a relative path.

    Pages are `index.html` of a folder, so that `/tasks/t` and `/tasks/t/topics` go together. What a file
    system may not tell apart, or not take, has a digest.

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
        # A figure belongs to the page that it is of.
        suffix = mimetypes.guess_extension(kind) or suffix
        return "/".join([*parts[:-1], f"{last.stem}~{_name(address.query)}{suffix}"])
    return "/".join([*parts[:-1], f"{last.stem}{suffix}"])


def _name(part: str) -> str:
    if PLAIN.fullmatch(part) and ".." not in part:
        return part
    digest = hashlib.sha256(part.encode()).hexdigest()[:8]
    return f"{OTHERS.sub('-', part).strip('-.')[:60]}-{digest}"
