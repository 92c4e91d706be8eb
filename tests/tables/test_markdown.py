"""Tables as Markdown: read back by a reader of Markdown, every letter of a cell is what it was."""

import math
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lxml.html import document_fromstring
from markdown_it import MarkdownIt

from leaderboard.tables.markdown import markdown_text
from leaderboard.tables.record import DAGGER, Column, Table, seen
from tests.make.tables import table as made

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _read(text: str) -> Any:
    """What a reader makes of a table, as its tags."""
    return document_fromstring(READER.render(text))


def _cells(page: Any, row: int = 0) -> list[str]:
    return [cell.text_content() for cell in page.xpath("//tbody/tr")[row].xpath("td")]


def test_numbers_have_their_columns_digits_and_stand_right() -> None:
    """As in LaTeX: four decimals unless a column says otherwise, dashes for what is absent."""
    rows = [["one", 0.25, -0.5, 50], ["two", math.nan, None, True]]
    text = markdown_text(made(["run", "AP", "change", "topics"], rows, digits={"change": 2}))
    assert text.splitlines()[:4] == [
        "| run | AP | change | topics |",
        "| :-- | --: | --: | :-- |",
        "| one | 0.2500 | -0.50 | 50 |",
        "| two | – | – | yes |",
    ]


def test_the_best_is_bold_marks_are_small_and_the_legend_follows_the_caption() -> None:
    """And a column of which less is better says so in its head."""
    score: Column[list[float]] = Column(
        key="AP",
        value=lambda row: row[0],
        bold=lambda row: row[0] > 0.5,
        mark=lambda row: "" if row[0] > 0.5 else DAGGER,
        lower_is_better=True,
    )
    table = Table(name="t", caption="c_1.", columns=[score], rows=[[0.75], [0.25]], legend=f"{DAGGER} worse.")
    text = markdown_text(table)
    assert text.endswith("\n\nTable: c\\_1. † worse.\n")
    page = _read(text)
    assert page.xpath("//strong/text()") == ["0.7500"]
    assert page.xpath("//th/text()") == ["AP ↓"]
    assert "0.2500<sup>†</sup>" in text


@given(st.text(max_size=60))
def test_no_text_breaks_out_of_its_cell(text: str) -> None:
    """Pipes, tags, entities, links, code and emphasis stay what they are, in cells, heads and captions."""
    page = _read(markdown_text(made([f"a{text}", "b"], [[f"x{text}", "last"]], caption=f"x{text}")))
    shown = " ".join(seen(" ".join(f"x{text}".split())).split(" "))
    assert _cells(page) == [shown.strip(), "last"]
    assert len(page.xpath("//tbody/tr")) == 1
    assert page.xpath("//th")[0].text_content() == f"a{shown[1:]}".strip()
    assert {tag.tag for tag in page.iter()} <= {
        "html",
        "body",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "p",
    }
    assert page.xpath("//p")[0].text_content() == f"Table: {shown}".strip()


def test_what_looks_like_an_address_is_no_link_anywhere() -> None:
    """Readers that make links of bare addresses find none: their beginnings are broken up."""
    (line,) = (
        line
        for line in markdown_text(made(["a"], [["http://a.b www.a.b you@a.org nDCG@10"]])).splitlines()
        if "a.b" in line
    )
    assert line == r"| http\://a.b www\.a.b you\@a.org nDCG@10 |"
    assert not re.search(r"https?://|www\.(?<!\\\.)|\w@[a-z]", line)
