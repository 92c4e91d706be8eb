"""When the largest piece of a page is painted in Chromium: `python -m benchmarks.paint --help`.

A real site over loopback that makes every page again, or with --kept gives visitors what it has kept, and a
browser whose processor is slowed four times. Each page is opened in a browser that knows nothing of the site,
and again in one that has its style sheets and scripts from another page. Besides the largest contentful paint
stands how much of it was waiting for the first byte of a server that shares the processors, and how
long the page's own thread had one: where others use the machine, only that says anything.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from playwright.sync_api import Browser, BrowserContext

from benchmarks import cold, measuring, sites, table
from leaderboard.db.engine import Database
from tests.make.browsers import MISSING, find_chromium, headless
from tests.make.sites import running_site

SLOWED = 4
TARGET_MS = 300
WINDOW = {"width": 1280, "height": 900}
KINDS = ("home", "board", "run", "topic", "ranking", "pair", "document for a topic", "heat map")
PAINTED = """() => new Promise(resolve => {
  const told = () => ({
    largest: largest, first: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
    waited: performance.getEntriesByType("navigation")[0].responseStart});
  let largest = 0, waiting;
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) largest = Math.max(largest, entry.startTime);
    // What the last frame painted is reported some time after it: nothing is for half a second once all is.
    clearTimeout(waiting);
    waiting = setTimeout(() => resolve(told()), 500);
  }).observe({type: "largest-contentful-paint", buffered: true});
})"""
"""The largest contentful paint once no larger has come for half a second."""


class Paint(NamedTuple):
    """Of one opening of a page, milliseconds since it was asked for, and those its thread had a processor."""

    largest: float
    first: float
    waited: float
    spent: float


@contextmanager
def slowed(browser: Browser, address: str, waiting: str, *, anew: bool) -> Iterator[BrowserContext]:
    """A browser that knows nothing, or, if an address is given, with the cached resources of that page."""
    context = browser.new_context(viewport=WINDOW)  # type: ignore[arg-type]
    if anew:
        # Who sends a cookie, even one that means nothing here, never gets a kept page.
        context.add_cookies([{"name": "theirs", "value": "1", "url": address}])
    if waiting:
        page = context.new_page()
        page.goto(waiting, timeout=180_000)
        page.close()
    try:
        yield context
    finally:
        context.close()


def painted(browser: Browser, address: str, waiting: str = "", *, anew: bool = False) -> Paint:
    """How one opening of an address was painted; waiting is a page that was opened before."""
    with slowed(browser, address, waiting, anew=anew) as context:
        page = context.new_page()
        tools = context.new_cdp_session(page)
        tools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
        tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        answer = page.goto(address, wait_until="load", timeout=180_000)
        if answer is None or answer.status != 200:
            raise SystemExit(f"{address} was not shown")
        seen = page.evaluate(PAINTED)
        spent = {each["name"]: each["value"] for each in tools.send("Performance.getMetrics")["metrics"]}
        return Paint(**seen, spent=spent["TaskDuration"] * 1000)


def row(browser: Browser, title: str, address: str, known: str, repeats: int, *, anew: bool) -> str:
    """A line of the table."""
    new = [painted(browser, address, anew=anew) for _ in range(repeats)]
    again = [painted(browser, address, known, anew=anew) for _ in range(repeats)]
    numbers = [
        median(getattr(paint, name) for paint in paints) for paints in (new, again) for name in Paint._fields
    ]
    over = "over" if numbers[0] > TARGET_MS else ""
    return f"| {title} | {' | '.join(f'{number:.0f}' for number in numbers)} | {over} |"


HEADS = (
    *("page", "largest ms", "first paint", "waited", "CPU"),
    *("sheets known: largest ms", "first paint", "waited", "CPU", "over"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="a folder where the site stays, as of benchmarks.cold")
    parser.add_argument("--site", choices=("demo", "large"), default="large")
    parser.add_argument("--kept", action="store_true", help="pages are kept, as a site does for visitors")
    parser.add_argument("--chromium", default=find_chromium())
    given = parser.parse_args(arguments)
    if given.chromium is None:
        raise SystemExit(f"There is {MISSING}.")
    print(table.facts(measuring.machine()))
    print(f"| {' | '.join(HEADS)} |\n|---{'|---:' * (len(HEADS) - 2)}|---|")
    with tempfile.TemporaryDirectory() as passing, headless(given.chromium) as browser:
        data = Path(passing) / "data"
        data.mkdir(mode=0o700)
        file = data / "leaderboard.sqlite3"
        shutil.copy(sites.made(given.keep or Path(passing), given.site), file)
        database = Database(f"sqlite:///{file}")
        about = sites.objects(database)
        database.dispose()
        with running_site(data, environ={**os.environ}) as site:
            for title in KINDS:
                address = site.address + dict(cold.KINDS)[title].format(**about)
                # Compiled and computed: what it costs to make the page again is measured here.
                painted(browser, address)
                print(
                    row(
                        browser,
                        title,
                        address,
                        f"{site.address}/measures",
                        given.repeats,
                        anew=not given.kept,
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
