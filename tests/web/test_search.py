"""The page of the search: a form on every page, what was found, what was refused."""

from pathlib import Path

from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.make import build
from tests.make.pages import main, parsed


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
    assert "Nothing has all of these words" in main(client.get("/search?q=nobody"))
    short = client.get("/search?q=x")
    assert (short.status_code, "from 2 to 100 characters" in main(short)) == (422, True)
