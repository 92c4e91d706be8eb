"""Topics of any id that runs can have: BRIGHT's and TREC CAR's hold slashes, files and points."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed

IDS = (
    "set_A/Problem_1",
    "set_A/Problem_2.json",
    "10.2452/451-AH",
    "..",
    "x.md",
    "a~2Fb",
    "c#d",
    "%2F",
    "é+ß&?",
)
STEPS = {
    "set_A/Problem_1": "set_A~2FProblem_1",
    "set_A/Problem_2.json": "set_A~2FProblem_2~2Ejson",
    "..": "~2E.",
    "a~2Fb": "a~7E2Fb",
}


@pytest.fixture
@built_once
def run(database: Database, tmp_path: Path) -> int:
    """A run on topics of such ids, evaluated."""
    build.task(
        database, tmp_path, topics=IDS, judgments={topic: {"d/1": 1} for topic in IDS}, measures=("RR",)
    )
    made = build.run(database, tmp_path, {topic: ["d/1"] for topic in IDS})
    build.drain(database)
    return made


@pytest.mark.trial
def test_each_topic_has_pages_of_its_own(client: FlaskClient, run: int) -> None:
    """Its links lead to it, as do its tables and the API, whatever its id."""
    links = [str(link["href"]) for link in parsed(client.get("/tasks/t/topics")).find_all("a", href=True)]
    for topic in IDS:
        step = STEPS.get(topic)
        addresses = [link for link in links if link.startswith("/tasks/t/topics/")]
        assert step is None or f"/tasks/t/topics/{step}" in addresses
    pages = {address: main(client.get(address)) for address in addresses}
    for topic in IDS:
        assert any(topic in page for page in pages.values()), topic
    for address in addresses:
        assert client.get(f"{address}.json").status_code == 200
        assert client.get(f"/api/v1{address}").status_code == 200
        ranking = address.replace("/tasks/t", f"/runs/{run}")
        assert "d/1" in main(client.get(ranking))
        assert client.get(f"{ranking}.csv").text.splitlines()[1].startswith("1,d/1,")
