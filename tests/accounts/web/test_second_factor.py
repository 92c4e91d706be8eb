"""The second factor in a browser: setting it up, signing in with it, and what organisers miss without it."""

from dataclasses import replace

import pytest
from bs4 import BeautifulSoup
from flask import Flask
from flask.testing import FlaskClient

from leaderboard.accounts.ops import accounts
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from tests.make import pages
from tests.make.apps import application
from tests.make.people import PASSWORD, account, code_of, second_factor
from tests.web.conftest import SignIn, Site, browser
from tests.web.matrix import DRAFTS, MATRIX


def _asked_for_code(client: FlaskClient, name: str = "Anna") -> str:
    """Send name and password; the address of the page that asks for the code."""
    data = {"name": name, "password": PASSWORD, "next": "/teams"}
    return str(client.post("/sign-in", data=data).headers["Location"])


def _is_in(client: FlaskClient) -> bool:
    return client.get("/account").status_code == 200


def test_it_is_set_up_with_a_first_code(client: FlaskClient, sign_in: SignIn, database: Database) -> None:
    """The page shows secret, link and QR code; password and code turn it on and show the recovery codes."""
    made = sign_in(client, "Anna")
    client.get("/account/second-factor")
    assert client.post("/account/second-factor").status_code == 303
    shown = client.get("/account/second-factor")
    page = BeautifulSoup(shown.text, "html.parser")
    link = page.find("a", href=lambda href: str(href).startswith("otpauth://totp/"))
    assert link is not None
    secret = page.find("code")
    assert secret is not None
    assert f"secret={secret.get_text()}" in str(link)
    assert page.select_one(".qr svg path") is not None
    address = "/account/second-factor/confirm"
    fields = {**pages.form(shown, address), "current": PASSWORD, "code": code_of(database, made)}
    done = client.post(address, data=fields)
    assert done.status_code == 201
    assert done.text.count("-") > 30
    assert done.headers["Cache-Control"] == "no-store"
    again = client.get("/account/second-factor").text
    assert secret.get_text() not in again
    assert "10 recovery codes left" in again


@pytest.mark.parametrize("fields", [{"current": "wrong"}, {"code": "000000"}])
def test_it_needs_password_and_code(
    client: FlaskClient, sign_in: SignIn, database: Database, fields: dict[str, str]
) -> None:
    """Whoever sits at a browser left open neither turns it on nor off."""
    made = sign_in(client, "Anna")
    client.post("/account/second-factor")
    good = {"current": PASSWORD, "code": code_of(database, made)}
    assert client.post("/account/second-factor/confirm", data={**good, **fields}).status_code == 422
    assert client.post("/account/second-factor/confirm", data=good).status_code == 201
    for act in ("remove", "recovery-codes"):
        assert client.post(f"/account/second-factor/{act}", data={**good, **fields}).status_code == 422


def test_turning_it_on_signs_others_out(
    app: Flask, client: FlaskClient, sign_in: SignIn, database: Database
) -> None:
    """Whoever came in by the password alone is out; this browser stays."""
    elsewhere = browser(app)
    made = sign_in(elsewhere, "Anna")
    sign_in(client, "Anna")
    client.post("/account/second-factor")
    data = {"current": PASSWORD, "code": code_of(database, made)}
    client.post("/account/second-factor/confirm", data=data)
    assert (_is_in(client), _is_in(elsewhere)) == (True, False)


def test_signing_in_asks_for_a_code_and_goes_on(client: FlaskClient, database: Database) -> None:
    """A right password leads to the page for the code, and the code where one wanted to go."""
    made = account(database, "Anna")
    second_factor(database, made)
    address = _asked_for_code(client)
    assert not _is_in(client)
    asked = client.get(address)
    assert asked.headers["Cache-Control"] == "no-store"
    fields = {**pages.form(asked, "/second-factor"), "code": code_of(database, made)}
    done = client.post("/second-factor", data=fields)
    assert (done.status_code, done.headers["Location"]) == (303, "/teams")
    assert _is_in(client)
    assert client.get_cookie("pending") is None


def test_a_used_code_is_refused_elsewhere(app: Flask, client: FlaskClient, database: Database) -> None:
    """Who saw a code being typed, and knows the password, does not come in with it."""
    made = account(database, "Anna")
    second_factor(database, made)
    code, thief = code_of(database, made), browser(app)
    for each in (client, thief):
        _asked_for_code(each)
    assert client.post("/second-factor", data={"code": code}).status_code == 303
    refused = thief.post("/second-factor", data={"code": code})
    assert (refused.status_code, "already been used" in refused.text) == (422, True)
    assert not _is_in(thief)


def test_a_recovery_code_replaces_the_authenticator(client: FlaskClient, database: Database) -> None:
    """A recovery code signs in once."""
    codes = second_factor(database, account(database, "Anna"))
    for status in (303, 422):
        _asked_for_code(client)
        assert client.post("/second-factor", data={"code": codes[0]}).status_code == status
        client.post("/sign-out")


def test_a_one_time_link_asks_for_the_code_too(client: FlaskClient, database: Database) -> None:
    """A link stands for the password only."""
    made = account(database, "Anna")
    second_factor(database, made)
    with database.write() as session:
        token = accounts.sign_in_link(session, made)
    assert client.post(f"/sign-in/{token}").headers["Location"].startswith("/second-factor")
    assert not _is_in(client)
    assert client.post("/second-factor", data={"code": code_of(database, made)}).status_code == 303


def test_without_a_password_one_is_sent_to_sign_in(client: FlaskClient) -> None:
    """The page for the code is of no use alone, and keeps where one wanted to go."""
    assert client.get("/second-factor?next=/teams").headers["Location"] == "/sign-in?next=/teams"
    assert client.post("/second-factor", data={"code": "000000"}).status_code == 401


def test_codes_are_throttled(client: FlaskClient, database: Database) -> None:
    """After ten wrong codes the right one has to wait, and the page says so."""
    made = account(database, "Anna")
    second_factor(database, made)
    _asked_for_code(client)
    assert [client.post("/second-factor", data={"code": "0"}).status_code for _ in range(10)] == [422] * 10
    refused = client.post("/second-factor", data={"code": code_of(database, made)})
    assert (refused.status_code, "Retry-After" in refused.headers) == (429, True)


@pytest.fixture
def strict(site: Site) -> Site:
    """The filled site where organisers need a second factor."""
    settings: Settings = replace(site.settings, require_second_factor=True)
    return replace(site, app=application(settings, site.database), settings=settings)


CLOSED = [
    place for place, statuses in {**MATRIX, **DRAFTS}.items() if statuses[5] != statuses[1] in (403, 404)
]
"""What an organiser may and any account may not."""


@pytest.mark.trial
def test_an_organiser_without_one_may_what_any_account_may(strict: Site) -> None:
    """Every route that only the organiser may open is as shut as for others, or leads to the set-up."""
    client, headers = strict.browser("Olga"), {"Accept": "application/json"}
    assert len(CLOSED) > 80
    for method, path in CLOSED:
        answer = client.open(path.format(**vars(strict.world)), method=method, headers=headers)
        assert answer.status_code in (403, 404), (method, path, answer.status_code)


def test_an_organiser_is_led_to_set_it_up(strict: Site) -> None:
    """Organising pages lead to the set-up, every page says so; with a second factor all is open again."""
    client = strict.browser("Olga")
    for path in ("/tasks/new", "/tasks/robots/organise", "/tasks/robots/pools/new"):
        assert client.get(path).headers["Location"] == "/account/second-factor"
    assert "Organisers need a second factor" in client.get("/").text
    assert client.get("/account/second-factor").status_code == 200
    second_factor(strict.database, strict.world.olga)
    assert client.get("/tasks/robots/organise").status_code == 200
    assert "Organisers need a second factor" not in client.get("/").text


def test_others_do_not_need_one(strict: Site) -> None:
    """Members and accounts go on as before."""
    assert "second factor on this site" not in strict.browser("Berta").get("/").text
    assert strict.browser("Berta").get("/tasks/robots/submit").status_code == 200
