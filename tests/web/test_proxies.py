"""Whose word is taken for who asks, and what is kept between the site and a reader."""

from dataclasses import replace

import pytest

from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.settings import Settings
from tests.web.conftest import Site, browser


def test_pages_of_personal_addresses_are_not_stored(site: Site) -> None:
    """What an address with a token shows is kept by no cache, though no cookie came along."""
    world = site.world
    for address in (f"/sign-in/{world.link}", f"/judge/{world.judge}", f"/join/{world.invitation}"):
        assert site.browser().get(address).headers["Cache-Control"] == "no-store", address


@pytest.mark.trial
def test_only_a_proxys_word_is_taken_for_who_asks(settings: Settings, database: Database) -> None:
    """X-Forwarded-For counts from a trusted proxy; others are counted by their real address."""
    app = create_app(
        replace(settings, public_url="http://localhost", trusted_proxies="192.0.2.0/28"), database
    )
    client, data = browser(app), {"name": "Nobody", "password": "wrong"}

    def tried(peer: str, number: int) -> int:
        return client.post(
            "/sign-in",
            data={**data, "name": f"{data['name']} {number}"},
            headers={"X-Forwarded-For": f"198.51.100.{number}"},
            environ_base={"REMOTE_ADDR": peer},
        ).status_code

    assert [tried("192.0.2.9", number) for number in range(32)] == [422] * 32
    assert [tried("::ffff:192.0.2.9", number) for number in range(40, 72)] == [422] * 32
    assert [tried("203.0.113.9", number) for number in range(32)] == [422] * 30 + [429] * 2


def test_a_proxy_that_is_no_address_stops_the_start(settings: Settings, database: Database) -> None:
    """The message names the setting and the value."""
    with pytest.raises(Invalid, match=r"LEADERBOARD_TRUSTED_PROXIES contains 'proxy'"):
        create_app(replace(settings, public_url="https://a.example", trusted_proxies="::1, proxy"), database)
