"""The reproductions of a task and one of them: what they say, as files, and where their links lead."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.make.copies import built_once
from tests.make.pages import main, parsed
from tests.reproductions import make as reproduced
from tests.reproductions.make import Reproduced


@pytest.fixture
@built_once
def made(database: Database, tmp_path: Path) -> Reproduced:
    """A reproduced and a replicated run."""
    return reproduced.linked(database, tmp_path)


def test_a_row_says_every_level_with_its_number(client: FlaskClient, made: Reproduced) -> None:
    """Documents, topics, effects and test from left to right, the thresholds below, the plane with (0, 1)."""
    response = client.get("/tasks/t/reproductions?measure=AP")
    page, text = parsed(response), main(response)
    table = page.find("table")
    assert table is not None
    heads = [head.get_text() for head in table.find_all("th", scope="col")]
    assert heads == ["Run", "Reproduces", "Documents", "Topics", "Effects", "Test"]
    (row,) = table.select("tbody tr")
    assert "KTU" in row.get_text()
    assert "KTU: same from 0.95, close from 0.5, else off" in text
    assert page.find(id="plane") is not None
    links = {str(link["href"]) for link in row.find_all("a")}
    assert any(link.startswith(f"/tasks/t/reproductions/{made.new_again}") for link in links)


def test_a_replication_has_effects_and_means_alone(client: FlaskClient, made: Reproduced) -> None:
    """On other topics neither documents nor topics can be compared; the original's task is named."""
    found = client.get(f"/tasks/u/reproductions/{made.new_there}.json?measure=AP").json
    assert found is not None
    assert (found["kind"], found["original"]["task"]) == ("replicated", "t")
    assert found["words"]["documents"] == found["words"]["topics"] == "other topics"
    assert {row["level"] for row in found["levels"]} == {"effects", "test"}
    assert {row["task"] for row in found["other_collections"]} == {"Task t", "Task u"}


@pytest.mark.trial
@pytest.mark.parametrize("of", ["", "/{0}"])
@pytest.mark.parametrize("ending", ["", ".json", ".csv", ".tex", ".md"])
def test_every_page_and_file_opens(client: FlaskClient, made: Reproduced, of: str, ending: str) -> None:
    """For everybody, and every link of a page leads somewhere."""
    response = client.get("/tasks/t/reproductions" + of.format(made.new_again) + ending)
    assert response.status_code == 200, response.get_data(as_text=True)
    if not ending:
        links = {str(link["href"]) for link in parsed(response).select("main a[href]")}
        answers = {link: client.get(link).status_code for link in links if link.startswith("/")}
        assert set(answers.values()) <= {200, 303}, answers
