"""Pages of runs, rankings and documents: what stands on them and what does not."""

import csv
import io
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from leaderboard.services import jobs, uploads
from leaderboard.services.admission import Wishes
from leaderboard.services.policy import OPERATOR
from tests import build
from tests.web.pages import main, parsed, table

HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
PARTLY = {"1": ["b", "a", "new"], "3": ["f"]}


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


@pytest.fixture
def among_others(database: Database, tmp_path: Path) -> int:
    """A run that misses a topic, among a better, an equal and an unranked one."""
    build.task(database, tmp_path, measures=("RR", "NumRet"), grade_names={2: "exact"})
    for name, rankings, kind in (("best", BEST, "official"), ("base", BEST, "baseline")):
        build.run(database, tmp_path, rankings, name, wishes=Wishes(name, kind))
    mine = build.run(
        database, tmp_path, PARTLY, "mine", team_name="Lab", wishes=Wishes("mine", description="how")
    )
    build.run(database, tmp_path, PARTLY, "same", team_name="Others")
    build.drain(database)
    return mine


def test_a_run_says_where_it_stands(client: FlaskClient, among_others: int) -> None:
    """Every measure with mean, rank among the ranked runs and the best run's value; counts have no rank."""
    page = client.get(f"/runs/{among_others}")
    rows = [row[:4] for row in table(page, "Means over topics under qrels revision 1")]
    assert rows == [["RR", "0.5000", "2 of 3", "1.0000"], ["NumRet", "4", "–", "–"]]
    found = client.get(f"/runs/{among_others}.json").get_json()
    assert (found["scores"], found["ranks"]) == ({"RR": 0.5, "NumRet": 4.0}, {"RR": 2, "NumRet": None})
    assert (found["run"], found["team"], found["task"], found["state"]) == ("mine", "Lab", "t", "done")
    assert "how" in main(page)


def test_a_runs_topics_are_the_same_in_every_form(client: FlaskClient, among_others: int) -> None:
    """Each judged topic with its scores, a missed one as an empty ranking; a chart with a bar for each."""
    page = client.get(f"/runs/{among_others}")
    assert table(page, "Scores of mine by topic") == [
        ["1", "title of 1", "0.5000", "3"],
        ["2", "title of 2", "0.0000", "0"],
        ["3", "title of 3", "1.0000", "1"],
    ]
    assert client.get(f"/runs/{among_others}.json").get_json()["per_topic"] == {
        "1": {"RR": 0.5, "NumRet": 3.0},
        "2": {"RR": 0.0, "NumRet": 0.0},
        "3": {"RR": 1.0, "NumRet": 1.0},
    }
    rows = list(csv.reader(io.StringIO(client.get(f"/runs/{among_others}.csv").get_data(as_text=True))))
    assert rows == [
        ["topic", "RR", "NumRet"],
        *(["1", "0.5", "3.0"], ["2", "0.0", "0.0"], ["3", "1.0", "1.0"], ["all", "0.5", "4.0"]),
    ]
    bars = parsed(page).select("svg a")
    assert [str(bar["href"]).rsplit("/", 1)[1] for bar in bars] == ["3", "1", "2"]
    assert [bar.get_text(strip=True) for bar in bars] == ["3: 1.0000", "1: 0.5000", "2: 0.0000"]


def test_a_runs_numbers_name_what_they_come_from(client: FlaskClient, among_others: int) -> None:
    """File, rankings and judgments by digest, the evaluator and every measure's version."""
    text = main(client.get(f"/runs/{among_others}"))
    found = client.get(f"/runs/{among_others}.json").get_json()
    assert f"SHA-256 of the file {found['file_sha256']}" in text
    assert "Tag in the file mine" in text
    assert "RR v1, NumRet v1" in text
    assert (found["revision"], found["dialect"], found["topics"]) == (1, 10, 3)
    assert found["measure_versions"] == {"RR": 1, "NumRet": 1}
    assert "report on the upload" not in text


def test_a_ranking_shows_grades_and_what_was_missed(client: FlaskClient, among_others: int) -> None:
    """Documents in order with named grades, a dash for the unjudged; the missed relevant ones below."""
    path = f"/runs/{among_others}/topics/1"
    page = client.get(path)
    assert [row[:3] for row in table(page, "3 of 3 documents")] == [
        ["1", "0", "b"],
        ["2", "2 exact", "a"],
        ["3", "–", "new"],
    ]
    assert table(page, "1 relevant document this run") == [["1", "c"]]
    found = client.get(f"{path}.json").get_json()
    assert [(row["rank"], row["docno"], row["grade"]) for row in found["documents"]] == [
        (1, "b", 0),
        (2, "a", 2),
        (3, "new", None),
    ]
    assert found["missed"] == [{"docno": "c", "grade": 1}]
    lines = client.get(f"{path}.csv").get_data(as_text=True).splitlines()
    assert lines[:3] == ["rank,docno,score,grade,title", "1,b,999.0,0,", "2,a,998.0,2,"]


def test_a_missed_topic_is_an_empty_ranking(client: FlaskClient, among_others: int) -> None:
    """The page says so and lists everything relevant as missed; an unknown topic is not found."""
    page = client.get(f"/runs/{among_others}/topics/2")
    assert "no document for this topic; it scores as an empty ranking" in main(page)
    assert table(page, "1 relevant document this run") == [["1", "d"]]
    for suffix in ("", ".json", ".csv"):
        assert client.get(f"/runs/{among_others}/topics/9{suffix}").status_code == 404
        assert client.get(f"/runs/999/topics/1{suffix}").status_code == 404


@pytest.mark.parametrize(("dialect", "order"), [(10, ["a", "z", "m"]), (9, ["z", "m", "a"])])
def test_a_ranking_stands_in_its_dialects_order(
    database: Database, client: FlaskClient, tmp_path: Path, dialect: int, order: list[str]
) -> None:
    """Scores that differ in 64 bits only are ties in trec_eval 9: then document ids go descending."""
    build.task(database, tmp_path, judgments={"1": {"a": 1}}, measures=("RR",), dialect=dialect)
    path = tmp_path / "close.txt"
    path.write_text("1 Q0 m 1 0.5 t\n1 Q0 z 2 0.5 t\n1 Q0 a 3 0.500000000001 t\n")
    run_id = build.submit(database, path).run_id
    build.drain(database)
    found = client.get(f"/runs/{run_id}/topics/1.json").get_json()
    assert ([row["docno"] for row in found["documents"]], found["dialect"]) == (order, dialect)
    scores = client.get(f"/runs/{run_id}.json").get_json()["scores"]
    assert scores == {"RR": 1 / (1 + order.index("a"))}
    assert f"trec_eval {dialect}" in main(client.get(f"/runs/{run_id}/topics/1"))
    assert "ordered differently with 32-bit scores" in main(client.get(f"/runs/{run_id}"))
    assert parsed(client.get("/tasks/t")).find("abbr", string="32/64") is not None


def test_a_run_without_judgments_waits(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """It is stored and says what it waits for; nothing is scored and nothing refreshes."""
    build.task(database, tmp_path, judgments=None)
    run_id = build.run(database, tmp_path, HALF)
    page = client.get(f"/runs/{run_id}")
    assert "waiting for judgments" in main(page)
    assert "scored as soon as the first ones come" in main(page)
    state = parsed(page).find(id="state")
    assert state is not None
    assert not state.has_attr("hx-get")
    found = client.get(f"/runs/{run_id}.json").get_json()
    assert (found["state"], found["revision"], found["scores"]) == ("waiting", None, {})


def test_a_failed_run_says_why(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """The message of the failed job stands on the run's page and in its JSON; the board says it failed."""
    build.task(database, tmp_path, measures=("RR",))
    run_id = build.run(database, tmp_path, HALF)
    with database.write() as session:
        held = jobs.claim(session, "here:1", 60)
        assert held is not None
    assert "being scored" in main(client.get(f"/runs/{run_id}"))
    with database.write() as session:
        jobs.fail(session, held, "The disk is gone.", again=False)
    assert "failed. The disk is gone. The organisers see this too" in main(client.get(f"/runs/{run_id}"))
    found = client.get(f"/runs/{run_id}.json").get_json()
    assert (found["state"], found["message"]) == ("failed", "The disk is gone.")
    assert table(client.get("/tasks/t"), "Ranked by")[0][-1] == "scoring failed"
