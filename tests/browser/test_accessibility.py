"""Every kind of page, light and dark, wide and narrow: axe finds nothing, nothing scrolls sideways."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page
from sqlalchemy import select, update

from leaderboard.accounts.ops import device_logins, sessions
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Member, Qrels, Run, Task, TaskRole, WebhookAttempt, WebhookDelivery
from tests.browser.conftest import Demo, follow
from tests.make import blind, build, fields_of_answers, nuggeted, pictures, sampled
from tests.make.people import account

pytestmark = [pytest.mark.browser, pytest.mark.trial]
WIDE = 1280

TASK_PAGES = (
    *(
        "",
        "?bounds",
        "?pin=baselines&columns=AP",
        "?topics=PY003+PY004",
        "/history",
        "/about",
        "/news",
        "/enter",
        "/phases",
    ),
    *("/compare", "/compare?a={1}&b={2}&topic=PY003", "/compare?run={1}&run={2}&run={3}"),
    *("/measures", "/intervals", "/efficiency", "/curves", "/curves?kind=roc"),
    "/reproductions",
    *("/topics", "/topics?sort=median", "/topics/PY003", "/heatmap"),
    *("/revisions", "/revisions/2", "/pools/audit", "/check", "/documents?docno={docno}&topic=PY003"),
    "/documents?docno={docno}&docno=library.csv&topic=PY003",
)
RUN_PAGES = (
    *("/runs/{1}", "/runs/{1}/explained", "/runs/{1}/topics", "/runs/{1}/curves", "/runs/{1}/ties"),
    *("/runs/{1}/ties?drawn", "/runs/{1}/measures", "/runs/{1}/origin"),
    *("/runs/{1}/topics/PY003", "/runs/{1}/topics/PY003?all"),
)
SITE_PAGES = (
    *("/", "/measures", "/measures/AP", "/sign-in?next=/teams", "/sign-up", "/nothing"),
    *("/search?q=bm25", "/search?q=nothing-like-this"),
    *("/join/nonsense", "/teams/1", "/api", "/api/problems/closed"),
)
FAULTS = """options => axe.run({resultTypes: ["violations"], ...options}).then(answer =>
  answer.violations.map(fault =>
  `${fault.id}: ${fault.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(" | ")}`))"""
VISIBLE_NAMES = {"label-content-name-mismatch": {"enabled": True}}
"""A rule that axe leaves off: the name of a link or button contains the text that is seen (WCAG 2.5.3)."""
COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules that a page may break in one colour scheme and not in the other."""
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def addresses(demo: Demo, docno: str) -> list[str]:
    """One address of every kind of page that anybody may see."""
    runs: dict[str, Any] = {str(rank): demo.run(rank) for rank in (1, 2, 3)}
    task = [f"{demo.board}{_filled(each, runs, docno)}" for each in TASK_PAGES]
    rest = [f"{demo.site}{_filled(each, runs, docno)}" for each in (*RUN_PAGES, *SITE_PAGES)]
    return task + rest


def _filled(address: str, runs: dict[str, Any], docno: str) -> str:
    for rank, run in runs.items():
        address = address.replace(f"{{{rank}}}", str(run))
    return address.replace("{docno}", docno)


@pytest.fixture(params=[WIDE, 390])
def width(request: pytest.FixtureRequest) -> int:
    """How wide the window is, in CSS pixels."""
    pixels: int = request.param
    return pixels


@pytest.fixture
def window(width: int, browser: Browser) -> Iterator[Page]:
    """A window of that width; axe is no script of the site, so the site's policy is put aside for it."""
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    yield context.new_page()
    context.close()


def test_every_kind_of_page_is_for_everybody(window: Page, demo: Demo, width: int) -> None:
    """No fault that axe knows, no sideways scroll, no request to another origin, no script's error."""
    faults: list[str] = []
    window.on("pageerror", lambda error: faults.append(str(error)))
    window.on(
        "request",
        lambda request: None if request.url.startswith(demo.site) else faults.append(f"asks {request.url}"),
    )
    docno = _document(window, demo)
    for address in addresses(demo, docno):
        window.goto(address)
        faults += [f"{address}: {fault}" for fault in page_faults(window, width)]
    assert faults == []


def test_a_teams_own_pages_are_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """My page, a run with its actions, a report; after the close what moved from public to hidden topics."""
    blind.task(site_database, tmp_path)
    with site_database.write() as session:
        ann = session.scalars(select(Account.id).where(Account.name == "Ann")).one()
        token = sessions.start(session, ann, "127.0.0.1", "test")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    window, faults = context.new_page(), []
    for step in ("/my", "/runs/1", "/uploads/1", "/tasks/t/reveal", "/tasks/t"):
        if step == "/tasks/t/reveal":
            blind.close(site_database)
        answer = window.goto(f"{address}{step}")
        assert answer is not None
        assert answer.status == 200
        faults += [f"{step}: {fault}" for fault in page_faults(window, width)]
    context.close()
    assert faults == []


def test_tokens_and_devices_are_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """The list with a token in it, the page that shows a secret once, and a device that asks."""
    blind.task(site_database, tmp_path)
    with site_database.write() as session:
        ann = session.scalars(select(Account.id).where(Account.name == "Ann")).one()
        token = sessions.start(session, ann, "127.0.0.1", "test")
        codes = device_logins.begin(session, "gpu box", ("read", "submit"), "203.0.113.9")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    window = context.new_page()
    window.goto(f"{address}/account/tokens")
    window.get_by_label("Label").fill("laptop")
    follow(window.get_by_role("button", name="Create token"))
    faults = page_faults(window, width)
    assert window.get_by_label("Copy the token now").input_value().startswith("lb_p")
    for step in ("/account/tokens", f"/device?code={codes.user_code}"):
        window.goto(f"{address}{step}")
        faults += [f"{step}: {fault}" for fault in page_faults(window, width)]
    follow(window.get_by_role("button", name="Continue"))
    faults += page_faults(window, width)
    follow(window.get_by_role("button", name="Authorise device"))
    assert "receives its token" in window.get_by_role("status").inner_text()
    context.close()
    assert faults == []


def test_webhooks_are_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """The list, the page that shows a secret once, a webhook with a long address whose deliveries failed."""
    blind.task(site_database, tmp_path)
    with site_database.write() as session:
        ann = session.scalars(select(Account.id).where(Account.name == "Ann")).one()
        token = sessions.start(session, ann, "127.0.0.1", "test")
        webhook = select(WebhookDelivery).where(WebhookDelivery.webhook_id == 1)
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    window = context.new_page()
    window.goto(f"{address}/teams/1/webhooks")
    faults = page_faults(window, width)
    window.get_by_label("Address").fill(f"https://hooks.invalid/{'long-' * 30}")
    follow(window.get_by_role("button", name="Create webhook"))
    faults += page_faults(window, width)
    assert window.get_by_label("Copy the secret now").input_value().startswith("whsec_")
    follow(window.get_by_role("link", name="I have copied the secret"))
    follow(window.get_by_role("button", name="Send test event"))
    with site_database.write() as session:
        session.scalars(webhook).one().state = "failed"
        attempt = {"status": 500, "milliseconds": 12_345, "said": "x" * 200}
        session.add(WebhookAttempt(delivery_id=1, at=now(session), **attempt))
    window.reload()
    window.get_by_text("Change or delete this webhook").click()
    faults += page_faults(window, width)
    window.goto(f"{address}/teams/1/webhooks")
    faults += page_faults(window, width)
    context.close()
    assert faults == []


@pytest.mark.parametrize("design", ["documents", "topics"])
def test_the_board_of_people_and_machine_is_for_everybody(
    design: str, width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """What an organiser sees of a judged sample: sentences, tables, favour, and the form for a larger one."""
    runs, olga = sampled.task(site_database, tmp_path), account(site_database, "Olga", is_organiser=True)
    with site_database.write() as session:
        session.execute(update(Run).where(Run.id == runs[0]).values(details={"form": {"llm": "GPT-4o"}}))
        task = session.scalars(select(Task.id)).one()
        session.add(TaskRole(task_id=task, account_id=olga, role="organiser"))
        token = sessions.start(session, olga, "127.0.0.1", "test")
    drawn = sampled.draw_topics(site_database, 12) if design == "topics" else sampled.draw(site_database, 0.6)
    sampled.judge(site_database, drawn)
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    window = context.new_page()
    window.goto(f"{address}/tasks/t/combined")
    for fold in window.get_by_role("group").all():
        fold.evaluate("details => details.open = true")
    assert window.get_by_role("table").count() == 3
    faults = page_faults(window, width)
    context.close()
    assert faults == []


def test_a_suite_is_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """Its board, changes, pairs and runs, the forms that take runs, put them together and change it."""
    suited = pytest.importorskip("tests.suites.make")
    suited.filled(site_database, tmp_path)
    olga = account(site_database, "Olga", is_organiser=True)
    owls = build.team(site_database, "Owls")
    build.run(site_database, tmp_path, {"1": ["a"]}, "own", slug="web-1", team_name="Owls")
    with site_database.write() as session:
        tasks = session.scalars(select(Task.id)).all()
        session.add_all(TaskRole(task_id=task, account_id=olga, role="organiser") for task in tasks)
        session.add(Member(team_id=owls, account_id=olga, role="member", joined_at=now(session)))
        token = sessions.start(session, olga, "127.0.0.1", "test")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    window, faults = context.new_page(), []
    for path in (
        "",
        "/web",
        "/web/changes",
        "/web/pairs",
        "/web/runs/1",
        "/web/runs/3",
        "/web/submit",
        "/web/settings",
        "/new",
    ):
        answer = window.goto(f"{address}/suites{path}")
        assert answer is not None
        assert answer.status == 200, path
        faults += [f"{path}: {fault}" for fault in page_faults(window, width)]
    context.close()
    assert faults == []


def test_answers_and_their_nuggets_are_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """A board of judged answers and one by another line, a run, an answer with labels, nuggets by runs."""
    made = fields_of_answers.generated(24, 5)
    fields_of_answers.build_field(site_database, tmp_path, made)
    labels = nuggeted.files(tmp_path, assignments=fields_of_answers.assigned(made, made.labels))
    nuggeted.revise(site_database, labels, line="people")
    with site_database.read() as session:
        line = session.scalars(select(Qrels.id).where(Qrels.name == "people")).one()
    run, topic = made.ids[made.runs[0]], made.topics[0]
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    window, faults = context.new_page(), []
    for step in (
        *("/tasks/t", "/tasks/t?independent=", "/tasks/t/revisions", f"/tasks/t/topics/{topic}/nuggets"),
        *(
            f"/runs/{run}",
            f"/runs/{run}/answers/{topic}",
            f"/tasks/t/topics/{topic}",
            f"/tasks/t/lines/{line}",
        ),
    ):
        window.goto(f"{address}{step}")
        for fold in window.get_by_role("group").all():
            fold.evaluate("details => details.open = true")
        faults += [f"{step}: {fault}" for fault in page_faults(window, width)]
    context.close()
    assert faults == []


def test_logos_and_pictures_are_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """The front page, the About page with its picture, a run, and the forms that set both."""
    blind.task(site_database, tmp_path)
    olga = account(site_database, "Olga", is_organiser=True)
    for kind in ("logo", "picture"):
        pictures.give(site_database, tmp_path, kind=kind, alt=f"A {kind}")
    with site_database.write() as session:
        task = session.scalars(select(Task.id)).one()
        session.add(TaskRole(task_id=task, account_id=olga, role="organiser"))
        token = sessions.start(session, olga, "127.0.0.1", "test")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    window, faults = context.new_page(), []
    for step in ("/", "/tasks/t", "/tasks/t/about", "/runs/1", "/tasks/t/settings?section=pictures"):
        window.goto(f"{address}{step}")
        assert window.get_by_role("img", name="A logo").count() == 1 + ("settings" in step), step
        drawn = "images => images.every(image => image.complete && image.naturalWidth > 0)"
        assert window.locator("main img:not([loading=lazy])").evaluate_all(drawn), step
        faults += [f"{step}: {fault}" for fault in page_faults(window, width)]
    follow(window.get_by_role("button", name="Remove picture"))
    assert "Saved." in window.get_by_role("status").inner_text()
    context.close()
    assert faults == []


def test_an_import_is_for_everybody(
    width: int, browser: Browser, address: str, site_database: Database, tmp_path: Path
) -> None:
    """The form, an error on it, what files were understood as, and the task made of them."""
    olga = account(site_database, "Olga", is_organiser=True)
    with site_database.write() as session:
        token = sessions.start(session, olga, "127.0.0.1", "test")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    context.add_cookies([{"name": "session", "value": token, "url": address}])
    window, faults = context.new_page(), []
    window.goto(f"{address}/tasks/new")
    follow(window.get_by_role("link", name="Import an existing task"))
    faults += page_faults(window, width)
    follow(window.get_by_role("button", name="Preview import"))
    assert "Choose a file or a folder." in window.get_by_role("alert").inner_text()
    faults += page_faults(window, width)
    build.run_file(tmp_path, {"1": ["a", "c"], "2": ["d"]}, "one")
    files = [build.topics_file(tmp_path), build.qrels_file(tmp_path), tmp_path / "one.txt"]
    window.get_by_label("Files (choose, or drop here)").set_input_files(files)
    window.get_by_label("Name", exact=True).fill("Night owls")
    follow(window.get_by_role("button", name="Preview import"))
    faults += page_faults(window, width)
    follow(window.get_by_role("button", name="Import task"))
    assert window.url == f"{address}/tasks/night-owls/organise"
    context.close()
    assert faults == []


def page_faults(window: Page, width: int) -> list[str]:
    """What axe finds on the page that is shown, in both colour schemes, and whether it scrolls sideways.

    Colours, by far the dearest, are looked at in the wide window alone: a narrow one shows nothing in others.
    """
    window.evaluate(AXE_SCRIPT)
    if width < WIDE:
        faults = window.evaluate(
            FAULTS, {"rules": VISIBLE_NAMES | {rule: {"enabled": False} for rule in COLOURS}}
        )
    else:
        faults = window.evaluate(FAULTS, {"rules": VISIBLE_NAMES})
        window.emulate_media(color_scheme="dark")
        faults += window.evaluate(FAULTS, {"runOnly": COLOURS})
        window.emulate_media(color_scheme="light")
    over = window.evaluate(SIDEWAYS)
    return [*faults, *([f"{over} pixels wider than the window"] if over > 0 else [])]


def _document(window: Page, demo: Demo) -> str:
    """A document that the leader ranks first."""
    found = window.request.get(f"{demo.site}/runs/{demo.run(1)}/topics/PY003.json").json()
    docno: str = found["documents"][0]["docno"]
    return docno
