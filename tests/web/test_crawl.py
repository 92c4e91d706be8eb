"""Following every link as different people: nothing is broken, and every page met is well formed."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from urllib.parse import urldefrag, urljoin

import pytest
from bs4 import BeautifulSoup
from bs4.element import Tag
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.db.tables import Job
from leaderboard.services.accounts import sessions
from tests.make import build, walks
from tests.web.conftest import Site

pytestmark = pytest.mark.slow
START = "/"
MOST_PAGES = 4000
NARROW = 3
"""Columns that fit any screen."""


def _crawl(client: FlaskClient) -> Iterator[tuple[str, BeautifulSoup]]:
    """Every page that can be reached by links from the front page, each once.

    Tables are asked for as JSON in every state that a page links to, as CSV and LaTeX in one: the three
    are written of the same record.
    """
    seen, waiting = {START}, [START]
    files = set()
    while waiting:
        address = waiting.pop()
        path = address.partition("?")[0]
        if path.endswith((".csv", ".tex")):
            if path in files:
                continue
            files.add(path)
        with client.get(address, follow_redirects=True) as response:
            assert response.status_code == 200, address
            if response.mimetype != "text/html":
                continue
            page = BeautifulSoup(response.get_data(as_text=True), "html.parser")
        yield address, page
        fresh = {link for link in _links(page, address) if link not in seen}
        seen |= fresh
        waiting += sorted(fresh)
        assert len(seen) < MOST_PAGES, "the site goes on for ever"


def _links(page: BeautifulSoup, address: str) -> set[str]:
    """What a page links to on this site, and that anchors lead to something."""
    found = set()
    ids = {tag["id"] for tag in page.find_all(id=True)}
    for tag in page.find_all(["a", "link"], href=True):
        target, anchor = urldefrag(urljoin(address, str(tag["href"])))
        if anchor and target == urldefrag(address)[0]:
            assert anchor in ids, (address, anchor)
        if target.startswith("/"):
            found.add(target)
    return found


def _tags(page: BeautifulSoup) -> dict[str, list[Tag]]:
    """Name -> the page's elements of that name, found in one walk, as there are many large pages."""
    found: dict[str, list[Tag]] = defaultdict(list)
    for tag in page.descendants:
        if isinstance(tag, Tag):
            found[tag.name].append(tag)
    return found


def faults(page: BeautifulSoup) -> Iterator[str]:
    """What is wrong with a page for somebody who hears it or works by keyboard."""
    named = _tags(page)
    every = [tag for tags in named.values() for tag in tags]
    if page.html is None or page.html.get("lang") != "en":
        yield "no language"
    if len(named["h1"]) != 1 or len(named["main"]) != 1:
        yield "not one heading and one main part"
    if page.title is None or not page.title.get_text(strip=True).removesuffix("· Leaderboard").strip():
        yield "no title"
    ids = Counter(str(tag["id"]) for tag in every if tag.has_attr("id"))
    yield from (f"id {each} twice" for each in sorted(each for each, count in ids.items() if count > 1))
    for name in ("aria-labelledby", "aria-describedby", "for"):
        for tag in every:
            if tag.has_attr(name):
                leads = str(tag[name]).split()
                yield from (f"{name} {each} leads nowhere" for each in leads if each not in ids)
    yield from (f"{tag.name} without text" for tag in named["a"] + named["button"] if not _text(tag))
    labelled = {str(tag["for"]) for tag in named["label"] if tag.has_attr("for")}
    yield from (
        f"field {tag.get('name')} without label"
        for tag in named["input"] + named["select"] + named["textarea"]
        if _bare(tag, labelled)
    )
    for table in named["table"]:
        yield from _table_faults(table)
    if any(named[name] for name in ("style", "iframe", "object")) or any(
        tag.has_attr("style") for tag in every
    ):
        yield "inline style or embedded content"
    yield from ("inline script" for tag in named["script"] if not tag.get("src"))


def _text(tag: Tag) -> str:
    return tag.get_text(strip=True) or str(tag.get("aria-label", ""))


def _bare(field: Tag, labelled: set[str]) -> bool:
    """Whether a field that can be seen has no label, its own name or one around it."""
    if field.get("type") in ("hidden", "submit") or field.has_attr("hidden") or field.get("aria-label"):
        return False
    return str(field.get("id")) not in labelled and field.find_parent("label") is None


def _table_faults(table: Tag) -> Iterator[str]:
    caption = table.find("caption")
    if caption is None or not caption.get_text(strip=True):
        yield "table without caption"
    yield from (
        "head without scope" for head in table.find_all("th") if head.get("scope") not in ("row", "col")
    )
    columns = sum(len(head.find_all(["th", "td"])) for head in table.find_all("thead"))
    for row in (row for body in table.find_all("tbody") for row in body.find_all("tr")):
        cells = sum(int(str(cell.get("colspan", "1"))) for cell in row.find_all(["td", "th"]))
        if cells != columns:
            yield f"a row of {cells} cells under {columns} heads"
    if columns > NARROW and table.find_parent(attrs={"role": "region"}) is None:
        yield "wide table that cannot be scrolled"


@pytest.mark.parametrize("name", [None, "Nina", "Berta", "Olga"])
def test_every_link_leads_somewhere_and_every_page_is_well_formed(
    site: Site, name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Visitor, account, member and organiser reach many pages, none broken, none with a fault."""
    monkeypatch.setattr(sessions, "resume", walks.remembered(sessions.resume))
    with site.database.write() as session:
        session.execute(update(Job).values(state="queued"))
    build.drain(site.database)
    broken, count = [], 0
    for address, page in _crawl(site.browser(name)):
        count += 1
        broken += [f"{address}: {fault}" for fault in faults(page)]
    assert broken == []
    assert count > 15
