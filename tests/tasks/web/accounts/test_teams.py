"""Teams in a browser: made, joined by an invitation, left."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from leaderboard.tasks.web import teams
from tests.make import build, pages
from tests.make.people import account, team
from tests.web.conftest import SignIn, browser


def _make_team(client: FlaskClient, name: str = "Owls") -> str:
    fields = {**pages.form(client.get("/teams"), "/teams"), "name": name}
    made = client.post("/teams", data=fields)
    assert made.status_code == 303
    return made.headers["Location"]


def test_a_team_is_made_and_joined(app: Flask, client: FlaskClient, sign_in: SignIn) -> None:
    """A captain's invitation link, shown once, lets one other account in."""
    sign_in(client, "Anna")
    address = _make_team(client)
    shown = client.post(f"{address}/invitations")
    link = pages.parsed(shown).find(id="invitation")
    assert link is not None
    path = urlsplit(str(link["value"])).path
    assert path not in client.get(address).text
    joining = browser(app)
    sign_in(joining, "Bert")
    assert joining.get(address).status_code == 404
    assert "Join team Owls" in pages.main(joining.get(path))
    assert joining.post(path).headers["Location"] == address
    assert [row[:2] for row in pages.table(joining.get(address), "Members")] == [
        ["Anna", "captain"],
        ["Bert", "member"],
    ]
    assert joining.get(path).status_code == 404


def test_the_way_back_from_making_a_team(client: FlaskClient, sign_in: SignIn) -> None:
    """Whoever came from an upload form to make a team is sent back to the form, and nowhere else."""
    sign_in(client, "Anna")
    fields = pages.form(client.get("/teams?next=/tasks/robots/submit"), "/teams")
    made = client.post("/teams", data={**fields, "name": "Owls"})
    assert made.headers["Location"] == "/tasks/robots/submit"
    evil = client.post("/teams", data={"name": "Bears", "next": "//evil.example"})
    assert evil.headers["Location"].startswith("/teams/")


def test_a_taken_team_name_is_said(client: FlaskClient, sign_in: SignIn) -> None:
    """A second team of the same name is refused on the form, with the name kept."""
    sign_in(client, "Anna")
    _make_team(client)
    refused = client.post("/teams", data={"name": "OWLS"})
    assert refused.status_code == 409
    assert pages.form(refused, "/teams")["name"] == "OWLS"
    assert "is taken, or looks like one" in pages.main(refused)


def test_the_captain_removes_a_member(app: Flask, client: FlaskClient, sign_in: SignIn) -> None:
    """The captain's page has a button for each other member, and it puts that member out."""
    sign_in(client, "Anna")
    address = _make_team(client)
    link = pages.parsed(client.post(f"{address}/invitations")).find(id="invitation")
    assert link is not None
    other = browser(app)
    bert = sign_in(other, "Bert")
    other.post(urlsplit(str(link["value"])).path)
    assert "Remove" not in pages.main(other.get(address))
    action = f"{address}/members/{bert}/remove"
    pages.form(client.get(address), action)
    assert client.post(action).status_code == 303
    assert other.get(address).status_code == 404


def test_the_last_member_cannot_leave(client: FlaskClient, sign_in: SignIn) -> None:
    """Leaving a team as its last member is refused in a sentence."""
    sign_in(client, "Anna")
    address = _make_team(client)
    refused = client.post(f"{address}/leave")
    assert refused.status_code == 409
    assert "last member" in pages.main(refused)


def test_taken_team_names_cost_what_free_ones_do(
    client: FlaskClient, database: Database, sign_in: SignIn
) -> None:
    """Whether a name is taken can be asked as often as teams may be made, and no more."""
    team(database, "Owls", account(database, "Bert"))
    sign_in(client, "Anna")
    tries = [client.post("/teams", data={"name": "owls"}).status_code for _ in range(22)]
    assert tries == [409] * 20 + [429] * 2


def test_a_team_says_who_it_is(client: FlaskClient, database: Database, sign_in: SignIn) -> None:
    """Details with a link that lends no rank, a new name, a wrong one with its rule, a taken name."""
    sign_in(client, "Anna")
    owls = _make_team(client)
    details = {"affiliation": "Nest", "country": "Norway", "home_page": "https://example.org/owls"}
    assert client.post(f"{owls}/details", data=details).status_code == 303
    link = pages.parsed(client.get(owls)).find("a", href="https://example.org/owls")
    assert link is not None
    assert link["rel"] == ["ugc", "nofollow"]
    wrong = client.post(f"{owls}/details", data={**details, "home_page": "http://example.org"})
    assert wrong.status_code == 422
    assert "begins with https://" in pages.main(wrong)
    client.post(f"{owls}/details", data={"name": "Snowy Owls"})
    team(database, "Bears", account(database, "Bert"))
    assert client.post(f"{owls}/details", data={"name": "bears"}).status_code == 409


def test_members_agree_to_runs_that_were_filed_for_their_team(
    app: Flask, database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """My page leads to the team's, where one button shows them to others; their pages say who filed them."""
    anna = sign_in(client, "Anna")
    owls = team(database, "Owls", anna)
    build.task(database, tmp_path)
    run_id = build.run(database, tmp_path, {"1": ["a"]}, "filed", team_name="Owls", as_operator=True)
    stranger = browser(app)
    for asker in (stranger, client):
        said = "Filed by the organisers of Task t, not submitted by the team."
        assert said in pages.main(asker.get(f"/runs/{run_id}"))
        assert said in pages.main(asker.get(f"/runs/{run_id}/origin"))
    assert "/sign-in" in stranger.get(f"/teams/{owls}").headers["Location"]
    assert "The organisers of Task t filed 1 run for Owls." in pages.main(client.get("/my"))
    shown = client.get(f"/teams/{owls}")
    assert "no member submitted them" in pages.main(shown)
    answer = client.post(f"/teams/{owls}/filed/t", data=pages.form(shown, f"/teams/{owls}/filed/t"))
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/teams/{owls}")
    assert "no member submitted them" not in pages.main(client.get(f"/teams/{owls}"))
    (row,) = pages.table(stranger.get(f"/teams/{owls}"), "Runs")
    assert row[:4] == ["filed", "Task t", "official", "by the organisers"]
    assert "filed for Owls" not in pages.main(client.get("/my"))


def test_many_runs_are_cut_until_all_are_asked_for(
    client: FlaskClient, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A team that took part for years has a thousand runs: the first rows and a link to all of them."""
    monkeypatch.setattr(teams, "ROWS_AT_FIRST", 2)
    build.task(database, tmp_path)
    for name in ("a", "b", "c"):
        build.run(database, tmp_path, {"1": [name]}, name, team_name="Nobody")
    cut = client.get("/teams/1")
    assert [row[0] for row in pages.table(cut, "Runs")] == ["c", "b"]
    (everything,) = pages.parsed(cut).find_all("a", string="All 3 runs")
    whole = client.get(str(everything["href"]))
    assert [row[0] for row in pages.table(whole, "Runs")] == ["c", "b", "a"]
    assert "All 3 runs" not in pages.main(whole)


def test_a_team_without_accounts_is_called_so(
    client: FlaskClient, database: Database, tmp_path: Path
) -> None:
    """Nobody is spoken for by its runs, so its page shows them."""
    build.task(database, tmp_path)
    run_id = build.run(database, tmp_path, {"1": ["a"]}, "filed", team_name="Nobody")
    shown = pages.main(client.get(f"/runs/{run_id}"))
    assert "Filed by the organisers of Task t, not submitted by the team, which has no accounts." in shown
    assert "Team without members" in pages.main(client.get("/teams/1"))
