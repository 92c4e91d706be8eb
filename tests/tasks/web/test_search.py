"""The page of the search: a form on every page, what was found, what was refused."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event

from leaderboard.db.engine import Database
from tests.make import build
from tests.make.pages import main, parsed


@pytest.mark.trial
def test_every_page_leads_to_what_is_searched_for(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """The form in the header, links to what was found, twenty of a kind first, all as a file."""
    build.task(database, tmp_path, name="News")
    for number in range(22):
        build.run(database, tmp_path, {"1": ["a"]}, f"run{number:02}")
    form = parsed(client.get("/tasks/t")).find("form", role="search", attrs={"aria-label": "Site"})
    assert form is not None
    assert form["action"] == "/search"
    page = parsed(client.get("/search?q=run"))
    assert len(page.select("table tbody tr")) == 20
    assert page.find("a", href="/search?q=run&all=", string="Show all")
    assert len(parsed(client.get("/search?q=run&all=")).select("table tbody tr")) == 22
    assert parsed(client.get("/search?q=news")).find("a", href="/tasks/t", string="News")
    assert len(client.get("/search.json?q=run").get_json()["runs"]) == 22
    assert "No results contain all of these words" in main(client.get("/search?q=nobody"))
    short = client.get("/search?q=x")
    assert (short.status_code, "must have 2 to 100 characters" in main(short)) == (422, True)


@pytest.mark.trial
def test_more_tasks_take_no_more_statements(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Neither for a search nor for a team's page, however many tasks the team is in."""
    asked: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    def statements(address: str) -> int:
        # What is asked once for a version of the site was asked then; under its own address a page is kept.
        client.get(f"{address}&again")
        asked.clear()
        assert client.get(address).status_code == 200
        return len(asked)

    pages = ("/search?q=run", "/teams/1?")
    for slug in "ab":
        build.task(database, tmp_path, slug)
        build.run(database, tmp_path, {"1": ["a"]}, "run", slug=slug)
    event.listen(database.engine, "before_cursor_execute", note)
    before = [statements(page) for page in pages]
    for slug in "cde":
        build.task(database, tmp_path, slug)
        build.run(database, tmp_path, {"1": ["a"]}, "run", slug=slug)
    assert [statements(page) for page in pages] == before
    assert len(client.get("/search.json?q=run").get_json()["runs"]) == 5
