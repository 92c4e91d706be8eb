"""The front page: a card a task, the same as files."""

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from bs4.element import Tag
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Phase, Task
from leaderboard.tasks.ops import organise
from leaderboard.tasks.page import landing
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import parsed, table

HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
BEST = {"1": ["a"], "2": ["d"], "3": ["e"]}


@pytest.fixture
@built_once
def scored(database: Database, tmp_path: Path) -> None:
    """An open task with two scored runs."""
    build.task(database, tmp_path, measures=("RR",))
    build.run(database, tmp_path, HALF, "half")
    build.run(database, tmp_path, BEST, "best")
    build.drain(database)


@pytest.mark.usefixtures("scored")
def test_the_tasks_are_also_json_and_csv(client: FlaskClient) -> None:
    """The front page links to both, which name the leader with its full score."""
    found = client.get("/tasks.json").get_json()["tasks"]
    assert found == [
        {
            "task": "t",
            "name": "Task t",
            "organisers": None,
            "visibility": "open",
            "topics": 3,
            "runs": 2,
            "teams": 1,
            "state": "accepts runs",
            "revision": 1,
            "leader": "best",
            "measure": "RR",
            "score": 1.0,
            "may_be_best": 1,
            "rank_high": 1,
            "tied": 1,
            "archived": False,
        }
    ]
    rows = list(csv.DictReader(io.StringIO(client.get("/tasks.csv").get_data(as_text=True))))
    assert [(row["task"], row["leader"], float(row["score"])) for row in rows] == [("t", "best", 1.0)]
    links = {str(link["href"]) for link in parsed(client.get("/")).find_all("a", href=True)}
    assert {"/tasks.json", "/tasks.csv"} <= links


@pytest.mark.usefixtures("scored")
@pytest.mark.dialect
def test_scores_of_another_version_of_the_measure_make_no_leader(
    database: Database, client: FlaskClient
) -> None:
    """The leader is found among the scores the shown edition is made of, not among all there are."""
    with database.write() as session:
        session.execute(update(Edition).values(measures=[{"key": "RR", "version": 99}]))
    assert client.get("/tasks.json").get_json()["tasks"][0]["leader"] is None


def test_how_many_runs_a_sealed_task_has_is_held_back(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Neither page nor JSON nor CSV counts the runs of a sealed task."""
    build.task(database, tmp_path, visibility="sealed")
    build.run(database, tmp_path, BEST)
    build.drain(database)
    (row,) = client.get("/tasks.json").get_json()["tasks"]
    assert (row["runs"], row["revision"], row["leader"]) == (None, None, None)
    rows = csv.DictReader(io.StringIO(client.get("/tasks.csv").get_data(as_text=True)))
    assert {key for row in rows for key, value in row.items() if value} == {
        *("task", "name", "visibility", "topics", "state", "archived")
    }
    (card,) = parsed(client.get("/")).select(".cards li")
    assert card.get_text(" ", strip=True) == "Task t sealed Accepts runs · 3 topics"


@pytest.mark.usefixtures("scored")
def test_a_card_says_what_a_task_is_and_who_leads(database: Database, client: FlaskClient) -> None:
    """Its first sentence, its leader, where the field lies, its dates and sizes."""
    closes_at = datetime(2999, 1, 2, 23, 59, tzinfo=UTC)
    with database.write() as session:
        told = {"description": "Ask *robots*. They answer.", "organisers": "Robot Group"}
        session.execute(update(Task).values(told))
        session.execute(update(Phase).values(closes_at=closes_at))
    (card,) = parsed(client.get("/")).select(".cards li")
    assert "Ask robots." in card.get_text()
    assert "They answer" not in card.get_text()
    words = " ".join(card.get_text(" ").split())
    assert "Robot Group" in words
    assert "Leader: best 1.0000 RR" in words
    assert "The best of 2 runs at 95% confidence" in words
    assert "Accepts runs until 2999-01-02 23:59 · 2 runs · 1 team · 3 topics · qrels revision 1" in words
    figure = card.find("svg")
    assert isinstance(figure, Tag)
    assert str(figure["aria-label"]).startswith("All 2 runs by RR: median 0.7500")


@pytest.mark.usefixtures("scored")
def test_a_task_says_how_its_measures_are_computed(client: FlaskClient) -> None:
    """Name, formula, source and version of every measure stand where the board's caption leads."""
    caption = parsed(client.get("/tasks/t")).find("caption")
    assert caption is not None
    link = caption.find("a")
    assert link is not None
    path, _, anchor = str(link["href"]).partition("#")
    about = client.get(path)
    assert parsed(about).find(id=anchor) is not None
    (row,) = table(about, "How each measure")
    assert row[0] == "RR"
    assert "Kantor and Voorhees" in row[1]
    assert "first relevant document" in row[2]
    assert row[3] == "1"


def test_many_tasks_take_several_pages(
    database: Database, client: FlaskClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Newest first, archived ones last; drafts of others take no place, and files have all tasks."""
    monkeypatch.setattr(landing, "PAGE", 2)
    for name in "abcd":
        build.task(database, tmp_path, name, publish=name != "d")
    with database.write() as session:
        organise.archive(session, OPERATOR, "c")
    first, second = (parsed(client.get(address)) for address in ("/", "/?page=2"))
    assert [card.get_text(strip=True) for card in first.select("ul.cards h3")] == ["Task b", "Task a"]
    assert [card.get_text(strip=True) for card in second.select("ul.cards h3")] == ["Task c"]
    assert "Page 1 of 2, 3 tasks in total" in first.get_text()
    assert [link["href"] for link in first.select("a[rel=next]")] == ["/?page=2"]
    assert [link["href"] for link in second.select("a[rel=prev]")] == ["/"]
    assert [client.get(f"/?page={number}").status_code for number in ("3", "0", "x")] == [404] * 3
    assert len(client.get("/tasks.json").get_json()["tasks"]) == 3


@pytest.mark.usefixtures("scored")
def test_a_task_is_a_benchmark_of_a_hub(client: FlaskClient) -> None:
    """`eval.yaml` has the keys that Hugging Face's documentation lists, and the slug as the task's id."""
    reader = pytest.importorskip("yaml", reason="PyYAML reads what is written; it is in the extra `test`")
    found = reader.safe_load(client.get("/tasks/t/eval.yaml").data)
    assert list(found) == ["name", "description", "evaluation_framework", "tasks"]
    assert (found["name"], found["tasks"]) == ("Task t", [{"id": "t", "config": "default", "split": "test"}])
    assert all(isinstance(found[key], str) and found[key] for key in list(found)[:3])


@pytest.mark.usefixtures("scored")
def test_a_task_is_a_data_set_in_croissant(database: Database, client: FlaskClient) -> None:
    """Version 1.1, with the files that a visitor may have; of a sealed task only the topics."""
    found = client.get("/tasks/t/croissant.json").get_json()
    assert found["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    addresses = [file["contentUrl"] for file in found["distribution"]]
    assert len({file["@id"] for file in found["distribution"]}) == len(addresses) == 4
    for address in addresses:
        assert client.get(address.removeprefix("http://localhost")).status_code == 200
    with database.write() as session:
        session.execute(update(Task).values(visibility="sealed"))
    hidden = client.get("/tasks/t/croissant.json").get_json()
    assert [file["name"] for file in hidden["distribution"]] == ["Topics"]


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")
@pytest.mark.usefixtures("scored")
def test_croissants_own_validator_takes_it(
    database: Database, client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Without an error and, of a task with a licence, without a warning."""
    mlcroissant = pytest.importorskip(
        "mlcroissant", reason="mlcroissant brings a dozen packages, so it is in the extra `bench`"
    )
    with database.write() as session:
        session.execute(update(Task).values(licence="CC BY 4.0"))
    dataset = mlcroissant.Dataset(jsonld=client.get("/tasks/t/croissant.json").get_json())
    assert dataset.metadata.name == "Task t"
    assert len(dataset.metadata.distribution) == 4
    assert dataset.metadata.ctx.issues.errors == set()
    assert [record.message for record in caplog.records] == []
