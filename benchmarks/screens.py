"""Pictures of pages as a browser shows them: `python -m benchmarks.screens --help`.

The demo task and a made-up task of 143 runs, each on a site of its own, in headless Chromium at four widths,
light and dark, and as they are printed; and the pages that the guides walk through. docs/screens.md and
docs/guides/ show what it wrote.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from PIL import Image
from playwright.sync_api import Browser, Page

from benchmarks import guide_screens
from benchmarks.load import SIZE
from benchmarks.pages import fill
from leaderboard.db.engine import Database
from tests.make.browsers import MISSING, find_chromium, headless
from tests.make.sites import running_site

WIDTHS = {390: 844, 768: 1024, 1280: 800, 1920: 1080}
"""Of a phone, a tablet, a laptop and a wall -> the height of its screen."""
PAPER = 794
"""Pixels across a sheet of A4."""
SCHEMES = ("light", "dark")
SCORED_S = 600


@dataclass(frozen=True)
class Shot:
    """A page in one look; media is what it is made for, screen or print."""

    name: str
    address: str
    width: int
    height: int
    scheme: str = "light"
    media: str = "screen"


def board_shots(name: str, address: str) -> Iterator[Shot]:
    """A board at every width in both schemes, and on paper."""
    for width, height in WIDTHS.items():
        for scheme in SCHEMES:
            yield Shot(f"{name}-{width}-{scheme}", address, width, height, scheme)
    yield Shot(f"{name}-print", address, PAPER, 1123, media="print")


def page_shots(site: str, board: str, run: int, other: int, topic: str) -> Iterator[Shot]:
    """One look at each kind of page of the demo."""
    pages = {
        "home": site,
        "run": f"{site}/runs/{run}",
        "explained": f"{site}/runs/{run}/explained",
        "pair": f"{board}/compare?a={run}&b={other}",
        "topic": f"{board}/topics/{topic}",
        "ranking": f"{site}/runs/{run}/topics/{topic}",
    }
    for name, address in pages.items():
        for width in (390, 1280):
            yield Shot(f"{name}-{width}", address, width, WIDTHS[width])


def take(browser: Browser, shots: Iterator[Shot], folder: Path, *, whole: bool) -> None:
    """Write one PNG a shot: of the first screen, or of the whole page."""
    for shot in shots:
        context = browser.new_context(
            viewport={"width": shot.width, "height": shot.height},
            color_scheme="dark" if shot.scheme == "dark" else "light",
        )
        page = context.new_page()
        page.emulate_media(media="print" if shot.media == "print" else "screen")
        page.goto(shot.address)
        keep(page, folder / f"{shot.name}.png", whole=whole)
        context.close()


def keep(page: Page, path: Path, *, whole: bool = False) -> None:
    """Write a screenshot of a page as a small PNG."""
    page.screenshot(path=path, full_page=whole)
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


def _read(address: str) -> dict[str, object]:
    with urlopen(address) as answer:
        found: dict[str, object] = json.load(answer)
    return found


def _scored(board: str) -> dict[str, object]:
    """The board's JSON once its second revision is shown with its verdicts."""
    until = time.monotonic() + SCORED_S
    while time.monotonic() < until:
        shown = _read(f"{board}.json")
        if shown["revision"] == 2 and shown["sentences"]:
            return shown
        time.sleep(0.5)
    raise SystemExit("The demo task was not scored.")


def main() -> None:
    """Start both sites and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the pictures go, such as docs/screens")
    parser.add_argument("--pages", action="store_true", help="one look at every other kind of page too")
    parser.add_argument("--guides", action="store_true", help="only the pages that the guides walk through")
    parser.add_argument("--whole", action="store_true", help="whole pages, not their first screens")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as given, opened_browser() as browser:
        with running_site(Path(given) / "demo", "--demo") as site:
            board = f"{site.address}/tasks/python-docs"
            rows = _scored(board)["rows"]
            assert isinstance(rows, list)
            kept = (arguments.folder / f"guide-{name}.png" for name in guide_screens.STEPS)
            for page, path in zip(guide_screens.steps(browser, site, board), kept, strict=True):
                keep(page, path)
            if arguments.guides:
                return
            take(browser, board_shots("demo", board), arguments.folder, whole=arguments.whole)
            if arguments.pages:
                first, second = (row["run_id"] for row in rows[:2])
                shots = page_shots(site.address, board, first, second, "PY003")
                take(browser, shots, arguments.folder, whole=arguments.whole)
        data = Path(given) / "large"
        data.mkdir(mode=0o700)
        database = Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")
        fill(database, Path(given), SIZE)
        database.dispose()
        with running_site(data) as site:
            shots = board_shots("large", f"{site.address}/tasks/t")
            take(browser, shots, arguments.folder, whole=arguments.whole)


if __name__ == "__main__":
    main()
