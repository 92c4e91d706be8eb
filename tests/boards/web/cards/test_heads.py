"""What heads tell: what a visitor may see, to visitors, and no letter breaks out of it."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.boards.ops import snapshots
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import blind, build
from tests.make.pages import parsed
from tests.scoring.ops.statistics.test_standings import fill
from tests.web.conftest import SignIn


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def _told(page: BeautifulSoup) -> dict[str, str]:
    return {str(tag["property"]): str(tag["content"]) for tag in page.find_all("meta", property=True)}


def _snapshot(database: Database) -> str:
    with database.write() as session:
        return snapshots.keep(session, OPERATOR, snapshots.freeze(session, OPERATOR, "t"))


def test_heads_tell_what_the_page_is(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Of a task, a run and a snapshot, in words; nothing that another site would have to fetch."""
    ids = fill(database, tmp_path)
    pages = {"/tasks/t": "Task t", f"/runs/{ids['weak']}": "weak on Task t"}
    pages[f"/snapshots/{_snapshot(database)}"] = "Task t, snapshot"
    for address, title in pages.items():
        page = parsed(client.get(address))
        told = _told(page)
        assert (told["og:title"], told["og:url"]) == (title, f"http://localhost{address}")
        assert page.find("meta", content="summary")["name"] == "twitter:card"
        assert "og:image" not in told
    page = parsed(client.get(f"/runs/{ids['weak']}"))
    said = "Rank 4 of 4; RR 0.1171. 10 topics, qrels revision 1."
    assert _told(page)["og:description"] == said
    assert page.find("meta", attrs={"name": "description"})["content"] == said


def test_who_is_signed_in_and_a_board_of_a_choice_are_told_nothing(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn
) -> None:
    """The words would be of another board; and an account may be given more than a visitor."""
    ids = fill(database, tmp_path)
    for address in ("/tasks/t?measure=GMAP", "/tasks/t?topics=1", f"/runs/{ids['weak']}?measure=GMAP"):
        assert _told(parsed(client.get(address))) == {}
    sign_in(client, "Ann")
    assert _told(parsed(client.get("/tasks/t"))) == {}


def test_heads_tell_no_more_than_a_visitor_may_see(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Of a blind task's run its rounded score; of a sealed task that scores are held back."""
    ids = blind.task(database, tmp_path)
    assert "RR 0.250." in _told(parsed(client.get(f"/runs/{ids['hidden']}")))["og:description"]
    blind.settle(database, visibility="sealed")
    assert client.get(f"/runs/{ids['hidden']}").status_code == 404
    assert _told(parsed(client.get("/tasks/t")))["og:description"] == "Scores held back."


def test_no_name_breaks_out_of_a_head(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Quotes and tags of a name stay in the attribute."""
    build.task(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).values(name='"><script>alert(1)</script>'))
    page = parsed(client.get("/tasks/t"))
    assert _told(page)["og:title"] == '"><script>alert(1)</script>'
    run = page.find_all("script", type=lambda kind: kind != "application/ld+json")
    assert [tag for tag in run if "alert" in tag.get_text()] == []
