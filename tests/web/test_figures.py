"""Figures as files: drawings that stand alone, of no more than the page they are on shows."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.errors import NotFound
from leaderboard.web import filters
from tests.make import build, figures
from tests.make.copies import built_once
from tests.make.pages import parsed

SVG = "{http://www.w3.org/2000/svg}"


def _texts(root: ElementTree.Element) -> list[str]:
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


@pytest.fixture
@built_once
def run(database: Database, tmp_path: Path) -> int:
    """A scored run on an open task."""
    build.task(database, tmp_path)
    found = build.run(database, tmp_path, {"1": ["a", "c"], "2": ["d"], "3": ["x", "e"]}, "good")
    build.drain(database)
    return found


def _ids(html: str) -> list[str]:
    return [str(each["id"]) for each in BeautifulSoup(html, "html.parser").find_all("figure")]


def test_every_kind_of_figure_is_a_document_of_its_own(app: Flask) -> None:
    """Well-formed, of a size, named, with its style and white behind it, and nothing left of the page."""
    html = figures.page(app)
    assert len(_ids(html)) == 15
    for name in _ids(html):
        root = ElementTree.fromstring(filters.drawing(html, name))
        assert root.tag == f"{SVG}svg"
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        assert root.attrib["viewBox"] == f"0 0 {width:g} {height:g}"
        assert width in (420, 460, 960)
        title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
        assert title is not None
        assert description is not None
        assert root.attrib["aria-labelledby"].split() == [title.attrib["id"], description.attrib["id"]]
        assert next(root.iter(f"{SVG}rect")).attrib["fill"] == "#fff"
        assert not list(root.iter(f"{SVG}a"))
        assert not [each for each in root.iter() if each.get("class") in ("hit", "narrow")]


def test_a_file_shows_the_words_and_marks_of_the_page(app: Flask) -> None:
    """Names are as long as in a wide figure, awkward letters are themselves, marks are all there."""
    root = ElementTree.fromstring(filters.drawing(figures.page(app), "few"))
    assert '<b>"R&D"</b>' in _texts(root)
    assert "a-very-long…s-2024-final" in _texts(root)
    assert len(list(root.iter(f"{SVG}circle"))) == 9
    shaded = ElementTree.fromstring(filters.drawing(figures.page(app), "rankings"))
    assert len([each for each in shaded.iter() if each.get("class") == "hit shade"]) == 10


def test_the_style_says_everything_plainly() -> None:
    """No layer, variable, scheme or selector that only browsers know; every mark's colour is a colour."""
    rules = filters.rules()
    assert not re.search(r"@|var\(|light-dark|:is|:hover|\[|container|display", rules)
    assert ".chart .bar, .chart .plus, .chart .top { fill: #175a8c; }" in rules
    assert ".chart .series-2 { color: #00785a; }" in rules
    assert ".chart .up .move, .chart .up .rank { fill: #175a8c; }" in rules


def test_a_figure_offers_the_data_of_its_page(client: FlaskClient, run: int) -> None:
    """In the state of the page; a drawing outside of any page offers none."""
    page = parsed(client.get(f"/runs/{run}/topics?measure=AP"))
    (link,) = [each for each in page.select("figure .files a") if "Data" in each.get_text()]
    assert link["href"] == f"/runs/{run}/topics.json?measure=AP"
    assert client.get(str(link["href"])).status_code == 200
    with client.application.test_request_context("/search"):
        assert filters.figure_data() == "/search.json"
    with client.application.test_request_context("/help"):
        assert filters.figure_data() == ""


def test_a_figure_that_is_not_there_is_not_found(app: Flask) -> None:
    """Another name, one with letters no id has, or markup of another kind."""
    for name in ("other", "", 'few"', "few-title", "../few"):
        with pytest.raises(NotFound, match="does not show this figure"):
            filters.drawing(figures.page(app), name)
    with pytest.raises(NotFound):
        filters.drawing('<figure id="x"><p>No drawing.</p></figure>', "x")


def test_letters_that_xml_has_not_are_left_out() -> None:
    """A control character in a title would make the whole file unreadable."""
    page = (
        '<figure id="x"><svg class="chart" width="100%" height="10" aria-labelledby="a b">'
        "<text>one\x0bword</text></svg></figure>"
    )
    assert _texts(ElementTree.fromstring(filters.drawing(page, "x"))) == ["oneword"]


def test_a_caption_leads_to_the_figure_in_the_state_of_the_page(app: Flask) -> None:
    """The page's own parameters stay, several of a name too; another figure's name does not."""
    with app.test_request_context("/tasks/a b?run=1&run=2&x=%26&figure=old"):
        assert filters.figure_address("topics") == "/tasks/a%20b?run=1&run=2&x=%26&figure=topics"
    assert filters.figure_address("topics") == "?figure=topics"


def test_a_page_gives_its_figures_as_files(client: FlaskClient, run: int) -> None:
    """Each link beside a figure gets that figure, as a file with a name of its own that can be kept."""
    page = parsed(client.get(f"/runs/{run}/curves"))
    links = [link for link in page.select("figcaption a.file") if link.get_text() == "SVG"]
    assert [f"figure={each['id']}" for each in page.find_all("figure")] == [
        str(link["href"]).rpartition("?")[2] for link in links
    ]
    assert links
    for link in links:
        answer = client.get(str(link["href"]))
        assert answer.status_code == 200
        assert answer.mimetype == "image/svg+xml"
        name = str(link["href"]).rpartition("=")[2]
        assert answer.headers["Content-Disposition"] == f'attachment; filename="runs-{run}-curves-{name}.svg"'
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        root = ElementTree.fromstring(answer.get_data())
        figure = page.find(id=name)
        assert figure
        assert root.findtext(f"{SVG}title") == figure.find("title").get_text()
        again = client.get(str(link["href"]), headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304


def test_a_page_without_that_figure_says_so(client: FlaskClient, run: int) -> None:
    """Not an empty file; a figure has no other form than SVG."""
    page = parsed(client.get(f"/runs/{run}/curves"))
    assert {link.get_text() for link in page.select("figcaption a.file:not([data-png])")} == {"SVG"}
    figure = page.find("figure")
    assert figure is not None
    assert client.get(f"/runs/{run}/curves?figure={figure['id']}.pdf").status_code == 404
    answer = client.get(f"/runs/{run}?figure=nothing")
    assert answer.status_code == 404
    assert "does not show this figure" in parsed(answer).main.get_text()


def test_a_figure_that_is_held_back_is_no_file_either(
    client: FlaskClient, database: Database, run: int
) -> None:
    """What an open task shows by topic cannot be taken out of the page of a blind one."""
    pages = (f"/runs/{run}/topics", f"/runs/{run}/curves")
    addresses = [
        f"{page}?figure={figure['id']}"
        for page in pages
        for figure in parsed(client.get(page)).find_all("figure")
    ]
    with database.write() as session:
        session.execute(update(Task).values(visibility="blind"))
    assert len(addresses) == 4
    for address in addresses:
        assert client.get(address).status_code == 404, address
