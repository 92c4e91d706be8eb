"""What pages load: all of it is here, of the right kind, and nothing is fetched from elsewhere."""

import base64
import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import zstandard
from bs4 import BeautifulSoup
from bs4.element import Tag
from flask.testing import FlaskClient

from leaderboard.web import kept
from leaderboard.web.filters import HTMX
from leaderboard.web.kept import JOINED
from tests import ROOT
from tests.make.loops import for_every
from tests.web.conftest import Site

STATIC = ROOT / "leaderboard" / "web" / "static"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
MOST_SCRIPT_BYTES = 62 * 1024
MOST_STYLE_BYTES = 30 * 1024
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def test_every_page_loads_files_that_are_there(client: FlaskClient) -> None:
    """Style sheet, script and icon of a page are served, each as its own type."""
    page = BeautifulSoup(client.get("/sign-in").get_data(as_text=True), "html.parser")
    tags = [*page.find_all("script"), *page.find_all("link", rel=["stylesheet", "icon"])]
    paths = [str(tag.get("src") or tag.get("href")) for tag in tags]
    assert {Path(urlsplit(path).path).suffix for path in paths} == set(TYPES)
    for path in paths:
        with client.get(path) as served:
            assert served.status_code == 200, path
            assert served.mimetype == TYPES[Path(urlsplit(path).path).suffix]
            assert served.headers["X-Content-Type-Options"] == "nosniff"


def test_a_file_lives_for_ever_under_the_address_of_its_bytes(client: FlaskClient) -> None:
    """Pages name it with its digest; under any other address it is asked for each time."""
    page = BeautifulSoup(client.get("/sign-in").get_data(as_text=True), "html.parser")
    link = page.find("link", rel="stylesheet")
    assert isinstance(link, Tag)
    address = str(link["href"])
    path, _, digest = address.partition("?v=")
    assert Path(path).name == "app.css"
    sent = client.get(address).data
    assert sent == b"".join((STATIC / name).read_bytes() for name in ("charts.css", "app.css"))
    assert hashlib.sha256(sent).hexdigest()[:12] == digest
    named, bare, other = (client.get(asked) for asked in (address, path, f"{path}?v={'0' * 12}"))
    assert named.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert {bare.headers["Cache-Control"], other.headers["Cache-Control"]} == {"no-cache"}
    packed = client.get(address, headers={"Accept-Encoding": "gzip, deflate, br, zstd"})
    assert packed.headers["Content-Encoding"] == "zstd"
    assert zstandard.ZstdDecompressor().decompress(packed.data) == named.data == bare.data
    again = client.get(address, headers={"If-None-Match": named.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_a_kept_page_wears_its_sheets_and_others_name_them(site: Site) -> None:
    """A visitor's page has them in it, as the policy of content allows them; a member's leads to them."""
    visited, signed_in = site.browser().get("/tasks/robots"), site.browser("Berta").get("/tasks/robots")
    worn = re.findall(r"<style>(.*?)</style>", visited.text, re.DOTALL)
    assert worn == [kept.sheets()["app"], kept.sheets()["board"]]
    assert 'rel="stylesheet"' not in visited.text
    named = re.findall(r'<link rel="stylesheet" href="([^"]+)">', signed_in.text)
    assert [site.browser().get(address).get_data(as_text=True) for address in named] == worn
    assert "<style>" not in signed_in.text
    sheets = [*kept.sheets().values()]
    assert all("</" not in sheet for sheet in sheets)
    digests = [base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode() for sheet in sheets]
    for page in (visited, signed_in):
        [allowed] = re.findall(r"style-src ([^;]*);", page.headers["Content-Security-Policy"])
        assert allowed.split() == ["'self'", *(f"'sha256-{digest}'" for digest in digests)]


@for_every("path", TEMPLATES, lambda path: f"{path.parent.name}/{path.name}")
def test_no_template_has_inline_style_or_script(path: Path) -> None:
    """The content security policy would block them, so that a page would silently miss a part."""
    text = path.read_text(encoding="utf-8")
    # Data for programs is never run, so no policy blocks it.
    text = text.replace('<script type="application/ld+json">', "")
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=[\"']|javascript:|<script(?![^>]*\ssrc=)|hx-on", text)


@for_every("path", TEMPLATES, lambda path: f"{path.parent.name}/{path.name}")
def test_no_template_switches_escaping_off(path: Path) -> None:
    """What users wrote is text everywhere; sanitised Markdown comes as markup from its own filter."""
    assert not re.search(r"\|\s*safe\b|autoescape\s+false|Markup\(", path.read_text(encoding="utf-8"))


def test_nothing_is_fetched_from_elsewhere() -> None:
    """Neither sheet nor templates name another host for anything a browser loads."""
    for path in (*STATIC.glob("*.css"), *TEMPLATES):
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"(src|action)=[\"']?https?:|url\(['\"]?https?:|@import|<link[^>]+https?:", text
        ), path


def test_scripts_and_styles_stay_small() -> None:
    """No page loads more than 60 KB of script and 28 KB of style, with what it takes from its layout."""
    for path in TEMPLATES:
        text = _with_layout(path)
        names = set(re.findall(r"static\[['\"]([\w.-]+\.(?:css|js))", text))
        names |= {f"{name}.css" for name in re.findall(r'sheet\("([\w-]+)"\)', text)}
        if names and ' hx-get="{{' in text:
            names.add(f"vendor/{HTMX}")
        assert _bytes(names, ".js") <= MOST_SCRIPT_BYTES, path
        assert _bytes(names, ".css") <= MOST_STYLE_BYTES, path
        assert "app.css" in names or "<!doctype html>" not in text, path
    assert _bytes({"app.css"}, ".css") > 0


def test_templates_write_the_sheets_that_the_policy_names() -> None:
    """And pages of which none is ever kept lead to theirs."""
    written = {name for path in TEMPLATES for name in re.findall(r'sheet\("([\w-]+)"\)', path.read_text())}
    assert written == set(kept.STYLES_NAMES)


def _with_layout(path: Path) -> str:
    """A template's text with all that it extends, includes and takes macros from."""
    text = path.read_text(encoding="utf-8")
    named = re.findall(r'{%-? (?:extends|include|from) "([^"]+)"', text)
    return text + "".join(_with_layout(ROOT / "templates" / name) for name in named)


def _bytes(names: set[str], ending: str) -> int:
    files = {file for name in names for file in JOINED.get(name, (name,))}
    return sum((STATIC / name).stat().st_size for name in files if name.endswith(ending))


@pytest.mark.parametrize(
    "path", ["/static/", "/static/../tables.py", "/static/%2e%2e/tables.py", "/static/x.css"]
)
def test_only_static_files_are_served_as_such(client: FlaskClient, path: str) -> None:
    """No listing, nothing outside the folder."""
    assert client.get(path).status_code == 404
