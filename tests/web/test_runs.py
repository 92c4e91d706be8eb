"""Pages of runs, rankings and documents: what stands on them and what does not."""

import csv
import io
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from leaderboard.services import uploads
from leaderboard.services.policy import OPERATOR
from tests import build
from tests.web.pages import main, parsed

HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}


@pytest.fixture
def run_id(database: Database, tmp_path: Path) -> int:
    """A scored run of an open task."""
    build.task(database, tmp_path, measures=("RR", "P@5"))
    made = build.run(database, tmp_path, HALF, "half")
    build.drain(database)
    return made


def test_a_ranking_says_what_the_run_got_on_its_topic(client: FlaskClient, run_id: int) -> None:
    """The topic's scores stand over the ranking, and in its JSON as doubles."""
    path = f"/runs/{run_id}/topics/1"
    figures = parsed(client.get(path)).find("ul", attrs={"aria-label": "Scores on this topic"})
    assert figures is not None
    assert [" ".join(each.get_text(" ").split()) for each in figures.find_all("li")] == [
        "RR 0.5000",
        "P@5 0.2000",
    ]
    assert client.get(f"{path}.json").get_json()["scores"] == {"RR": 0.5, "P@5": 0.2}


def test_an_unjudged_topic_has_no_scores(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """A topic nobody judged shows the ranking alone, and is in no list of scores."""
    build.task(database, tmp_path, judgments={"1": {"a": 1}}, measures=("RR",))
    made = build.run(database, tmp_path, HALF)
    build.drain(database)
    assert client.get(f"/runs/{made}/topics/2.json").get_json()["scores"] == {}
    assert list(client.get(f"/runs/{made}.json").get_json()["per_topic"]) == ["1"]
    assert "No document is judged" in main(client.get("/tasks/t/topics/2"))


def test_a_withdrawn_run_keeps_its_page_without_scores(
    database: Database, client: FlaskClient, run_id: int
) -> None:
    """Reason and file stay; no mean, no topic's score and no place on a topic's page."""
    with database.write() as session:
        uploads.withdraw(session, OPERATOR, run_id, "wrong index")
    page = client.get(f"/runs/{run_id}")
    assert "wrong index" in main(page)
    assert parsed(page).find("table") is None
    found = client.get(f"/runs/{run_id}.json").get_json()
    assert (found["state"], found["scores"], found["per_topic"]) == ("withdrawn", {}, {})
    assert client.get(f"/runs/{run_id}/topics/1.json").get_json()["scores"] == {}
    assert client.get("/tasks/t/topics/1.json").get_json()["rows"] == []


def test_a_judged_document_is_also_json_and_csv(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Its judgments in the shown revision by topic, and its text where it is stored."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "a", "title": "About a", "text": "words"}\n')
    build.task(database, tmp_path, documents=corpus)
    found = client.get("/tasks/t/documents.json?docno=a").get_json()
    assert (found["title"], found["text"], found["judgments"]) == ("About a", "words", {"1": 2, "2": 0})
    rows = list(csv.reader(io.StringIO(client.get("/tasks/t/documents.csv?docno=a").get_data(as_text=True))))
    assert rows == [["topic", "title", "grade"], ["1", "title of 1", "2"], ["2", "title of 2", "0"]]
    assert client.get("/tasks/t/documents.json").status_code == 404
