"""Who may open which address: every route against every kind of viewer."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from flask import Flask

from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from leaderboard.web import rules
from tests.make import twins, worlds
from tests.web.conftest import SignIn, Site, browser
from tests.web.matrix import DRAFTS, MATRIX, VIEWERS

WRITTEN = {**MATRIX, **DRAFTS}
AS_JSON = {"Accept": "application/json"}
"""Asked for so that a visitor is answered rather than sent to the sign-in page."""


def test_every_form_lets_in_whom_it_should(site: Site) -> None:
    """Each form answers each kind of viewer with the status written down for it, on the site as it was."""
    cookies, faults = [site.browser(name).get_cookie("session") for name in VIEWERS], []
    as_built = twins.AsBuilt(site.database)
    for (method, path), statuses in WRITTEN.items():
        if method == "GET":
            continue
        address = path.format(**vars(site.world))
        answers = []
        for cookie in cookies:
            client = browser(site.app)
            if cookie is not None:
                client.set_cookie("session", cookie.value)
            answers.append(client.open(address, method=method, headers=AS_JSON).status_code)
        as_built.undo()
        if tuple(answers) != statuses:
            faults.append((method, path, answers, statuses))
    assert faults == []


def test_no_route_is_missing_here(site: Site) -> None:
    """Every route and method of the application has its line in the matrix, but operations of the API.

    Who may ask for these is tested for each token in tests/web/api.
    """
    adapter = site.app.url_map.bind("localhost")
    written = {
        (method, adapter.match(urlsplit(path.format(**vars(site.world))).path, method=method)[0])
        for method, path in MATRIX
    }
    routes = {
        (method, rule.endpoint)
        for rule in site.app.url_map.iter_rules()
        for method in (rule.methods or set()) & {"GET", "POST", "PUT", "PATCH", "DELETE"}
        if not rule.endpoint.startswith("api.")
    }
    assert routes - written == {("GET", "static")}


@pytest.mark.parametrize("path", ["/account", "/teams", "/tasks/new", "/tasks/robots/organise"])
def test_visitors_are_sent_to_sign_in_and_back(site: Site, path: str) -> None:
    """A visitor's browser is sent to the sign-in page with the way back."""
    response = site.browser().get(f"{path}?a=b")
    assert response.status_code == 303
    assert response.headers["Location"] == f"/sign-in?next={path}?a%3Db"


def test_a_route_without_a_rule_stops_the_start(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An application with an undeclared route is not made, and the message names the route."""
    register = rules.require_rules

    def with_stray(app: Flask) -> None:
        app.add_url_rule("/stray", view_func=lambda: "open")
        register(app)

    monkeypatch.setattr(rules, "require_rules", with_stray)
    with pytest.raises(RuntimeError, match="/stray"):
        create_app(settings, database)


def test_a_route_added_later_stays_shut(site: Site) -> None:
    """A route that slips in after the start without a rule is refused, not open."""
    app = create_app(site.settings, site.database)
    app.add_url_rule("/stray", view_func=lambda: "open")
    assert replace(site, app=app).browser("Olga").get("/stray").status_code == 403


@pytest.mark.trial
@pytest.mark.dialect
def test_every_page_opens_on_both_databases(
    app: Flask, database: Database, tmp_path: Path, sign_in: SignIn
) -> None:
    """The organiser and a member open every page they may on SQLite and PostgreSQL alike."""
    world = worlds.build(database, tmp_path)
    for place, name in ((3, "Berta"), (5, "Olga")):
        client = browser(app)
        sign_in(client, name)
        for (method, path), statuses in MATRIX.items():
            if method == "GET":
                answered = client.get(path.format(**vars(world)), headers=AS_JSON)
                assert answered.status_code == statuses[place], (name, path)
