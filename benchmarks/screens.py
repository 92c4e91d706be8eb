"""Pictures of pages as a browser shows them: `python -m benchmarks.screens --help`.

Each of twenty kinds of pages at three widths, light and dark, on one sheet; and the pages that the guides
walk through. The site is the demo's; the large board is of a made-up task of 143 runs. docs/screens.md and
docs/guides/ show what it wrote.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks import guide_screens
from benchmarks.load import SIZE
from benchmarks.pages import fill
from leaderboard.db.engine import Database
from tests.make.browsers import MISSING, find_chromium, headless
from tests.make.sites import running_site

WIDTHS = {390: 844, 1440: 900, 1920: 1080}
"""Of a phone, a laptop and a large screen -> the height of its screen."""
SCHEMES = ("light", "dark")
TALL, GAP = 480, 12
"""Pixels: how high a screen is drawn on a sheet, and what is left free between two."""
SCORED_S = 600
VISITOR = {
    "home": "/",
    "board": "/tasks/python-docs",
    "board-of-answers": "/tasks/python-answers",
    "board-of-judges": "/tasks/python-judges",
    "suite": "/suites/python",
    "compare": "/tasks/python-docs/compare",
    "pair": "/tasks/python-docs/compare?a={first}&b={second}",
    "topics": "/tasks/python-docs/topics",
    "topic": "/tasks/python-docs/topics/PY003",
    "run": "/runs/{first}",
    "explained-run": "/runs/{first}/explained",
    "ranking": "/runs/{first}/topics/PY003",
    "search": "/search?q=bm25",
    "measures": "/measures",
}
"""Kind of page -> its address on the demo's site, as visitors see it."""
ORGANISER = {
    "submit": "/tasks/python-docs/submit",
    "my-page": "/my",
    "organise": "/tasks/python-docs/organise",
    "settings": "/tasks/python-docs/settings",
    "new-task": "/tasks/new",
}
"""The same of pages for people who are signed in."""


def sheet(browser: Browser, address: str, state: Any) -> Image.Image:
    """The first screen of a page: a row for each scheme, a column for each width."""
    total = sum(round(TALL * width / height) + GAP for width, height in WIDTHS.items()) - GAP
    drawn = Image.new("RGB", (total, 2 * TALL + GAP), "#808080")
    for row, scheme in enumerate(SCHEMES):
        left = 0
        for width, height in WIDTHS.items():
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if scheme == "dark" else "light",
                storage_state=state,
            )
            page = context.new_page()
            page.goto(address)
            with Image.open(BytesIO(page.screenshot())) as taken:
                small = taken.convert("RGB").resize(
                    (round(TALL * width / height), TALL), Image.Resampling.LANCZOS
                )
            context.close()
            drawn.paste(small, (left, row * (TALL + GAP)))
            left += small.width + GAP
    return drawn


def sheets(browser: Browser, site: str, pages: Mapping[str, str], folder: Path, state: Any = None) -> None:
    """Write a WebP file for every kind of page."""
    for name, path in pages.items():
        sheet(browser, f"{site}{path}", state).save(folder / f"{name}.webp", quality=70, method=6)
        print(folder / f"{name}.webp", flush=True)


def keep(page: Page, path: Path) -> None:
    """Write a screenshot of a page as a small PNG."""
    page.screenshot(path=path)
    with Image.open(path) as taken:
        # Pages have few colours: a palette of 256 shows them in a third of the bytes.
        taken.convert("RGB").quantize(256).save(path, optimize=True)
    print(path, flush=True)


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Headless Chromium; raises SystemExit if it is missing."""
    found = find_chromium()
    if found is None:
        raise SystemExit(f"There is {MISSING}.")
    with headless(found) as opened:
        yield opened


def _read(address: str) -> Any:
    with urlopen(address) as answer:
        return json.load(answer)


def scored(board: str) -> list[dict[str, Any]]:
    """The rows of the board once its second revision is shown with its verdicts."""
    until = time.monotonic() + SCORED_S
    while time.monotonic() < until:
        shown = _read(f"{board}.json")
        if shown["revision"] == 2 and shown["sentences"]:
            rows: list[dict[str, Any]] = shown["rows"]
            return rows
        time.sleep(0.5)
    raise SystemExit("The demo task was not scored.")


def main() -> None:
    """Start both sites and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the pictures go, such as docs/screens")
    parser.add_argument("--guides", action="store_true", help="only the pages that the guides walk through")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as passing, opened_browser() as browser:
        with running_site(Path(passing) / "demo", "--demo") as site:
            board = f"{site.address}/tasks/python-docs"
            first, second = (row["run_id"] for row in scored(board)[:2])
            window: BrowserContext = guide_screens.signed_in(browser, site)
            kept = (given.folder / f"guide-{name}.png" for name in guide_screens.STEPS)
            for page, path in zip(guide_screens.steps(window, board), kept, strict=True):
                keep(page, path)
            if given.guides:
                return
            pages = {name: path.format(first=first, second=second) for name, path in VISITOR.items()}
            sheets(browser, site.address, pages, given.folder)
            sheets(browser, site.address, ORGANISER, given.folder, window.storage_state())
        data = Path(passing) / "large"
        data.mkdir(mode=0o700)
        database = Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")
        fill(database, Path(passing), SIZE)
        database.dispose()
        with running_site(data) as site:
            sheets(browser, site.address, {"large-board": "/tasks/t"}, given.folder)


if __name__ == "__main__":
    main()
