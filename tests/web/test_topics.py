"""A task's topics: the list and one topic's page, as page, JSON and CSV."""

import csv
import io
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from leaderboard.services import tasks
from leaderboard.services.policy import OPERATOR
from tests import build
from tests.web.pages import main, parsed, table

BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
NONE = {"1": ["x"], "2": ["x"]}


@pytest.fixture
def scored(database: Database, tmp_path: Path) -> None:
    """Four topics, one of which nobody judged; three runs; grades with names; relevant from grade 1."""
    build.task(
        database,
        tmp_path,
        topics=("1", "2", "3", "04"),
        measures=("RR", "P@2"),
        grade_names={2: "exact", 0: "off"},
    )
    for name, rankings in (("half", HALF), ("none", NONE), ("best", BEST)):
        build.run(database, tmp_path, rankings, name, team_name=f"Team {name}")
    build.drain(database)


@pytest.mark.usefixtures("scored")
def test_the_list_counts_judgments_and_shows_how_hard_topics_are(client: FlaskClient) -> None:
    """Judged and relevant documents, median and best of all runs by the primary measure."""
    rows = table(client.get("/tasks/t/topics"), "4 topics.")
    assert rows == [
        ["1", "title of 1", "3", "2", "0.5000", "1.0000"],
        ["2", "title of 2", "2", "1", "0.5000", "1.0000"],
        ["3", "title of 3", "2", "2", "0.5000", "1.0000"],
        ["04", "title of 04", "0", "0", "–", "–"],
    ]


@pytest.mark.usefixtures("scored")
def test_the_list_is_the_same_in_every_form(client: FlaskClient) -> None:
    """JSON and CSV hold the page's rows at full precision; a topic without scores has none."""
    found = client.get("/tasks/t/topics.json").get_json()
    assert (found["task"], found["revision"], found["primary"]) == ("t", 1, "RR")
    first, last = found["topics"][0], found["topics"][-1]
    assert (first["judged"], first["relevant"], first["median"], first["best"]) == (3, 2, 0.5, 1.0)
    assert (last["topic"], last["median"], last["best"]) == ("04", None, None)
    rows = list(csv.DictReader(io.StringIO(client.get("/tasks/t/topics.csv").get_data(as_text=True))))
    assert [(row["topic"], row["title"], row["median"]) for row in rows] == [
        *((topic, f"title of {topic}", "0.5") for topic in ("1", "2", "3")),
        ("04", "title of 04", ""),
    ]


@pytest.mark.usefixtures("scored")
def test_a_topic_ranks_every_run_by_the_primary_measure(client: FlaskClient) -> None:
    """Best first; each run leads to its ranking; JSON and CSV have the same order."""
    page = client.get("/tasks/t/topics/1")
    assert table(page, "Every run’s scores on this topic") == [
        ["best", "Team best", "1.0000", "1.0000"],
        ["half", "Team half", "0.5000", "0.5000"],
        ["none", "Team none", "0.0000", "0.0000"],
    ]
    found = client.get("/tasks/t/topics/1.json").get_json()
    assert [(row["run"], row["scores"]["RR"]) for row in found["rows"]] == [
        ("best", 1.0),
        ("half", 0.5),
        ("none", 0.0),
    ]
    links = {str(link["href"]) for link in parsed(page).find_all("a", href=True)}
    assert {f"/runs/{row['run_id']}/topics/1" for row in found["rows"]} <= links
    rows = list(csv.reader(io.StringIO(client.get("/tasks/t/topics/1.csv").get_data(as_text=True))))
    assert rows[:2] == [["run", "team", "RR", "P@2"], ["best", "Team best", "1.0", "1.0"]]


@pytest.mark.usefixtures("scored")
def test_a_topics_judgments_stand_by_grade(client: FlaskClient) -> None:
    """Highest grade first with its name, counted by grade, under the revision they are from."""
    page = client.get("/tasks/t/topics/1")
    assert table(page, "3 documents in qrels revision 1") == [["2 exact", "a"], ["1", "c"], ["0 off", "b"]]
    assert "1 at grade 2 (exact), 1 at grade 1, 1 at grade 0 (off)." in main(page)
    assert client.get("/tasks/t/topics/1.json").get_json()["judgments"] == {"a": 2, "c": 1, "b": 0}


@pytest.mark.usefixtures("scored")
def test_topics_follow_each_other_in_the_tasks_order(client: FlaskClient) -> None:
    """Next and previous go by the topics file, zeros in an id count, unknown topics are not found."""
    steps = [
        [str(link["href"]).rsplit("/", 1)[1] for link in parsed(client.get(path)).select("nav.steps a")]
        for path in (f"/tasks/t/topics/{topic}" for topic in ("1", "2", "04"))
    ]
    assert steps == [["2"], ["1", "3"], ["3"]]
    for unknown in ("4", "004", "nothing"):
        for suffix in ("", ".json", ".csv"):
            assert client.get(f"/tasks/t/topics/{unknown}{suffix}").status_code == 404


def test_a_topic_left_out_says_why(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """The reason stands in the list's JSON and on the topic's page; the topic is in no mean."""
    build.task(database, tmp_path, measures=("RR",), publish=False)
    with database.write() as session:
        tasks.exclude_topic(session, OPERATOR, "t", "3", "no answer in the collection")
        tasks.publish(session, OPERATOR, "t")
    build.run(database, tmp_path, {"1": ["a"], "2": ["d"]})
    build.drain(database)
    listed = client.get("/tasks/t/topics.json").get_json()["topics"]
    assert [row["excluded"] for row in listed] == ["", "", "no answer in the collection"]
    assert "Left out of all means: no answer in the collection" in main(client.get("/tasks/t/topics/3"))
    board = client.get("/tasks/t.json").get_json()
    assert (board["topics"], board["rows"][0]["scores"]) == (2, {"RR": 1.0})


def test_topics_without_judgments_show_no_counts(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Before the first revision the list has dashes, and a topic's page only its statement."""
    build.task(database, tmp_path, judgments=None)
    build.run(database, tmp_path, HALF)
    assert table(client.get("/tasks/t/topics"), "3 topics.")[0] == ["1", "title of 1", "–", "–", "–", "–"]
    page = client.get("/tasks/t/topics/1")
    assert parsed(page).find("table") is None
    assert "1: title of 1" in main(page)


def test_a_statement_is_text_and_complete(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Title, description, narrative stand on the page as text, whatever they look like."""
    path = tmp_path / "topics.xml"
    path.write_text(
        "<topics><topic number='7'><query>short &lt;b&gt;one&lt;/b&gt;</query>"
        "<description>what is asked</description><narrative>what counts</narrative></topic></topics>"
    )
    prepared = tasks.prepare(tasks.TaskDraft("x", "X", path))
    with database.write() as session:
        tasks.create(session, OPERATOR, prepared)
        tasks.publish(session, OPERATOR, "x")
    page = client.get("/tasks/x/topics/7")
    heading = parsed(page).find("h1")
    assert heading is not None
    assert heading.get_text() == "7: short <b>one</b>"
    assert heading.find("b") is None
    for part in ("what is asked", "what counts"):
        assert part in main(page)
