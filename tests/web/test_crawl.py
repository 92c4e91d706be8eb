"""Following every link as different people: nothing is broken, and every page met is well formed."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations_with_replacement
from pathlib import Path
from urllib.parse import parse_qsl, urldefrag, urljoin

import pytest
from flask.testing import FlaskClient
from lxml.html import HtmlElement, document_fromstring
from sqlalchemy import update

from leaderboard.accounts.ops import sessions
from leaderboard.db.tables import Job
from leaderboard.web import kept
from leaderboard.web.addresses import PACKED, READ_BY_ALL
from tests.make import build, leaves, walks
from tests.web.conftest import Site

pytestmark = pytest.mark.slow
START = "/"
MOST_SETTINGS = 20_000
GOES_ALONG = frozenset((*READ_BY_ALL, PACKED))
NARROW = 3
"""Columns that fit any screen."""


def tree(html: str) -> HtmlElement:
    """A page as its tags; by lxml, as there are many large pages."""
    return document_fromstring(html)


def crawl(
    client: FlaskClient, start: str = START, within: tuple[str, ...] = ("/",), *, in_settings: bool = True
) -> Iterator[tuple[str, HtmlElement]]:
    """Every page that can be reached by links from the front page, in every two of its settings together.

    Or from another page, going on from those alone whose addresses begin as given; or each page once.

    An address whose settings were all met on its page before, each with each other, is not asked for:
    faults that take three settings at once are rare (Kuhn, Wallace, Gallo 2004), and a list sorted by each
    of its columns, for each measure, with each figure, would be most of the walk. What goes along in every
    link is met on each page; tests/web/test_carried.py follows it. Tables are asked for so as JSON, as
    CSV, LaTeX and Markdown in one state: all are written of the same record.
    """
    seen, waiting = {start}, [start]
    files, met = set(), set[tuple[object, ...]]()
    while waiting:
        address = waiting.pop()
        path = address.partition("?")[0]
        if path.endswith((".csv", ".tex", ".md")):
            if path in files:
                continue
            files.add(path)
        settings = _settings(address) if in_settings else {(path,)}
        if met >= settings:
            continue
        met |= settings
        with client.get(address, follow_redirects=True) as response:
            assert response.status_code == 200, address
            if response.mimetype != "text/html":
                continue
            page = tree(response.get_data(as_text=True))
        yield address, page
        links = _links(page, address) if address.startswith(within) else set[str]()
        fresh = {link for link in links if link not in seen}
        seen |= fresh
        waiting += sorted(fresh)
        assert len(met) < MOST_SETTINGS, "the site goes on for ever"


def _settings(address: str) -> set[tuple[object, ...]]:
    """What is set in an address: every two of the page's own parameters, and which others go along."""
    path, _, query = address.partition("?")
    given = sorted(set(parse_qsl(query, keep_blank_values=True)))
    own = [pair for pair in given if pair[0] not in GOES_ALONG]
    along = {(path, name) for name, _ in given if name in GOES_ALONG}
    return {(path,), *along, *((path, *two) for two in combinations_with_replacement(own, 2))}


def _links(page: HtmlElement, address: str) -> set[str]:
    """What a page links to on this site, and that anchors lead to something."""
    found = set()
    ids = set(page.xpath("//@id"))
    for link in page.xpath("//*[self::a or self::link]/@href"):
        target, anchor = urldefrag(urljoin(address, str(link)))
        if anchor and target == urldefrag(address)[0]:
            assert anchor in ids, (address, anchor)
        if target.startswith("/"):
            found.add(target)
    return found


def faults(page: HtmlElement) -> Iterator[str]:
    """What is wrong with a page for somebody who hears it or works by keyboard."""
    if page.tag != "html" or page.get("lang") != "en":
        yield "no language"
    if page.xpath("count(//h1)") != 1 or page.xpath("count(//main)") != 1:
        yield "not one heading and one main part"
    if not page.xpath("string(/html/head/title)").strip().removesuffix("· Leaderboard").strip():
        yield "no title"
    ids = Counter(page.xpath("//@id"))
    yield from (f"id {each} twice" for each in sorted(each for each, count in ids.items() if count > 1))
    for name in ("aria-labelledby", "aria-describedby", "for"):
        for named in page.xpath(f"//@{name}"):
            yield from (f"{name} {each} leads nowhere" for each in named.split() if each not in ids)
    yield from (f"{tag.tag} without text" for tag in page.xpath("//a | //button") if not _text(tag))
    labelled = set(page.xpath("//label/@for"))
    yield from (
        f"field {field.get('name')} without label"
        for field in page.xpath("//input | //select | //textarea")
        if _bare(field, labelled)
    )
    for table in page.iter("table"):
        yield from _table_faults(table)
    sheets = kept.sheets().values()
    yield from (
        "a style sheet that is none of ours" for sheet in page.iter("style") if sheet.text not in sheets
    )
    if page.xpath("boolean(//iframe | //object | //@style)"):
        yield "inline style or embedded content"
    yield from (
        "inline script" for _ in page.xpath("//script[not(@src) and not(@type='application/ld+json')]")
    )


def _text(tag: HtmlElement) -> str:
    return str(tag.text_content()).strip() or tag.get("aria-label", "")


def _bare(field: HtmlElement, labelled: set[str]) -> bool:
    """Whether a field that can be seen has no label, its own name or one around it."""
    if field.get("type") in ("hidden", "submit") or "hidden" in field.attrib or field.get("aria-label"):
        return False
    return field.get("id") not in labelled and not field.xpath("boolean(ancestor::label)")


def _table_faults(table: HtmlElement) -> Iterator[str]:
    if not table.xpath("string(caption)").strip():
        yield "table without caption"
    yield from ("head without scope" for head in table.iter("th") if head.get("scope") not in ("row", "col"))
    columns = table.xpath("count(thead//th | thead//td)")
    for row in table.xpath("tbody//tr"):
        cells = sum(int(cell.get("colspan", "1")) for cell in row.iter("td", "th"))
        if cells != columns:
            yield f"a row of {cells} cells under {columns:.0f} heads"
    if columns > NARROW and not table.xpath("boolean(ancestor::*[@role='region'])"):
        yield "wide table that cannot be scrolled"


@pytest.mark.trial
@pytest.mark.parametrize("name", [None, "Nina", "Berta", "Olga"])
def test_every_link_leads_somewhere_and_every_page_is_well_formed(
    site: Site, name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Visitor, account, member and organiser reach many pages, none broken, none with a fault.

    Visitor and organiser in all settings, between which the other two have no settings of their own.
    """
    monkeypatch.setattr(sessions, "resume", walks.remembered(sessions.resume))
    with site.database.write() as session:
        session.execute(update(Job).values(state="queued"))
    again = build.run(site.database, tmp_path, {"1": ["d2", "d1"]}, "again", slug="robots", team_name="Bears")
    leaves.add("reproduce", site.database, again, site.world.run)
    build.drain(site.database)
    broken, count = [], 0
    for address, page in crawl(site.browser(name), in_settings=name in (None, "Olga")):
        count += 1
        broken += [f"{address}: {fault}" for fault in faults(page)]
    assert broken == []
    assert count > 15


SOUND = (
    '<html lang="en"><head><title>A page</title></head><body><main><h1 id="top">A page</h1>'
    '<a href="#top">Up</a><label>Name <input name="name"></label><table><caption>One</caption><thead><tr>'
    '<th scope="col">Run</th></tr></thead><tbody><tr><td>a</td></tr></tbody></table></main></body></html>'
)
SPOILED = {
    "no language": (' lang="en"', ""),
    "not one heading and one main part": ("</h1>", "</h1><h1>Another</h1>"),
    "no title": ("<title>A page", "<title>· Leaderboard"),
    "id top twice": ("<table", '<table id="top"'),
    "for nothing leads nowhere": ("<label", '<label for="nothing"'),
    "aria-describedby nothing leads nowhere": ("<table", '<table aria-describedby="nothing"'),
    "a without text": ("Up", ""),
    "field name without label": ("label>", "p>"),
    "table without caption": ("<caption>One", "<caption>"),
    "head without scope": (' scope="col"', ""),
    "a row of 2 cells under 1 heads": ("<td>a", "<td>b</td><td>a"),
    "inline style or embedded content": ("<table", '<table style="color: red"'),
    "inline script": ("<table", "<script>1</script><table"),
    "a style sheet that is none of ours": ("</head>", "<style>p {}</style></head>"),
    "wide table that cannot be scrolled": ("<th", '<th scope="col">A</th>' * NARROW + "<th"),
}
"""Fault -> what makes it of a sound page."""


def test_what_is_wrong_with_a_page_is_found() -> None:
    """A sound page has no fault; spoiled in any of these ways it has that one."""
    assert list(faults(tree(SOUND))) == []
    missed = [fault for fault, change in SPOILED.items() if fault not in faults(tree(SOUND.replace(*change)))]
    assert missed == []
