"""Tokens in a browser: made, shown once, ended; a device let in by its short code; what operators see."""

from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard.accounts.ops import device_logins, tokens
from leaderboard.accounts.ops.device_logins import DeviceCodes, LoginState
from leaderboard.db.tables import ApiToken, Throttle
from leaderboard.web import session as web_session
from tests.make import pages
from tests.web.conftest import Site

MADE = "/account/tokens"


def _set(site: Site, **what: Any) -> None:
    settings = replace(site.settings, **what)
    site.app.extensions[web_session.EXTENSION] = web_session.Site(settings, site.database, lambda: None)


def _make(client: FlaskClient, **fields: Any) -> str:
    """The secret that the page shows after a token was made."""
    shown = client.post(MADE, data={"label": "gpu box", "scopes": ["read", "submit"], **fields})
    assert shown.status_code == 201, shown.text
    assert shown.headers["Cache-Control"] == "no-store"
    field = pages.parsed(shown).find(id="secret")
    assert field is not None
    return str(field["value"])


def _begin(site: Site, scopes: tuple[str, ...] = ("read", "submit")) -> DeviceCodes:
    with site.database.write() as session:
        return device_logins.begin(session, "gpu box", scopes, "203.0.113.9")


def _state(site: Site, codes: DeviceCodes) -> LoginState:
    with site.database.write() as session:
        return device_logins.poll(session, codes.device_code).state


def test_a_token_is_made_on_a_page_and_shown_once(site: Site) -> None:
    """The secret works, stands on no page afterwards, and the list says prefix, scopes, what for, use."""
    berta = site.browser("Berta")
    form = pages.parsed(berta.get(MADE))
    assert "Owls" in form.get_text()
    assert not form.select('option[value="0"]')
    secret = _make(berta, slug="robots", team_id=str(site.world.owls), days="30")
    assert tokens.is_whole(secret)
    with site.database.read() as session:
        asking = tokens.token_viewer(session, secret, factor_needed=False)
    assert asking is not None
    assert asking.viewer.team_ids == {site.world.owls}
    shown = berta.get(MADE)
    assert secret not in shown.text
    row = pages.table(shown, "Tokens")[0]
    assert row[:3] == ["gpu box", secret[:8], "read, submit"]
    assert (row[3].endswith("Owls"), row[5]) == (True, "never")
    assert secret not in berta.get("/account/export.json").text
    assert pages.parsed(site.browser("Carl").get(MADE)).get_text().count("gpu box") == 0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"label": ""}, "needs a label"),
        ({"scopes": ["root"]}, "must be among read"),
        ({"scopes": []}, "at least one"),
        ({"days": "0"}, "organisers"),
        ({"days": "-1"}, "whole number from 0"),
        ({"team_id": "9" * 30}, "whole number"),
        ({"slug": "draft"}, "no task"),
    ],
)
def test_a_bad_wish_comes_back_with_the_form(site: Site, fields: dict[str, Any], said: str) -> None:
    """The page says what is wrong; a draft of others is answered as no task; nothing is made."""
    nina = site.browser("Nina")
    answer = nina.post(MADE, data={"label": "x", "scopes": ["read"], **fields})
    assert answer.status_code in {403, 404, 422}
    assert said in pages.main(answer)
    with site.database.read() as session:
        assert session.scalar(select(ApiToken.id)) is None


def test_a_token_is_ended_by_its_owner_and_by_an_operator(site: Site) -> None:
    """Nobody else's button ends it; the operator sees the prefix, and neither task nor team."""
    _set(site, operators="Olga")
    berta, olga = site.browser("Berta"), site.browser("Olga")
    first = _make(berta, slug="robots", team_id=str(site.world.owls))
    _make(berta)
    assert site.browser("Nina").post(f"{MADE}/1/revoke").status_code == 404
    berta_id = site.world.berta
    shown = olga.get(f"/site/accounts/{berta_id}/tokens")
    rows = pages.table(shown, "Tokens")
    assert [row[1] for row in rows][1] == first[:8]
    assert "one task, one team" in pages.main(shown)
    assert "Owls" not in pages.main(shown)
    back = f"/site/accounts/{berta_id}/tokens"
    assert olga.post(f"{MADE}/1/revoke", data={"next": back}).headers["Location"] == back
    assert berta.post(f"{MADE}/2/revoke").headers["Location"] == MADE
    with site.database.read() as session:
        assert all(session.scalars(select(ApiToken.revoked_at)))
    assert olga.get("/site/accounts/999/tokens").status_code == 404


def test_organising_tokens_need_the_factor_that_the_site_asks_for(site: Site) -> None:
    """Without one the way leads to where it is set up."""
    _set(site, require_second_factor=True)
    answer = site.browser("Olga").post(MADE, data={"label": "x", "scopes": ["organise"]})
    assert answer.status_code in {303, 403}
    with site.database.read() as session:
        assert session.scalar(select(ApiToken.id)) is None


def test_a_device_is_let_in_or_refused(site: Site) -> None:
    """The page says who asks for what and from where, before anything is given."""
    nina = site.browser("Nina")
    let_in, refused = _begin(site), _begin(site)
    assert let_in.user_code in nina.get(f"/device?code={let_in.user_code}").text
    shown = pages.main(nina.post("/device", data={"code": let_in.user_code.lower()}))
    assert all(text in shown for text in ("gpu box", "203.0.113.9", "submit", let_in.user_code))
    fields = {"code": let_in.user_code, "scopes": ["submit"], "answer": "approve"}
    assert nina.post("/device/answer", data=fields).status_code == 200
    assert nina.post("/device/answer", data={"code": refused.user_code, "answer": "deny"}).status_code == 200
    assert (_state(site, let_in), _state(site, refused)) == (LoginState.DONE, LoginState.DENIED)
    assert pages.table(nina.get(MADE), "Tokens")[0][2] == "submit"
    again = nina.post("/device/answer", data=fields)
    assert again.status_code == 404


def test_codes_are_not_guessed(site: Site) -> None:
    """Ten tries in a quarter of an hour by an account, right or wrong, on either form."""
    nina, codes = site.browser("Nina"), _begin(site)
    for number in range(device_logins.GUESSES):
        address = "/device/answer" if number % 2 else "/device"
        assert nina.post(address, data={"code": "BBBB-BBBB"}).status_code == 404
    answer = nina.post("/device", data={"code": codes.user_code})
    assert answer.status_code == 429
    assert _state(site, codes) == LoginState.WAITING
    with site.database.read() as session:
        assert any("device code" in key for key in session.scalars(select(Throttle.key)))


def test_an_organiser_makes_a_runners_token(site: Site) -> None:
    """On the same form, for one task; without a task, or by somebody else, it is refused."""
    form = {"label": "gpu", "kind": "runner", "slug": "robots", "days": "90"}
    made = site.browser("Olga").post("/account/tokens", data=form)
    assert (made.status_code, "lb_r" in made.text) == (201, True)
    assert site.browser("Olga").post("/account/tokens", data=form | {"slug": ""}).status_code == 403
    assert site.browser("Berta").post("/account/tokens", data=form).status_code == 403
