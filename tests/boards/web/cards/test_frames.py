"""The bare board: what it shows, who may frame it, and that it is the only page anybody may frame."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from leaderboard.tasks.ops import settings
from leaderboard.web.http import POLICY
from tests.make import blind
from tests.make.pages import main, parsed
from tests.scoring.ops.statistics.test_standings import fill
from tests.web.conftest import SignIn

SITES = "https://Example.org/\nhttps://*.wiki.example:8443"


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def let(database: Database, frames: str) -> None:
    """Set who may frame the board of task `t`."""
    with database.write() as session:
        settings.change_settings(session, OPERATOR, "t", {"frames": frames})


def test_it_shows_the_first_runs_by_one_measure(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Rank ranges, names, teams and scores, marks of the best, and how many runs more there are."""
    fill(database, tmp_path)
    page = parsed(client.get("/tasks/t/embed?rows=2"))
    rows = [
        [cell.get_text(strip=True) for cell in row.find_all(["td", "th"])] for row in page.select("tbody tr")
    ]
    assert rows == [["1–2", "strong●", "Team", "0.9500"], ["1–2", "alike●", "Team", "0.9000"]]
    assert "10 topics, qrels revision 1 · 2 more runs" in main(client.get("/tasks/t/embed?rows=2"))
    assert page.caption is not None
    assert "with rank ranges; ● may be the best." in page.caption.get_text()
    other = parsed(client.get("/tasks/t/embed?measure=NumRelRet"))
    assert [head.get_text(strip=True) for head in other.select("thead th")][-1] == "NumRelRet"
    assert client.get("/tasks/t/embed?measure=nonsense").status_code == 422


@pytest.mark.parametrize(("asked", "listed"), [("0", 1), ("999", 4), ("nonsense", 4), ("-1", 4), ("3", 3)])
def test_any_number_of_rows_gives_a_board(
    database: Database, client: FlaskClient, tmp_path: Path, asked: str, listed: int
) -> None:
    """At least one, at most fifty, ten where it is no number."""
    fill(database, tmp_path)
    assert len(parsed(client.get(f"/tasks/t/embed?rows={asked}")).select("tbody tr")) == listed


def test_every_link_leaves_the_frame_and_nothing_else_is_there(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """No script, no form, no cookie; links open the site in the whole window."""
    fill(database, tmp_path)
    response = client.get("/tasks/t/embed")
    page = parsed(response)
    assert len(page.find_all("a")) > 4
    assert {link.get("target") for link in page.find_all("a")} == {"_top"}
    assert page.find_all(["script", "form", "button", "input"]) == []
    assert "Set-Cookie" not in response.headers


def test_nobody_may_frame_it_until_a_site_is_named_and_then_only_it(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """The policy names the sites, at once, kept or not; every other page stays as it was."""
    fill(database, tmp_path)
    assert client.get("/tasks/t/embed").headers["Content-Security-Policy"] == POLICY
    let(database, SITES)
    named = POLICY.replace("'none'; base", "https://example.org https://*.wiki.example:8443; base")
    for _ in range(2):
        assert client.get("/tasks/t/embed").headers["Content-Security-Policy"] == named
    for other in ("/tasks/t", "/tasks/t/about", "/", "/tasks/t/badge.svg"):
        assert client.get(other).headers["Content-Security-Policy"] == POLICY
    let(database, "")
    assert client.get("/tasks/t/embed").headers["Content-Security-Policy"] == POLICY


@pytest.mark.parametrize(
    "frames",
    [
        "example.org",
        "https://example.org/path",
        "https://example.org; script-src *",
        "https://a.org 'unsafe-inline'",
        "javascript://a.org",
        "https://a.org:123456",
        "https://-a.org",
        "https://*",
        "https://a.*.org",
        "https://user@a.org",
        "\n".join(f"https://a{number}.org" for number in range(21)),
    ],
)
def test_what_is_no_origin_is_refused(database: Database, tmp_path: Path, frames: str) -> None:
    """So that nothing but sources of frames gets into the policy."""
    fill(database, tmp_path)
    with pytest.raises(Invalid, match="settings were not saved"):
        let(database, frames)


def test_it_shows_what_a_visitor_may_see_whoever_asks(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn
) -> None:
    """A member of a blind task's team gets the visitor's board; of a sealed one there are no rows."""
    blind.task(database, tmp_path)
    public = client.get("/tasks/t/embed").data
    sign_in(client, "Ann")
    assert client.get("/tasks/t/embed").data == public
    blind.settle(database, visibility="sealed")
    page = parsed(client.get("/tasks/t/embed"))
    assert page.select("tbody tr") == []
    assert "held back" in main(client.get("/tasks/t/embed")) or "until" in main(client.get("/tasks/t/embed"))


def test_the_frame_to_paste_is_offered_where_some_site_may_show_it(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """On the About page, with the sites that may; not before."""
    fill(database, tmp_path)
    assert "<iframe" not in main(client.get("/tasks/t/about"))
    let(database, "*")
    text = main(client.get("/tasks/t/about"))
    assert '<iframe src="http://localhost/tasks/t/embed" title="Board of Task t" width="640"' in text
    assert "allowed on any site" in text
