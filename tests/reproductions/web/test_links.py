"""Saying what a run reproduces: by the form, with a file, by the API and by a command."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from leaderboard.cli import main
from leaderboard.db.engine import Database
from leaderboard.db.tables import Reproduction, Run, TaskRole
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.ops import OriginalRuns
from leaderboard.settings import Settings
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main as text_of
from tests.make.pages import parsed
from tests.reproductions import make as reproduced
from tests.reproductions.make import Reproduced
from tests.web.conftest import SignIn


@pytest.fixture
@built_once
def made(database: Database, tmp_path: Path) -> Reproduced:
    """Runs of two tasks, of which nothing is said yet."""
    return reproduced.runs(database, tmp_path)


@pytest.fixture
def olga(client: FlaskClient, database: Database, made: Reproduced, sign_in: SignIn) -> FlaskClient:
    """The browser of the organiser of the first task."""
    account_id = sign_in(client, "Olga", is_organiser=True)
    with database.write() as session:
        task_id = session.scalars(select(Run.task_id).where(Run.id == made.new)).one()
        session.add(TaskRole(task_id=task_id, account_id=account_id, role="organiser"))
    return client


def said(database: Database) -> dict[int, OriginalRuns]:
    """What is stored."""
    with database.read() as session:
        return {row.run_id: reproductions.stored(row) for row in session.query(Reproduction)}


def test_the_form_says_it_and_takes_it_back(olga: FlaskClient, database: Database, made: Reproduced) -> None:
    """A number or the address of a page; a button takes it back, and there is nothing to take back twice."""
    address = f"/runs/{made.new_again}/reproduces"
    fields = {"original": f"http://localhost/runs/{made.new}", "original_baseline": str(made.base)}
    assert olga.post(address, data={**fields, "baseline": str(made.base_again)}).status_code == 303
    assert said(database) == {made.new_again: made.reproduced}
    page = parsed(olga.get(address))
    assert [str(field["value"]) for field in page.select("main input[inputmode]")] == [
        *(str(made.new), str(made.base), str(made.base_again))
    ]
    assert "Reproduces new" in text_of(olga.get(f"/runs/{made.new_again}"))
    assert "Reproduced by new-again" in text_of(olga.get(f"/runs/{made.new}"))
    assert olga.post(address, data={}).status_code == 422
    (back,) = page.select("form[action$=delete]")
    for status in (303, 409):
        assert olga.post(str(back["action"])).status_code == status
        assert said(database) == {}
    assert not parsed(olga.get(address)).select("form[action$=delete]")


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"original": "bm25"}, "must be the number of a run"),
        ({"baseline": "1"}, "is missing"),
        ({"original": "999"}, "is not a run on this site that you can see"),
        ({"original": "4"}, "is the run itself"),
    ],
)
def test_a_wrong_form_is_shown_again(
    olga: FlaskClient, database: Database, made: Reproduced, fields: dict[str, str], rule: str
) -> None:
    """With the rule, and with what was typed; nothing is stored."""
    assert made.new_again == 4
    response = olga.post(f"/runs/{made.new_again}/reproduces", data=fields)
    assert response.status_code == 422
    assert rule in text_of(response)
    ((name, typed),) = fields.items()
    assert [str(field["value"]) for field in parsed(response).select(f"#reproduces-{name}")] == [typed]
    assert said(database) == {}


def test_the_form_that_sends_a_run_says_it_too(
    olga: FlaskClient, database: Database, made: Reproduced, tmp_path: Path
) -> None:
    """By the address of a page; a baseline alone is refused at the field that lacks."""
    assert olga.post("/teams", data={"name": "Again"}).status_code == 303
    address, file = "/tasks/t/submit", build.run_file(tmp_path, reproduced.NEW_AGAIN)
    team = parsed(olga.get(address)).select_one("#team option")
    assert team is not None

    def send(**runs: str) -> TestResponse:
        form = {"team": str(team["value"]), "name": "sent", "file": (file.open("rb"), "sent.run")}
        return olga.post(address, data={**form, **{f"reproduces-{name}": run for name, run in runs.items()}})

    refused = send(baseline=str(made.base_again))
    assert "A baseline alone does not make a reproduction" in text_of(refused)
    assert parsed(refused).select_one("#fault-reproduces-original") is not None
    runs = {"original": f"http://localhost/runs/{made.new}", "original_baseline": str(made.base)}
    assert send(**runs, baseline=str(made.base_again)).status_code == 303
    assert list(said(database).values()) == [made.reproduced]


def test_the_settings_take_thresholds(olga: FlaskClient, made: Reproduced) -> None:
    """By their form; the page prints them, and a line that cannot be read changes nothing."""
    assert made.new
    address = "/tasks/t/settings/reproductions"
    saved = olga.post(address, data={"reproduction_thresholds": "ktu 0.2 0.4\r\nmargin 0.1"})
    assert saved.status_code == 303
    assert olga.get("/tasks/t/reproductions.json").json["thresholds"]["margin"] == 0.1  # type: ignore[index]
    refused = olga.post(address, data={"reproduction_thresholds": "ktu 0.6 0.4"})
    assert refused.status_code == 422
    assert "ktu needs two numbers" in text_of(refused)


def test_a_command_says_it_and_takes_it_back(
    settings: Settings, database: Database, made: Reproduced
) -> None:
    """With both baselines, and --undo alone."""
    for given, stored in (
        ([str(made.new), "--baselines", str(made.base), str(made.base_again)], {4: made.reproduced}),
        (["--undo"], {}),
    ):
        done = CliRunner().invoke(
            main,
            ["run", "reproduces", str(made.new_again), *given, "--data", str(settings.data)],
            env={"LEADERBOARD_DATABASE_URL": settings.database_url},
        )
        assert done.exit_code == 0, done.output
        assert said(database) == stored
    wrong = CliRunner().invoke(main, ["run", "reproduces", "4", "--data", str(settings.data)])
    assert wrong.exit_code == 2
