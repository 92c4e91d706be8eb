"""The mail address of an account in a browser: given, confirmed by a link in a letter, taken away."""

import re
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard.db.engine import Database
from leaderboard.db.tables import Account
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator
from tests.make import pages, people, smtp
from tests.make.apps import application
from tests.make.smtp import Post
from tests.web.conftest import SignIn, browser


@pytest.fixture
def post(settings: Settings, database: Database) -> Iterator[tuple[Post, Evaluator, FlaskClient]]:
    """A mail server, an evaluator that sends there, and a browser of a site that does."""
    with smtp.server() as (received, url):
        here = smtp.settings_of(url, data=settings.data, database_url=settings.database_url)
        yield received, Evaluator(database, here), browser(application(here, database))


def _text(client: FlaskClient) -> str:
    return pages.main(client.get("/account"))


def _give(client: FlaskClient, address: str) -> int:
    return client.post("/account/address", data={"address": address}).status_code


def test_an_address_counts_once_its_link_was_used(
    post: tuple[Post, Evaluator, FlaskClient], sign_in: SignIn, database: Database
) -> None:
    """The letter's link shows whose account it is; its button confirms, once, without signing anybody in."""
    received, evaluator, client = post
    sign_in(client, "Ann")
    assert _give(client, "ann@example.org") == 303
    assert "is not confirmed yet" in _text(client)
    evaluator.drain()
    assert received.receivers == ["ann@example.org"]
    found = re.search(r"http://localhost(/confirm-mail/\S+)", received.letters[0].get_content())
    assert found is not None
    elsewhere = browser(client.application)
    assert "Ann" in elsewhere.get(found[1]).text
    assert "is not confirmed yet" in _text(client)
    assert elsewhere.post(found[1]).status_code == 200
    assert elsewhere.get_cookie("session") is None
    assert (elsewhere.post(found[1]).status_code, elsewhere.get(found[1]).status_code) == (404, 404)
    assert "also sent to ann@example.org" in _text(client)
    assert "sent" in _text(client)
    client.post("/account/address/remove")
    with database.read() as session:
        assert session.scalars(select(Account.email)).all() == [""]


def test_a_link_dies_with_its_address(post: tuple[Post, Evaluator, FlaskClient], sign_in: SignIn) -> None:
    """The link sent to a former address confirms neither it nor the new one."""
    received, evaluator, client = post
    sign_in(client, "Ann")
    _give(client, "old@example.org")
    evaluator.drain()
    _give(client, "new@example.org")
    found = re.search(r"/confirm-mail/\S+", received.letters[0].get_content())
    assert found is not None
    assert client.post(found[0]).status_code == 404
    assert "new@example.org is not confirmed" in _text(client)


def test_no_answer_tells_whose_an_address_is(
    post: tuple[Post, Evaluator, FlaskClient], sign_in: SignIn
) -> None:
    """One that another account has is answered as one that nobody has, and both are written to."""
    received, evaluator, client = post
    other = browser(client.application)
    sign_in(other, "Bob")
    _give(other, "taken@example.org")
    sign_in(client, "Ann")
    answers = []
    for address in ("taken@example.org", "nobody@example.org"):
        given = client.post("/account/address", data={"address": address})
        answers.append((given.status_code, given.data, given.headers["Location"]))
    assert answers[0] == answers[1]
    evaluator.drain()
    assert received.receivers == ["taken@example.org", "nobody@example.org"]


def test_what_came_back_shows_on_the_profile(
    post: tuple[Post, Evaluator, FlaskClient], sign_in: SignIn
) -> None:
    """With the words of the server, until another address is given."""
    received, evaluator, client = post
    sign_in(client, "Ann")
    received.answers = ["550 5.1.1 no such user here"]
    _give(client, "ann@example.org")
    evaluator.drain()
    assert "bounced on" in _text(client)
    assert "550 5.1.1 no such user here" in _text(client)
    _give(client, "ann@example.com")
    assert "bounced on" not in _text(client)


def test_strangers_cannot_flood_an_address(
    post: tuple[Post, Evaluator, FlaskClient], sign_in: SignIn
) -> None:
    """Three letters a day to one address whoever asks, five a day from one account."""
    _, _, client = post
    statuses = []
    for name in ("Ann", "Bob", "Cay", "Dot"):
        sign_in(client, name)
        statuses.append(_give(client, "victim@example.org"))
    assert statuses == [303, 303, 303, 429]
    assert [_give(client, f"{number}@example.org") for number in range(5)] == [303] * 5
    assert _give(client, "more@example.org") == 429
    for wrong in ("", "ann", "ann@", "a b@c", "a@b\r\nBcc: c@d", "Ann <ann@example.org>", "a@b,c@d"):
        assert _give(client, wrong) == 422


def test_without_a_server_nothing_speaks_of_mail(client: FlaskClient, sign_in: SignIn) -> None:
    """No form, no section, no address that takes one."""
    sign_in(client, "Ann")
    assert "mail" not in client.get("/account").text.lower()
    assert _give(client, "ann@example.org") == 404
    assert client.get("/lost-password").status_code == client.post("/lost-password").status_code == 404
    assert "mail" not in browser(client.application).get("/sign-in").text.lower()


def test_a_lost_password_is_no_loss_with_a_confirmed_address(
    post: tuple[Post, Evaluator, FlaskClient], sign_in: SignIn, database: Database
) -> None:
    """A link goes to the address, works once, and nobody learns from the answer whether there was one."""
    received, evaluator, client = post
    for name, address in (("Ann", "ann@example.org"), ("Bob", "")):
        made = sign_in(browser(client.application), name)
        if address:
            people.confirmed_address(database, made, address)
    answers = set()
    for name in ("ANN", "Bob", "Nobody"):
        with client.post("/lost-password", data={"name": name}) as answer:
            answers.add((answer.status_code, answer.data))
    assert len(answers) == 1
    evaluator.drain()
    assert received.receivers == ["ann@example.org"]
    found = re.search(r"http://localhost(/sign-in/\S+)", received.letters[0].get_content())
    assert found is not None
    assert client.post(found[1]).status_code == 303
    assert "Ann" in _text(client)
    assert client.post(found[1]).status_code == 404
    statuses = [client.post("/lost-password", data={"name": "nobody"}).status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 200, 429]
