"""The page of the audit: what it says at once, what it has computed, and its files."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from leaderboard.judging.page.pools import audits
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from leaderboard.settings import Settings
from tests.make import build
from tests.make.apps import application
from tests.make.pages import main, parsed, table
from tests.make.people import account
from tests.make.pooled import fill
from tests.web.conftest import browser, enter

AUDIT = "/tasks/t/pools/audit"


@pytest.fixture
def site(sqlite_template: Path, tmp_path: Path) -> Iterator[tuple[Flask, Database]]:
    """A site with the worked example, all nine documents judged, on SQLite."""
    path = tmp_path / "site.sqlite3"
    path.write_bytes(sqlite_template.read_bytes())
    settings = Settings(data=tmp_path, database_url=f"sqlite:///{path}")
    database = Database(settings.url)
    fill(database, tmp_path)
    build.task(database, tmp_path, "unjudged", judgments=None)
    build.task(database, tmp_path, "sealed", visibility="sealed")
    yield application(settings, database), database
    database.dispose()


@pytest.fixture
def visitor(site: tuple[Flask, Database]) -> FlaskClient:
    """A browser nobody is signed in with."""
    return browser(site[0])


def test_everybody_reads_the_audit_of_an_open_task(visitor: FlaskClient) -> None:
    """Teams, depths, runs and methods, each as a table."""
    page = visitor.get(f"{AUDIT}?depth=3")
    assert table(page, "Contribution of each pooled team") == [
        ["Team C", "1", "2", "1", "34.8%", "–", "1.000", "1.000"],
        ["Team B", "1", "1", "1", "35.7%", "1", "0.333", "0.500"],
        ["Team A", "1", "1", "0", "0.0%", "–", "1.000", "1.000"],
    ]
    assert table(page, "Agreement of the ranking of all runs")[0] == ["1", "−1.000", "−1.000"]
    runs = table(page, "Runs by AP")
    assert runs[0] == ["1", "C", "Team C", "0.6389", "0.4167", "1", "2", "1", "0%", "0%"]
    assert "None. Every run was pooled" in main(page)
    assert parsed(page).find("figure", id="found") is not None


@pytest.mark.parametrize("which", ["teams", "runs", "depths", "methods", "found"])
def test_every_table_is_a_file_too(visitor: FlaskClient, which: str) -> None:
    """CSV and LaTeX by name, JSON with all of them."""
    for suffix in (".csv", ".tex"):
        found = visitor.get(f"{AUDIT}{suffix}?depth=3&table={which}")
        assert found.status_code == 200
        assert len(found.text.splitlines()) > 3
    assert which == "found" or json.loads(visitor.get(f"{AUDIT}.json?depth=3").text)[which]


def test_wrong_addresses_are_answered_with_a_sentence(visitor: FlaskClient) -> None:
    """Depths, methods, measures and tables that do not exist."""
    for asked in ("?depth=deep", "?depth=0", "?method=x", "?measure=P@5"):
        assert visitor.get(f"{AUDIT}{asked}").status_code == 422, asked
    assert visitor.get(f"{AUDIT}.csv?table=x").status_code == 404


def test_nothing_shows_where_there_is_nothing_or_it_is_held_back(visitor: FlaskClient) -> None:
    """A task without judgments says so; a sealed one is as if it had no such page."""
    assert "no judgments yet" in main(visitor.get("/tasks/unjudged/pools/audit"))
    assert visitor.get("/tasks/sealed/pools/audit").status_code == 404


def test_what_takes_long_is_computed_by_an_evaluator(
    site: tuple[Flask, Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A visitor is asked to sign in; who is signed in has it computed and finds it on the page."""
    for module in (audits, audits):
        monkeypatch.setattr(module, "AT_ONCE_S", 0.0)
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    app, database = site
    address = f"{AUDIT}?depth=3&method=hedge"
    waiting = main(browser(app).get(address))
    assert "Not computed yet: 2 parts of this page" in waiting
    assert "Sign in to have it computed" in waiting
    client = browser(app)
    account(database, "Nina")
    enter(database, client, "Nina")
    asked = client.post(address)
    assert (asked.status_code, asked.headers["Location"]) == (303, address)
    queued = parsed(client.get(address)).find(id="waiting")
    assert queued is not None
    assert queued["hx-get"] == address
    assert build.drain(database) == 2
    done = client.get(address)
    assert table(done, "Contribution of each pooled team")[0][0] == "Team C"
    assert table(done, "Relevant documents found by each method")[0][0] == "Hedge"
