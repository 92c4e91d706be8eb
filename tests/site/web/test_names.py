"""The site's own name, sentence and logo on its pages."""

from dataclasses import replace
from pathlib import Path

import pytest

from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.settings import Settings
from tests.make import pages
from tests.web.conftest import browser

LOGO = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


def test_a_site_has_its_own_name_sentence_and_logo(
    settings: Settings, database: Database, tmp_path: Path
) -> None:
    """In the menu, the titles and on the first page; the software keeps its name in the footer."""
    logo = tmp_path / "logo.svg"
    logo.write_text(LOGO)
    named = replace(settings, site_name="IR <Lab>", site_about="Tasks on news.", site_logo=str(logo))
    client = browser(create_app(named, database))
    home = client.get("/")
    page = pages.parsed(home)
    assert page.title is not None
    assert page.title.get_text() == "Tasks · IR <Lab>"
    assert "Tasks on news." in pages.main(home)
    assert "IR <Lab>: Tasks on news." in pages.main(client.get("/nothing"))
    picture = page.select_one("header img")
    assert picture is not None
    with client.get(str(picture["src"])) as sent:
        assert (sent.mimetype, sent.get_data(as_text=True)) == ("image/svg+xml", LOGO)
    assert "Leaderboard" in page.select("footer")[0].get_text()


def test_without_settings_there_is_no_logo(settings: Settings, database: Database) -> None:
    """Nor an address of one."""
    client = browser(create_app(settings, database))
    assert pages.parsed(client.get("/")).select("header img") == []
    assert client.get("/static/site-logo.svg").status_code == 404


@pytest.mark.parametrize(
    ("name", "says"), [("logo.svg", "cannot be read"), ("logo.html", "must be the path")]
)
def test_a_logo_that_is_none_stops_the_start(
    settings: Settings, database: Database, tmp_path: Path, name: str, says: str
) -> None:
    """The message names the setting and the file."""
    wrong = replace(settings, site_logo=str(tmp_path / name))
    with pytest.raises(Invalid, match=f"LEADERBOARD_SITE_LOGO.*{says}|{name}.*LEADERBOARD_SITE_LOGO {says}"):
        create_app(wrong, database)


def test_an_empty_site_leads_on(settings: Settings, database: Database) -> None:
    """A visitor to the help and to sign in."""
    links = [
        str(link["href"])
        for link in pages.parsed(browser(create_app(settings, database)).get("/")).select("main a")
    ]
    assert links == ["/help", "/sign-in"]
