"""A task's topics: the list and one topic's page, as page, JSON and CSV."""

import csv
import io
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Member, Run
from leaderboard.tasks.ops import drafts, organise
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table
from tests.web.conftest import SignIn

BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
NONE = {"1": ["x"], "2": ["x"]}


@pytest.fixture
@built_once
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
    """Documents judged, relevant and by grade; from the worst run to the best; how well runs are separated.

    All topics have the scores 0, 0.5 and 1 in the same order of runs: quartiles 0.25 and 0.75, a standard
    deviation of 0.5, a correlation of 1 with the rest.
    """
    rows = table(client.get("/tasks/t/topics"), "4 topics.")
    spread = ["0.0000", "0.2500", "0.5000", "0.7500", "1.0000", "best", "0.5000", "1.00"]
    assert rows == [
        ["1", "title of 1", "3", "2", "0", "1", "1", *spread],
        ["2", "title of 2", "2", "1", "0", "0", "1", *spread],
        ["3", "title of 3", "2", "2", "1", "0", "1", *spread],
        ["04", "title of 04 not judged", "0", "0", "0", "0", "0", *["–"] * 8],
    ]


@pytest.mark.usefixtures("scored")
def test_the_list_is_the_same_in_every_form(client: FlaskClient) -> None:
    """JSON, CSV and LaTeX hold the page's rows; a topic without scores has none."""
    found = client.get("/tasks/t/topics.json").get_json()
    assert (found["task"], found["revision"], found["primary"]) == ("t", 1, "RR")
    first, last = found["topics"][0], found["topics"][-1]
    assert (first["judged"], first["relevant"], first["median"], first["best"]) == (3, 2, 0.5, 1.0)
    assert (first["grade 2"], first["best run"], first["best runs"]) == (1, "best", 1)
    assert (last["topic"], last["median"], last["best"]) == ("04", None, None)
    rows = list(csv.DictReader(io.StringIO(client.get("/tasks/t/topics.csv").get_data(as_text=True))))
    assert [(row["topic"], row["title"], row["median"]) for row in rows] == [
        *((topic, f"title of {topic}", "0.5") for topic in ("1", "2", "3")),
        ("04", "title of 04", ""),
    ]
    latex = client.get("/tasks/t/topics.tex").get_data(as_text=True)
    assert "1 & 3 & 2 & 0.0000 & 0.2500 & 0.5000 & 0.7500 & 1.0000 & 0.5000 & 1.0000" in latex


@pytest.mark.usefixtures("scored")
def test_every_column_sorts_and_says_so(client: FlaskClient) -> None:
    """A head is a link to its own order, and in that order to the opposite one; the measure is kept."""
    page = parsed(client.get("/tasks/t/topics?measure=P@2&sort=-judged"))
    (sorted_head,) = page.select("thead [aria-sort]")
    assert (sorted_head.get_text(strip=True), sorted_head["aria-sort"]) == ("Judged", "descending")
    link = sorted_head.find("a")
    assert link is not None
    assert link["href"] == "/tasks/t/topics?measure=P@2&sort=judged"
    heads = {head.get_text(strip=True): str(head["href"]) for head in page.select("thead a")}
    for name, href in heads.items():
        (head,) = parsed(client.get(href)).select("thead [aria-sort]")
        assert head.get_text(strip=True) == name
    ordered = table(client.get(str(link["href"])), "4 topics.")
    assert [row[0] for row in ordered] == ["04", "2", "3", "1"]
    assert client.get("/tasks/t/topics?sort=nonsense").status_code == 422


@pytest.mark.usefixtures("scored")
def test_difficulty_is_drawn_in_the_order_of_the_table(client: FlaskClient) -> None:
    """One strip a topic that has scores, the hardest first where that is asked for."""
    page = parsed(client.get("/tasks/t/topics?measure=P@2&sort=median"))
    figure = page.find("figure", id="difficulty")
    assert figure is not None
    drawn = [name.get_text(strip=True) for name in figure.select("text.name")]
    listed = [row[0] for row in table(client.get("/tasks/t/topics?measure=P@2&sort=median"), "4 topics.")]
    assert drawn == listed[:3]


@pytest.mark.usefixtures("scored")
def test_a_topic_ranks_every_run_by_the_primary_measure(client: FlaskClient) -> None:
    """Best first, with what it found; each run leads to its ranking; JSON and CSV have the same order."""
    page = client.get("/tasks/t/topics/1")
    assert table(page, "Ranks are among ranked runs by") == [
        ["1", "best", "Team best", "1.0000", "1.0000", "2", "1"],
        ["2", "half", "Team half", "0.5000", "0.5000", "1", "2"],
        ["3", "none", "Team none", "0.0000", "0.0000", "0", "–"],
    ]
    found = client.get("/tasks/t/topics/1.json").get_json()
    assert [(row["run"], row["rank"], row["first"], row["scores"]["RR"]) for row in found["rows"]] == [
        ("best", 1, 1, 1.0),
        ("half", 2, 2, 0.5),
        ("none", 3, None, 0.0),
    ]
    links = {str(link["href"]) for link in parsed(page).find_all("a", href=True)}
    assert {f"/runs/{row['run_id']}/topics/1" for row in found["rows"]} <= links
    rows = list(csv.reader(io.StringIO(client.get("/tasks/t/topics/1.csv").get_data(as_text=True))))
    assert rows[0] == ["rank", "run", "run_id", "team", "RR", "P@2", "relevant", "first relevant"]
    assert rows[1] == ["1", "best", "3", "Team best", "1.0", "1.0", "2", "1"]
    assert "best & Team best & 1.0000" in client.get("/tasks/t/topics/1.tex").get_data(as_text=True)


@pytest.mark.usefixtures("scored")
def test_a_long_list_of_runs_ends_with_the_readers_own(
    database: Database, client: FlaskClient, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best ones first; a member's run stands below them; all are one link away."""
    monkeypatch.setattr("leaderboard.qrels.web.topics.RUNS_AT_FIRST", 1)

    def shown(address: str = "/tasks/t/topics/1") -> list[str]:
        return [row[1] for row in table(client.get(address), "Ranks are among ranked runs by")]

    assert shown() == ["best"]
    assert "1 of 3 runs shown." in main(client.get("/tasks/t/topics/1"))
    assert shown("/tasks/t/topics/1?all=1") == ["best", "half", "none"]
    nina = sign_in(client, "Nina")
    with database.write() as session:
        of_none = session.scalars(select(Run.team_id).where(Run.name == "none")).one()
        session.add(Member(team_id=of_none, account_id=nina, role="member", joined_at=now(session)))
    assert shown() == ["best", "none"]


@pytest.mark.usefixtures("scored")
def test_the_best_and_the_worst_run_lead_to_their_comparison(client: FlaskClient) -> None:
    """On this topic, by the measure asked for; the run that is better comes first."""
    page = parsed(client.get("/tasks/t/topics/1?measure=P@2"))
    (pair,) = page.select("ul.contrasts li")
    assert " ".join(pair.get_text().split()) == "best and none: the best and the worst run here, +1.0000."
    link = pair.find("a")
    assert link is not None
    assert client.get(str(link["href"])).status_code == 200


@pytest.mark.usefixtures("scored")
def test_a_topics_judgments_stand_by_grade(client: FlaskClient) -> None:
    """Highest grade first with its name, counted by grade, with who found them."""
    page = client.get("/tasks/t/topics/1")
    assert table(page, "3 documents, by grade") == [
        ["2 exact", "a", "2", "2", "1", "best"],
        ["1", "c", "1", "1", "2", "best only Team best"],
        ["0 off", "b", "0", "0", "–", "not found"],
    ]
    assert table(page, "3 judged documents by grade") == [
        ["2 exact", "1", "", "1", "1", "1", "0", "0"],
        ["1", "1", "", "1", "1", "1", "1", "0"],
        ["0 off", "1", "", "0", "0", "0", "0", "1"],
    ]
    found = client.get("/tasks/t/topics/1.json").get_json()
    assert found["judgments"] == {"a": 2, "c": 1, "b": 0}
    assert found["documents"][1] == {
        **{"docno": "c", "grade": 1, "runs": 1, "teams": 1, "best_rank": 2, "best_run": "best"},
        "only_team": "Team best",
    }


def test_what_nobody_found_and_what_one_team_found(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """A sentence counts them, a link lists each kind, an unknown kind is refused."""
    build.task(database, tmp_path, judgments={"1": {"a": 1, "b": 1, "c": 1, "d": 0}}, measures=("AP",))
    build.run(database, tmp_path, {"1": ["a", "b"]}, "one", team_name="Owls")
    build.run(database, tmp_path, {"1": ["a", "d"]}, "two", team_name="Bears")
    build.drain(database)
    page = client.get("/tasks/t/topics/1")
    assert (
        "Of 3 relevant documents, 1 was not found by any run, 1 is outside every run’s top 10 "
        "and 1 was found by only one team."
    ) in main(page)
    links = {
        link.get_text(strip=True): str(link["href"]).partition("#")[0]
        for link in parsed(page).select("nav.steps a[href*='documents']")
    }
    assert set(links) >= {"relevant, not found (1)", "relevant, found by one team (1)"}
    missed = client.get(links["relevant, not found (1)"])
    assert table(missed, "1 document, by grade") == [["1", "c", "0", "0", "–", "not found"]]
    alone = client.get(links["relevant, found by one team (1)"])
    assert table(alone, "1 document, by grade") == [["1", "b", "1", "1", "2", "one only Owls"]]
    assert client.get("/tasks/t/topics/1?documents=lost").status_code == 422


@pytest.mark.usefixtures("scored")
def test_topics_follow_each_other_in_the_tasks_order(client: FlaskClient) -> None:
    """Next and previous go by the topics file, zeros in an id count, unknown topics are not found."""
    steps = [
        [str(link["href"]).rsplit("/", 1)[1] for link in parsed(client.get(path)).select("a[rel]")]
        for path in (f"/tasks/t/topics/{topic}" for topic in ("1", "2", "04"))
    ]
    assert steps == [["2"], ["1", "3"], ["3"]]
    for unknown in ("4", "004", "nothing"):
        for suffix in ("", ".json", ".csv", ".tex"):
            assert client.get(f"/tasks/t/topics/{unknown}{suffix}").status_code == 404


def test_a_topic_left_out_says_why(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """The reason stands in the list's JSON and on the topic's page; the topic is in no mean."""
    build.task(database, tmp_path, measures=("RR",), publish=False)
    with database.write() as session:
        organise.exclude_topic(session, OPERATOR, "t", "3", "no answer in the collection")
        drafts.publish(session, OPERATOR, "t")
    build.run(database, tmp_path, {"1": ["a"], "2": ["d"]})
    build.drain(database)
    listed = client.get("/tasks/t/topics.json").get_json()["topics"]
    assert [row["excluded"] for row in listed] == ["", "", "no answer in the collection"]
    assert "Excluded from all means: no answer in the collection" in main(client.get("/tasks/t/topics/3"))
    board = client.get("/tasks/t.json").get_json()
    assert (board["topics"], board["rows"][0]["scores"]) == (2, {"RR": 1.0})


def test_topics_without_judgments_show_no_counts(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Before the first revision the list has titles alone, and a topic's page only its statement."""
    build.task(database, tmp_path, judgments=None)
    build.run(database, tmp_path, HALF)
    assert table(client.get("/tasks/t/topics"), "3 topics.")[0] == ["1", "title of 1"]
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
    prepared = drafts.prepare(drafts.TaskDraft(slug="x", name="X", topics=path))
    with database.write() as session:
        drafts.create(session, OPERATOR, prepared)
        drafts.publish(session, OPERATOR, "x")
    page = client.get("/tasks/x/topics/7")
    heading = parsed(page).find("h1")
    assert heading is not None
    assert heading.get_text() == "7: short <b>one</b>"
    assert heading.find("b") is None
    for part in ("what is asked", "what counts"):
        assert part in main(page)


def test_a_task_whose_topics_are_all_left_out_has_no_difficulty(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """List, topic and map still open: the topic shows its scores, and no mean counts it."""
    build.task(database, tmp_path, judgments={"1": {"a": 1}}, topics=("1",), measures=("RR",), publish=False)
    with database.write() as session:
        organise.exclude_topic(session, OPERATOR, "t", "1", "found to be unclear")
        drafts.publish(session, OPERATOR, "t")
    for name, first in (("one", "a"), ("two", "b")):
        build.run(database, tmp_path, {"1": [first]}, name)
    build.drain(database)
    assert table(client.get("/tasks/t/topics"), "1 topic.") == [
        ["1", "title of 1 excluded from all means", "1", "1", *["–"] * 8]
    ]
    assert [row[3] for row in table(client.get("/tasks/t/topics/1"), "Ranks are")] == ["1.0000", "0.0000"]
    assert client.get("/tasks/t/heatmap.json").get_json()["topics"] == []
    assert client.get("/tasks/t/heatmap?rows=similarity&columns=similarity").status_code == 200
