"""A track of answers by programs alone: made, sent to, judged by nuggets and labels, read and scored."""

import io
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.make import answered, answers, build, nuggeted
from tests.web.api.conftest import Program, Programs
from tests.web.conftest import Site

TASK = "/tasks/talk"
TOPICS = (
    '{"id": "1", "title": "one", "limit": 40}\n{"id": "2", "title": "two"}\n{"id": "3", "title": "three"}\n'
)
VITAL = "NuggetRecall(set='vital',strict=1)"


def _lines(records: Iterable[Any]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def _done(program: Program, method: str, path: str, file: Any = None, body: Any = None) -> Any:
    given = {"data": file} if file is not None else {"json": body} if body is not None else {}
    answer = program.ask(method, path, **given)
    assert answer.status_code < 300, f"{method} {path}: {answer.text}"
    return answer.json


@pytest.fixture
def olga(site: Site, program: Programs) -> Program:
    """An organiser's program, of a published task of answers."""
    made = program("Olga", "read", "organise", "submit")
    _done(made, "PUT", f"{TASK}?name=Talk&kind=answers", TOPICS)
    _done(made, "POST", f"{TASK}/publish")
    return made


@pytest.fixture
def run(site: Site, program: Programs, olga: Program, tmp_path: Path) -> int:
    """Berta's run, which was sent as lines."""
    path = answered.run_file(tmp_path, name="one")
    sent = _done(program("Berta"), "PUT", f"{TASK}/runs/one?team={site.world.owls}", path.read_bytes())
    return int(sent["run_id"])


def _publish(olga: Program, query: str, file: str | bytes) -> dict[str, Any]:
    draft = _done(olga, "POST", f"{TASK}/revisions/drafts?note=new&{query}", file)
    made = _done(
        olga, "POST", f"{TASK}/revisions/drafts/{draft['draft']}/publish", body={"base": draft["base"]}
    )
    return {**draft, "number": made["number"]}


def test_runs_are_checked_sent_and_read(
    site: Site, program: Programs, olga: Program, run: int, tmp_path: Path
) -> None:
    """The report is that of the form; an answer is read by topic, with its topic's own limit."""
    berta = program("Berta")
    texts = {"1": [("word " * 9, ["d1"])]}
    checked = _done(berta, "POST", f"{TASK}/check", answered.run_file(tmp_path, texts).read_bytes())
    assert [row["rule"] for row in checked["problems"]] == []
    assert "at most 40 are allowed" in checked["warnings"][0]["rule"]
    answer = _done(berta, "GET", f"/runs/{run}/answers/1")
    assert (answer["limit"], len(answer["segments"]), answer["is_answered"]) == (40, 2, True)
    assert berta.ask("GET", f"/runs/{run}/answers/77").status_code == 404
    zipped = answered.longeval_zip(tmp_path / "two.zip").read_bytes()
    two = _done(berta, "PUT", f"{TASK}/runs/two?team={site.world.owls}&file_name=two.zip", zipped)
    assert berta.ask("GET", f"/runs/{two['run_id']}/file").data == zipped
    both = [_done(berta, "GET", f"/runs/{number}/answers/2") for number in (run, two["run_id"])]
    assert both[0]["segments"] == both[1]["segments"]


def test_parts_are_published_one_by_one_and_read_back(site: Site, olga: Program, run: int) -> None:
    """Nuggets and assignments by a machine, then support by people; files say what was sent."""
    labels = _lines(nuggeted.worked_labels())
    first = _publish(olga, "holds=assignments&origin=machine&origin_name=GPT-4o", labels)
    assert first["answers"]["made_by"] == {"nuggets": "GPT-4o", "assignments": "GPT-4o"}
    assert first["answers"]["without_vital"] == ["2"]
    support = _lines([answers.supported("1", [2, 0], [], run="one"), answers.supported("2", [1], run="one")])
    second = _publish(olga, "holds=support&leaves_out=true", support)
    assert (second["number"], second["answers"]["leaves_out_without_vital"]) == (2, True)
    build.drain(site.database)
    (row,) = _done(olga, "GET", f"{TASK}/board")["rows"]
    assert (row["scores"][VITAL], row["scores"]["SupportP"]) == (0.5, 0.75)
    file = f"{TASK}/revisions/2/file?part="
    read = [json.loads(line) for line in olga.ask("GET", f"{file}assignments").text.splitlines()]
    sent = [json.loads(line) for line in labels.splitlines()]
    assert [(one["qid"], one["run_id"]) for one in read] == [("1", "one"), ("2", "one")]
    for one, other in zip(read, sent, strict=True):
        assert {each["text"]: each["assignment"] for each in one["nuggets"]} == {
            each["text"]: each["assignment"] for each in other["nuggets"]
        }
    nuggets = [json.loads(line) for line in olga.ask("GET", f"{file}nuggets").text.splitlines()]
    assert [len(line["nuggets"]) for line in nuggets] == [7, 2]
    whole = olga.ask("GET", f"{TASK}/revisions/2/file").text.splitlines()
    assert len(whole) == len(nuggets) + len(read) + 2
    gone = olga.ask("GET", f"{file}argue")
    assert (gone.status_code, "has no argue" in gone.text) == (404, True)
    again = _done(olga, "POST", f"{TASK}/revisions/drafts?note=again&holds=support", support)
    assert "identical to the newest revision" in again["refused"]


def test_parts_come_together_in_a_zip(site: Site, olga: Program, run: int) -> None:
    """What is read of the files of a revision is the revision again."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("judged/assignments.jsonl", _lines(nuggeted.worked_labels()))
        archive.writestr("judged/support.jsonl", _lines([answers.supported("1", [2, 0], [], run="one")]))
    made = _publish(olga, "holds=parts&origin=both&origin_name=GPT-4o", body.getvalue())
    assert set(made["answers"]["made_by"].values()) == {"GPT-4o, edited by people"}
    files = {part: olga.ask("GET", f"{TASK}/revisions/1/file?part={part}").data for part in
             ("nuggets", "assignments", "support")}  # fmt: skip
    again = io.BytesIO()
    with zipfile.ZipFile(again, "w") as archive:
        for part, text in files.items():
            archive.writestr(f"{part}.jsonl", text)
    query = "note=again&holds=parts&origin=both&origin_name=GPT-4o"
    draft = _done(olga, "POST", f"{TASK}/revisions/drafts?{query}", again.getvalue())
    assert "identical to the newest revision" in draft["refused"]


def test_cited_documents_are_pooled_judged_and_published_beside_the_board(
    site: Site, olga: Program, run: int
) -> None:
    """Labels of the pool become grades in a line of their own; the board rests on nuggets still."""
    made = _done(olga, "POST", f"{TASK}/pools", body={"note": "cited"})
    assert [row["docno"] for row in _done(olga, "GET", f"{TASK}/pools/1/topics/1")["rows"]] == ["d4"]
    opened = {"state": "open", "without_texts": True}
    _done(olga, "PUT", f"{TASK}/pools/{made['pool']}/state", body=opened)
    _done(olga, "POST", f"{TASK}/pools/1/labels?name=Ada", "1 0 d4 1\n2 0 d7 0\n")
    draft = _done(olga, "POST", f"{TASK}/pools/1/settle", body={"note": "By people.", "rule": "majority"})
    assert (draft["line"], draft["refused"], draft["answers"]) == ("people", "", None)
    made = _done(olga, "POST", f"{TASK}/revisions/drafts/{draft['draft']}/publish", body={})
    assert made == {"line": "people", "number": 1}
    _publish(olga, "holds=assignments", _lines(nuggeted.worked_labels()))
    build.drain(site.database)
    (row,) = _done(olga, "GET", f"{TASK}/board")["rows"]
    assert row["scores"][VITAL] == 0.25
    assert olga.ask("POST", f"{TASK}/pools", json={"method": {"name": "rrf"}}).status_code == 409


@pytest.mark.parametrize(
    ("query", "file", "said"),
    [
        ("holds=graded", "1 0 d1 1\n", "takes answers, so its board cannot use grades"),
        ("holds=parts", "no archive", "a zip or tar with files named"),
        ("holds=support&origin=machine", "{}\n", "Enter the name of the machine"),
        ("holds=nuggets", "{}\n", "nuggets (nuggets)"),
    ],
)
def test_what_is_no_judgments_of_answers_is_refused(olga: Program, query: str, file: str, said: str) -> None:
    """Grades of documents, anything but an archive, a machine without a name, a broken line."""
    answer = olga.ask("POST", f"{TASK}/revisions/drafts?note=n&{query}", data=file)
    assert answer.status_code in (409, 422), answer.text
    assert said in answer.text
