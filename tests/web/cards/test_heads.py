"""Cards and what heads tell: what a visitor may see, to visitors, and no letter breaks out of it."""

import io
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from flask.testing import FlaskClient
from PIL import Image
from sqlalchemy import update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.services import snapshots
from leaderboard.services.cards import cards
from leaderboard.services.policy import OPERATOR
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.cache import KeptResults
from leaderboard.settings import Settings
from leaderboard.web import create_app
from tests.make import blind, build
from tests.make.pages import parsed
from tests.services.statistics.test_standings import fill
from tests.web.conftest import SignIn, browser


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def _told(page: BeautifulSoup) -> dict[str, str]:
    return {str(tag["property"]): str(tag["content"]) for tag in page.find_all("meta", property=True)}


def _snapshot(database: Database) -> str:
    with database.write() as session:
        return snapshots.keep(session, OPERATOR, snapshots.freeze(session, OPERATOR, "t"))


def test_heads_tell_what_the_page_is_and_where_its_picture_is(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Of a task, a run and a snapshot; each picture is one of the size that is told."""
    ids = fill(database, tmp_path)
    pages = {"/tasks/t": "Task t", f"/runs/{ids['weak']}": "weak on Task t"}
    pages[f"/snapshots/{_snapshot(database)}"] = "Task t, snapshot"
    for address, title in pages.items():
        told = _told(parsed(client.get(address)))
        assert (told["og:title"], told["og:url"]) == (title, f"http://localhost{address}")
        picture = client.get(told["og:image"].removeprefix("http://localhost"))
        assert picture.mimetype == "image/png"
        size = Image.open(io.BytesIO(picture.data)).size
        assert size == (int(told["og:image:width"]), int(told["og:image:height"]))
    told = _told(parsed(client.get(f"/runs/{ids['weak']}")))
    assert told["og:description"] == "Rank 4 of 4; RR 0.1171. 10 topics, qrels revision 1."


def test_who_is_signed_in_and_a_board_of_a_choice_are_told_nothing(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn
) -> None:
    """A picture would be of another board; and an account may be given more than a visitor."""
    ids = fill(database, tmp_path)
    for address in ("/tasks/t?measure=GMAP", "/tasks/t?topics=1", f"/runs/{ids['weak']}?measure=GMAP"):
        assert _told(parsed(client.get(address))) == {}
    sign_in(client, "Ann")
    assert _told(parsed(client.get("/tasks/t"))) == {}


def test_a_card_shows_what_a_visitor_may_see_whoever_asks(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its words are the same for the team of a blind task's run, and a sealed run has no card."""
    drawn: list[cards.CardText] = []
    monkeypatch.setattr(cards, "picture", lambda text: drawn.append(text) or b"picture")
    ids = blind.task(database, tmp_path)
    address = f"/runs/{ids['hidden']}/card.png"
    assert client.get(address).status_code == 200
    sign_in(client, "Bob")
    assert client.get(address).status_code == 200
    assert drawn[0] == drawn[1]
    assert drawn[0].facts[-1] == "RR 0.250"
    blind.settle(database, visibility="sealed")
    assert client.get(address).status_code == 404
    assert client.get("/tasks/t/card.png").status_code == 200
    assert (drawn[2].facts, drawn[2].below) == (("scores held back",), "")


def test_a_card_that_did_not_change_is_not_sent_again(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Its tag is of its bytes."""
    build.task(database, tmp_path)
    first = client.get("/tasks/t/card.png")
    again = client.get("/tasks/t/card.png", headers={"If-None-Match": first.headers["ETag"]})
    assert (first.status_code, again.status_code, again.data) == (200, 304, b"")


def test_cards_count_among_the_computed_pages(settings: Settings, database: Database, tmp_path: Path) -> None:
    """An address that asks for more than its minute has is told when to come back."""
    build.task(database, tmp_path)
    settings = Settings(data=settings.data, database_url=settings.database_url, computed_pages=2)
    client = browser(create_app(settings, database))
    elsewhere = {"REMOTE_ADDR": "203.0.113.9"}
    answers = [client.get("/tasks/t/card.png", environ_overrides=elsewhere) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]


def test_no_name_breaks_out_of_a_head(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Quotes and tags of a name stay in the attribute."""
    build.task(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).values(name='"><script>alert(1)</script>'))
    page = parsed(client.get("/tasks/t"))
    assert _told(page)["og:title"] == '"><script>alert(1)</script>'
    run = page.find_all("script", type=lambda kind: kind != "application/ld+json")
    assert [tag for tag in run if "alert" in tag.get_text()] == []
