"""Writing a mirror: every page that leads from the first one, as a visitor is shown it."""

import hashlib
import json
import os
import posixpath
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import unescape
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from flask import Flask, render_template
from flask.testing import FlaskClient

from leaderboard.errors import Invalid
from leaderboard.mirror.addresses import HTML, Addresses, PageAddress, file_of
from leaderboard.mirror.rewriting import Link, links, rewritten

RECORD, SUMS = "mirror.json", "SHA256SUMS"
"""What a mirror says of itself, and the digests of all its files."""
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
    """What was written: pages and other files, bytes in all, and addresses that visitors are not shown."""

    pages: int
    files: int
    size: int
    left_out: tuple[str, ...]


@dataclass(slots=True)
class _Written:
    """What is there so far; files are relative paths, aliases lead from an address to another."""

    folder: Path
    files: dict[PageAddress, str] = field(default_factory=dict)
    pages: dict[str, PageAddress] = field(default_factory=dict)
    aliases: dict[PageAddress, PageAddress] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def file(self, address: PageAddress | None) -> str | None:
        """The file of an address, also of one that leads on to another."""
        for _ in range(9):
            if address not in self.aliases:
                break
            address = self.aliases[address]
        return None if address is None else self.files.get(address)


def write(
    app: Flask, folder: Path, site: str, only: tuple[str, frozenset[int]] | None, tell: Tell
) -> MirrorRecord:
    """Mirror a site, or one task (its slug and the ids of its runs), into a folder.

    site is the site's own address, under which absolute links are known. All is written beside the folder
    and takes its place at the end, so that a mirror is whole or as it was. Raises Invalid where the folder
    holds anything but a mirror, or the first page is not shown to visitors.
    """
    parts = urlsplit(site)
    addresses = Addresses(app.url_map.bind(parts.netloc, url_scheme=parts.scheme), site, only)
    start = addresses.address(f"/tasks/{only[0]}" if only else "/")
    with _taking_place_of(folder) as unfinished:
        written = _Written(unfinished)
        if start is not None:
            _crawl(app.test_client(), addresses, start, written, site, tell)
        if not written.pages or start is None:
            raise Invalid(
                "There is no page to begin with that a visitor is shown; publish the task, or name another."
            )
        _link(app, addresses, start, written, site)
        return _record(written, site, only)


@contextmanager
def _taking_place_of(folder: Path) -> Iterator[Path]:
    if folder.exists() and any(folder.iterdir()) and not (folder / RECORD).is_file():
        raise Invalid(f"{folder} holds files that no mirror wrote; name a new or empty folder.")
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


def _crawl(
    client: FlaskClient, addresses: Addresses, start: PageAddress, written: _Written, site: str, tell: Tell
) -> None:
    waiting, known = deque([start]), {start}
    while waiting:
        address = waiting.popleft()
        for other in _take(client, addresses, address, written, site):
            if other not in known:
                known.add(other)
                waiting.append(other)
        tell(len(known) - len(waiting), len(known))


def _take(
    client: FlaskClient, addresses: Addresses, address: PageAddress, written: _Written, site: str
) -> list[PageAddress]:
    """Write one address as it is, and tell what it leads to."""
    answer = client.get(quote(address.path) + (f"?{address.query}" if address.query else ""), base_url=site)
    if 300 <= answer.status_code < 400:
        target = addresses.address(answer.headers["Location"], address.path)
        if target is not None and target != address:
            written.aliases[address] = target
            return [target]
    if answer.status_code != 200:
        written.left_out.append(f"{address} ({answer.status_code})")
        return []
    kind = answer.mimetype or ""
    file = file_of(address, kind)
    path = written.folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.writelines(answer.iter_encoded())
    written.files[address] = file
    if kind != HTML:
        return []
    written.pages[file] = address
    found = (addresses.address(link, address.path) for link in links(path.read_text(encoding="utf-8")))
    return [other for other in found if other is not None]


def _link(app: Flask, addresses: Addresses, start: PageAddress, written: _Written, site: str) -> None:
    """Lead the links of all pages among the files, and write the search."""
    note = f"<p>Mirrored on {datetime.now(UTC):%Y-%m-%d} from {site}, without what needs a server.</p>"
    entries = []
    for file, address in written.pages.items():
        page = (written.folder / file).read_text(encoding="utf-8")
        if address.endpoint in SEARCHED and not address.query:
            entries.append((SEARCHED.index(address.endpoint), _title(page), file))
        _write(written.folder / file, rewritten(page, _leading(addresses, written, address.path, file), note))
    with app.test_request_context("/search", base_url=site):
        page = render_template("mirror/search.html", script=f"/{SCRIPT}")
    _write(written.folder / SEARCH, rewritten(page, _leading(addresses, written, "/search", SEARCH), note))
    script = app.jinja_env.get_template("mirror/search.js").render(
        entries=json.dumps([entry[1:] for entry in sorted(entries)], ensure_ascii=False)
    )
    _write(written.folder / SCRIPT, script)
    if start.path != "/":
        page = f'<!doctype html><meta http-equiv="refresh" content="0; url={quote(written.files[start])}">'
        _write(written.folder / "index.html", page)


def _title(page: str) -> str:
    """What a page is called, without the site's name."""
    return unescape(page.partition("<title>")[2].partition("</title>")[0]).rsplit(" · ", 1)[0]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _leading(addresses: Addresses, written: _Written, path: str, file: str) -> Link:
    """What the links of one page become: relative, so that a mirror works wherever it lies."""
    folder = posixpath.dirname(file) or "."

    def link(address: str) -> str | None:
        parts = urlsplit(address)
        own = {"/search": SEARCH, f"/{SCRIPT}": SCRIPT}.get(parts.path)
        target = own or written.file(addresses.address(address, path))
        if target is not None:
            return quote(posixpath.relpath(target, folder)) + (f"#{parts.fragment}" if parts.fragment else "")
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
    said: dict[str, Any] = {
        "site": site,
        "task": only[0] if only else None,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": version("ir-leaderboard"),
        "pages": record.pages,
        "left_out": record.left_out,
    }
    _write(written.folder / RECORD, json.dumps(said, indent=1, ensure_ascii=False) + "\n")
    names = [*files, written.folder / RECORD]
    sums = (f"{_digest(path)}  {path.relative_to(written.folder).as_posix()}\n" for path in names)
    _write(written.folder / SUMS, "".join(sums))
    return record


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
