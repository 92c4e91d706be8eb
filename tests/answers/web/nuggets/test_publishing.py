"""Nuggets and labels in the browser: sent, looked at, published, and the board under them."""

import io
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.tasks.ops import roles
from tests.make import answers, build, nuggeted, pages
from tests.web.conftest import SignIn
from tests.web.test_crawl import faults, tree

LIST = "/tasks/t/revisions"
RUNS = ("one", "two", "three", "four")


def _file(lines: Iterable[object], name: str) -> tuple[io.BytesIO, str]:
    return io.BytesIO("".join(f"{json.dumps(line)}\n" for line in lines).encode()), name


@pytest.fixture
def organiser(database: Database, tmp_path: Path, client: FlaskClient, sign_in: SignIn) -> FlaskClient:
    """An organiser of a task with four runs of answers."""
    sign_in(client, "Olga", is_organiser=True)
    nuggeted.task(database, tmp_path, topics=("1", "2", "3"))
    for name in RUNS:
        llm = "GPT-4o mini" if name == "two" else "Llama 3.1"
        nuggeted.run(database, tmp_path, name, nuggeted.worked_lines(name), team_name=f"Team {name}", llm=llm)
    with database.write() as session:
        roles.give(session, OPERATOR, "t", "Olga", "organiser")
    return client


def _labels(worse: Iterable[str] = ("two", "three")) -> list[answers.Line]:
    """Labels of three runs on both topics and of the fourth on one; and of a run that is not there."""
    lines = [line for run in ("one", "two", "three", "other") for line in nuggeted.worked_labels(run)]
    for line in lines:
        if line["run_id"] in worse:
            line["nuggets"][0]["assignment"] = "failed"
    lines[0]["answer_text"] = "Another text."
    return [*lines, *nuggeted.worked_labels("four", ["1"])]


def _send(client: FlaskClient, **change: object) -> str:
    fields = pages.form(client.get(LIST), LIST)
    labels = {"assignments": _file(_labels(), "labels.jsonl")}
    made_by = {"by-assignments": "machine", "name-assignments": "GPT-4o"}
    response = client.post(LIST, data={**fields, "note": "First ones.", **labels, **made_by, **change})
    assert response.status_code == 303, pages.main(response)
    return response.headers["Location"]


def test_files_are_looked_at_published_and_ranked_by(organiser: FlaskClient, database: Database) -> None:
    """What was understood, what was passed over, and the board: a rank only where all is judged."""
    preview = _send(organiser)
    page = organiser.get(preview)
    text = pages.main(page)
    assert list(faults(tree(page.text))) == []
    assert "Publishing makes this the first revision" in text
    assert "Assignments by GPT-4o" in text
    assert "Labels of runs that the task does not have are ignored: 1 (other)." in text
    assert "The assignments of run one are for a different text than its answers: 1." in text
    assert "Topics without vital nuggets: 2" in text
    assert "Topics without nuggets: 3" in text
    assert "11.8% of all assignments failed" in text
    organiser.post(preview, data=pages.form(page, preview))
    build.drain(database)
    page = organiser.get("/tasks/t")
    text = pages.main(page)
    assert "nuggets by GPT-4o · assignments by GPT-4o" in text
    assert "0.5000 1 of 2 topics" in text
    assert "The median topic has 2 vital nuggets" in text
    assert "Warning: 11.8% of all assignments failed" in text
    ranks = {row["run"]: row["rank"] for row in organiser.get("/tasks/t.json").get_json()["rows"]}
    assert ranks == {"one": 1, "two": 2, "three": 2, "four": None}


def test_what_was_noticed_in_files_is_for_organisers(organiser: FlaskClient, database: Database) -> None:
    """It calls runs by their names in the files, which a pseudonym may hide from readers."""
    preview = _send(organiser)
    organiser.post(preview, data=pages.form(organiser.get(preview), preview))
    visitor = organiser.application.test_client()
    for ending in ("", ".json"):
        said = {one: one.get(f"{LIST}/1{ending}").get_data(as_text=True) for one in (organiser, visitor)}
        assert "of run one are for a different text" in said[organiser]
        assert "GPT-4o" in said[visitor]
        assert "a different text" not in said[visitor]
        assert "are ignored" not in said[visitor]


def test_parts_that_are_not_sent_stay(organiser: FlaskClient, database: Database) -> None:
    """Support labels are a second revision; topics without vital nuggets are left out from then on."""
    preview = _send(organiser)
    organiser.post(preview, data=pages.form(organiser.get(preview), preview))
    support = [answers.supported(topic, [2], run=run) for run in RUNS for topic in ("1", "2")]
    preview = _send(organiser, assignments=_file([], ""), support=_file(support, "s.jsonl"), leaves_out="1")
    text = pages.main(organiser.get(preview))
    assert "Publishing makes this revision 2, replacing revision 1." in text
    assert "Measures of vital nuggets exclude them." in text
    organiser.post(preview, data=pages.form(organiser.get(preview), preview))
    build.drain(database)
    rows = organiser.get("/tasks/t.json").get_json()["rows"]
    by_run = {row["run"]: row["scores"] for row in rows}
    assert by_run["one"]["NuggetRecall(set='vital',strict=1)"] == 0.5
    assert by_run["four"]["NuggetRecall(set='vital',strict=1)"] == 0.5
    assert by_run["four"]["NuggetRecall(set='all')"] is None
    assert by_run["four"]["SupportP"] == 1.0


def test_a_file_that_cannot_be_read_is_refused_by_name(organiser: FlaskClient) -> None:
    """The page says which file, which line, and changes nothing."""
    fields = pages.form(organiser.get(LIST), LIST)
    bad = {"note": "Bad.", "nuggets": _file([{"qid": "1"}, {"qid": "1"}], "bad.jsonl")}
    response = organiser.post(LIST, data={**fields, **bad})
    assert response.status_code == 422
    assert "bad.jsonl (nuggets)" in pages.main(response)
    response = organiser.post(LIST, data={**fields, "note": "None."})
    assert "Choose a file: a nugget set" in pages.main(response)


PAGES = (
    "/tasks/t",
    "/tasks/t.csv",
    "/tasks/t/intervals",
    "/tasks/t/measures",
    "/tasks/t/efficiency",
    "/tasks/t/compare",
    "/tasks/t/compare?a=1&b=2",
    "/tasks/t/topics",
    "/tasks/t/topics/1",
    "/tasks/t/heatmap",
    "/tasks/t/revisions/1",
    "/tasks/t/organise",
    "/runs/1",
    "/runs/1/topics",
    "/runs/1.json",
    "/runs/4",
    "/runs/4/topics",
    "/runs/4.json",
    "/measures/NuggetRecall",
)


@pytest.mark.trial
def test_pages_of_a_task_of_answers_are_whole(organiser: FlaskClient, database: Database) -> None:
    """With a run that is judged on one topic only among the others; pages of rankings are not there."""
    preview = _send(organiser)
    organiser.post(preview, data=pages.form(organiser.get(preview), preview))
    build.drain(database)
    found = {address: organiser.get(address, follow_redirects=True).status_code for address in PAGES}
    assert {address: status for address, status in found.items() if status != 200} == {}
    assert organiser.get("/runs/1/curves").status_code == 404
