"""Pages of runs, rankings and documents: what stands on them and what does not."""

import csv
import io
import math
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from scipy.special import stdtrit
from sqlalchemy import select, update

from leaderboard.core.jobs import queue
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.settings import Settings
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table

HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
PARTLY = {"1": ["b", "a", "new"], "3": ["f"]}


@pytest.fixture
@built_once
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
    assert [" ".join(each.get_text(" ").split()) for each in figures.find_all("li")][:2] == [
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
    assert "No judged documents" in main(client.get("/tasks/t/topics/2"))


def test_a_withdrawn_run_keeps_its_page_without_scores(
    database: Database, client: FlaskClient, run_id: int
) -> None:
    """Reason and file stay; no mean, no topic's score and no place on a topic's page."""
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, run_id, "wrong index")
    page = client.get(f"/runs/{run_id}")
    assert "wrong index" in main(page)
    assert parsed(page).find("table") is None
    found = client.get(f"/runs/{run_id}.json").get_json()
    assert (found["state"], found["scores"], found["per_topic"]) == ("withdrawn", {}, {})
    assert client.get(f"/runs/{run_id}/topics/1.json").get_json()["scores"] == {}
    assert client.get("/tasks/t/topics/1.json").get_json()["rows"] == []


@pytest.fixture
@built_once
def among_others(database: Database, tmp_path: Path) -> int:
    """A run that misses a topic, among a better, an equal and an unranked one."""
    build.task(database, tmp_path, measures=("RR", "NumRet"), grade_names={2: "exact"})
    for name, rankings, kind in (("best", BEST, "official"), ("base", BEST, "baseline")):
        build.run(database, tmp_path, rankings, name, run_request=RunRequest(name, kind))
    mine = build.run(
        database, tmp_path, PARTLY, "mine", team_name="Lab", run_request=RunRequest("mine", description="how")
    )
    build.run(database, tmp_path, PARTLY, "same", team_name="Others")
    build.drain(database)
    return mine


def test_a_run_says_where_it_stands(client: FlaskClient, among_others: int) -> None:
    """Every measure with mean, rank among the ranked runs and the best run's value; counts have no rank."""
    page = client.get(f"/runs/{among_others}")
    rows = [row[:4] for row in table(page, "Means over topics; ranks among the official runs")]
    assert rows == [["RR", "0.5000", "2 of 3", "1.0000"], ["NumRet", "4", "–", "–"]]
    found = client.get(f"/runs/{among_others}.json").get_json()
    assert (found["scores"], found["ranks"]) == ({"RR": 0.5, "NumRet": 4.0}, {"RR": 2, "NumRet": None})
    assert (found["run"], found["team"], found["task"], found["state"]) == ("mine", "Lab", "t", "done")
    assert "how" in main(page)
    head = parsed(page).select_one(".headline")
    assert head is not None
    words = " ".join(head.get_text().split())
    assert (
        words
        == "0.5000 RR −0.7421 to 1.7421, 95% confidence interval · rank 2 of 3 · rank range 1 to 3 at 95% "
        "confidence"
    )
    reach = stdtrit(2, 0.975) * 0.5 / math.sqrt(3)
    assert found["interval"] == pytest.approx([0.5 - reach, 0.5 + reach], abs=1e-12)


def test_a_runs_topics_are_the_same_in_every_form(client: FlaskClient, among_others: int) -> None:
    """Each judged topic with its scores, a missed one as an empty ranking; a chart with a bar for each."""
    page = client.get(f"/runs/{among_others}/topics")
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
    assert table(page, "RR of mine by topic") == [
        ["1", "title of 1", "0.5000", "±0.0000", "1.0000", "best", "0.5000", "0.5000", "2"],
        ["2", "title of 2", "0.0000", "±0.0000", "1.0000", "best", "0.0000", "0.0000", "2"],
        ["3", "title of 3", "1.0000", "±0.0000", "1.0000", "3 runs", "1.0000", "1.0000", "1"],
    ]
    columns = parsed(page).select("#topics svg a")
    assert [str(column["href"]).rsplit("/", 1)[1] for column in columns] == ["1", "2", "3"]


def test_a_runs_numbers_name_what_they_come_from(client: FlaskClient, among_others: int) -> None:
    """File, rankings and judgments by digest, the evaluator and every measure's version."""
    text = main(client.get(f"/runs/{among_others}/origin"))
    found = client.get(f"/runs/{among_others}.json").get_json()
    assert f"SHA-256 of the file {found['file_sha256']}" in text
    assert "Tag in the file mine" in text
    assert "RR v1, NumRet v1" in text
    assert (found["revision"], found["dialect"], found["topics"]) == (1, 10, 3)
    assert found["measure_versions"] == {"RR": 1, "NumRet": 1}
    assert "Upload report" not in main(client.get(f"/runs/{among_others}"))


def test_a_run_without_judgments_waits(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """It is stored and says what it waits for; nothing is scored and nothing refreshes."""
    build.task(database, tmp_path, judgments=None)
    run_id = build.run(database, tmp_path, HALF)
    page = client.get(f"/runs/{run_id}")
    assert "waiting for judgments" in main(page)
    assert "scored when the first judgments arrive" in main(page)
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
        held = queue.claim(session, "here:1", Settings())
        assert held is not None
    assert "being scored" in main(client.get(f"/runs/{run_id}"))
    with database.write() as session:
        queue.fail(session, held, "The disk is gone.", again=False)
    assert "failed. The disk is gone. The organisers can see this" in main(client.get(f"/runs/{run_id}"))
    found = client.get(f"/runs/{run_id}.json").get_json()
    assert (found["state"], found["message"]) == ("failed", "The disk is gone.")
    assert table(client.get("/tasks/t"), "Ranked by")[0][-1] == "scoring failed"


def test_topics_are_ordered_by_links(client: FlaskClient, among_others: int) -> None:
    """Each order is an address, marked on the column it orders by, the same for chart, table and files."""
    path = f"/runs/{among_others}/topics?sort=score"
    page = client.get(path)
    rows = [row[0] for row in table(page, "RR of mine by topic")]
    assert rows == ["3", "1", "2"]
    columns = parsed(page).select("#topics svg a")
    assert [str(column["href"]).rsplit("/", 1)[1] for column in columns] == rows
    marked = parsed(page).select("[aria-sort]")
    assert [(" ".join(each.get_text().split()), each["aria-sort"]) for each in marked] == [
        ("RR", "descending")
    ]
    lines = client.get(path.replace("?", ".csv?")).get_data(as_text=True).splitlines()
    assert lines[0] == "topic,title,score,difference,best,best_run,median,worst,rank"
    assert [line.split(",")[0] for line in lines[1:]] == rows
    earlier = client.get(f"/runs/{among_others}.csv?table=field&sort=score").get_data(as_text=True)
    assert earlier.splitlines() == lines
    assert client.get(f"/runs/{among_others}/topics?sort=nonsense").status_code == 200


def test_each_table_is_csv_and_latex_too(client: FlaskClient, among_others: int) -> None:
    """All that the page shows in tables; the caption says what it rests on; an unknown table is not found."""
    path = f"/runs/{among_others}"
    rows = list(csv.reader(io.StringIO(client.get(f"{path}.csv?table=measures").get_data(as_text=True))))
    assert rows[1] == ["RR", "0.5", "2", "3", "1.0", "0.75", "0.5", "0.5", "0.5"]
    recall = client.get(f"{path}.csv?table=recall").get_data(as_text=True).splitlines()
    assert (recall[0], len(recall)) == ("recall,mine,leader,median,highest", 12)
    ranks = list(csv.reader(io.StringIO(client.get(f"{path}.csv?table=ranks").get_data(as_text=True))))
    assert len(ranks) == 11
    assert ranks[0][-1] == "gain_ideal"
    every = client.get(f"{path}.csv?table=all&all").get_data(as_text=True).splitlines()
    assert len(every) > 100
    for name in ("topics", "measures", "field", "recall", "ranks", "ties", "all"):
        text = client.get(f"{path}.tex?table={name}").get_data(as_text=True)
        assert r"\toprule" in text
        assert "of mine" in text
        assert "3 topics, qrels revision 1" in text
    assert client.get(f"{path}.csv?table=nonsense").status_code == 404
    links = {
        str(link["href"])
        for page in ("", "/topics", "/curves", "/measures")
        for link in parsed(client.get(path + page)).select(".downloads a")
    }
    assert {f"{path}.csv?table=measures", f"{path}/curves.tex?table=ranks", f"{path}.csv"} <= links
    assert {f"{path}/topics.csv", f"{path}/topics.tex?table=topics", f"{path}/measures.json"} <= links


def test_all_measures_are_a_click_away(client: FlaskClient, among_others: int) -> None:
    """Each is linked to its definition; what has no one number for a run has a dash, no nan."""
    assert parsed(client.get(f"/runs/{among_others}")).find("a", href=f"/runs/{among_others}/measures")
    page = client.get(f"/runs/{among_others}/measures")
    rows = table(page, "The ")
    assert len(rows) > 100
    assert ["AP", "0.2500", "higher", "Average precision (its mean is MAP)"] in rows
    assert not {"nan", "inf", "None"} & {cell for row in rows for cell in row[:2]}
    assert parsed(page).select_one('[aria-label="All measures"] tbody a')["href"].startswith("/measures/")  # type: ignore[index, union-attr]


def test_ties_are_said_with_what_they_change(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """How much is tied, lowest, expected and highest value; what takes long is offered as a link."""
    build.task(database, tmp_path, measures=("RR", "Bpref"))
    path = tmp_path / "tied.txt"
    path.write_text("1 Q0 a 1 2 t\n1 Q0 x 2 2 t\n2 Q0 d 1 1 t\n3 Q0 e 1 1 t\n")
    run_id = build.submit(database, path).run_id
    build.drain(database)
    page = client.get(f"/runs/{run_id}/ties")
    assert "Documents are tied on 1 of 3 topics: 2 documents in all, up to 2" in main(page)
    caption = "Lowest, expected and highest score"
    assert table(page, caption) == [["RR", "0.8333", "0.8333", "0.9167", "1.0000", "exact"]]
    assert parsed(page).find("a", href=f"/runs/{run_id}/ties?drawn=") is not None
    drawn = table(client.get(f"/runs/{run_id}/ties?drawn="), caption)
    assert [row[0] for row in drawn] == ["RR", "Bpref"]
    assert drawn[1][-1] == "100 drawn orders"
    alone = build.run(database, tmp_path, HALF)
    build.drain(database)
    assert "no two documents of a topic have the same score" in main(client.get(f"/runs/{alone}/ties"))


@pytest.mark.dialect
def test_near_duplicates_are_listed(database: Database, client: FlaskClient, among_others: int) -> None:
    """A run of the same team with the same rankings is named with a way to compare; others' runs are not."""
    assert parsed(client.get(f"/runs/{among_others}/origin")).find(id="near") is None
    with database.write() as session:
        session.execute(
            update(Run).values(team_id=select(Run.team_id).where(Run.id == among_others).scalar_subquery())
        )
    rows = table(client.get(f"/runs/{among_others}/origin"), "Runs of the same team")
    assert rows == [["same", "Lab", "all rankings compare", "1.000", "100%"]]
    found = client.get(f"/runs/{among_others}.json").get_json()["near_duplicates"]
    assert [each["run"] for each in found] == ["same"]


def test_json_has_all_numbers_of_the_page(client: FlaskClient, among_others: int) -> None:
    """Spreads, topics against the field, curves, ties, digests and the command, at full precision."""
    found = client.get(f"/runs/{among_others}.json").get_json()
    assert found["field"]["RR"] == {"low": 0.5, "lower": 0.5, "median": 0.5, "upper": 0.75, "high": 1.0}
    assert found["by_topic"]["topics"][0]["best_run"] == "best"
    assert found["curves"]["leader"] == "best"
    assert len(found["curves"]["recall"]["mine"]) == 11
    assert found["curves"]["gain"]["ideal"][0] == 2.0
    assert found["ties"] == {"topics": 0, "documents": 0, "largest": 0, "scores": {}}
    assert len(found["ranking_sha256"]) == len(found["revision_sha256"]) == 64
    assert (
        found["command"]
        == "leaderboard evaluate qrels.txt mine.txt -q --dialect 10 -m runid -m num_q -m RR -m NumRet"
    )


def test_a_single_run_is_its_own_field(client: FlaskClient, run_id: int) -> None:
    """The first run of a board has a page too: nothing to be better than, no second curve."""
    page = client.get(f"/runs/{run_id}/topics")
    assert "better than the median of the 1 ranked run on 0 of 3 topics" in main(page)
    curves = parsed(client.get(f"/runs/{run_id}/curves"))
    names = [name.get_text() for name in curves.select("#recall-precision .name")]
    assert names == ["half"]


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("?ties", "/ties?drawn="),
        ("?all=1", "/measures"),
        ("?sort=rank&measure=RR", "/topics?measure=RR&sort=rank"),
        ("?figure=topics&sort=rank", "/topics?sort=rank&figure=topics"),
        ("?figure=gain-by-rank", "/curves?figure=gain-by-rank"),
        ("?sort=rank&_external=1&_scheme=javascript&run_id=9", "/topics?sort=rank"),
    ],
)
def test_addresses_of_the_one_long_page_lead_to_its_parts(
    client: FlaskClient, run_id: int, asked: str, page: str
) -> None:
    """What parameters once unfolded has an address of its own, and the old one leads there."""
    answer = client.get(f"/runs/{run_id}{asked}")
    assert (answer.status_code, answer.headers["Location"]) == (301, f"/runs/{run_id}{page}")
    assert client.get(answer.headers["Location"]).status_code == 200


def test_every_page_of_a_run_names_it_and_leads_to_the_others(client: FlaskClient, run_id: int) -> None:
    """Seven pages, each marked as the one that is open; each as JSON says which run it is of."""
    sections = ("", "/explained", "/topics", "/curves", "/ties", "/measures", "/origin")
    for section in sections:
        page = parsed(client.get(f"/runs/{run_id}{section}"))
        links = page.select('nav[aria-label="Run"] a')
        assert [link["href"] for link in links] == [f"/runs/{run_id}{other}" for other in sections]
        assert [link["href"] for link in links if link.has_attr("aria-current")] == [
            f"/runs/{run_id}{section}"
        ]
        assert "half" in page.h1.get_text()  # type: ignore[union-attr]
        found = client.get(f"/runs/{run_id}{section}.json").get_json()
        assert (found["run"], found["run_id"], found["revision"]) == ("half", run_id, 1)


def test_the_parts_of_a_run_say_what_the_whole_says(client: FlaskClient, among_others: int) -> None:
    """Every key of a part as JSON is in the whole, with the same value; their tables are the same files."""
    path = f"/runs/{among_others}"
    whole = client.get(f"{path}.json?all").get_json()
    for part in ("topics", "curves", "ties", "measures", "origin"):
        facts = client.get(f"{path}/{part}.json").get_json()
        assert facts == {key: whole[key] for key in facts}
    for part, name in (("topics", "field"), ("curves", "recall"), ("measures", "all"), ("origin", "near")):
        assert client.get(f"{path}/{part}.csv").text == client.get(f"{path}.csv?all&table={name}").text


def test_a_run_that_is_not_scored_has_its_origin_only(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Pages of scores by topic are neither linked nor there."""
    build.task(database, tmp_path, measures=("RR",))
    run_id = build.run(database, tmp_path, HALF)
    links = parsed(client.get(f"/runs/{run_id}?ties")).select('nav[aria-label="Run"] a')
    assert [link.get_text() for link in links] == ["Scores", "Origin"]
    answer = client.get(f"/runs/{run_id}/curves")
    assert answer.status_code == 404
    assert "no visible scores by topic" in main(answer)


def test_metadata_is_readable_and_whole(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Known facts stand on top with their titles, the nested header in a list, all of it in JSON."""
    build.task(database, tmp_path, measures=("RR",))
    path = tmp_path / "told.txt"
    told = (
        "ir_metadata.start",
        "method:",
        "  automatic: true",
        "  parameters:",
        "    k1: 0.9",
        "ir_metadata.end",
    )
    header = "".join(f"# {line}\n" for line in told)
    path.write_text(f"{header}1 Q0 a 1 2 t\n2 Q0 d 1 1 t\n3 Q0 e 1 1 t\n")
    run_id = build.submit(database, path).run_id
    build.drain(database)
    page = parsed(client.get(f"/runs/{run_id}"))
    facts = page.select_one("dl.facts")
    assert facts is not None
    assert "Run type automatic" in " ".join(facts.get_text(" ").split())
    nested = [each.get_text() for each in page.select("details dl dl dt")]
    assert "k1" in nested
    found = client.get(f"/runs/{run_id}.json").get_json()
    assert found["metadata"]["method"]["parameters"] == {"k1": "0.9"}
    assert found["facts"]["type"] == "automatic"
