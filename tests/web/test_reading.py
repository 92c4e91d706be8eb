"""Pages a visitor reads: complete, accessible, the same numbers in every form."""

import csv
import hashlib
import io
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from flask.testing import FlaskClient

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.tasks.ops import drafts
from leaderboard.web import kept
from tests import ROOT
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import parsed

GOOD = {"1": ["a", "c", "x"], "2": ["d", "a"], "3": ["x", "e", "f"]}
PAGES = [
    "/",
    "/tasks/t",
    "/tasks/t/about",
    "/tasks/t/topics",
    "/tasks/t/topics/1",
    "/runs/1",
    "/runs/1/topics/1",
    "/tasks/t/documents?docno=a",
    "/sign-in",
    "/sign-up",
    "/nowhere",
]


@pytest.fixture
@built_once
def filled(database: Database, tmp_path: Path) -> None:
    """A scored run of an open task with stored documents, judged by a machine."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "a", "title": "Title of a", "text": "words <b>of</b> a"}\n')
    build.task(
        database,
        tmp_path,
        name="A task",
        measures=("AP", "RR"),
        documents=corpus,
        origin="machine",
        origin_name="a model",
    )
    build.run(database, tmp_path, GOOD, "good")
    build.drain(database)


def _page(client: FlaskClient, path: str) -> BeautifulSoup:
    return parsed(client.get(path))


@pytest.mark.trial
@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_well_formed(client: FlaskClient, path: str) -> None:
    """One heading, a skip link, captions, scopes and labels, and nothing inline or from elsewhere."""
    page = _page(client, path)
    assert page.html is not None
    assert page.html["lang"] == "en"
    assert len(page.find_all("h1")) == 1
    skip = page.find("a", class_="skip")
    assert skip is not None
    assert page.find(id=str(skip["href"]).lstrip("#")) is not None
    for table in page.find_all("table"):
        assert table.find("caption") is not None
        assert all(cell.get("scope") in ("col", "row") for cell in table.find_all("th"))
    for field in page.find_all(["input", "select", "textarea"]):
        if field.get("type") not in ("hidden", "submit") and not field.has_attr("hidden"):
            label = page.find("label", attrs={"for": field.get("id")})
            assert label is not None or field.get("aria-label"), field
    assert not page.find_all(style=True)
    assert {sheet.string for sheet in page.find_all("style")} <= set(kept.sheets().values())
    run = [script for script in page.find_all("script") if script.get("type") != "application/ld+json"]
    assert all(script.get("src") for script in run)
    for tag in page.find_all(src=True) + page.find_all("link", href=True):
        assert str(tag.get("src") or tag.get("href")).startswith("/"), tag


@pytest.mark.usefixtures("filled")
def test_machine_judgments_are_never_called_anything_else(client: FlaskClient) -> None:
    """Board, run, topic and ranking say that a machine judged."""
    for path in ("/tasks/t", "/runs/1", "/tasks/t/topics/1", "/runs/1/topics/1"):
        text = _page(client, path).get_text(" ")
        assert "machine" in text, path
        assert "human" not in text, path


@pytest.mark.usefixtures("filled")
def test_a_board_and_its_files_say_the_same(client: FlaskClient) -> None:
    """The page's digits are those of the JSON's doubles; the CSV has the doubles."""
    found = client.get("/tasks/t.json").get_json()
    rows = list(csv.reader(io.StringIO(client.get("/tasks/t.csv").get_data(as_text=True))))
    shown = _page(client, "/tasks/t").find("table")
    assert shown is not None
    cells = [cell.get_text(strip=True) for cell in shown.find_all("tr")[1].find_all("td")]
    scores = found["rows"][0]["scores"]
    assert [cell for cell in cells if cell.count(".") == 1][-2:] == [
        f"{scores['AP']:.4f}",
        f"{scores['RR']:.4f}",
    ]
    assert [float(rows[1][5]), float(rows[1][6])] == [scores["AP"], scores["RR"]]
    assert (found["task"], found["revision"], found["topics"], found["primary"]) == ("t", 1, 3, "AP")


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    "path", ["/tasks/t", "/tasks/t/topics", "/tasks/t/topics/1", "/runs/1", "/runs/1/topics/1"]
)
def test_every_table_is_also_json_and_csv(client: FlaskClient, path: str) -> None:
    """The same address with a suffix gives the data, and the page links to it."""
    assert client.get(f"{path}.json").get_json()
    answer = client.get(f"{path}.csv")
    assert answer.mimetype == "text/csv"
    assert "attachment" in answer.headers["Content-Disposition"]
    links = {str(link["href"]) for link in _page(client, path).find_all("a", href=True)}
    assert {f"{path}.json", f"{path}.csv"} <= links


@pytest.mark.usefixtures("filled")
def test_sorting_is_a_link_that_says_its_state(client: FlaskClient) -> None:
    """A column's head links to the board by it, which then says so; an impossible one is refused in words."""
    page = _page(client, "/tasks/t?measure=RR")
    sorted_by = page.find("th", attrs={"aria-sort": "descending"})
    assert sorted_by is not None
    assert sorted_by.get_text(strip=True) == "RR"
    assert client.get("/tasks/t?measure=recip_rank").status_code == 200
    refused = client.get("/tasks/t?measure=nDCG@0")
    assert refused.status_code == 422
    assert "from 1 to" in refused.get_data(as_text=True)


@pytest.mark.usefixtures("filled")
def test_a_page_that_did_not_change_is_not_sent_again(client: FlaskClient) -> None:
    """With the tag of an earlier answer the server says 304."""
    first = client.get("/tasks/t")
    again = client.get("/tasks/t", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.get_data()) == (304, b"")


@pytest.mark.usefixtures("filled")
def test_text_cells_cannot_start_a_formula(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """A team named like a formula is defused in CSV and stays as it is on the page."""
    build.run(database, tmp_path, {"1": ["a"]}, "other", team_name="=HYPERLINK(1)")
    assert ",'=HYPERLINK(1)," in client.get("/tasks/t.csv").get_data(as_text=True)
    assert "=HYPERLINK(1)" in _page(client, "/tasks/t").get_text()


@pytest.mark.dialect
def test_an_empty_site_says_what_to_do(client: FlaskClient) -> None:
    """Without tasks the front page is a sentence, not an empty table."""
    page = _page(client, "/")
    assert page.find("table") is None
    assert "No task is published here yet" in page.get_text()


def test_the_front_page_names_leaders_and_ties(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """The leader of each task is named with its score, and how many share it."""
    build.task(database, tmp_path, measures=("RR",))
    for name in ("b", "a"):
        build.run(database, tmp_path, GOOD, name)
    build.drain(database)
    row = _page(client, "/").select(".cards li")[0].get_text(" ", strip=True)
    assert "a and 1 tied" in row
    assert "0.8333" in row


@pytest.mark.usefixtures("filled")
def test_a_long_ranking_is_cut_and_complete_on_demand(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """The first 20 documents, links to 200 and to all of them, all in JSON."""
    deep = {"1": [f"d{number:04}" for number in range(300)]}
    run_id = build.run(database, tmp_path, deep, "deep")
    path = f"/runs/{run_id}/topics/1"
    first = _page(client, path)
    links = {str(link["href"]) for link in first.select("main p > a")}
    for address, count in ((path, 20), (f"{path}?first=", 200), (f"{path}?all=", 300)):
        assert address == path or address in links
        assert len(_page(client, address).find_all("table")[0].find_all("tr")) == count + 1
    assert len(client.get(f"{path}.json").get_json()["documents"]) == 300


@pytest.mark.usefixtures("filled")
def test_a_documents_text_is_text(client: FlaskClient) -> None:
    """What looks like markup in a document is shown as it is."""
    page = _page(client, "/tasks/t/documents?docno=a")
    text = page.find("pre", class_="text")
    assert text is not None
    assert text.get_text() == "words <b>of</b> a"
    assert client.get("/tasks/t/documents?docno=unheard-of").status_code == 404
    assert client.get("/tasks/t/documents").status_code == 404


def test_a_waiting_run_refreshes_itself_and_a_scored_one_does_not(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """The state is polled while there is something to wait for."""
    build.task(database, tmp_path)
    run_id = build.run(database, tmp_path, GOOD)
    state = _page(client, f"/runs/{run_id}").find(id="state")
    assert state is not None
    assert state.get("hx-trigger") == "every 2s"
    assert "queued, position 1" in state.get_text()
    build.drain(database)
    state = _page(client, f"/runs/{run_id}").find(id="state")
    assert state is not None
    assert not state.has_attr("hx-trigger")


def test_a_draft_is_not_found_by_visitors(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """A draft looks like no task at all on every page of it."""
    build.task(database, tmp_path, publish=False)
    for path in ("/tasks/t", "/tasks/t.json", "/tasks/t.csv", "/tasks/t/topics", "/tasks/t/about"):
        assert client.get(path).status_code == 404
    assert "Task t" not in _page(client, "/").get_text()
    with database.write() as session:
        drafts.publish(session, OPERATOR, "t")
    assert client.get("/tasks/t").status_code == 200


def test_vendored_files_are_the_ones_that_were_reviewed() -> None:
    """Each vendored script matches the digest beside it and is the one the pages load."""
    folder = ROOT / "leaderboard" / "web" / "static" / "vendor"
    rows = re.findall(
        r"^\| (\S+\.js) \|.*\| ([0-9a-f]{64}) \|$", (folder / "LICENCES.md").read_text(), re.MULTILINE
    )
    assert {name for name, _ in rows} == {path.name for path in folder.glob("*.js")}
    for name, digest in rows:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
