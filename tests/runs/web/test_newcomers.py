"""How far it is for a newcomer from a board to a scored run: clicks and fields, counted."""

import io
from pathlib import Path

from bs4.element import Tag
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select
from werkzeug.test import TestResponse

from leaderboard.accounts.ops import invitations
from leaderboard.accounts.ops.invitations import InvitationRequest
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account, Task, Team
from tests.make import build, pages
from tests.make.people import PASSWORD, account
from tests.web.conftest import browser

MOST_CLICKS, MOST_FIELDS = 5, 3
RUN = b"1 Q0 a 1 2 tag\n2 Q0 d 1 2 tag\n3 Q0 e 1 2 tag\n"


def _invited(database: Database) -> str:
    """The address of an invitation to take part in the task t."""
    with database.write() as session:
        task_id = session.scalars(select(Task.id).where(Task.slug == "t")).one()
        asked = InvitationRequest(kind="task", task_id=task_id)
        return f"/join/{invitations.invite(session, OPERATOR, asked)}"


class Newcomer:
    """A browser that follows links and fills forms, and counts."""

    def __init__(self, client: FlaskClient) -> None:
        self.client, self.clicks, self.fields = client, 0, 0
        self.page: TestResponse

    def open(self, address: str) -> None:
        """Come to a page by its address."""
        self.page = self.client.get(address, follow_redirects=True)

    def click(self, words: str) -> None:
        """Follow the link with these words."""
        link = next(a for a in pages.parsed(self.page).find_all("a") if a.get_text(strip=True) == words)
        self.clicks += 1
        self.open(str(link["href"]))

    def send(self, button: str, **values: object) -> None:
        """Fill the form that has this button, and press it; a file is chosen, not typed."""
        found = next(
            b for b in pages.parsed(self.page).find_all("button") if b.get_text(strip=True) == button
        )
        form = found.find_parent("form")
        assert isinstance(form, Tag)
        address = str(form["action"])
        self.fields += sum(isinstance(value, str) for value in values.values())
        self.clicks += 1
        self.page = self.client.post(
            address, data={**pages.form(self.page, address), **values}, follow_redirects=True
        )
        assert self.page.status_code == 200, pages.main(self.page)


def test_a_newcomer_sends_a_run_in_few_clicks(app: Flask, database: Database, tmp_path: Path) -> None:
    """From the board to a scored run: one form for account and team, one for the run."""
    build.task(database, tmp_path)
    newcomer = Newcomer(browser(app))
    newcomer.open("/tasks/t")
    newcomer.click("Submit run")
    newcomer.send("Create account", name="Nora", password=PASSWORD, team="Newts")
    assert "Newts" in pages.main(newcomer.page)
    newcomer.send("Submit run", file=(io.BytesIO(RUN), "first.txt"))
    build.drain(database)
    [row] = newcomer.client.get("/tasks/t.json").json["rows"]
    assert (row["run"], row["team"], row["rank"]) == ("tag", "Newts", 1)
    assert newcomer.clicks <= MOST_CLICKS
    assert newcomer.fields <= MOST_FIELDS


def test_an_invitation_leads_to_a_scored_run(app: Flask, database: Database, tmp_path: Path) -> None:
    """One form for account and team, the page that asks for the first run, and its sample is a valid run."""
    build.task(database, tmp_path)
    newcomer = Newcomer(browser(app))
    newcomer.open(_invited(database))
    # Name and password are those of any account: the fields of the road are the team's and the file's.
    newcomer.send("Create account and join", name="Nora", password=PASSWORD)
    text = pages.main(newcomer.page)
    assert "Submit your first run" in text
    assert "Nora" in text, "the team of one"
    sample = newcomer.client.get("/tasks/t/sample-run").data
    newcomer.send("Submit run", file=(io.BytesIO(sample), "sample.txt"))
    build.drain(database)
    [row] = newcomer.client.get("/tasks/t.json").json["rows"]
    assert (row["run"], row["team"], row["rank"]) == ("sample", "Nora", 1)
    assert newcomer.clicks <= 3
    assert newcomer.fields - 2 <= 1
    assert "Submit your first run" not in newcomer.client.get("/tasks/t/submit").text


def test_an_account_without_a_team_names_one_where_it_joins(
    app: Flask, database: Database, tmp_path: Path
) -> None:
    """A name that is taken is said at the field, and nobody has joined; then the team is made."""
    build.task(database, tmp_path)
    build.team(database, "Newts")
    account(database, "Nora")
    path, client = _invited(database), browser(app)
    client.post("/sign-in", data={"name": "Nora", "password": PASSWORD})
    refused = client.post(path, data={"team": "newts"})
    assert refused.status_code == 409
    assert pages.form(refused, path) == {"team": "newts"}
    page = pages.parsed(refused)
    field = page.select_one("#team")
    assert field is not None
    assert field["aria-invalid"] == "true"
    assert "is taken" in page.select_one("#fault-team").get_text()  # type: ignore[union-attr]
    assert client.post(path, data={"team": "Efts"}).headers["Location"] == "/tasks/t/submit"
    assert "Efts" in pages.main(client.get("/tasks/t/submit"))


def test_a_name_that_a_team_has_makes_no_account(client: FlaskClient, database: Database) -> None:
    """Account and team are made together or not at all, and the form comes back with both names."""
    build.team(database, "Newts")
    response = client.post("/sign-up", data={"name": "Nora", "password": PASSWORD, "team": "newts"})
    assert response.status_code == 409
    assert pages.form(response, "/sign-up") == {
        "next": "/my",
        "name": "Nora",
        "password": "",
        "team": "newts",
    }
    with database.read() as session:
        assert session.scalar(select(func.count(Account.id))) == 0
        assert session.scalar(select(func.count(Team.id))) == 1


def test_who_was_here_before_is_asked_to_sign_in(
    client: FlaskClient, database: Database, tmp_path: Path
) -> None:
    """A browser known from before comes to the other form; each links to the other."""
    build.task(database, tmp_path)
    assert client.get("/tasks/t/submit").headers["Location"] == "/sign-up?next=/tasks/t/submit"
    client.set_cookie("device", "known")
    assert client.get("/tasks/t/submit").headers["Location"] == "/sign-in?next=/tasks/t/submit"
