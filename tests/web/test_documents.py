"""Pages of documents: the text, what assessors said over time, and where the runs have it."""

import csv
import io
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update
from werkzeug.test import TestResponse

from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.db.tables import Collection
from leaderboard.runs.web.rankings import MOST_TEXTS
from leaderboard.settings import Settings
from tests.make import build, people
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table
from tests.web.conftest import SignIn

FIRST = {"1": ["b", "a", "odd"], "2": ["a"]}
SECOND = {"1": [*(f"x{number}" for number in range(210)), "a"]}
THIRD = {"3": ["e"]}
ADDRESS = {"REMOTE_ADDR": "192.0.2.7"}


@pytest.fixture
@built_once
def runs(database: Database, tmp_path: Path) -> tuple[int, int, int]:
    """Three scored runs; the third has nothing for topic 1."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "a", "title": "About a", "text": "A title, and titles."}\n')
    build.task(database, tmp_path, measures=("RR",), documents=corpus)
    made = [
        build.run(database, tmp_path, rankings, name, team_name=f"Team {name}")
        for name, rankings in (("first", FIRST), ("second", SECOND), ("third", THIRD))
    ]
    build.drain(database)
    return made[0], made[1], made[2]


def test_a_document_shows_which_runs_have_it_where(client: FlaskClient, runs: tuple[int, int, int]) -> None:
    """By rank with the runs' own scores, linked to that rank; ranks far down to the whole ranking."""
    first, second, third = runs
    page = client.get("/tasks/t/documents?docno=a&topic=1")
    assert table(page, "2 of 3 runs retrieve it") == [
        ["2", "first", "Team first", "998.0000"],
        ["211", "second", "Team second", "789.0000"],
    ]
    found = parsed(page)
    places = [str(row.find("a")["href"]) for row in found.select("#runs ~ .scroll tbody tr")][:2]
    assert places == [f"/runs/{first}/topics/1#rank-2", f"/runs/{second}/topics/1?all=#rank-211"]
    assert [link["href"] for link in found.select("details:not(.menu) a")] == [f"/runs/{third}/topics/1"]
    bands = found.find("ul", attrs={"aria-label": "Runs by rank"})
    assert bands is not None
    assert " ".join(bands.get_text(" ").split()) == "ranks 1–10 1 ranks 101–1,000 1 not retrieved 1"


def test_a_documents_words_are_marked_for_the_topic(client: FlaskClient, runs: tuple[int, int, int]) -> None:
    """The words of the topic's title stand out; without a topic nothing does."""
    page = parsed(client.get("/tasks/t/documents?docno=a&topic=1"))
    assert [mark.get_text() for mark in page.find_all("mark")] == ["title", "titles"]
    plain = parsed(client.get("/tasks/t/documents?docno=a"))
    assert plain.find("mark") is None
    assert plain.find(id="runs") is None
    assert client.get("/tasks/t/documents?docno=a&topic=9").status_code == 404


def test_several_documents_are_read_for_one_topic(client: FlaskClient, runs: tuple[int, int, int]) -> None:
    """Under each other with marks and grades, the highest grade first, unjudged ones last."""
    first = runs[0]
    page = client.get("/tasks/t/documents?docno=odd&docno=b&docno=a&topic=1")
    found = parsed(page)
    heads = found.select("h2[id^=document-]")
    assert [head["id"] for head in heads] == ["document-a", "document-b", "document-odd"]
    assert [mark.get_text() for mark in found.find_all("mark")] == ["title", "titles"]
    assert "2 of 3 best 2 first" in main(page)
    places = [link["href"] for link in found.select("main p a[title]")]
    assert places[0] == f"/runs/{first}/topics/1#rank-2"
    assert client.get("/tasks/t/documents?docno=a&docno=b").status_code == 404
    assert client.get("/tasks/t/documents?docno=a&docno=b&topic=9").status_code == 404


def test_so_many_documents_are_on_a_page_and_no_more(
    database: Database, client: FlaskClient, tmp_path: Path, runs: tuple[int, int, int]
) -> None:
    """One more is refused with the limit; pages of several are counted as computed ones, of one not."""
    docnos = [f"x{number}" for number in range(MOST_TEXTS + 1)]

    def ask(client: FlaskClient, docnos: list[str]) -> TestResponse:
        query = [("topic", "1"), *(("docno", docno) for docno in docnos)]
        return client.get("/tasks/t/documents", query_string=query, environ_base=ADDRESS)

    assert len(parsed(ask(client, docnos[1:])).select("h2[id^=document-]")) == MOST_TEXTS
    refused = ask(client, docnos)
    assert refused.status_code == 422
    assert f"must name at most {MOST_TEXTS} documents. Request fewer at a time." in main(refused)
    settings = Settings(data=tmp_path, database_url=str(database.engine.url), computed_pages=1)
    few = create_app(settings, database).test_client()
    asked = (docnos[:2], docnos[:1], docnos[:2], docnos[:3])
    assert [ask(few, some).status_code for some in asked] == [200, 200, 200, 429], "the first is kept"


def test_judgments_are_shown_over_all_revisions(
    database: Database, client: FlaskClient, tmp_path: Path, runs: tuple[int, int, int]
) -> None:
    """A row a topic, a column a revision, changes in words; who found it under the newest."""
    build.revise(database, tmp_path, {"1": {"a": 1, "b": 0}, "2": {"d": 1}, "3": {"a": 3, "e": 1}})
    build.drain(database)
    page = client.get("/tasks/t/documents?docno=a")
    assert table(page, "2 qrels revisions") == [
        ["1", "title of 1", "2", "1 lowered", "2 of 3 best 2 first · all"],
        ["2", "title of 2", "0", "– removed", "– · all"],
        ["3", "title of 3", "–", "3 new", "no run · all"],
    ]
    found = client.get("/tasks/t/documents.json?docno=a").get_json()
    assert found["judgments"] == {"1": 1, "3": 3}
    assert found["revisions"]["2"] == {"1": 0, "2": None}
    rows = list(csv.reader(io.StringIO(client.get("/tasks/t/documents.csv?docno=a").get_data(as_text=True))))
    assert rows[0][2:] == ["grade", "runs", "best_rank", "best_run", "revision 1", "revision 2"]
    assert rows[1][2:] == ["1", "2", "2", "first", "2", "1"]


def test_a_document_is_the_same_in_every_form(client: FlaskClient, runs: tuple[int, int, int]) -> None:
    """With a topic the files hold the runs that have it, without one the judgments."""
    found = client.get("/tasks/t/documents.json?docno=a&topic=1").get_json()
    assert (found["title"], found["text"], found["topic"], found["grade"], found["runs"]) == (
        *("About a", "A title, and titles.", "1", 2, 3),
    )
    assert [(place["run"], place["rank"]) for place in found["places"]] == [("first", 2), ("second", 211)]
    text = client.get("/tasks/t/documents.csv?docno=a&topic=1").get_data(as_text=True)
    assert text.splitlines()[:2] == ["run,run_id,team,rank,score", f"first,{runs[0]},Team first,2,998.0"]
    text = client.get("/tasks/t/documents.csv?docno=a").get_data(as_text=True)
    assert text.splitlines()[:2] == ["topic,title,grade,runs,best_rank,best_run", "1,title of 1,2,2,2,first"]
    printed = client.get("/tasks/t/documents.tex?docno=a&topic=1").get_data(as_text=True)
    assert "Ranks of document a in 2 of 3 runs for topic 1" in printed
    assert "Grades of document a" in client.get("/tasks/t/documents.tex?docno=a").get_data(as_text=True)


def test_an_unjudged_document_is_found_in_the_rankings(
    client: FlaskClient, runs: tuple[int, int, int]
) -> None:
    """Without text, link or judgment a document is known by its place in a run, and by nothing else."""
    page = client.get("/tasks/t/documents?docno=x7&topic=1")
    assert [row[:2] for row in table(page, "1 of 3 runs retrieves it")] == [["8", "second"]]
    assert "The site stores 1 documents" in main(page)
    assert "Not judged for any topic" in main(page)
    assert client.get("/tasks/t/documents?docno=x7").status_code == 404
    assert client.get("/tasks/t/documents?docno=nowhere&topic=1").status_code == 404


def test_a_document_judged_for_one_topic_is_read_for_it(
    client: FlaskClient, runs: tuple[int, int, int]
) -> None:
    """Nobody has to choose where there is no choice."""
    page = client.get("/tasks/t/documents?docno=e")
    assert [row[:2] for row in table(page, "1 of 3 runs retrieves it")] == [["1", "third"]]


def test_a_blind_task_shows_own_places_only(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """Neither grades nor others' runs; a member sees where the own run has the document."""
    people.team(database, "Owls", people.account(database, "Ann"))
    build.task(database, tmp_path, visibility="blind")
    fillers = [f"x{number}" for number in range(10)]
    for name, first, team in (("own", ["x", "a"], "Owls"), ("other", ["a", "y"], "Bears")):
        build.run(database, tmp_path, {key: [*first, *fillers] for key in build.TOPICS}, name, team_name=team)
    build.drain(database)
    assert client.get("/tasks/t/documents?docno=a&topic=1").status_code == 404
    sign_in(client, "Ann")
    page = client.get("/tasks/t/documents?docno=a&topic=1")
    assert [row[:2] for row in table(page, "1 of 1 run retrieves it")] == [["2", "own"]]
    assert "Judgments" not in main(page)
    assert parsed(page).select(".grade") == []
    found = client.get("/tasks/t/documents.json?docno=a&topic=1").get_json()
    assert (found["judgments"], found["grade"], found["runs"]) == ({}, None, 1)
    assert client.get("/tasks/t/documents?docno=y&topic=1").status_code == 404


@pytest.mark.dialect
def test_a_collection_of_ids_alone_says_so(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Without stored texts the page says what it has, and links to where documents are published."""
    build.task(database, tmp_path)
    page = client.get("/tasks/t/documents?docno=a&topic=1")
    assert "Only document ids are stored" in main(page)
    assert "No runs yet" in main(page)
    with database.write() as session:
        session.execute(update(Collection).values(link_template="https://example.org/{docno}"))
    page = client.get("/tasks/t/documents?docno=b&topic=1")
    link = parsed(page).find("a", href="https://example.org/b")
    assert link is not None
    assert link["rel"] == ["noopener", "noreferrer"]
    assert "follow the link above" in main(page)
