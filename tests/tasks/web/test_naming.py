"""Pages of names and groups: an organiser gives pseudonyms and declares groups, a team makes a link."""

import re
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.make import build, people
from tests.web.conftest import SignIn, browser


@pytest.fixture
def site(app: Flask, database: Database, tmp_path: Path, sign_in: SignIn) -> tuple[FlaskClient, FlaskClient]:
    """The browsers of an organiser of a task with three runs, and of Ann of the Owls."""
    olga, ann = browser(app), browser(app)
    sign_in(olga, "Olga", is_organiser=True)
    people.team(database, "Owls", sign_in(ann, "Ann"))
    build.task(database, tmp_path, viewer=people.viewer(database, 1), measures=("AP",))
    for team, docnos in (("Owls", ["a"]), ("Bears", ["b", "a"]), ("Wolves", ["c"])):
        build.run(database, tmp_path, {"1": docnos}, f"run-of-{team}", team_name=team)
    build.drain(database)
    return olga, ann


def test_pseudonyms_are_given_kept_and_taken_back(
    site: tuple[FlaskClient, FlaskClient], client: FlaskClient
) -> None:
    """The organiser says that runs were seen; others read pseudonyms, and names come back."""
    olga, ann = site
    address = "/tasks/t/pseudonyms"
    refused = olga.post(address, data={"until": "team"})
    assert refused.status_code == 409
    assert "Confirm this to continue" in refused.text
    assert "Bears" in client.get("/tasks/t").text
    assert olga.post(address, data={"until": "team", "is_sure": ""}).status_code == 303
    board = client.get("/tasks/t").text
    assert not re.search("Owls|Bears|Wolves", board)
    rows = olga.get(f"{address}.csv").text.splitlines()
    assert len(rows) == 4
    assert {row.split(",")[1] for row in rows[1:]} == {"Owls", "Bears", "Wolves"}
    wrong = olga.post(address, data={"until": "date", "names_at": "soon"})
    assert (wrong.status_code, "must be a date" in wrong.text) == (422, True)
    assert olga.post(f"{address}/draw", data={"kind": "numbers"}).status_code == 409
    assert olga.post(f"{address}/draw", data={"kind": "numbers", "is_sure": ""}).status_code == 303
    assert re.search(r"T\d{3}-1", client.get("/tasks/t").text)
    assert "Others know this run as" in ann.get("/runs/1").text
    assert "Others know" not in client.get("/runs/1").text
    assert ann.post("/tasks/t/own-names/1/show").status_code == 303
    assert "Owls" in client.get("/tasks/t").text
    assert olga.post(f"{address}/take-back").status_code == 303
    assert "Bears" in client.get("/tasks/t").text


def test_a_link_for_reviewers_needs_no_account(
    site: tuple[FlaskClient, FlaskClient], client: FlaskClient
) -> None:
    """It is shown once, shows own runs by pseudonym, is kept by no search engine, and ends."""
    olga, ann = site
    olga.post("/tasks/t/pseudonyms", data={"until": "close", "is_sure": ""})
    assert ann.post("/tasks/t/own-names/1/links", data={"days": "0"}).status_code == 422
    made = ann.post("/tasks/t/own-names/1/links", data={"days": "30", "note": "SIGIR"})
    assert made.status_code == 201
    found = re.search(r"/review/[\w-]+", made.text)
    assert found is not None
    page = client.get(found[0])
    assert (page.status_code, page.headers["X-Robots-Tag"], page.headers["Cache-Control"]) == (
        200,
        "noindex",
        "no-store",
    )
    assert "Owls" not in page.text
    assert len(re.findall(r"<th scope=\"row\">\w+-1</th>", page.text)) == 1
    own = ann.get("/tasks/t/own-names").text
    assert found[0] not in own
    assert "SIGIR" in own
    assert ann.post("/tasks/t/own-names/1/links/1/end").status_code == 303
    assert client.get(found[0]).status_code == 404


def test_a_group_has_a_board_of_its_own(site: tuple[FlaskClient, FlaskClient], client: FlaskClient) -> None:
    """Declared by ticking teams; the board links it, in every form, and says what it may say."""
    olga, _ = site
    empty = olga.post("/tasks/t/groups", data={"name": "students"})
    assert (empty.status_code, "Choose at least one team" in empty.text) == (422, True)
    assert olga.post("/tasks/t/groups", data={"name": "students", "teams": "x"}).status_code == 422
    assert "Groups" not in client.get("/tasks/t").text
    assert olga.post("/tasks/t/groups", data={"name": "students", "teams": ["1", "3"]}).status_code == 303
    assert 'href="/tasks/t?group=students"' in client.get("/tasks/t").text
    board = client.get("/tasks/t?group=students")
    assert "without significance tests" in board.text
    rows = client.get("/tasks/t.json?group=students").get_json()
    assert (rows["group"], [row["team"] for row in rows["rows"]]) == ("students", ["Owls", "Wolves"])
    assert client.get("/tasks/t?group=nothing").status_code == 404
    assert "students" in olga.get("/tasks/t/groups").text
    assert olga.post("/tasks/t/groups/1/remove").status_code == 303
    assert client.get("/tasks/t?group=students").status_code == 404
