"""What charts look like to a browser, a screen reader and a keyboard."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from flask import Flask

from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from tests import ROOT
from tests.make import figures
from tests.make.apps import application

STATIC = ROOT / "leaderboard" / "web" / "static"
DRAWINGS = (STATIC / "charts.css").read_text(encoding="utf-8")
SHEET = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("app.css", "matrix.css"))
_COLOUR = r"(--[\w-]+): (#\w{6});"
LIGHT = dict(re.findall(_COLOUR, DRAWINGS))
DARK = dict(re.findall(_COLOUR, SHEET.partition("@layer tokens {")[0]))
MARKS = """
    circle.mark rect.bar rect.band rect.hit rect.grade line.grid line.zero line.span line.open line.join
    line.diagonal path.line path.mark path.lead path.point path.dots text.tick text.axis text.rank text.says
    text.note text.name text.grade tspan.move tspan.narrow tspan.wide
    line.reach line.median rect.box rect.relevant circle.top circle.dot path.mine path.cells path.tens
    path.steps path.front path.beaten
    g.highlight g.reference g.alone g.up g.down g.relevant g.unjudged g.plus g.minus
"""
PAGE_ONLY = ".hit .narrow .wide"
"""What files leave out, and what only a narrow page does."""
FIGURES = 15
LEAST_FOR_TEXT, LEAST_FOR_MARKS = 4.5, 3.0


@pytest.fixture(scope="module")
def drawing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """An application that only renders."""
    data = tmp_path_factory.mktemp("drawing")
    database = Database(f"sqlite:///{data / 'none.sqlite3'}")
    yield application(Settings(data=data, database_url=str(database.engine.url)), database)
    database.dispose()


@pytest.fixture(scope="module")
def page(drawing: Flask) -> BeautifulSoup:
    """All figures on one page."""
    return BeautifulSoup(figures.page(drawing), "html.parser")


def test_every_figure_names_and_describes_itself(page: BeautifulSoup) -> None:
    """Title and description are what the drawing is labelled by, and the page shows both."""
    found = page.find_all("figure")
    assert len(found) == FIGURES
    for figure in found:
        drawing, caption = figure.svg, figure.figcaption
        assert drawing
        assert drawing.title
        assert drawing.desc
        assert caption
        assert str(drawing["aria-labelledby"]).split() == [drawing.title["id"], drawing.desc["id"]]
        assert drawing.title.get_text() == figure.find(class_="title").get_text()
        assert drawing.desc.get_text() in caption.get_text()
    ids = [str(tag["id"]) for tag in page.find_all(id=True)]
    assert len(ids) == len(set(ids))


def test_a_drawing_with_links_is_no_image(page: BeautifulSoup) -> None:
    """What is inside an image is not there for a screen reader."""
    for figure in page.find_all("figure"):
        assert figure.svg
        if figure.svg.find("a"):
            assert figure.svg["role"] == "group", figure["id"]
        assert figure.svg["role"] in ("group", "img")


def test_links_in_charts_are_named_and_no_tab_stops(page: BeautifulSoup) -> None:
    """Hundreds of marks would be hundreds of stops; a table on the page has the same links."""
    links = page.select("svg a, td a")
    assert len(links) > 200
    for link in links:
        assert link["tabindex"] == "-1"
        assert link.get("aria-label") or link.get_text(strip=True)


def test_every_mark_says_what_it_is_when_pointed_at(page: BeautifulSoup) -> None:
    """Rows, bars, lines and documents carry a title of their own; a name cut short is whole there."""
    items = page.select("svg .item, svg .series, svg .point, svg rect.relevant, svg.strip")
    assert len(items) > 500
    assert all(item.find("title") for item in items)
    for cut in page.select("svg .narrow"):
        item = next(tag for tag in cut.parents if tag.find("title", recursive=False))
        whole = item.find("title", recursive=False)
        assert whole
        assert cut.get_text().split("…")[1] in whole.get_text()


def test_a_drawing_is_a_document_of_its_own(drawing: Flask) -> None:
    """Well-formed, with harmless text, so that a figure can leave its page."""
    markup = figures.page(drawing)
    drawings = re.findall(r"<svg class=\"chart\".*?</svg>\s*<figcaption>", markup, re.DOTALL)
    assert len(drawings) == FIGURES
    for each in drawings:
        ElementTree.fromstring(each.removesuffix("<figcaption>").strip())
    assert "<b>" not in markup


def test_charts_show_nothing_without_failing(drawing: Flask) -> None:
    """A task without runs or topics has empty figures, not an error."""
    page = BeautifulSoup(figures.empty_page(drawing), "html.parser")
    assert len(page.find_all("figure")) == 12
    assert page.select("svg .item, svg .point, svg .join, svg rect.relevant") == []
    assert "None" not in page.get_text().replace("None.", "")


@pytest.mark.trial
def test_everything_a_drawing_wears_is_in_the_sheet_of_charts(page: BeautifulSoup) -> None:
    """Each kind of mark has its rule there or is the page's own, and each colour has a dark twin."""
    root, _, rules = DRAWINGS.partition("}\n")
    for mark in MARKS.split():
        assert page.select(f"svg {mark}"), mark
        assert re.search(rf"\.{mark.split('.')[1]}\b", rules + PAGE_ONLY), mark
    named = set(re.findall(r"(--[\w-]+):", root))
    assert set(re.findall(r"var\((--[\w-]+)\)", rules)) == named
    assert set(DARK) == named - {"--sans"}
    assert {f"series-{at}" for at in range(8)} <= set(re.findall(r"\.(series-\d)", rules))


def test_series_differ_by_mark_and_not_by_colour_alone(page: BeautifulSoup) -> None:
    """Eight curves, eight marks in the legend."""
    shapes = set()
    for series in page.select("#lines [class^=series]"):
        moves = re.sub(r"[\d.]+", "", str(series.select("path.mark")[1]["d"]))
        shapes.add((moves, *_extent(str(series.select("path.mark")[1]["d"]))))
    assert len(shapes) == 8


def _extent(path: str) -> tuple[float, float]:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    return round(numbers[2] - numbers[0], 1), round(numbers[3] - numbers[1], 1)


def test_gains_and_losses_differ_by_sign_and_place(page: BeautifulSoup) -> None:
    """Above and below zero, and with a triangle of their own in words, columns and cells."""
    assert [text.get_text()[0] for text in page.select("#signed .says")] == ["▲", "▼"]
    assert {text.get_text()[0] for text in page.select("#slopes .move") if text.get_text()} == {"▲", "▼"}
    assert {cell.get_text()[:1] for cell in page.select(".matrix td.better")} == {"▲"}
    assert {cell.get_text()[:1] for cell in page.select(".matrix td.worse")} == {"▼"}
    assert {cell.get_text()[:1] for cell in page.select(".matrix td.undecided")} == {"·"}


def test_a_matrix_is_a_table_with_heads(page: BeautifulSoup) -> None:
    """Rows and columns are headed by whole names, inside a region that scrolls by keyboard."""
    table = page.select_one("[role=region][tabindex='0'] table.matrix")
    assert table
    assert table.caption
    assert [head["title"] for head in table.select("thead th[scope=col]")] == figures.NAMES
    assert [head["title"] for head in table.select("tbody th[scope=row]")] == figures.NAMES
    assert [len(row.find_all("td")) for row in table.select("tbody tr")] == [8] * 8
    diagonal = [row.find_all("td")[at] for at, row in enumerate(table.select("tbody tr"))]
    assert all(cell["class"] == ["self"] and not cell.find("a") for cell in diagonal)
    title = table.select("td.better a")[0]["title"]
    assert title == "bm25 is significantly better than monoT5-3b-rerank: p = .01"


def test_legends_of_heat_maps_name_every_step(page: BeautifulSoup) -> None:
    """Ten steps by their lower ends, seven of differences by the end nearer to zero."""
    scores, differences = page.select("ol.legend")
    assert [each.get_text(strip=True) for each in scores.select("li")] == [
        f"{at / 10:.1f}" for at in range(10)
    ]
    assert [each["class"][0] for each in differences.select("li")][2:5] == ["down-1", "level", "up-1"]
    assert [each.get_text(strip=True) for each in differences.select("li")] == [
        *("≤ −0.25", "≤ −0.15", "≤ −0.05", "±0.05", "≥ +0.05", "≥ +0.15", "≥ +0.25")
    ]


def test_where_a_run_stands_is_told_by_form_too(page: BeautifulSoup) -> None:
    """Counts in words with a filled and a hollow dot; the front is dots and the rest crosses."""
    counts = [each.get_text() for each in page.select("#ranges text.plus, #ranges text.minus")]
    assert counts == ["● better than the median: 1", "○ worse: 1, equal: 49"]
    front, beaten = (page.select(f"#pareto path.{kind}") for kind in ("front", "beaten"))
    assert len(front) + len(beaten) == 14
    assert all("a4.2" in str(mark["d"]) for mark in front)
    assert not any("a" in str(mark["d"]) for mark in beaten)


def _colours(name: str) -> tuple[str, str]:
    if name in DARK:
        return LIGHT[name], DARK[name]
    found = re.search(rf"{name}: light-dark\((#\w{{6}}), (#\w{{6}})\)", SHEET)
    assert found, name
    return found[1], found[2]


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(
    ("front", "back", "least"),
    [
        *(
            (front, back, LEAST_FOR_TEXT)
            for front in ("--ink", "--dim", "--link")
            for back in ("--page", "--panel", "--own")
        ),
        ("--accent", "--page", LEAST_FOR_TEXT),
        ("--second", "--page", LEAST_FOR_TEXT),
        ("--accent", "--better-back", LEAST_FOR_TEXT),
        ("--second", "--worse-back", LEAST_FOR_TEXT),
        ("--good", "--good-back", LEAST_FOR_TEXT),
        ("--link", "--warn-back", LEAST_FOR_TEXT),
        *((f"--series-{at}", "--page", LEAST_FOR_MARKS) for at in range(2, 8)),
        *(("--ink", f"step-{at} {{ background", LEAST_FOR_TEXT) for at in range(5)),
        *(("--page", f"step-{at} {{ background", LEAST_FOR_TEXT) for at in range(5, 10)),
        *(
            ("--ink", f"{side}-{at} {{ background", LEAST_FOR_TEXT)
            for side in ("up", "down")
            for at in (1, 2, 3)
        ),
        ("--ink", "--mark", LEAST_FOR_TEXT),
        *((mark, "--page", LEAST_FOR_MARKS) for mark in ("--good", "--dim", "--second")),
    ],
)
def test_colours_stand_out_in_both_schemes(front: str, back: str, least: float) -> None:
    """WCAG 2.2's contrast: 4.5 for text, 3 for marks."""
    for one, other in zip(_colours(front), _colours(back), strict=True):
        assert _contrast(one, other) >= least, (one, other)
