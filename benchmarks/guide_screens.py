"""Pictures of what the guides walk through: pages of people who are signed in or let in by a link.

benchmarks/screens.py takes them on the site of the demo, before the sheets of its pages.
"""

import gzip
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page

from tests.make.sites import Site

SIZE = (960, 720)
"""Pixels: as wide as a page of the documentation shows them nearly whole."""
DEMO = Path(__file__).resolve().parent.parent / "leaderboard" / "demo"
POOL_DEPTH = 20
"""Deeper than the demo is judged, so that there is something left to judge."""


def signed_in(browser: Browser, site: Site) -> BrowserContext:
    """A window in which the first organiser is signed in."""
    window = browser.new_context(viewport={"width": SIZE[0], "height": SIZE[1]})
    page = window.new_page()
    page.goto(site.sign_in)
    page.get_by_role("main").get_by_role("button").click()
    page.wait_for_url("**/")
    return window


def settings(page: Page, board: str) -> None:
    """The settings of the demo task."""
    page.goto(f"{board}/settings")


def upload(page: Page, board: str) -> None:
    """The form that takes a run, with a team to send for."""
    page.goto(f"{board.partition('/tasks/')[0]}/teams")
    page.get_by_label("Team name").fill("Owls")
    page.get_by_role("button", name="Create team").click()
    page.goto(f"{board}/submit")


def report(page: Page, board: str) -> None:
    """What is said of a run in which a document comes twice, with the fix that is offered."""
    page.goto(f"{board}/submit")
    lines = gzip.decompress((DEMO / "runs" / "bm25.run.gz").read_bytes()).decode().splitlines()
    lines.append(lines[-1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "my.run"
        path.write_text("\n".join(lines) + "\n")
        page.get_by_label("Run files").set_input_files(path)
        page.get_by_role("button", name="Submit run", exact=True).click()
        page.get_by_role("table", name="Problems").wait_for()


def judging(page: Page, board: str) -> None:
    """The judging page of an assessor at the first document of a topic."""
    page.goto(f"{board}/pools/new")
    page.get_by_label("Selection method").select_option("depth")
    page.get_by_role("button", name="Show parameters").click()
    page.get_by_role("textbox", name="Depth").first.fill(str(POOL_DEPTH))
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Create pool").click()
    page.get_by_role("button", name="Open pool to assessors").click()
    page.get_by_role("link", name="Assessors", exact=True).click()
    page.get_by_label("Names, one per line").fill("Anne")
    page.get_by_role("button", name="Add assessors and show links").click()
    link = page.locator("pre.copy").inner_text().split("\t")[1].strip()
    page.get_by_role("button", name="Assign documents").click()
    page.goto(link)
    page.get_by_role("link", name="Start").first.click()
    page.locator("#documents article:visible").wait_for()


STEPS: dict[str, Callable[[Page, str], None]] = {
    "settings": settings,
    "upload": upload,
    "report": report,
    "judge": judging,
}


def steps(window: BrowserContext, board: str) -> Iterator[Page]:
    """Walk through the guides: the page of each step, in the order of STEPS."""
    page = window.new_page()
    for step in STEPS.values():
        step(page, board)
        yield page
