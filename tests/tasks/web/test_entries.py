"""TeamEntering a task in a browser: the page, the organisers' list, and what the upload page says."""

from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Task, TaskRole
from leaderboard.tasks.ops import entries
from tests.make import build, pages
from tests.make.people import team
from tests.web.conftest import SignIn, browser

ENTER, SEND, LIST = "/tasks/t/enter", "/tasks/t/submit", "/tasks/t/entries"


@pytest.fixture
def olga(app: Flask, database: Database, tmp_path: Path, sign_in: SignIn) -> FlaskClient:
    """The organiser of task `t`."""
    build.task(database, tmp_path)
    client = browser(app)
    organiser = sign_in(client, "Olga", is_organiser=True)
    with database.write() as session:
        session.add(TaskRole(task_id=1, account_id=organiser, role="organiser"))
    return client


@pytest.fixture
def ann(client: FlaskClient, database: Database, sign_in: SignIn) -> FlaskClient:
    """Ann, whose team is Owls, number 1."""
    team(database, "Owls", sign_in(client, "Ann"))
    return client


def _rules(database: Database, **values: object) -> None:
    with database.write() as session:
        session.execute(update(Task).values(**values))


def test_a_team_asks_and_an_organiser_decides(
    olga: FlaskClient, ann: FlaskClient, database: Database
) -> None:
    """Link, form, waiting, refused with a reason, accepted; who agreed to what and when is in the list."""
    _rules(database, entry_rule="approval", agreement="*Be kind.*", agreement_version=3)
    assert "has not entered the task" in pages.main(ann.get(SEND))
    assert not pages.parsed(ann.get(SEND)).find("form", action=SEND)
    assert "Be kind." in pages.main(ann.get(ENTER))
    fields = pages.form(ann.get(f"{ENTER}?team=1"), ENTER)
    assert (fields["team_id"], "agreed" in fields) == ("1", False)
    agreed = pages.parsed(ann.get(f"{ENTER}?team=1")).find("input", attrs={"name": "agreed"})
    fields["agreed"] = agreed["value"]  # type: ignore[index]
    refused = ann.post(ENTER, data={"team_id": "1"})
    assert refused.status_code == 422
    assert "version 3" in pages.main(refused)
    assert ann.post(ENTER, data=fields).headers["Location"] == ENTER
    assert "have not decided yet" in pages.main(ann.get(ENTER))
    assert not pages.parsed(ann.get(ENTER)).find("form", action=ENTER)
    assert "1 team waits for approval" in pages.main(olga.get("/tasks/t/organise"))
    [row] = pages.table(olga.get(LIST), "Teams in")
    assert (row[0], row[1], row[4]) == ("Owls", "waiting", "3")
    assert olga.post(f"{LIST}/1", data={}).status_code == 422
    olga.post(f"{LIST}/1", data={"why": "Who are you?"})
    assert "Who are you?" in pages.main(ann.get(SEND))
    assert olga.post(f"{LIST}/1", data={"accept": "on"}).headers["Location"] == LIST
    assert pages.parsed(ann.get(SEND)).find("form", action=SEND)
    text = olga.get(f"{LIST}.csv").text
    assert text.startswith("team,state,affiliation,why,agreed,agreed_at,agreed_by,since,pseudonym,runs")
    assert "Owls,entered,,,3,20" in text
    assert ",Ann," in text
    [fact] = olga.get(f"{LIST}.json").json["entries"]  # type: ignore[index]
    assert (fact["team"], fact["agreed"], fact["agreed_by"]) == ("Owls", 3, "Ann")


def test_a_code_lets_in_and_is_not_guessed(olga: FlaskClient, ann: FlaskClient, database: Database) -> None:
    """A wrong code is refused and counted, the right one leads to the upload page; the page never has it."""
    _rules(database, entry_rule="code", entry_code="owl-42")
    assert "owl-42" not in ann.get(ENTER).text
    for _ in range(entries.CODES_AN_HOUR - 1):
        wrong = ann.post(ENTER, data={"team_id": "1", "code": "guess"})
        assert wrong.status_code == 403
    assert "The code is wrong" in pages.main(wrong)
    assert ann.post(ENTER, data={"team_id": "1", "code": "owl-42"}).headers["Location"] == SEND
    assert ann.post(ENTER, data={"team_id": "1", "code": "owl-42"}).status_code == 429


def test_what_visitors_and_free_tasks_show(
    olga: FlaskClient, ann: FlaskClient, app: Flask, database: Database
) -> None:
    """A visitor reads the rule and is led to an account; a free task is entered by the first run."""
    visitor = browser(app)
    assert "A team enters with its first run" in pages.main(visitor.get(ENTER))
    assert "Enter this task" not in pages.main(visitor.get("/tasks/t/about"))
    _rules(database, entry_rule="approval")
    assert "Teams ask to enter" in pages.main(visitor.get("/tasks/t/about"))
    links = {str(link.get("href")) for link in pages.parsed(visitor.get(ENTER)).find_all("a")}
    assert f"/sign-up?next={ENTER}" in links
    assert ann.get(LIST).status_code == 403


def test_the_judged_topics_are_scored_by_a_button(
    olga: FlaskClient, database: Database, tmp_path: Path
) -> None:
    """The page offers it where topics are not judged, says what it did, and takes it back."""
    desk, button = "/tasks/t/organise", "Score only judged topics"
    assert button not in pages.main(olga.get(desk))
    build.revise(database, tmp_path, {"1": {"a": 1}, "2": {"a": 1}})
    assert "2 of 3 topics are judged" in pages.main(olga.get(desk))
    olga.post(f"{desk}/topics/judged")
    assert "Only judged topics are scored" in pages.main(olga.get(desk))
    assert "3 topics, of which 2 are scored" in pages.main(olga.get(SEND))
    olga.post(f"{desk}/topics/all")
    assert button in pages.main(olga.get(desk))
