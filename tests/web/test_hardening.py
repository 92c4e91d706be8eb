"""What no page, no method and no variable of the environment may change."""

import re

import pytest

from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from tests import ROOT
from tests.make.people import PASSWORD
from tests.web.conftest import Site
from tests.web.matrix import DRAFTS, MATRIX

GETS = sorted(path for method, path in {**MATRIX, **DRAFTS} if method == "GET")
STATIC = ("/static/app.css", "/static/app.js", "/static/icon.svg", "/nothing")
PASSWORD_FIELD = re.compile(r"<input[^>]*autocomplete=\"(?:current|new)-password\"[^>]*>")


def _addresses(site: Site) -> list[str]:
    return [path.format(**vars(site.world)) for path in GETS]


def test_no_answer_is_given_to_another_origin(site: Site) -> None:
    """No page names an origin that may read it, whoever asks, nor does the API to who asks with a token."""
    client = site.browser("Olga")
    for address in (*_addresses(site), *STATIC):
        headers = {"Origin": "https://evil.example"}
        if address.startswith("/api/v1"):
            headers["Authorization"] = "Bearer lb_p"
        response = client.get(address, headers=headers, buffered=True)
        assert not [name for name, _ in response.headers if name.startswith("Access-Control")], address


@pytest.mark.parametrize("address", ["/sign-out", "/account/sessions/end"])
def test_signing_out_empties_the_browsers_cache(site: Site, address: str) -> None:
    """Whoever comes next to this browser finds no page of before, nor does the button that goes back."""
    client = site.browser("Nina")
    assert client.get("/account").headers["Cache-Control"] == "no-store"
    assert client.post(address).headers["Clear-Site-Data"] == '"cache"'


@pytest.mark.parametrize("method", ["TRACE", "TRACK", "CONNECT", "PATCH", "DELETE", "PROPFIND"])
def test_methods_that_nobody_needs_are_refused(site: Site, method: str) -> None:
    """No page takes them, and nothing of the request comes back."""
    response = site.browser("Olga").open("/", method=method, headers={"X-Echo": "seen"})
    assert response.status_code in (403, 405)
    assert "seen" not in response.text


def test_debugging_cannot_be_switched_on_from_outside(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable meant for another Flask program changes nothing here."""
    monkeypatch.setenv("FLASK_DEBUG", "1")
    assert not create_app(settings, database).debug


def test_a_form_sets_what_it_asks_for_and_nothing_else(site: Site) -> None:
    """Fields that a form does not have are passed over: nobody makes an organiser of themselves."""
    client = site.browser()
    data = {
        "name": "Mallory",
        "password": PASSWORD,
        "is_organiser": "1",
        "account_id": "1",
        "role": "organiser",
    }
    assert client.post("/sign-up", data=data).status_code == 303
    assert client.get("/tasks/new").status_code == 403


def test_a_parameter_given_twice_is_the_first_one(site: Site) -> None:
    """What stands in the address never takes the place of what stands in the form."""
    client = site.browser("Nina")
    made = client.post("/teams?name=Address", data={"name": ["Form", "Second"]}, follow_redirects=True)
    assert "Form" in made.text
    assert "Address" not in made.text
    assert "Second" not in made.text


def test_password_fields_are_masked_and_known_to_password_managers() -> None:
    """Every field for a password is of that type, says which one it is, and takes what is pasted."""
    fields = 0
    for path in (ROOT / "templates" / "accounts").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        fields += len(PASSWORD_FIELD.findall(text))
        assert len(re.findall(r"type=\"password\"", text)) == len(PASSWORD_FIELD.findall(text)), path.name
        assert 'autocomplete="off"' not in text
    assert fields >= 4
    for script in (ROOT / "leaderboard" / "web" / "static").glob("*.js"):
        assert "paste" not in script.read_text(encoding="utf-8"), script.name
