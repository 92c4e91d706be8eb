"""Labels of answers by keyboard, with scripts and without, and every page of it for everybody."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select

from leaderboard.accounts.ops import sessions
from leaderboard.db.engine import Database
from leaderboard.db.tables import AnswerLabel, Task, TaskRole
from tests.browser.conftest import follow, follow_key
from tests.browser.test_accessibility import page_faults
from tests.make import labelled
from tests.make.people import account

pytestmark = [pytest.mark.browser, pytest.mark.trial]


@pytest.fixture
def links(site_database: Database, tmp_path: Path) -> tuple[str, str]:
    """The paths of two assessors' links, who both have all items of three rounds of topic 1."""
    labelled.task(site_database, tmp_path)
    labelled.nuggets(site_database, tmp_path)
    people = labelled.people(site_database, "Ada", "Bob")
    for kind in ("support", "assignments", "nuggets"):
        labelled.opened(site_database, kind, people, topics=("1",), twice=1.0)
    return f"/judge/{people[0].token}", f"/judge/{people[1].token}"


@pytest.fixture(params=[1280, 390])
def width(request: pytest.FixtureRequest) -> int:
    """A wide and a narrow window."""
    found: int = request.param
    return found


@pytest.fixture
def window(browser: Browser, width: int) -> Iterator[Page]:
    """A window of that width; axe is no script of the site, so the site's policy is put aside for it."""
    context = browser.new_context(viewport={"width": width, "height": 800}, bypass_csp=True)
    yield context.new_page()
    context.close()


def _labels(database: Database) -> list[int]:
    with database.read() as session:
        in_force = select(AnswerLabel.label).where(AnswerLabel.undone.is_(False))
        return list(session.scalars(in_force.order_by(AnswerLabel.id)))


def test_one_key_a_label(links: tuple[str, str], window: Page, address: str, site_database: Database) -> None:
    """A key labels and shows the next item, U takes back, J and K go on and back; nobody needs the mouse."""
    window.goto(f"{address}{links[0]}/labels/1/1")
    follow_key(window, "2")
    expect(window.get_by_text("Item 2 of 2")).to_be_visible()
    follow_key(window, "k")
    expect(window.get_by_text("Item 1 of 2")).to_be_visible()
    follow_key(window, "j")
    expect(window.get_by_text("Item 2 of 2")).to_be_visible()
    follow_key(window, "c")
    expect(window.get_by_role("heading", name="This topic is done")).to_be_visible()
    assert _labels(site_database) == [2, -1]
    window.reload()
    follow_key(window, "u")
    expect(window.get_by_text("1 of 2 items labelled.")).to_be_visible()
    assert _labels(site_database) == [2]


def test_labels_need_no_script(
    links: tuple[str, str], browser: Browser, width: int, address: str, site_database: Database
) -> None:
    """All nuggets of all answers by buttons; a list of nuggets, merged and done."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": width, "height": 800})
    plain = context.new_page()
    plain.goto(f"{address}{links[0]}")
    follow(plain.get_by_role("link", name="Start with round 2"))
    follow(plain.get_by_role("link", name="Start with topic 1"))
    for _ in range(4):
        follow(plain.get_by_role("button", name="partial support"))
    expect(plain.get_by_role("heading", name="This topic is done")).to_be_visible()
    assert _labels(site_database) == [1] * 4
    plain.goto(f"{address}{links[0]}/labels/3/1")
    for text, button in (("Air scatters light", "Add as vital"), ("Light is scattered", "Add as okay")):
        plain.get_by_label("New nugget", exact=True).fill(text)
        follow(plain.get_by_role("button", name=button))
    plain.get_by_text("Merge nuggets").click()
    for box in plain.get_by_role("checkbox").all():
        box.check()
    follow(plain.get_by_role("button", name="Merge selected nuggets"))
    expect(plain.get_by_role("heading", name="Nuggets: 1, 1 of them vital")).to_be_visible()
    follow(plain.get_by_role("button", name="Mark list as complete"))
    expect(plain.get_by_text("This list is done.")).to_be_visible()
    context.close()


def test_the_desk_is_for_everybody(
    links: tuple[str, str], window: Page, width: int, address: str, site_database: Database
) -> None:
    """What assessors and organisers see: lists, items, nuggets with all folds open, decisions."""
    faults = []
    for link, label in zip(links, ("full", "partial"), strict=True):
        window.goto(f"{address}{link}/labels/1/1")
        for _ in range(2):
            follow(window.get_by_role("button", name=f"{label} support"))
        window.goto(f"{address}{link}/labels/3/1")
        for text in ("Air scatters light", f"A fact for {label}"):
            window.get_by_label("New nugget", exact=True).fill(text)
            follow(window.get_by_role("button", name="Add as vital"))
    for path in ("", "/labels/1", "/labels/1/1", "/labels/2/1", "/labels/3/1"):
        window.goto(f"{address}{links[0]}{path}")
        faults += _open_faults(window, width)
    olga = account(site_database, "Olga", is_organiser=True)
    with site_database.write() as session:
        task = session.scalars(select(Task.id)).one()
        session.add(TaskRole(task_id=task, account_id=olga, role="organiser"))
        token = sessions.start(session, olga, "127.0.0.1", "test")
    window.context.add_cookies([{"name": "session", "value": token, "url": address}])
    for path in ("", "/1", "/2", "/3", "/1/adjudication", "/3/nuggets/1"):
        window.goto(f"{address}/tasks/t/labelling{path}")
        faults += _open_faults(window, width)
    follow(window.get_by_role("button", name="Start with all nuggets"))
    faults += _open_faults(window, width)
    window.goto(f"{address}/tasks/t/labelling/1")
    follow(window.get_by_role("link", name="Decide the first one"))
    faults += _open_faults(window, width)
    follow_key(window, "0")
    expect(window.get_by_text(re.compile("1 of 2 need a decision"))).to_be_visible()
    assert faults == []


def _open_faults(window: Page, width: int) -> list[str]:
    for fold in window.locator("main details").all():
        fold.evaluate("details => details.open = true")
    return [f"{window.url}: {fault}" for fault in page_faults(window, width)]
