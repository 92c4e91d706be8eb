"""Documents left out by topic in the browser: sent, looked at, published, told on every page."""

import io
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.tasks.ops import roles
from tests.make import build, pages
from tests.web.conftest import SignIn

LIST = "/tasks/t/revisions"
JUDGED = {"1": {"d1": 0, "d2": 0, "d3": 1}, "2": {"e1": 1}, "3": {"f1": 0}}
RANKING = {"1": ["d1", "d2", "d3", "d4"], "2": ["e1", "e2"], "3": ["f1"]}
OTHER = {"1": ["d4", "d3"], "2": ["e2", "e1"], "3": ["f2"]}


@pytest.fixture
def organiser(database: Database, tmp_path: Path, client: FlaskClient, sign_in: SignIn) -> FlaskClient:
    """An organiser of a task with two scored runs."""
    sign_in(client, "Olga", is_organiser=True)
    build.task(database, tmp_path, measures=("RR", "P@2"), primary="RR", judgments=JUDGED)
    build.run(database, tmp_path, RANKING, "one")
    build.run(database, tmp_path, OTHER, "two")
    build.drain(database)
    with database.write() as session:
        roles.give(session, OPERATOR, "t", "Olga", "organiser")
    return client


def _file(text: str, name: str = "left-out.txt") -> tuple[io.BytesIO, str]:
    return io.BytesIO(text.encode()), name


def _send(client: FlaskClient, **given: Any) -> str:
    """The address of the preview of what was sent."""
    fields = pages.form(client.get(LIST), LIST)
    nothing = {name: (io.BytesIO(b""), "") for name in ("qrels", "distractors", "left_out", "changed_docnos")}
    response = client.post(LIST, data={**fields, **nothing, "note": "Round 2.", **given})
    assert response.status_code == 303, pages.main(response)
    return response.headers["Location"]


def _publish(client: FlaskClient, database: Database, **given: Any) -> str:
    preview = _send(client, **given)
    text = pages.main(client.get(preview))
    client.post(preview, data={"base": ""})
    build.drain(database)
    return text


@pytest.mark.dialect
def test_a_list_is_looked_at_published_and_told(organiser: FlaskClient, database: Database) -> None:
    """The preview counts; board, run, ranking, document and revision say it; the list can be had again."""
    preview = _publish(organiser, database, left_out=_file("1 d1\n1 d1\n1 z\n"))
    assert "2 documents of 1 topic, 0 before (+2, −0)" in preview
    assert "1 repeated line ignored" in preview
    assert "1 of 2 runs has documents that are left out, 1 in total" in preview
    board = pages.main(organiser.get("/tasks/t"))
    assert "2 documents left out" in board
    assert "These scores are not comparable with the leaderboard on all judgments (edition 1)" in board
    assert "Since edition" not in board
    past = pages.main(organiser.get("/tasks/t?edition=1"))
    assert "uses all judgments. It is not comparable with edition 2" in past
    assert "2 documents left out" in pages.main(organiser.get("/runs/1"))
    ranking = organiser.get("/runs/1/topics/1")
    assert [row[0] for row in pages.table(ranking, "Removed from the ranking")] == ["d1 left out"]
    facts = organiser.get("/runs/1/topics/1.json").get_json()
    assert [(row["rank"], row["docno"]) for row in facts["documents"]] == [(1, "d2"), (2, "d3"), (3, "d4")]
    assert facts["documents_left_out"] == [{"docno": "d1", "score": 999.0, "before": 1}]
    assert facts["left_out"] == {"documents": 2, "residual": False}
    assert facts["scores"] == {"RR": 0.5, "P@2": 0.5}
    document = organiser.get("/tasks/t/documents?docno=d1&topic=1")
    assert "Left out of topic 1" in pages.main(document)
    assert organiser.get("/tasks/t/documents.json?docno=d3&topic=1").get_json()["places"][0]["rank"] == 2
    origin = pages.main(organiser.get("/runs/1/origin"))
    assert "--leave-out left_out.txt" in origin
    assert "left_out.txt the documents it leaves out" in origin
    revision = pages.main(organiser.get(f"{LIST}/2"))
    assert "2 documents left out: removed from every ranking" in revision
    assert organiser.get(f"{LIST}/2/left_out.txt").text == "1 d1\n1 z\n"
    assert organiser.get(f"{LIST}/1/left_out.txt").status_code == 404
    rows = pages.table(organiser.get(LIST), "Revisions of the judgments")
    assert rows[0][4] == "2 documents left out"
    assert organiser.get("/tasks/t.json").get_json()["left_out"] == {"documents": 2, "residual": False}
    assert "left_out" not in organiser.get("/tasks/t.json?edition=1").get_json()
    assert "qrels revision 2 (2 documents left out)" in organiser.get("/tasks/t.tex").text


def test_a_residual_round_is_chosen_on_the_form(organiser: FlaskClient, database: Database) -> None:
    """Earlier revisions by number and the newest judgments; topics with nothing new are listed."""
    later = {**JUDGED, "1": {**JUDGED["1"], "d4": 1}}
    text = "".join(f"{topic} 0 {doc} {grade}\n" for topic, of in later.items() for doc, grade in of.items())
    _publish(organiser, database, qrels=_file(text, "later.txt"))
    preview = _publish(organiser, database, earlier="1")
    assert "all documents judged in revision 1" in preview
    assert "Topics without any relevant document: 2 3" in preview
    assert "residual, 5 documents left out" in pages.main(organiser.get("/tasks/t"))
    assert "Topics without any relevant document: 2 3" in pages.main(organiser.get(f"{LIST}/3"))
    assert "board on all judgments (edition 2)" in pages.main(organiser.get("/tasks/t"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"left_out": "1 d3\n"}, "line 1: docno 'd3': It is left out of topic 1 and judged relevant"),
        ({"left_out": "77 d3\n"}, "line 1: topic '77': The task has no such topic"),
        ({"left_out": "1 d1 x\n"}, "All lines must be `topic docno`"),
        ({"earlier": "one"}, "such as 1, 2"),
        ({"earlier": "9"}, "Revision 9 of graded judgments does not exist"),
        ({"later": "1"}, "also need the earlier revisions"),
        ({"changed_docnos": "a b\n"}, "also provide a list of these documents"),
        ({"left_out": "1 d1\n", "no_left_out": "1"}, "leaves out none; choose one"),
    ],
)
def test_what_is_wrong_is_said(organiser: FlaskClient, given: dict[str, str], words: str) -> None:
    """The form comes back with line, value, rule and remedy; nothing is kept."""
    files = {name: _file(given[name]) for name in ("left_out", "changed_docnos") if name in given}
    fields = pages.form(organiser.get(LIST), LIST)
    answer = organiser.post(LIST, data={**fields, "note": "n", **given, **files})
    assert answer.status_code == 422
    assert words in pages.main(answer)


@pytest.mark.trial
@pytest.mark.dialect
def test_a_bundle_carries_what_is_left_out(
    organiser: FlaskClient, database: Database, sqlite_template: Path, tmp_path: Path
) -> None:
    """Out and back: list, rounds and scores are the same, file by file; nothing is written where none is."""
    bundles = pytest.importorskip("tests.bundles.make")
    bundles.exported(database, tmp_path / "plain")
    (row,) = bundles.rows(tmp_path / "plain", "revisions")
    assert not {"left_out", "left_out_facts"} & row.keys()
    _publish(organiser, database, qrels=_file("1 0 d4 1\n2 0 e2 1\n", "round.txt"), earlier="1")
    bundles.exported(database, tmp_path / "out")
    target = bundles.new_site(sqlite_template, tmp_path / "target")
    bundles.imported(target, tmp_path / "out")
    bundles.exported(target, tmp_path / "again")
    first, second = (bundles.contents(tmp_path / name) for name in ("out", "again"))
    assert first == second
    (row,) = [row for row in bundles.rows(tmp_path / "again", "revisions") if row["number"] == 2]
    assert row["left_out_facts"]["rounds"] == [1]
    assert first[row["left_out"]] == b"1 d1\n1 d2\n1 d3\n2 e1\n3 f1\n"
    target.dispose()


def test_a_document_known_only_as_left_out_has_its_page(organiser: FlaskClient, database: Database) -> None:
    """A run ranked it, nobody judged it: it is no broken link of the ranking, and another is unknown."""
    _publish(organiser, database, left_out=_file("1 d4\n"))
    document = organiser.get("/tasks/t/documents?docno=d4&topic=1")
    assert document.status_code == 200
    assert "Left out of topic 1" in pages.main(document)
    assert organiser.get("/tasks/t/documents?docno=d5&topic=1").status_code == 404
