"""Under which names the site is answered, and what of its addresses must stay secret."""

from dataclasses import replace

import pytest

from leaderboard.accounts.ops import accounts
from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from tests.web.conftest import Site, browser


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("evil.example", 400),
        ("127.0.0.1.evil.example:8000", 400),
        ("localhost.evil.example", 400),
    ],
)
def test_loopback_answers_to_its_own_names(site: Site, host: str, status: int) -> None:
    """A name that a page elsewhere makes lead to this machine is not answered."""
    assert site.browser().get("/", headers={"Host": host}).status_code == status


def test_loopback_answers_to_names_that_are_set(settings: Settings, database: Database) -> None:
    """A name in TRUSTED_HOSTS is answered on loopback too."""
    client = browser(create_app(replace(settings, trusted_hosts="lb.example"), database))
    assert client.get("/", headers={"Host": "lb.example"}).status_code == 200
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400


def test_pages_of_secret_links_are_kept_by_no_cache(site: Site) -> None:
    """A page whose address signs somebody in is not stored, with or without a cookie."""
    with site.database.write() as session:
        token = accounts.sign_in_link(session, accounts.find(session, "Olga"))
    answer = site.browser().get(f"/sign-in/{token}")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
