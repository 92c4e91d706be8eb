"""Charts in a real browser: nothing is cut off and all words are legible on a telephone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from tests import ROOT
from tests.make import figures
from tests.make.apps import application

pytestmark = [pytest.mark.browser, pytest.mark.trial]

STATIC = ROOT / "leaderboard" / "web" / "static"
LEAST_LETTER = 9.5
"""Pixels of a letter's box that can still be read without zooming."""
MEASURE = """() => [...document.querySelectorAll('svg.chart')].map(svg => {
  const room = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].filter(text => text.getBoundingClientRect().width > 0);
  const scale = svg.viewBox.baseVal?.width ? room.width / svg.viewBox.baseVal.width : 1;
  return {
    id: svg.parentElement.id,
    outside: texts.filter(text => {
      const box = text.getBoundingClientRect();
      return box.left < room.left - 1 || box.right > room.right + 1 || box.bottom > room.bottom + 1;
    }).map(text => text.textContent.trim()),
    letter: Math.min(...texts.map(text => parseFloat(getComputedStyle(text).fontSize) * scale)),
  };
})"""


@pytest.fixture(scope="module")
def markup(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with a figure of every kind."""
    data = tmp_path_factory.mktemp("drawing")
    database = Database(f"sqlite:///{data / 'none.sqlite3'}")
    app = application(Settings(data=data, database_url=str(database.engine.url)), database)
    database.dispose()
    return f'<!doctype html><html lang="en"><body><main>{figures.page(app)}</main></body></html>'


@pytest.fixture
def window(browser: Browser) -> Iterator[Page]:
    """A window of its own."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("width", [390, 700, 1280])
def test_words_in_charts_are_whole_and_legible(window: Page, markup: str, width: int) -> None:
    """No text leaves its drawing or shrinks below what can be read, and the page does not scroll sideways."""
    window.set_viewport_size({"width": width, "height": 800})
    window.set_content(markup)
    for name in ("charts.css", "app.css"):
        window.add_style_tag(content=(STATIC / name).read_text(encoding="utf-8"))
    measured = window.evaluate(MEASURE)
    assert len(measured) == 16
    assert {each["id"]: each["outside"] for each in measured if each["outside"]} == {}
    assert min(each["letter"] for each in measured) >= LEAST_LETTER
    assert window.evaluate("document.documentElement.scrollWidth") <= width
