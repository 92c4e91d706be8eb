"""Signing up, in and out in a browser."""

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update

from leaderboard.accounts.ops import accounts, passwords, sessions
from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account, WebSession
from leaderboard.settings import Settings
from tests.make import pages
from tests.make.people import HASH, PASSWORD, account
from tests.web.conftest import SignIn, browser

OTHER = "glacier-tango-92-plum"


def _sign_in(client: FlaskClient, name: str = "Anna", password: str = PASSWORD, **fields: str) -> int:
    return client.post("/sign-in", data={"name": name, "password": password, **fields}).status_code


def _is_in(client: FlaskClient) -> bool:
    return client.get("/account").status_code == 200


def test_signing_up_signs_in_and_out_again(client: FlaskClient) -> None:
    """A new account is signed in at once; signing out ends the session on the server too."""
    fields = {**pages.form(client.get("/sign-up"), "/sign-up"), "name": "Anna", "password": PASSWORD}
    assert client.post("/sign-up", data=fields).headers["Location"] == "/my"
    assert _is_in(client)
    kept = client.get_cookie("session")
    assert kept is not None
    client.post("/sign-out")
    assert client.get_cookie("session") is None
    client.set_cookie("session", kept.value)
    assert not _is_in(client)


def test_a_password_signs_in_and_goes_where_asked(client: FlaskClient, database: Database) -> None:
    """The right password signs in under any spelling of the name and goes to the page asked for."""
    account(database, "Anna")
    asked = client.get("/sign-in?next=/teams?a=b")
    fields = {**pages.form(asked, "/sign-in"), "name": " ANNA ", "password": PASSWORD}
    assert client.post("/sign-in", data=fields).headers["Location"] == "/teams?a=b"
    assert _is_in(client)


def test_an_evil_way_back_is_not_gone(client: FlaskClient, database: Database) -> None:
    """A link that asks to be sent to another site after signing in ends on ours."""
    account(database, "Anna")
    data = {"name": "Anna", "password": PASSWORD, "next": "//evil.example"}
    assert client.post("/sign-in", data=data).headers["Location"] == "/my"


def test_nobody_and_a_wrong_password_look_the_same(client: FlaskClient, database: Database) -> None:
    """An unknown name and a wrong password give the same page, byte for byte but for the name typed."""
    account(database, "Anna")
    wrong = client.post("/sign-in", data={"name": "Anna", "password": "wrong"})
    nobody = client.post("/sign-in", data={"name": "Bert", "password": "wrong"})
    assert wrong.status_code == nobody.status_code == 422
    assert wrong.text.replace("Anna", "Bert") == nobody.text
    assert accounts.WRONG in wrong.text
    headers = [{**response.headers, "X-Request-ID": ""} for response in (wrong, nobody)]
    assert headers[0] == headers[1]


def test_nobody_costs_as_much_as_a_wrong_password(
    client: FlaskClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password is hashed once for an unknown name, a known one, and one without a password."""
    account(database, "Anna")
    with database.write() as session:
        accounts.create(session, "Linked")
    checked: list[bool] = []
    verify = passwords._HASHER.verify

    def counted(stored: str, password: str) -> bool:
        checked.append(True)
        return verify(stored, password)

    monkeypatch.setattr(passwords, "_HASHER", type("Counting", (), {"verify": staticmethod(counted)}))
    for name in ("Anna", "Nobody", "Linked"):
        assert _sign_in(client, name, "wrong") == 422
    assert len(checked) == 3


def test_the_eleventh_try_is_refused_after_a_restart_too(
    settings: Settings, database: Database, client: FlaskClient
) -> None:
    """Ten wrong tries, then 429 even for the right password, and still so for a new application."""
    account(database, "Anna")
    assert [_sign_in(client, password="wrong") for _ in range(10)] == [422] * 10
    refused = client.post("/sign-in", data={"name": "Anna", "password": PASSWORD})
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 300
    assert "Try again in" in pages.main(refused)
    restarted = browser(create_app(settings, database))
    assert _sign_in(restarted) == 429


def test_a_name_nobody_has_is_throttled_alike(client: FlaskClient) -> None:
    """The limit is the same for unknown names, so that it tells nothing."""
    assert [_sign_in(client, "Nobody", "wrong") for _ in range(11)][-1] == 429


def test_signing_in_changes_the_session(client: FlaskClient, sign_in: SignIn, database: Database) -> None:
    """The cookie changes at every sign-in and the one before no longer works."""
    sign_in(client, "Anna")
    before = client.get_cookie("session")
    assert before is not None
    assert _sign_in(client) == 303
    client.set_cookie("session", before.value)
    assert not _is_in(client)


def test_a_planted_cookie_gains_nothing(client: FlaskClient, database: Database) -> None:
    """A session token chosen by somebody else is not taken over at sign-in."""
    account(database, "Anna")
    client.set_cookie("session", "planted")
    assert _sign_in(client) == 303
    cookie = client.get_cookie("session")
    assert cookie is not None
    assert cookie.value != "planted"


@pytest.mark.dialect
def test_cheap_hashes_are_renewed_at_sign_in(client: FlaskClient, database: Database) -> None:
    """A hash of another cost is replaced when its password proves right, even one refused today."""
    account(database, "Anna")
    cheap = passwords.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("old and short"[:9])
    with database.write() as session:
        session.execute(update(Account).values(password_hash=cheap))
    assert _sign_in(client, password="old and short"[:9]) == 303
    with database.read() as session:
        stored = session.scalars(select(Account.password_hash)).one()
    assert stored is not None
    assert not passwords.is_outdated(stored)


@pytest.mark.parametrize(
    ("name", "password", "sentence"),
    [
        ("Anna", "short", "12 to 256 characters"),
        ("Anna", "password1234", "too easy to guess"),
        ("", PASSWORD, "at least one letter or digit"),
        ("a" * 61, PASSWORD, "at most 60 characters"),
        ("an\u200bna", PASSWORD, "invisible"),
    ],
)
def test_sign_up_says_what_is_wrong(client: FlaskClient, name: str, password: str, sentence: str) -> None:
    """A refused sign-up shows the form again with the rule, the name kept and the password not."""
    response = client.post("/sign-up", data={"name": name, "password": password})
    assert response.status_code == 422
    assert sentence in pages.main(response)
    assert pages.form(response, "/sign-up") == {"next": "/my", "name": name, "password": "", "team": ""}


def test_a_taken_name_is_said(client: FlaskClient, database: Database) -> None:
    """Signing up under somebody's name in another spelling is refused with 409."""
    account(database, "Anna")
    response = client.post("/sign-up", data={"name": "ANNA", "password": PASSWORD})
    assert response.status_code == 409
    assert "is taken" in pages.main(response)


def test_a_one_time_link_needs_its_button(app: Flask, client: FlaskClient, database: Database) -> None:
    """Opening the link changes nothing however often; its button signs in once."""
    made = account(database, "Anna")
    with database.write() as session:
        token = accounts.sign_in_link(session, made)
    address = f"/sign-in/{token}"
    for _ in range(3):
        assert "Sign in as Anna" in pages.main(client.get(address))
    assert not _is_in(client)
    pages.form(client.get(address), address)
    assert client.post(address).status_code == 303
    assert _is_in(client)
    late = browser(app)
    assert late.get(address).status_code == late.post(address).status_code == 404


def test_an_account_without_password_sets_one(client: FlaskClient, database: Database) -> None:
    """Whoever came by a link sets a password without a current one, and it works."""
    with database.write() as session:
        token = accounts.first_organiser(session).token
    client.post(f"/sign-in/{token}")
    fields = pages.form(client.get("/account"), "/account/password")
    assert "current" not in fields
    assert client.post("/account/password", data={**fields, "password": OTHER}).status_code == 303
    assert _sign_in(client, "organiser", OTHER) == 303


def test_changing_the_password_signs_others_out(
    app: Flask, client: FlaskClient, sign_in: SignIn, database: Database
) -> None:
    """The new password replaces the old, this browser stays signed in and every other is out."""
    elsewhere = browser(app)
    sign_in(elsewhere, "Anna")
    sign_in(client, "Anna")
    changed = client.post("/account/password", data={"current": PASSWORD, "password": OTHER})
    assert "signed out" in pages.main(client.get(changed.headers["Location"]))
    assert not _is_in(elsewhere)
    assert (_sign_in(elsewhere), _sign_in(elsewhere, password=OTHER)) == (422, 303)


def test_a_wrong_current_password_changes_nothing(client: FlaskClient, sign_in: SignIn) -> None:
    """The current password is needed, and guessing it is throttled like signing in."""
    sign_in(client, "Anna")
    data = {"current": "wrong", "password": OTHER}
    statuses = [client.post("/account/password", data=data).status_code for _ in range(11)]
    assert statuses == [422] * 10 + [429]
    assert _is_in(client)


@pytest.mark.dialect
def test_sessions_are_listed_and_ended(
    app: Flask, client: FlaskClient, sign_in: SignIn, database: Database
) -> None:
    """The account page lists the signed-in browsers and ends any but this one."""
    elsewhere = browser(app)
    sign_in(elsewhere, "Anna")
    other = client.get_cookie("session")
    sign_in(client, "Anna")
    assert other is None
    rows = pages.table(client.get("/account"), "Sessions end")
    assert [row[-1] for row in rows] == ["this session", "Sign out"]
    with database.read() as session:
        oldest = session.scalars(select(WebSession.id).order_by(WebSession.id)).first()
    assert client.post(f"/account/sessions/{oldest}").status_code == 303
    assert (_is_in(client), _is_in(elsewhere)) == (True, False)


def test_only_digests_are_stored(client: FlaskClient, sign_in: SignIn, database: Database) -> None:
    """What the database holds of a session does not sign anybody in."""
    sign_in(client, "Anna")
    cookie = client.get_cookie("session")
    assert cookie is not None
    with database.read() as session:
        stored = session.scalars(select(WebSession.token_sha256)).one()
    assert stored == sessions.digest(cookie.value) != cookie.value
    client.set_cookie("session", stored)
    assert not _is_in(client)


def test_taken_names_cost_what_free_ones_do(
    client: FlaskClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty sign-ups under a name that is taken, then 429, before any password is hashed again."""
    account(database, "Anna")
    hashed = []
    monkeypatch.setattr(passwords, "hashed", lambda *given: hashed.append(given) or HASH)
    tries = [
        client.post("/sign-up", data={"name": "Anna", "password": PASSWORD}).status_code for _ in range(22)
    ]
    assert tries == [409] * 20 + [429] * 2
    assert len(hashed) == 20


def test_strangers_do_not_lock_a_known_browser_out(
    app: Flask, client: FlaskClient, database: Database
) -> None:
    """After too many wrong passwords, also from the same address, a known browser may come in."""
    account(database, "Anna")
    assert _sign_in(client) == 303
    device = client.get_cookie("device")
    assert device is not None
    client.post("/sign-out")
    stranger = browser(app)
    assert [_sign_in(stranger, password="wrong") for _ in range(11)][-1] == 429
    assert _sign_in(stranger) == 429
    assert _sign_in(client) == 303
    stranger.set_cookie("device", device.value)
    assert not _is_in(stranger)


@pytest.mark.parametrize("path", ["/sign-in", "/account/password"])
def test_a_throttled_form_says_when_to_come_back(client: FlaskClient, sign_in: SignIn, path: str) -> None:
    """The page of a form that was sent too often has the header Retry-After."""
    sign_in(client, "Anna")
    data = {"name": "Anna", "password": "wrong", "current": "wrong"}
    answers = [client.post(path, data=data) for _ in range(11)]
    assert (answers[-1].status_code, "Retry-After" in answers[-2].headers) == (429, False)
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 300


def test_signing_out_everywhere_ends_every_session(app: Flask, client: FlaskClient, sign_in: SignIn) -> None:
    """The button on the account's page signs out this browser and all others."""
    elsewhere = browser(app)
    sign_in(elsewhere, "Anna")
    sign_in(client, "Anna")
    assert pages.form(client.get("/account"), "/account/sessions/end") == {}
    assert client.post("/account/sessions/end").status_code == 303
    assert (_is_in(client), _is_in(elsewhere)) == (False, False)
