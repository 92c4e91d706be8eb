"""Invitation links in a browser: opened by strangers and accounts, where sign-up is open or not."""

from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from leaderboard.accounts.ops import invitations
from leaderboard.settings import Settings
from leaderboard.web import session as web_session
from tests.make import pages
from tests.make.people import PASSWORD, invitation
from tests.web.conftest import Site, browser


def _set(site: Site, sign_up: str) -> None:
    """Let the site's sign-up be otherwise from now on."""
    settings: Settings = replace(site.settings, sign_up=sign_up)
    site.app.extensions[web_session.EXTENSION] = web_session.Site(settings, site.database, lambda: None)


def _join(client: FlaskClient, path: str, name: str = "Newcomer", password: str = PASSWORD) -> int:
    return client.post(path, data={"name": name, "password": password}).status_code


def test_the_link_is_the_account(site: Site) -> None:
    """A stranger reads who invites, where to and why, makes an account on that page and lands in the team."""
    token = invitation(site.database, site.world.anna, team_id=site.world.owls, note="For our paper.")
    path, client = f"/join/{token}", browser(site.app)
    shown = client.get(path)
    text = pages.main(shown)
    for words in ("Join team Owls", "Anna invites you", "For our paper.", "is valid until"):
        assert words in text, words
    assert shown.headers["Cache-Control"] == "no-store"
    fields = pages.form(shown, path)
    refused = client.post(path, data={**fields, "name": "Newcomer", "password": "short"})
    assert refused.status_code == 422
    assert pages.form(refused, path) == {"name": "Newcomer", "password": ""}
    taken = client.post(path, data={"name": "Anna", "password": PASSWORD})
    assert taken.status_code == 409
    joined = client.post(path, data={**fields, "name": "Newcomer", "password": PASSWORD})
    assert joined.headers["Location"] == f"/teams/{site.world.owls}"
    team = client.get(joined.headers["Location"])
    assert ["Newcomer", "member"] in [row[:2] for row in pages.table(team, "Members")]
    assert pages.table(team, "Invitations")[0][3] == "Newcomer (1 use of 1)"
    assert "maximum number of uses" in pages.main(browser(site.app).get(path))


def test_an_account_just_confirms(site: Site) -> None:
    """Who has an account is led to sign in and back, and then asked for nothing but a button."""
    path = f"/join/{site.world.invitation}"
    signing_in = next(
        str(link["href"])
        for link in pages.parsed(browser(site.app).get(path)).select("main a")
        if "sign-in" in str(link["href"])
    )
    assert signing_in == f"/sign-in?next={path}"
    assert "Sign in to accept an invitation" in pages.main(browser(site.app).get(signing_in))
    client = site.browser("Nina")
    assert pages.form(client.get(path), path) == {}
    assert client.post(path).headers["Location"] == f"/teams/{site.world.owls}"


def test_unknown_links_and_guesses_look_alike(site: Site) -> None:
    """A token that nobody made has one answer, with or without an account, whatever is sent to it."""
    told = set()
    for client in (site.browser(), site.browser("Nina")):
        for path in ("/join/nonsense", "/join/" + "x" * 43):
            shown = client.get(path)
            assert (shown.status_code, _join(client, path)) == (404, 404)
            told.add(pages.main(shown))
    assert len(told) == 1
    assert invitations.DEAD[""] in told.pop()


def test_sign_up_follows_its_setting(site: Site) -> None:
    """By invitation only the link makes accounts; closed nothing does; each page says so."""
    path = f"/join/{site.world.invitation}"
    _set(site, "invitation")
    client = site.browser()
    for method in ("GET", "POST"):
        answer = client.open("/sign-up", method=method, data={"name": "Nobody", "password": PASSWORD})
        assert (answer.status_code, "by invitation" in pages.main(answer)) == (403, True)
    assert "Registration is by invitation" in pages.main(client.get("/sign-in"))
    _set(site, "closed")
    assert "Registration is closed" in pages.main(client.get("/sign-in"))
    assert "Registration is closed" in pages.main(client.get(path))
    assert [client.get("/sign-up").status_code, _join(client, path)] == [403, 403]
    _set(site, "invitation")
    assert _join(client, path) == 303


def test_links_are_made_and_withdrawn_on_the_page_of_the_team(site: Site) -> None:
    """The form says what is wrong; the list has a button that ends a link and comes back to the page."""
    client, team = site.browser("Anna"), f"/teams/{site.world.owls}"
    for wrong in ({"uses": "51"}, {"uses": "0"}, {"days": "400"}, {"uses": "x"}):
        assert client.post(f"{team}/invitations", data=wrong).status_code == 422, wrong
    assert client.post(f"{team}/invitations", data={"uses": "3", "days": "2"}).status_code == 201
    shown = client.get(team)
    assert pages.table(shown, "Invitations")[0][3] == "no one yet (0 uses of 3)"
    action = f"/invitations/{site.world.invited}/revoke"
    ended = client.post(action, data=pages.form(shown, action))
    assert ended.headers["Location"] == team
    assert pages.table(client.get(team), "Invitations")[1][1] == "withdrawn"
    assert "was revoked" in pages.main(browser(site.app).get(f"/join/{site.world.invitation}"))


@pytest.mark.parametrize(
    ("target", "heading"),
    [
        ("/tasks/robots/submit", "Sign in to submit a run to Robots"),
        ("/tasks/draft/submit", "Sign in to submit a run"),
        ("/tasks/nothing/submit", "Sign in to submit a run"),
        ("/teams/1", "Sign in to see your team"),
        ("/tasks/new", "Sign in to create a task"),
        ("/nowhere", "Sign in"),
    ],
)
def test_the_sign_in_page_says_what_for(site: Site, target: str, heading: str) -> None:
    """The page that somebody was sent from is named in words, drafts as what does not exist."""
    shown = pages.parsed(site.browser().get("/sign-in", query_string={"next": target})).find("h1")
    assert shown is not None
    assert shown.get_text(strip=True) == heading
