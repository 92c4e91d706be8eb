"""A board in a frame of another site, in a real browser: shown where the task says so, and nowhere else."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from tests.boards.web.cards.test_frames import let
from tests.browser.test_accessibility import page_faults
from tests.scoring.ops.statistics.test_standings import fill

COLOUR = "dot => getComputedStyle(dot).color"
pytestmark = [pytest.mark.browser, pytest.mark.trial]


@pytest.fixture
def elsewhere(address: str) -> Iterator[str]:
    """The address of another site, whose only page has the board in a frame."""
    body = f'<!doctype html><title>x</title><iframe width="640" src="{address}/tasks/t/embed"></iframe>'

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_frame_shows_the_board_where_the_task_names_the_site(
    browser: Browser, address: str, elsewhere: str, site_database: Database, tmp_path: Path
) -> None:
    """Named, the site shows the rows, and a link in them opens the run in the whole window."""
    fill(site_database, tmp_path)
    let(site_database, elsewhere)
    window = browser.new_page()
    window.goto(elsewhere)
    rows = window.frame_locator("iframe").locator("tbody tr")
    expect(rows).to_have_count(4)
    rows.get_by_role("link", name="strong").click()
    window.wait_for_url(f"{address}/runs/*")
    window.close()


def test_a_browser_shows_no_frame_to_a_site_that_is_not_named(
    browser: Browser, elsewhere: str, site_database: Database, tmp_path: Path
) -> None:
    """It says that the policy forbids it, and the frame stays without the board."""
    fill(site_database, tmp_path)
    let(site_database, "https://example.org")
    window = browser.new_page()
    with window.expect_console_message(lambda message: "frame-ancestors" in message.text):
        window.goto(elsewhere)
    assert window.frame_locator("iframe").locator("table").count() == 0
    window.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 640])
def test_the_frame_is_for_everybody(
    width: int, scheme: Any, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """No fault that axe finds, nothing is wider than the frame, and the colours are those of the site."""
    fill(site_database, tmp_path)
    context = browser.new_context(
        viewport={"width": width, "height": 500}, color_scheme=scheme, bypass_csp=True
    )
    window = context.new_page()
    window.goto(f"{address}/tasks/t/embed")
    faults = page_faults(window, width)
    in_frame = window.locator("td .best, th .best").first.evaluate(COLOUR)
    window.goto(f"{address}/tasks/t")
    on_board = window.locator("tbody .best").first.evaluate(COLOUR)
    context.close()
    assert faults == []
    assert in_frame == on_board


def test_a_browser_reads_the_data_block_and_runs_nothing(
    browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """The policy of content says nothing of it, whatever the task is called."""
    fill(site_database, tmp_path)
    with site_database.write() as session:
        session.execute(update(Task).values(name="</script><script>document.title = 'run'</script>"))
    window, complaints = browser.new_page(), list[str]()
    window.on("console", lambda message: complaints.append(message.text))
    window.goto(f"{address}/tasks/t")
    data = json.loads(window.locator("script[type='application/ld+json']").text_content() or "")
    assert data["name"] == "</script><script>document.title = 'run'</script>"
    assert window.title() != "run"
    assert [text for text in complaints if "Content Security Policy" in text] == []
    window.close()
