"""How many computed pages a visitor's address may ask for."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.application import create_app
from leaderboard.db.tables import Run
from leaderboard.web import rules
from leaderboard.web.rules import Budget
from tests.web.conftest import Site, browser, enter

PAGE = "/tasks/robots/compare"
ADDRESS = {"REMOTE_ADDR": "192.0.2.7"}


def test_a_budget_refills_by_the_second() -> None:
    """Six a minute: six at once, then one every ten seconds; another address has its own."""
    moments = iter([0.0] * 7 + [4.0, 10.0, 10.0, 1000.0])
    budget = Budget(lambda: next(moments))
    assert [budget.spend("a", 6) for _ in range(6)] == [0.0] * 6
    assert budget.spend("a", 6) == pytest.approx(10)
    assert budget.spend("a", 6) == pytest.approx(6)
    assert budget.spend("a", 6) == 0.0
    assert budget.spend("b", 6) == 0.0
    assert budget.spend("a", 6) == 0.0


def test_few_addresses_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with the number of addresses."""
    monkeypatch.setattr(rules, "ADDRESSES", 10)
    budget = Budget(lambda: 0.0)
    for number in range(100):
        assert budget.spend(str(number), 1) == 0.0
    assert len(budget._left) == 10


def test_a_visitor_asks_for_so_many_computed_pages(site: Site) -> None:
    """Then 429 and when to come again; boards, accounts, this machine and other addresses go on."""
    app = create_app(replace(site.settings, computed_pages=2), site.database)
    client = browser(app)
    assert [client.get(PAGE, environ_base=ADDRESS).status_code for _ in range(3)] == [200, 200, 429]
    refused = client.get(f"{PAGE}.json", environ_base=ADDRESS)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert client.get("/tasks/robots", environ_base=ADDRESS).status_code == 200
    assert client.get(PAGE).status_code == 200
    assert client.get(PAGE, environ_base={"REMOTE_ADDR": "192.0.2.8"}).status_code == 200
    enter(site.database, client, "Berta")
    assert client.get(PAGE, environ_base=ADDRESS).status_code == 200


def test_behind_a_proxy_the_visitor_counts(site: Site) -> None:
    """The address is the one the proxy passes on."""
    settings = replace(site.settings, computed_pages=1, public_url="https://lb.example")
    client = browser(create_app(settings, site.database))

    def ask(address: str) -> int:
        headers = {"Host": "lb.example", "X-Forwarded-For": address}
        return client.get(PAGE, headers=headers).status_code

    assert [ask("192.0.2.7"), ask("192.0.2.7"), ask("192.0.2.8")] == [200, 429, 200]


def test_no_budget_where_it_is_off(site: Site) -> None:
    """0 means any number of pages."""
    client = browser(create_app(replace(site.settings, computed_pages=0), site.database))
    assert {client.get(PAGE, environ_base=ADDRESS).status_code for _ in range(5)} == {200}


@pytest.mark.trial
def test_labels_of_judges_are_counted(site: Site, tmp_path: Path) -> None:
    """Each level or scale is another comparison: pages, files and topics have one budget; boards none."""
    of_judges = pytest.importorskip("tests.judges.of_judges")
    of_judges.build(site.database, tmp_path, "Olga")
    client = browser(create_app(replace(site.settings, computed_pages=4), site.database))
    with site.database.read() as session:
        oak = session.scalars(select(Run.id).where(Run.name == "oak")).one()
    labels = f"/tasks/held/judges/{oak}/labels"

    def ask(path: str) -> int:
        return client.get(path, environ_base=ADDRESS).status_code

    asked = ("?level=1", "?level=2:1", ".json?documents=either", "/1?level=1:2", "/1.json", "")
    assert [ask(f"{labels}{rest}") for rest in asked] == [200, 200, 200, 200, 429, 429]
    others = ("/tasks/held/judges", f"/tasks/held/judges/{oak}", "/tasks/held", "/tasks/said")
    assert [ask(path) for path in others] == [200] * len(others)


def test_boards_by_other_lines_are_counted(site: Site) -> None:
    """Page, file and operation have one budget, which is spent whether or not there is such a line."""
    client = browser(create_app(replace(site.settings, computed_pages=2), site.database))
    addresses = ("/tasks/robots/lines/1", "/tasks/robots/lines/1.csv", "/api/v1/tasks/robots/lines/1")
    assert [client.get(address, environ_base=ADDRESS).status_code for address in addresses] == [404, 404, 429]
