"""What readers see without scrolling or clicking, against targets: `python -m benchmarks.targets --help`.

Pages of a site are opened in Chromium, and their parts are measured where they stand. Then axe checks one
page of every kind, with its rule on the size of targets, which is off by default. The column "1.0.0" has what
that version showed with 143 runs.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page

from benchmarks import measuring, sites, table
from leaderboard.accounts.ops import accounts, sessions
from leaderboard.db.engine import Database
from tests.browser.test_accessibility import FAULTS, RUN_PAGES, SITE_PAGES, TASK_PAGES
from tests.make.browsers import MISSING, find_chromium, headless
from tests.make.sites import running_site

WIDE, NARROW = (1440, 900), (390, 844)
AXE_WIDTHS = 1280, 390
PATIENCE_MS = 180_000
FORM_PX = 640
TABS = ("", "/compare", "/topics", "/revisions", "/about", "/organise")
SIGNED_IN = (
    *("/tasks/new", "/my", "/account", "/tasks/{slug}/submit", "/tasks/{slug}/organise"),
    *("/tasks/{slug}/settings", "/tasks/{slug}/people", "/tasks/{slug}/pools", "/tasks/{slug}/pools/new"),
)
SIZES = {"rules": {"target-size": {"enabled": True}}}
ROW = "document.querySelector('table.board tbody tr')"
HEAD = "document.querySelector('nav.second, nav.tabs').getBoundingClientRect().bottom"
IN_SIGHT = """[...document.querySelectorAll('table.board tbody tr')].filter(row =>
  row.getBoundingClientRect().bottom <= innerHeight && row.getBoundingClientRect().height).length"""
CONTROLS = """[...new Set([...document.querySelectorAll('main form :is(input, select, textarea)')]
  .filter(each => each.checkVisibility() && !['checkbox', 'radio', 'file'].includes(each.type))
  .map(each => Math.round(each.getBoundingClientRect().width)))].sort((a, b) => a - b).join(", ")"""
PLACE = """(() => { const box = document.querySelector('main').getBoundingClientRect();
  return `${Math.round(box.left)} to ${Math.round(box.right)}`; })()"""
VALUES = """(() => { const all = [...document.querySelectorAll('.values > span')];
  return `${all.filter(each => each.checkVisibility()).length} of ${all.length}`; })()"""
VERDICTS = """(() => { const drawn = document.querySelector('figure.pairs');
  if (!drawn || !drawn.checkVisibility()) return '0 of 0';
  const runs = drawn.dataset.ids.split(' ').length, cell = Number(drawn.dataset.cell);
  const strokes = [...drawn.querySelectorAll('path[stroke-width]')]
    .flatMap(each => [...each.getAttribute('d').matchAll(/h([\\d.]+)/g)]);
  const cells = strokes.reduce((sum, each) => sum + Math.round((Number(each[1]) + 1) / cell), 0);
  return `${cells / 2} of ${runs * (runs - 1) / 2}`; })()"""

Opened = Callable[[str], Page]


class Target(NamedTuple):
    """A line of the table: before is what 1.0.0 showed, met says whether what was measured will do."""

    title: str
    before: str
    wanted: str
    measured: str
    met: bool

    @property
    def line(self) -> str:
        """The line, as Markdown."""
        return f"| {' | '.join(self[:4])} | {'' if self.met else 'open'} |"


def of_board(page: Page, window: tuple[int, int], most: Mapping[str, int]) -> Iterator[Target]:
    """Where the board's first row and the end of the head stand, and in a wide window how high rows are."""
    width = window[0]
    first, head = page.evaluate(f"{ROW}.getBoundingClientRect().top"), page.evaluate(HEAD)
    before = {1440: ("446 to 480 px", "230 to 420 px"), 390: ("696 to 725 px", "600 px")}[width]
    for title, was, value in zip(("first row", "head ends"), before, (first, head), strict=True):
        wanted = most[title]
        yield Target(f"{title}, {width} px wide", was, f"{wanted} px", f"{value:.0f} px", value <= wanted)
    if width == WIDE[0]:
        rows = page.evaluate(IN_SIGHT)
        count = min(14, page.locator("table.board tbody tr").count())
        yield Target("rows in sight", "8", str(count), str(rows), rows >= count)
        for title, was, found in (("row", "48 px", ROW), ("head of the table", "71 px", ROW_OF_HEADS)):
            height = page.evaluate(f"{found}.getBoundingClientRect().height")
            yield Target(f"height of a {title}", was, "36 px", f"{height:.0f} px", height <= 36.5)


ROW_OF_HEADS = "document.querySelector('table.board thead')"


def of_pages(opened: Opened, about: Mapping[str, Any]) -> Iterator[Target]:
    """One width of forms and tabs; settings and verdicts in sight."""
    task = f"/tasks/{about['slug']}"
    widths = opened("/tasks/new").evaluate(CONTROLS)
    is_one = widths.isdecimal() and int(widths) <= FORM_PX
    yield Target("widths of a form's controls", "344 to 900 px", f"one, at most {FORM_PX} px", widths, is_one)
    places = {opened(f"{task}{tab}").evaluate(PLACE) for tab in TABS}
    yield Target(
        "left and right edges over all tabs", "three", "one", "; ".join(sorted(places)), len(places) == 1
    )
    values = opened(f"{task}/settings").evaluate(VALUES)
    yield Target(
        "settings seen without a click", "0 of 40", "all", values, len(set(values.split(" of "))) == 1
    )
    pairs = opened(f"{task}/compare").evaluate(VERDICTS)
    yield Target("verdicts seen without a click", "0", "all pairs", pairs, len(set(pairs.split(" of "))) == 1)


def faults(browser: Browser, site: str, paths: Sequence[str], cookie: Any) -> Iterator[str]:
    """What axe finds on each of the pages, in both widths."""
    for width in AXE_WIDTHS:
        context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
        context.add_cookies([cookie])
        page = context.new_page()
        for path in paths:
            page.goto(f"{site}{path}", timeout=PATIENCE_MS)
            page.evaluate(AXE_SCRIPT)
            yield from (f"{width} px, {path}: {fault}" for fault in page.evaluate(FAULTS, SIZES))
        context.close()


def kinds(about: Mapping[str, Any]) -> list[str]:
    """One address of every kind of page."""
    task = [f"/tasks/{{slug}}{each}" for each in TASK_PAGES]
    named = {
        "{1}": "{run}",
        "{2}": "{second}",
        "{3}": "{third}",
        "PY003": "{topic}",
        "PY004": "{other_topic}",
    }
    paths = []
    for path in (*task, *RUN_PAGES, *SITE_PAGES, *SIGNED_IN):
        for old, new in named.items():
            path = path.replace(old, new)
        paths.append(path.format(**about))
    return paths


def organiser(database: Database) -> str:
    """A session of the first organiser."""
    with database.write() as session:
        account_id = accounts.find(session, accounts.first_organiser(session).name)
        return sessions.start(session, account_id, "127.0.0.1", "benchmark")


def measured(browser: Browser, site: str, about: Mapping[str, Any], cookie: Any) -> Iterator[Target]:
    """Every line of the table."""
    for window, most in (
        (WIDE, {"first row": 300, "head ends": 150}),
        (NARROW, {"first row": 420, "head ends": 170}),
    ):
        context = browser.new_context(viewport={"width": window[0], "height": window[1]})
        page = context.new_page()
        page.goto(f"{site}/tasks/{about['slug']}", timeout=PATIENCE_MS)
        yield from of_board(page, window, most)
        context.close()
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
    context.add_cookies([cookie])
    page = context.new_page()

    def opened(path: str) -> Page:
        page.goto(f"{site}{path}", timeout=PATIENCE_MS)
        return page

    yield from of_pages(opened, about)
    context.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, then what axe finds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="a folder where the site stays, as of benchmarks.cold")
    parser.add_argument("--site", choices=("demo", "large"), default="demo")
    parser.add_argument("--chromium", default=find_chromium())
    parser.add_argument("--without-axe", action="store_true")
    given = parser.parse_args(arguments)
    if given.chromium is None:
        raise SystemExit(f"There is {MISSING}.")
    print(table.facts(measuring.machine()))
    print("| target | 1.0.0 | wanted | measured | |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as passing, headless(given.chromium) as browser:
        data = Path(passing) / "data"
        data.mkdir(mode=0o700)
        file = data / "leaderboard.sqlite3"
        shutil.copy(sites.made(given.keep or Path(passing), given.site), file)
        database = Database(f"sqlite:///{file}")
        about = sites.objects(database)
        token = organiser(database)
        database.dispose()
        with running_site(data, environ={**os.environ}) as site:
            cookie = {"name": "session", "value": token, "url": site.address}
            for target in measured(browser, site.address, about, cookie):
                print(target.line, flush=True)
            if not given.without_axe:
                paths = kinds(about)
                found = list(faults(browser, site.address, paths, cookie))
                widths = " and ".join(map(str, AXE_WIDTHS))
                title = f"axe, {len(paths)} pages at {widths} px"
                print(Target(title, "target size on 8", "none", f"{len(found)}", not found).line)
                print(*found, sep="\n")


if __name__ == "__main__":
    main()
