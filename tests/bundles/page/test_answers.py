"""A task of answers goes out and comes back: runs as sent, answers, nuggets and labels of every revision."""

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from leaderboard.answers.ops import answers as answers_services
from leaderboard.answers.ops.nuggets.scoring import of_revision
from leaderboard.answers.page.nuggets import line
from leaderboard.boards.ops import board as boards
from leaderboard.boards.page import tables
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import QrelsRevision, Run, Task, Topic
from leaderboard.errors import Invalid
from leaderboard.runs.ops import withdrawals
from leaderboard.trec.nuggets.packing import MadeBy
from tests.bundles import make as bundles
from tests.make import answered, answers, build, nuggeted

MACHINE = {"nuggets": MadeBy("machine", "GPT-4o"), "assignments": MadeBy("both", "GPT-4o")}


@pytest.fixture
def task(database: Database, tmp_path: Path) -> Database:
    """Runs as lines, cut, and as LongEval's zip; nuggets, labels and Auto-ARGUE's in three revisions."""
    rules = {"limit": 7, "unit": "words", "over": "cut"}
    answered.task(database, tmp_path, "t", rules=rules)
    with database.write() as session:
        session.query(Topic).filter(Topic.topic_id == "2").update({"answer_limit": 2})
    cut = {**answered.TEXTS, "2": [("One two.", ["d7"]), ("Three.", ["d9"])]}
    answered.run(database, tmp_path, cut, "one", slug="t", team_name="Secret Owls")
    packed = answered.longeval_zip(tmp_path / "two.zip", name="two")
    assert build.submit(database, packed, "t", team_name="Bears").run_id is not None
    gone = answered.run(database, tmp_path, {"1": [("Gone.", [])]}, "gone", slug="t", team_name="Bears")
    runs = ("one", "two", "gone")
    labels = [line for run in runs for line in nuggeted.worked_labels(run, ["1"])]
    first = nuggeted.files(tmp_path, assignments=[*labels, *nuggeted.worked_labels("one", ["2"])])
    nuggeted.revise(database, first, MACHINE)
    support = [answers.supported("1", [2, 0], run=run) for run in ("one", "two")]
    nuggeted.revise(database, nuggeted.files(tmp_path, support=support), leaves_out=True)
    nuggeted.revise(database, nuggeted.files(tmp_path, argue=[_argued("one")]))
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, gone, "a mistake")
    build.drain(database)
    return database


def _argued(run: str) -> dict[str, Any]:
    attested = {"judgment_type_id": "SENTENCE_ATTESTED", "response": {"is_attested": True}}
    matched = {"question_text": "v1", "matched_answer": ["yes"], "importance": "vital"}
    judgments = [
        {**attested, "provenance": {"doc_id": "d4"}},
        {"judgment_type_id": "SENTENCE_ANSWERS_QUESTION", "response": {"matched_nuggets": [matched]}},
    ]
    sentence = {"segment_type": "sentence", "citations": [{"doc_id": "d4"}], "judgments": judgments}
    return {"report": {"metadata": {"run_id": run, "topic_id": "1"}}, "judgments": [sentence]}


def _board(database: Database, slug: str) -> list[Any]:
    with database.read() as session:
        rows = tables.board_facts(boards.board(session, OPERATOR, slug))["rows"]
    return [(row["rank"], row["scores"]) for row in rows]


def _answers(database: Database, slug: str) -> list[Any]:
    """All answers by run, without their lines."""
    with database.read() as session:
        runs = session.scalars(select(Run.id).join(Task).where(Task.slug == slug).order_by(Run.id)).all()
        return [
            [
                (one.topic, one.segments, one.cut_off, one.references)
                for one in answers_services.of_run(session, run)
            ]
            for run in runs
        ]


@pytest.mark.trial
def test_all_of_it_comes_back_the_same(task: Database, tmp_path: Path) -> None:
    """A second export is the first; runs are as sent, and cut as they were though the rules are others."""
    with task.write() as session:
        session.query(Task).update({"answer_rules": {"limit": 99}})
    bundles.exported(task, tmp_path / "out")
    made = bundles.imported(task, tmp_path / "out", ImportRequest(slug="again"))
    assert (made.runs, made.revisions) == (3, 3)
    build.drain(task)
    assert _board(task, "again") == _board(task, "t")
    assert _answers(task, "again") == _answers(task, "t")
    assert any(cut for run in _answers(task, "again") for _, _, cut, _ in run)
    bundles.exported(task, tmp_path / "back", "again")
    before, after = bundles.contents(tmp_path / "out"), bundles.contents(tmp_path / "back")
    assert before.keys() == after.keys()
    of_slug = {"records/task.jsonl", "scores/board.json", "citation.bib"}
    assert {name for name in before if before[name] != after[name]} <= of_slug
    assert before["runs/0002-two.zip"] == (tmp_path / "two.zip").read_bytes()
    with task.read() as session:
        revisions = session.scalars(select(QrelsRevision.id).order_by(QrelsRevision.id)).all()
        whole = [of_revision(session, revision) for revision in revisions]
    assert whole[:3] == whole[3:]
    assert (
        json.loads(bundles.contents(tmp_path / "out")["records/topics.jsonl"].splitlines()[1])["answer_limit"]
        == 2
    )


@pytest.mark.trial
def test_a_release_names_nobody_and_scores_the_same(task: Database, tmp_path: Path) -> None:
    """Lines of answers and labels of their runs carry pseudonyms; the board is the same."""
    bundles.exported(task, tmp_path / "out", is_release=True)
    told = bundles.contents(tmp_path / "out")
    for name, body in told.items():
        plain = gzip.decompress(body) if name.endswith(".gz") else body
        assert b"Secret" not in plain, name
        assert b"Bears" not in plain, name
    (first,) = (body for name, body in told.items() if name.startswith("runs/0001"))
    lines = [json.loads(line) for line in gzip.decompress(first).splitlines()]
    assert {line["metadata"]["team_id"] for line in lines} == {"-"}
    bundles.imported(task, tmp_path / "out", ImportRequest(slug="again"))
    build.drain(task)
    assert _board(task, "again") == _board(task, "t")


@pytest.mark.trial
def test_visitors_download_it(task: Database, tmp_path: Path) -> None:
    """Without withdrawn runs and what was noticed; the task made of it has the same scores."""
    bundles.public(task, tmp_path / "out")
    told = bundles.contents(tmp_path / "out")
    assert sorted(name for name in told if name.startswith("runs/")) == [
        "runs/0001-one.jsonl",
        "runs/0002-two.zip",
    ]
    judged = [json.loads(body) for name, body in told.items() if name.endswith(".answers.json")]
    assert [one["notes"] for one in judged] == [[]] * 3
    bundles.imported(task, tmp_path / "out", ImportRequest(slug="again"))
    build.drain(task)
    assert _board(task, "again") == _board(task, "t")


def _by_line(database: Database, slug: str) -> tuple[int, dict[str, str], list[Any]]:
    """Number of the newest revision of the line, who made what, and what runs got by it, best first."""
    with database.read() as session:
        number = line.number_of(session, OPERATOR, slug, "people")
        page = line.line_page(session, OPERATOR, slug, number)
        return page.line.number, dict(page.by_line.made_by), [(row.rank, row.scores) for row in page.rows]


@pytest.mark.trial
def test_other_lines_go_out_and_come_back(task: Database, tmp_path: Path) -> None:
    """Whole, released under pseudonyms and as visitors download it: the board by the line is the same."""
    for runs in (["one"], ["one", "two"]):
        labels = [label for run in runs for label in nuggeted.worked_labels(run, ["1"])]
        nuggeted.revise(task, nuggeted.files(tmp_path, assignments=labels), {}, line="people")
    expected = _by_line(task, "t")
    assert expected[0] == 2
    assert expected[2][0][0] == 1
    for slug in ("whole", "released", "downloaded"):
        folder = tmp_path / slug
        if slug == "downloaded":
            bundles.public(task, folder)
        else:
            bundles.exported(task, folder, is_release=slug == "released")
        bundles.imported(task, folder, ImportRequest(slug=slug))
        assert _by_line(task, slug) == expected, slug


BROKEN = {
    "a label that there is not": lambda body: body["body"]["assignments"].update(
        {run: {"1": ["maybe"] * 7} for run in body["body"]["assignments"]}
    ),
    "too few labels": lambda body: body["body"]["assignments"].update(
        {run: {"1": ["support"]} for run in body["body"]["assignments"]}
    ),
    "a maker that there is not": lambda body: body["body"]["made_by"]["nuggets"].update(kind="nobody"),
    "support that there is not": lambda body: body["body"]["support"].update({"x": {"1": [[7]]}}),
    "no nuggets": lambda body: body["body"].pop("nuggets"),
    "another digest": lambda body: body["body"].update(leaves_out=True),
}


@pytest.mark.trial
@pytest.mark.parametrize("fault", BROKEN)
def test_judgments_that_nobody_wrote_are_refused(task: Database, tmp_path: Path, fault: str) -> None:
    """Nothing is stored of them."""
    bundles.exported(task, tmp_path / "out")
    path = next((tmp_path / "out" / "qrels").glob("*-1.answers.json"))
    body = json.loads(path.read_bytes())
    BROKEN[fault](body)
    path.write_text(json.dumps(body))
    bundles.seal(tmp_path / "out")
    with pytest.raises(Invalid, match="Download the bundle again"):
        bundles.imported(task, tmp_path / "out", ImportRequest(slug="again"))


def test_rules_of_answers_are_those_a_form_could_give(task: Database, tmp_path: Path) -> None:
    """Others are refused with their field."""
    bundles.exported(task, tmp_path / "out")
    for rules in ({"limit": -1}, {"limit": "7"}, {"other": 1}, {"over": "burn"}, {"docno_pattern": "("}):
        bundles.rewrite(tmp_path / "out", "task", answer_rules=rules)
        with pytest.raises(Invalid) as refused:
            bundles.imported(task, tmp_path / "out", ImportRequest(slug="again"))
        assert [problem.field for problem in refused.value.problems] == ["answer_rules"]


def test_the_file_of_a_zip_is_a_zip(task: Database, tmp_path: Path) -> None:
    """As it was sent, metadata and all."""
    bundles.exported(task, tmp_path / "out")
    sent = bundles.contents(tmp_path / "out")["runs/0002-two.zip"]
    assert "ir-metadata.yml" in zipfile.ZipFile(io.BytesIO(sent)).namelist()
