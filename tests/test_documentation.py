"""The documentation as a site: built without a warning, whole, and with nothing from elsewhere."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from tests import ROOT
from tests.make import documents

pytestmark = pytest.mark.trial

DOORS = ["Organisers", "Participants", "Assessors", "Operators", "Developers", "Reference"]
LOADED = {
    **{"script": "src", "img": "src", "source": "src", "iframe": "src", "embed": "src", "audio": "src"},
    **{"video": "src", "object": "data"},
}
"""Elements that make a browser ask for more, by the attribute that says where; links are told by `rel`."""
NOT_LOADED = {"index", "search", "next", "prev", "canonical"}
IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')\s]+)""")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    return documents.site(tmp_path_factory)


@cache
def _parsed(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def _pages(built: Path) -> list[Path]:
    return sorted(path for path in built.rglob("*.html") if "_static" not in path.parts)


def _leads_nowhere(page: Path, link: str) -> bool:
    """Whether a link has no file in the site, or no such place in it."""
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file():
        return True
    return bool(parts.fragment) and _parsed(target).find(id=unquote(parts.fragment)) is None


def test_links_lead_somewhere(built: Path) -> None:
    """Each relative link names a page or file of the site, and a place in it."""
    broken = [
        f"{page.relative_to(built)}: {link}"
        for page in _pages(built)
        for link in {str(each["href"]) for each in _parsed(page).find_all("a", href=True)}
        if not urlsplit(link).scheme and link != "#" and _leads_nowhere(page, link)
    ]
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(built: Path) -> None:
    """Scripts, styles, fonts and pictures are all files of the site."""
    asked = []
    for page in _pages(built):
        asked += [
            (page, str(each[key]))
            for name, key in LOADED.items()
            for each in _parsed(page).find_all(name, {key: True})
        ]
        links = _parsed(page).find_all("link", href=True)
        asked += [(page, str(each["href"])) for each in links if not NOT_LOADED & set(each.get("rel", []))]
    for style in built.rglob("*.css"):
        asked += [(style, each) for each in IN_STYLES.findall(style.read_text(encoding="utf-8"))]
    assert len(asked) > 100
    own = [(where, each) for where, each in asked if not each.startswith("data:")]
    assert [f"{where}: {each}" for where, each in own if re.match(r"[a-z]+:|//", each)] == []
    assert [each for where, each in own if not (where.parent / urlsplit(each).path).is_file()] == []


def test_every_document_is_in_the_navigation(built: Path) -> None:
    """Behind one of the doors; a document that nobody placed stands at the end of the last."""
    start = built / "docs" / "index.html"
    tree = _parsed(start).select_one(".sidebar-tree")
    assert tree is not None
    assert [each.get_text() for each in tree.select("p.caption")] == DOORS
    listed = {(start.parent / str(each["href"])).resolve() for each in tree.find_all("a", class_="reference")}
    sources = [path for path in (ROOT / "docs").rglob("*.md") if path.name != "index.md"]
    sources += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "client/README.md")]
    wanted = {path.relative_to(ROOT).with_suffix(".html") for path in sources}
    assert {path for path in wanted if (built / path).resolve() not in listed} == set()


def test_the_first_page_leads_to_the_doors(built: Path) -> None:
    """Whoever opens the folder's own address arrives without a script."""
    refresh = _parsed(built / "index.html").find("meta", {"http-equiv": "refresh"})
    assert refresh is not None
    assert (built / str(refresh["content"]).partition("url=")[2]).is_file()
