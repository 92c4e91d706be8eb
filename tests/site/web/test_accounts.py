"""The operator's page of accounts, and who is an operator."""

from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from leaderboard.web import session as web_session
from tests.make import pages
from tests.make.people import PASSWORD, account, second_factor
from tests.web.conftest import Site, browser


def _set(site: Site, **what: Any) -> None:
    settings = replace(site.settings, **what)
    site.app.extensions[web_session.EXTENSION] = web_session.Site(settings, site.database, lambda: None)


def _rows(response: TestResponse) -> list[list[str]]:
    """The accounts on the page, their names without the buttons behind them."""
    return [[row[0].split()[0], *row[1:]] for row in pages.table(response, "Accounts")]


@pytest.fixture
def operator(site: Site) -> FlaskClient:
    """A browser of Olga, who operates the site by its setting."""
    _set(site, operators="nobody, OLGA")
    return site.browser("Olga")


def test_operators_are_organisers_named_in_the_setting(site: Site) -> None:
    """Not who has such a name without being an organiser, nor without a factor that is asked for."""
    _set(site, operators="Olga, Nina")
    statuses = [site.browser(name).get("/site/accounts").status_code for name in ("Olga", "Nina", "Otto")]
    assert statuses == [200, 403, 403]
    assert "Site" in pages.parsed(site.browser("Olga").get("/")).get_text()
    _set(site, operators="Olga", require_second_factor=True)
    assert site.browser("Olga").get("/site/accounts").headers["Location"] == "/account/second-factor"
    second_factor(site.database, site.world.olga)
    assert site.browser("Olga").get("/site/accounts").status_code == 200


def test_accounts_are_listed_and_searched(site: Site, operator: FlaskClient) -> None:
    """Every account, or those of a name, on the page and as files; no operator sees more of tasks."""
    names = [row[0] for row in _rows(operator.get("/site/accounts"))]
    assert names == ["Nina", "Carl", "Berta", "Anna", "Otto", "Olga"]
    found = operator.get("/site/accounts?q=+AN")
    assert [row[:2] for row in _rows(found)] == [["Anna", "open"]]
    rows = operator.get("/site/accounts.json?q=ann").get_json()["accounts"]
    assert [(row["name"], row["teams"], row["organiser"], row["state"]) for row in rows] == [
        ("Anna", 1, False, "open")
    ]
    assert operator.get("/site/accounts.csv").text.splitlines()[0].startswith("name,id,state,created_at")
    assert "No account" in pages.main(operator.get("/site/accounts?q=%25"))
    assert operator.get("/tasks/other/organise").status_code == 403


def test_an_account_is_closed_opened_and_let_in(site: Site, operator: FlaskClient) -> None:
    """Closing ends sessions; an open account gets a link that signs in, shown once."""
    nina, path = site.browser("Nina"), f"/site/accounts/{site.world.nina}"
    assert operator.post(f"{path}/close", data={"q": "nina"}).headers["Location"] == "/site/accounts?q=nina"
    assert nina.get("/account").status_code == 303
    assert operator.post(f"{path}/link").status_code == 409
    assert operator.post(f"{path}/close").status_code == 409
    operator.post(f"{path}/reopen")
    shown = operator.post(f"{path}/link")
    link = pages.parsed(shown).find(id="link")
    assert link is not None
    assert browser(site.app).get(str(link["value"])).status_code == 200
    other = site.browser("Nina")
    assert operator.post(f"{path}/sign-out").status_code == 303
    assert other.get("/account").status_code == 303


def test_an_account_becomes_an_organiser_and_no_more(site: Site, operator: FlaskClient) -> None:
    """The button says so; operators cannot shut themselves out, and an unknown account is not found."""
    path = f"/site/accounts/{site.world.nina}"
    for wanted, status in (("yes", 200), ("no", 403)):
        operator.post(f"{path}/organiser", data={"organiser": wanted})
        assert site.browser("Nina").get("/tasks/new").status_code == status
    for act in ("organiser", "close"):
        assert operator.post(f"/site/accounts/{site.world.olga}/{act}").status_code == 409
        assert operator.post(f"/site/accounts/999/{act}").status_code == 404


def test_somebody_is_invited_to_the_site(site: Site, operator: FlaskClient) -> None:
    """A link for any number of accounts makes one, where sign-up is by invitation; wrong numbers are said."""
    _set(site, operators="Olga", sign_up="invitation")
    assert operator.post("/site/accounts/invitations", data={"days": "0"}).status_code == 422
    shown = operator.post("/site/accounts/invitations", data={"uses": "5", "note": "Welcome"})
    link = pages.parsed(shown).find(id="invitation")
    assert link is not None
    client = browser(site.app)
    assert "Join this site" in pages.main(client.get(str(link["value"])))
    joined = client.post(str(link["value"]), data={"name": "Zoe", "password": PASSWORD})
    assert joined.headers["Location"] == "/"
    assert pages.table(operator.get("/site/accounts"), "Invitations")[0][3] == "Zoe (1 use of 5)"


def test_a_participant_gets_a_link_from_the_organiser(site: Site) -> None:
    """The page of a task's members makes links for plain participants and says where it may not."""
    organiser, page = site.browser("Olga"), "/tasks/robots/members"
    assert [row[1:3] for row in pages.table(organiser.get(page), "Members")] == [
        ["Owls", "captain"],
        ["Owls", "member"],
    ]
    shown = organiser.post(f"{page}/{site.world.berta}/link")
    link = pages.parsed(shown).find(id="link")
    assert link is not None
    assert browser(site.app).post(str(link["value"])).status_code == 303
    second_factor(site.database, site.world.berta)
    refused = organiser.post(f"{page}/{site.world.berta}/link")
    assert refused.status_code == 403
    assert "Only an operator" in pages.main(refused)


def test_an_account_is_exported_and_deleted(site: Site) -> None:
    """The account's page gives all as JSON, asks for the password and a tick, and signs out."""
    nina = site.browser("Nina")
    assert nina.get("/account/export.json").get_json()["account"][0]["name"] == "Nina"
    fields = pages.form(nina.get("/account"), "/account/delete")
    for wrong in ({"current": "wrong", "sure": "yes"}, {"current": PASSWORD, "sure": ""}):
        assert nina.post("/account/delete", data={**fields, **wrong}).status_code == 422
    gone = nina.post("/account/delete", data={"current": PASSWORD, "sure": "yes"})
    assert gone.status_code == 303
    assert nina.get("/account").status_code == 303
    account(site.database, "Nina")
    olga = site.browser("Olga")
    refused = olga.post("/account/delete", data={"current": PASSWORD, "sure": "yes"})
    assert (refused.status_code, "only organiser" in pages.main(refused)) == (409, True)
