"""Signing in by a provider of OpenID Connect, against one that runs on this machine."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from joserfc.jwk import OctKey
from sqlalchemy import select
from werkzeug.test import TestResponse

from leaderboard.accounts.web import providers
from leaderboard.db.tables import Account, Identity
from leaderboard.errors import Invalid
from leaderboard.web import session as web_session
from tests.make import pages
from tests.make.people import PASSWORD, code_of, invitation, second_factor
from tests.make.providers import SECRET, LocalProvider, running
from tests.web.conftest import Site, browser


@pytest.fixture
def provider() -> Iterator[LocalProvider]:
    """A provider."""
    with running() as made:
        yield made


@pytest.fixture
def open_site(site: Site, provider: LocalProvider, tmp_path: Path) -> Site:
    """The site, which knows the provider."""
    _set(site, openid_file=provider.file(tmp_path))
    return site


def _set(site: Site, **what: Any) -> None:
    before = site.app.extensions[web_session.EXTENSION].settings
    site.app.extensions[web_session.EXTENSION] = web_session.Site(
        replace(before, **what), site.database, lambda: None
    )


def _sign_in(client: FlaskClient, provider: LocalProvider, query: str = "") -> TestResponse:
    """What the browser gets that went to the provider and back."""
    begun = client.get(f"/sign-in/with/local{query}")
    assert begun.status_code == 303
    return client.get(provider.answer(begun.headers["Location"]))


def _link(client: FlaskClient, provider: LocalProvider) -> TestResponse:
    shown = client.post("/account/identities/local", data={"current": PASSWORD})
    way = pages.parsed(shown).select_one("main a")
    assert way is not None
    return client.get(provider.answer(str(way["href"])))


def test_a_newcomer_makes_an_account_and_comes_back(open_site: Site, provider: LocalProvider) -> None:
    """The first time a name is asked for, the next time nothing; the mail address is not looked at."""
    client = browser(open_site.app)
    assert "Sign in with Local" in pages.main(client.get("/sign-in"))
    asked = _sign_in(client, provider, "?next=/measures")
    assert asked.headers["Location"] == "/sign-in/new"
    assert client.post("/sign-in/new", data={"name": "Nina"}).status_code == 409
    made = client.post("/sign-in/new", data={"name": "Zoe"})
    assert made.headers["Location"] == "/measures"
    assert "Zoe" in pages.parsed(client.get("/account")).get_text()
    again = browser(open_site.app)
    assert _sign_in(again, provider, "?next=/teams").headers["Location"] == "/teams"
    assert again.get("/account").status_code == 200
    assert client.post("/account/identities/local/remove").status_code == 409
    with open_site.database.read() as session:
        zoe = session.execute(select(Account.password_hash).where(Account.name == "Zoe")).one()
        assert zoe.password_hash is None
        assert session.scalars(select(Identity.subject)).all() == ["anna-1"]


def test_an_account_is_linked_with_its_password(open_site: Site, provider: LocalProvider) -> None:
    """Linking asks for the password, signs in since, asks for the second factor still, and can be undone."""
    berta = open_site.browser("Berta")
    assert berta.post("/account/identities/local", data={"current": "wrong"}).status_code == 422
    assert _link(berta, provider).headers["Location"] == "/account"
    second_factor(open_site.database, open_site.world.berta)
    client = browser(open_site.app)
    waiting = _sign_in(client, provider)
    assert waiting.headers["Location"].startswith("/second-factor")
    code = code_of(open_site.database, open_site.world.berta)
    assert client.post("/second-factor", data={"code": code}).status_code == 303
    assert client.get("/account").status_code == 200
    assert _link(open_site.browser("Carl"), provider).status_code == 409
    assert berta.post("/account/identities/local/remove", data={"current": PASSWORD}).status_code == 303
    assert _sign_in(browser(open_site.app), provider).headers["Location"] == "/sign-in/new"


def test_sign_up_is_as_the_site_says(open_site: Site, provider: LocalProvider) -> None:
    """By invitation an unknown identity gets in by a link only, and is in what it is for; closed: not."""
    path = f"/join/{invitation(open_site.database, open_site.world.anna, team_id=open_site.world.owls)}"
    for sign_up, query, status in (
        ("closed", f"?next={path}", 403),
        ("invitation", "", 403),
        ("invitation", "?next=/join/nonsense", 404),
        ("invitation", f"?next={path}", 303),
    ):
        _set(open_site, sign_up=sign_up)
        client = browser(open_site.app)
        assert _sign_in(client, provider, query).headers["Location"] == "/sign-in/new"
        answer = client.post("/sign-in/new", data={"name": "Zoe"})
        assert answer.status_code == status, (sign_up, query)
    assert answer.headers["Location"] == "/teams"
    assert "Owls" in pages.main(client.get("/teams"))


def test_wrong_answers_sign_nobody_in(
    open_site: Site, provider: LocalProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is wrong with what was signed, by whom or for whom: one sentence, and nobody is signed in."""
    at = int(time.time())
    faults: list[dict[str, Any]] = [
        {"claims": {"nonce": "another"}},
        {"claims": {"nonce": None}},
        {"claims": {"aud": "another"}},
        {"claims": {"aud": ["leaderboard", "another"], "azp": "another"}},
        {"claims": {"iss": "https://other.example"}},
        {"claims": {"exp": at - 3600}},
        {"claims": {"iat": at + 3600}},
        {"claims": {"sub": ""}},
        {"claims": {"sub": 7}},
        {"signs_with": LocalProvider().key},
        {"algorithm": "none"},
        {"algorithm": "HS256", "signs_with": OctKey.import_key(SECRET)},
    ]
    right = dict(vars(provider))
    for fault in faults:
        vars(provider).update({**right, **fault})
        client = browser(open_site.app)
        answer = _sign_in(client, provider)
        assert answer.status_code == 422, fault
        assert "Local did not identify you" in pages.main(answer)
        assert client.get("/account").status_code == 303


def test_an_answer_counts_in_the_browser_that_asked(open_site: Site, provider: LocalProvider) -> None:
    """Not in another browser, with another state, for another purpose, account or issuer; nor too often."""
    client, other = browser(open_site.app), browser(open_site.app)
    way = client.get("/sign-in/with/local").headers["Location"]
    back = provider.answer(way)
    assert other.get(back).status_code == 422
    assert client.get(back.replace("state=", "state=x")).status_code == 422
    assert client.get("/sign-in/with/local/back").status_code == 422
    assert client.get(back.replace("iss=http", "iss=https")).status_code == 422
    carl = open_site.browser("Carl")
    shown = carl.post("/account/identities/local", data={"current": PASSWORD})
    link = pages.parsed(shown).select_one("main a")
    assert link is not None
    back = provider.answer(str(link["href"]))
    cookie = carl.get_cookie("openid")
    assert cookie is not None
    berta = open_site.browser("Berta")
    berta.set_cookie("openid", cookie.value)
    assert berta.get(back).status_code == 403
    berta.set_cookie("openid", cookie.value.replace("link-", "in-"))
    assert berta.get(back).status_code == 422
    assert client.get("/sign-in/with/nothing").status_code == 404
    assert client.get("/sign-in/new").headers["Location"].startswith("/sign-in?")
    statuses = [_sign_in(browser(open_site.app), provider).status_code for _ in range(30)]
    assert statuses[-1] == 429


def test_a_file_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    """A missing file, one that is no TOML, a value that is missing, an issuer without https."""
    whole = 'name = "A"\nissuer = "https://a.example"\nclient_id = "c"\nclient_secret = "s"\n'
    for number, (text, words) in enumerate(
        (
            (None, "cannot be read"),
            ("[", "cannot be read"),
            ("a = 1", "needs the text values name, issuer"),
            ('[a]\nname = "A"', "needs the text values name, issuer"),
            ("[a]\n" + whole.replace("https", "http"), "must be an https address"),
        )
    ):
        path = tmp_path / f"{number}.toml"
        if text is not None:
            path.write_text(text)
        with pytest.raises(Invalid, match=words):
            providers.read(str(path))
    assert providers.read("") == {}
