"""Rankings as pages: grades, running scores, the way to the next relevant document, what was missed."""

import csv
import io
from pathlib import Path

import pytest
from bs4.element import Tag
from flask.testing import FlaskClient

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table

BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
PARTLY = {"1": ["b", "a", "new"], "3": ["f"]}
CORPUS = (
    '{"_id": "a", "title": "The title of a", "text": "Words on one <b>topic</b>."}\n'
    '{"_id": "c", "title": "C", "text": "No such word, but long: ' + "more and more " * 40 + '"}\n'
)


@pytest.fixture
@built_once
def mine(database: Database, tmp_path: Path) -> int:
    """A run that misses a topic, among a better one and a baseline, with two stored documents."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(CORPUS)
    build.task(database, tmp_path, measures=("RR", "NumRet"), grade_names={2: "exact"}, documents=corpus)
    build.run(
        database, tmp_path, {**BEST, "1": ["z", "c"]}, "base", run_request=RunRequest("base", "baseline")
    )
    build.run(database, tmp_path, BEST, "best")
    made = build.run(database, tmp_path, PARTLY, "mine", team_name="Lab")
    build.drain(database)
    return made


def _row(client: FlaskClient, path: str, rank: int) -> Tag:
    found = parsed(client.get(path)).find("tr", id=f"rank-{rank}")
    assert isinstance(found, Tag)
    return found


def _links(tag: Tag) -> list[str]:
    return [str(link["href"]) for link in tag.find_all("a", href=True)]


def test_each_rank_has_the_scores_of_the_ranking_cut_there(client: FlaskClient, mine: int) -> None:
    """Grade, P, R, AP and nDCG (worked by hand) and who else has the document; a dash for the unjudged."""
    path = f"/runs/{mine}/topics/1"
    rows = table(client.get(path), "3 of 3 documents")
    assert [row[:2] + row[3:] for row in rows] == [
        ["1", "0", "0.0000", "0.0000", "0.0000", "0.0000", "1 of 3 best 1 mine", "999.0000"],
        ["2", "2 exact", "0.5000", "0.5000", "0.2500", "0.4796", "2 of 3 best 1 best", "998.0000"],
        ["3", "–", "0.3333", "0.5000", "0.2500", "0.4796", "–", "997.0000"],
    ]
    found = client.get(f"{path}.json").get_json()
    assert (found["level"], found["relevant"], found["scores"]["RR"]) == (1, 2, 0.5)
    second = found["documents"][1]
    assert (second["precision"], second["recall"], second["average_precision"]) == (0.5, 0.5, 0.25)
    assert (second["runs"], second["best_rank"], second["best_run"]) == (2, 1, "best")
    third = found["documents"][2]
    assert (third["grade"], third["runs"], third["best_rank"]) == (None, None, None)


def test_what_was_missed_is_listed_with_who_has_it(client: FlaskClient, mine: int) -> None:
    """The relevant document that is not there, how many runs have it, and a link to its best place."""
    page = client.get(f"/runs/{mine}/topics/1")
    assert table(page, "1 relevant document this run misses") == [["1", "C c", "2 of 3 best 2 base"]]
    links = _links(parsed(page).select("#missed ~ .scroll")[0])
    assert links == ["/tasks/t/documents?topic=1&docno=c", "/runs/1/topics/1#rank-2"]
    missed = client.get(f"/runs/{mine}/topics/1.json").get_json()["missed"]
    assert missed == [{"docno": "c", "grade": 1, "runs": 2, "best_rank": 2, "best_run": "base"}]


def test_words_of_the_topic_are_marked_and_texts_stay_text(client: FlaskClient, mine: int) -> None:
    """The title of topic 1 is `title of 1`: its words stand out in titles; markup in a text is shown."""
    row = _row(client, f"/runs/{mine}/topics/1", 2)
    assert [mark.get_text() for mark in row.find_all("mark")] == ["title"]
    snippet = row.find("span", class_="snippet")
    assert snippet is not None
    assert snippet.get_text() == "Words on one <b>topic</b>."
    assert row.find("code", string="a") is not None


def test_one_relevant_document_leads_to_the_next(
    database: Database, client: FlaskClient, tmp_path: Path, mine: int
) -> None:
    """The page starts with a link to the first one, each leads on; one below the rows to the whole page."""
    deep = {"1": ["x", "a", *(f"x{number}" for number in range(248)), "c", "y"]}
    path = f"/runs/{build.run(database, tmp_path, deep, 'deep')}/topics/1"
    build.drain(database)
    page = parsed(client.get(path))
    figures = page.find("ul", class_="figures")
    assert isinstance(figures, Tag)
    assert "relevant documents found 2 of 2" in " ".join(figures.get_text(" ").split())
    assert "#rank-2" in _links(figures)
    assert [row["id"] for row in page.select("tr.relevant")] == ["rank-2"]
    assert f"{path}?all=#rank-251" in _links(_row(client, path, 2))
    assert "1 relevant document is further down, the next at rank 251" in main(client.get(path))
    whole = parsed(client.get(f"{path}?all"))
    assert [row["id"] for row in whole.select("tr.relevant")] == ["rank-2", "rank-251"]
    assert "#rank-251" in _links(_row(client, f"{path}?all", 2))
    assert [str(link["href"]) for link in whole.select("figure#relevant svg a")] == ["#rank-2", "#rank-251"]


def test_other_runs_on_the_topic_are_a_link_away(client: FlaskClient, mine: int) -> None:
    """The runs scored just above and below, the place among the ranked ones, the leader side by side."""
    page = parsed(client.get(f"/runs/{mine}/topics/1"))
    around = page.find("nav", attrs={"aria-label": "Runs on this topic by RR"})
    assert isinstance(around, Tag)
    assert _links(around) == ["/runs/1/topics/1", f"/tasks/t/compare?a={mine}&b=2&topic=1#topic"]
    assert "2 of 2 on this topic by RR" in " ".join(around.get_text(" ").split())
    first = parsed(client.get("/runs/2/topics/1")).find(
        "nav", attrs={"aria-label": "Runs on this topic by RR"}
    )
    assert isinstance(first, Tag)
    assert _links(first) == ["/runs/1/topics/1", f"/tasks/t/compare?a=2&b={mine}&topic=1#topic"]


def test_ties_are_marked_and_counted(
    database: Database, client: FlaskClient, tmp_path: Path, mine: int
) -> None:
    """Documents of equal score carry a mark that names their ranks; a sentence says how many there are."""
    path = tmp_path / "tied.txt"
    path.write_text(
        "".join(f"1 Q0 {docno} 1 {score} t\n" for docno, score in zip("abcxyz", "998877", strict=True))
    )
    run_id = build.submit(database, path).run_id
    build.drain(database)
    page = f"/runs/{run_id}/topics/1"
    assert "6 of the 6 documents are tied with another (3 groups, the largest of 2)" in main(client.get(page))
    mark = _row(client, page, 4).find("span", class_="tie")
    assert isinstance(mark, Tag)
    assert mark["title"] == "same score as ranks 3 to 4"
    found = client.get(f"{page}.json").get_json()
    assert found["ties"] == {"groups": 3, "documents": 6}
    assert [row["tied"] for row in found["documents"]] == [[1, 2]] * 2 + [[3, 4]] * 2 + [[5, 6]] * 2
    assert "are tied with" not in main(client.get(f"/runs/{mine}/topics/1"))


def test_a_missed_topic_is_an_empty_ranking(client: FlaskClient, mine: int) -> None:
    """The page says so and lists everything relevant as missed; an unknown topic is not found."""
    page = client.get(f"/runs/{mine}/topics/2")
    assert "no documents for this topic; it scores as an empty ranking" in main(page)
    assert table(page, "1 relevant document this run misses") == [["1", "d", "2 of 3 best 1 base"]]
    for suffix in ("", ".json", ".csv", ".tex"):
        assert client.get(f"/runs/{mine}/topics/9{suffix}").status_code == 404
        assert client.get(f"/runs/999/topics/1{suffix}").status_code == 404


def test_a_ranking_is_the_same_in_csv_and_latex(client: FlaskClient, mine: int) -> None:
    """CSV has everything at full precision; LaTeX the columns that are printed, captioned."""
    path = f"/runs/{mine}/topics/1"
    rows = list(csv.reader(io.StringIO(client.get(f"{path}.csv").get_data(as_text=True))))
    assert rows[0][:5] == ["rank", "docno", "score", "grade", "title"]
    assert rows[1] == ["1", "b", "999.0", "0", "", "0.0", "0.0", "0.0", "0.0", "1", "1", "mine"]
    assert rows[2][:8] == ["2", "a", "998.0", "2", "The title of a", "0.5", "0.5", "0.25"]
    text = client.get(f"{path}.tex").get_data(as_text=True)
    assert "Rank & Grade & Document & P & R & AP & nDCG \\\\" in text
    assert "2 & 2 & a & 0.5000 & 0.5000 & 0.2500 & 0.4796 \\\\" in text
    assert "3 & -- & new &" in text
    assert "3 of 3 documents of run mine for topic 1" in text


@pytest.mark.parametrize(("dialect", "order"), [(10, ["a", "z", "m"]), (9, ["z", "m", "a"])])
def test_a_ranking_stands_in_its_dialects_order(
    database: Database, client: FlaskClient, tmp_path: Path, dialect: int, order: list[str]
) -> None:
    """Scores that differ in 64 bits only are ties in trec_eval 9: then document ids go descending."""
    build.task(database, tmp_path, judgments={"1": {"a": 1}}, measures=("RR",), dialect=str(dialect))
    path = tmp_path / "close.txt"
    path.write_text("1 Q0 m 1 0.5 t\n1 Q0 z 2 0.5 t\n1 Q0 a 3 0.500000000001 t\n")
    run_id = build.submit(database, path).run_id
    build.drain(database)
    found = client.get(f"/runs/{run_id}/topics/1.json").get_json()
    assert ([row["docno"] for row in found["documents"]], found["dialect"]) == (order, dialect)
    scores = client.get(f"/runs/{run_id}.json").get_json()["scores"]
    assert scores == {"RR": 1 / (1 + order.index("a"))}
    assert f"trec_eval {dialect}" in main(client.get(f"/runs/{run_id}/topics/1"))
    assert "ordered differently with 32-bit scores" in main(client.get(f"/runs/{run_id}/ties"))
    assert parsed(client.get("/tasks/t")).find("abbr", string="32/64") is not None


def test_a_topic_nobody_judged_shows_the_ranking_alone(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """No column of grades or scores, and a sentence why; the same before there are any judgments."""
    build.task(database, tmp_path, judgments={"1": {"a": 0}}, measures=("RR",))
    run_id = build.run(database, tmp_path, BEST, "only")
    build.drain(database)
    page = client.get(f"/runs/{run_id}/topics/2")
    assert table(page, "1 of 1 documents") == [["1", "d", "999.0000"]]
    assert "This topic has no judged documents in qrels revision 1" in main(page)
    assert "Rank & Document & Score" in client.get(f"/runs/{run_id}/topics/2.tex").get_data(as_text=True)
    assert "No document is judged relevant" in main(client.get(f"/runs/{run_id}/topics/1"))
    build.task(database, tmp_path, "unjudged", judgments=None)
    waiting = build.run(database, tmp_path, BEST, "waiting", slug="unjudged")
    page = client.get(f"/runs/{waiting}/topics/1")
    assert "This task has no judgments yet" in main(page)
    assert parsed(page).find("figure") is None


def test_a_withdrawn_runs_ranking_keeps_its_grades(
    database: Database, client: FlaskClient, mine: int
) -> None:
    """It has no score and no place among the others, and does not count as a finder."""
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, mine, "wrong index")
    found = client.get(f"/runs/{mine}/topics/1.json").get_json()
    assert (found["scores"], [row["grade"] for row in found["documents"]]) == ({}, [0, 2, None])
    assert [row["runs"] for row in found["documents"]] == [0, 1, None]
    page = parsed(client.get(f"/runs/{mine}/topics/1"))
    assert [nav["aria-label"] for nav in page.select("nav.steps")] == ["Topics"]
