"""A judge's own nuggets with its labels of them in one archive: what is taken, scored, and refused."""

import io
import json
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, JudgeBoard, Run, Task
from leaderboard.errors import Problem
from leaderboard.judges.ops import store
from leaderboard.qrels.page.revisions.revision import of_revision
from leaderboard.runs.ops import fixing
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.prepare import archive_kind, is_large, suggested_name
from leaderboard.runs.ops.uploads import Submission
from leaderboard.trec.boards.answer_labels import KeptAnswerLabels
from leaderboard.trec.read.lines import DEFAULT_LIMITS
from tests.judges import make as judging
from tests.make import answers, build, nuggeted
from tests.trec.nuggets.argued import answers as answering
from tests.trec.nuggets.argued import argued, attested, sentence

RUNS = tuple(judging.HELD)
ALL = "NuggetRecall(set='all')"
QUESTION = {"question": "Why blue?", "importance": "vital", "answers": [{"answer": "scattering"}]}


def referred(database: Database, folder: Path, measure: str, **options: Any) -> None:
    """A task of judges whose reference is the board of a task of answers by a measure."""
    judging.answered_task(database, folder)
    judging.task(database, folder, topics=("1", "2"), **options)
    judging.refer_to(database, "said", measure=measure)
    build.drain(database)


@pytest.fixture
def said(database: Database, tmp_path: Path) -> Database:
    """One by recall of all nuggets."""
    referred(database, tmp_path, ALL)
    return database


def send(database: Database, path: Path) -> Submission:
    """What became of a file of a judge."""
    return build.submit(database, path, "judged", run_request=RunRequest(suggested_name(path.name)))


def values(database: Database, made: Submission) -> dict[str, dict[str, float]]:
    """Run -> topic -> value on the board that a judge's labels make."""
    assert made.run_id is not None, made.report
    build.drain(database)
    with database.read() as session:
        task_id = session.get_one(Run, made.run_id).task_id
        newest = session.query(Edition).filter(Edition.task_id == task_id).order_by(Edition.id.desc()).first()
        assert newest is not None
        kept = store.of_runs(session, [(made.run_id, "oak")], newest)[made.run_id]
    return kept.board.values[kept.primary]


def problems(database: Database, path: Path) -> tuple[Problem, ...]:
    """Why a file is refused; nothing of it is stored."""
    made = send(database, path)
    assert made.report is not None
    with database.read() as session:
        assert session.query(JudgeBoard).count() == 0
    return made.report.problems


def question(topic: str, **more: object) -> dict[str, object]:
    """A line of a nugget bank with one question."""
    return {"query_id": topic, "nugget_bank": [{**QUESTION, **more}]}


def test_runs_are_scored_by_a_judges_own_nuggets(said: Database, tmp_path: Path) -> None:
    """By hand: of two nuggets each answer holds one. All parts are kept, and the file as it was sent."""
    path = judging.archive(tmp_path, **judging.own_parts())
    made = send(said, path)
    assert values(said, made) == {run: {"1": 0.5, "2": 0.5} for run in RUNS}
    assert made.report is not None
    assert made.report.facts["form"] == "nuggets, assignments, support"
    assert (made.report.facts["topics"], made.report.warnings) == (2, ())
    assert made.run_id is not None
    with said.read() as session:
        sent, run = store.sent_labels(session, made.run_id), session.get_one(Run, made.run_id)
        upload_id = run.upload_id
    assert isinstance(sent, KeptAnswerLabels)
    assert sent.graded == ("assignments", "support")
    assert [nugget.text for nugget in sent.answers.judgments.nuggets.topics["1"]] == ["sky", "o1"]
    with fixing.StoredFile(said, upload_id).open() as kept:
        assert kept.read() == path.read_bytes()


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_says_the_same(said: Database, tmp_path: Path, mode: str) -> None:
    """In a folder, its lines compressed or not."""
    zipped, path = judging.archive(tmp_path, **judging.own_parts()), tmp_path / "oak.tar.gz"
    with zipfile.ZipFile(zipped) as one, tarfile.open(path, mode) as other:  # type: ignore[call-overload]
        for name in one.namelist():
            info = tarfile.TarInfo(f"oak/{name}")
            info.size = len(one.read(name))
            other.addfile(info, io.BytesIO(one.read(name)))
    assert values(said, send(said, path)) == {run: {"1": 0.5, "2": 0.5} for run in RUNS}


def test_a_file_may_hold_all_parts_one_after_the_other(said: Database, tmp_path: Path) -> None:
    """As the whole file of a revision does: the same labels as in an archive, with one numbering of lines."""
    parts = judging.own_parts()
    path = answers.jsonl(tmp_path / "oak.jsonl", [*parts["nuggets"], "", *parts["assignments"]])
    made = send(said, path)
    assert values(said, made) == {run: {"1": 0.5, "2": 0.5} for run in RUNS}
    assert made.report is not None
    assert made.report.facts["form"] == "nuggets, assignments"


def test_lines_of_such_a_file_keep_their_numbers(said: Database, tmp_path: Path) -> None:
    """Whatever a line is; one that is nothing is of the part before it."""
    parts = judging.own_parts()
    parts["assignments"][2]["run_id"] = "Z"
    lines = [*parts["nuggets"], "", *parts["assignments"], "nothing", *parts["support"], '{"a": 1}']
    found = problems(said, answers.jsonl(tmp_path / "oak.jsonl", lines))
    assert [(one.line, one.rule) for one in found] == [
        (6, "The reference has no such run."),
        (10, "The line is not valid JSON: Expecting value."),
        (17, "The key run_id is missing."),
    ]


def test_support_labels_count_where_the_reference_is_by_them(database: Database, tmp_path: Path) -> None:
    """The judge's nuggets come along and score nothing; first citations are 2 and 0, so P is 1/2."""
    referred(database, tmp_path, "SupportP")
    made = send(database, judging.archive(tmp_path, **judging.own_parts()))
    assert values(database, made) == {run: {"1": 0.5, "2": 0.5} for run in RUNS}


def test_auto_argue_answers_a_judges_own_questions(said: Database, tmp_path: Path) -> None:
    """A finds the answer on topic 1 only, B and C on none."""
    lines = [
        argued(topic, sentence("A.", "d1", attested("d1"), *found), run=run)
        for run in RUNS
        for topic in ("1", "2")
        for found in ([answering("Why blue?", "scattering")] if (run, topic) == ("A", "1") else [],)
    ]
    path = judging.archive(tmp_path, nuggets=[question("1"), question("2")], argue=lines)
    assert values(said, send(said, path)) == {
        "A": {"1": 1.0, "2": 0.0},
        "B": {"1": 0.0, "2": 0.0},
        "C": {"1": 0.0, "2": 0.0},
    }


def test_auto_argues_judgments_can_be_sent_again(database: Database, tmp_path: Path) -> None:
    """What a revision keeps of them gives a judge the same board; topics stand under either key."""
    referred(database, tmp_path, "SupportP")
    lines = [
        argued(topic, sentence("A.", "d1 d2", attested("d1"), attested("d2", run == "A")), run=run)
        for run in RUNS
        for topic in ("1", "2")
    ]
    for line in lines:
        facts = line["report"]["metadata"]
        facts["request_id"] = facts.pop("topic_id")
    with database.write() as session:
        session.query(Task).filter(Task.slug == "said").update({"measures": ["SupportP", "SentenceSupport"]})
    nuggeted.revise(database, nuggeted.files(tmp_path, argue=lines), slug="said")
    build.drain(database)
    judging.refer_to(database, "said", measure="SentenceSupport")
    build.drain(database)
    with database.read() as session:
        kept = of_revision(session, OPERATOR, "said", 2, "argue")
    boards = []
    for name, text in (("oak", "".join(f"{json.dumps(line)}\n" for line in lines)), ("elm", kept)):
        made = judging.label(database, tmp_path, text, name, team_name=f"Team {name}")
        assert made.report is not None
        assert (made.report.facts.get("form"), made.report.problems) == ("argue", ())
        boards.append(values(database, made))
    assert boards[0] == boards[1]
    assert boards[0]["A"] == {"1": 1.0, "2": 1.0}
    assert boards[0]["B"] == {"1": 0.0, "2": 0.0}


def test_a_question_that_the_set_does_not_have_is_refused(said: Database, tmp_path: Path) -> None:
    """It would count as not answered, whatever was found."""
    line = argued("1", sentence("A.", "d1", answering("Why red?", "dusk")), run="A")
    (found,) = problems(said, judging.archive(tmp_path, nuggets=[question("1")], argue=[line]))
    assert found.rule == "In argue.jsonl: The nugget set does not have this question of topic 1."
    assert (found.field, found.value) == ("question_text", "Why red?")
    assert found.remedy


def test_every_part_is_checked_and_named(said: Database, tmp_path: Path) -> None:
    """What is wrong in each file at once, with its line, value, rule and remedy."""
    parts = judging.own_parts()
    parts["nuggets"][1]["nuggets"][0]["importance"] = "great"
    parts["assignments"][2]["nuggets"][0]["assignment"] = "perhaps"
    parts["support"][3]["run_id"] = "Z"
    found = problems(said, judging.archive(tmp_path, **parts))
    assert [(one.rule.partition(":")[0], one.line, one.value) for one in found] == [
        ("In nuggets.jsonl", 2, "great"),
        ("In assignments.jsonl", 3, "perhaps"),
        ("In support.jsonl", 4, "Z"),
    ]
    assert all(one.remedy for one in found)


def test_assignments_name_exactly_the_nuggets_of_the_set(said: Database, tmp_path: Path) -> None:
    """By their text and importance; the line says what differs."""
    parts = judging.own_parts()
    parts["assignments"][0]["nuggets"][0]["text"] = "other"
    parts["assignments"][1]["nuggets"][1]["importance"] = "okay"
    first, second = problems(said, judging.archive(tmp_path, **parts))
    assert (first.line, second.line) == (1, 2)
    assert "'other' is not in the set; 'o1' is missing" in first.rule
    assert "'sky' is vital there, okay here" in second.rule


def chosen(*names: str) -> dict[str, list[answers.Line]]:
    """Some of the parts."""
    return {name: lines for name, lines in judging.own_parts().items() if name in names}


@pytest.mark.parametrize(
    ("parts", "rule", "remedy"),
    [
        (chosen("nuggets"), "Nuggets alone score no run", "nuggets.jsonl with assignments.jsonl or argue"),
        (chosen("nuggets", "support"), "Nuggets alone score no run", "nuggets and their labels in one zip"),
        (
            {**chosen("assignments"), "argue": [argued("1", run="A")]},
            "Assignments and Auto-ARGUE’s judgments both label nuggets.",
            "Submit one of the two.",
        ),
        (
            {**chosen("nuggets", "assignments"), "notes": []},
            "Not one of the parts",
            "Name each file by one of",
        ),
        ({"board": []}, "The archive must contain the files of one judge", "not in an archive"),
        (
            chosen("support"),
            f"The reference is by {ALL}, which support labels alone cannot",
            "Submit a board file",
        ),
        (
            {**chosen("assignments"), "nuggets": [answers.nuggets("9", a="vital")]},
            "In nuggets.jsonl: The task has no such topic.",
            "Remove lines of other topics.",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused(
    said: Database, tmp_path: Path, parts: dict[str, Iterable[object]], rule: str, remedy: str
) -> None:
    """With what to add or to leave out."""
    found = problems(said, judging.archive(tmp_path, **parts))[0]
    assert found.rule.startswith(rule)
    assert remedy in found.remedy


def _link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("nuggets.jsonl")
    info.external_attr = 0o120777 << 16
    return info


@pytest.mark.parametrize(
    ("member", "body", "rule"),
    [
        (_link(), b"/etc/passwd", "This is a link, not a file."),
        ("../nuggets.jsonl", b"{}", "The path is absolute or contains `..`."),
        ("nuggets.zip", b"PK\x05\x06" + bytes(18), "This is an archive in an archive."),
        ("nuggets.jsonl", bytes(3_000_000), "It expands more than 200 times; no run does."),
    ],
)
def test_members_are_plain_files_of_their_size(
    said: Database, tmp_path: Path, member: str | zipfile.ZipInfo, body: bytes, rule: str
) -> None:
    """Nothing is unpacked elsewhere, and nothing that blows up."""
    path = judging.archive(tmp_path, **chosen("assignments"))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, body)
    (found,) = problems(said, path)
    assert found.rule == rule
    assert (found.field, found.value.rpartition(".")[0]) == ("file", "nuggets")


def test_only_labelled_topics_count(database: Database, tmp_path: Path) -> None:
    """A set of all topics does not make up for labels of one: a blind task asks for nearly all."""
    referred(database, tmp_path, ALL, visibility="blind")
    parts = judging.own_parts()
    parts["assignments"] = [line for line in parts["assignments"] if line["qid"] == "1"]
    (found,) = problems(database, judging.archive(tmp_path, **parts))
    assert found.rule.startswith("has values on 1 of 2 topics; a blind task requires at least 80%")


def test_labels_of_another_kind_do_not_stand_in(said: Database, tmp_path: Path) -> None:
    """A run with support labels alone has none by which nuggets are scored: the judge has no rank."""
    parts = judging.own_parts()
    parts["assignments"] = [line for line in parts["assignments"] if line["run_id"] != "C"]
    made = send(said, judging.archive(tmp_path, **parts))
    assert made.report is not None
    (warning,) = made.report.warnings
    assert warning.rule == "A run of the reference has no label, so the judge has no rank."
    assert (warning.value, made.report.facts["runs"]) == ("C", 2)
    assert set(values(said, made)) == {"A", "B"}


def test_what_was_assumed_is_told(said: Database, tmp_path: Path) -> None:
    """Importance that is missing, and topics without a vital nugget."""
    parts = judging.own_parts()
    for line in [*parts["nuggets"], *parts["assignments"]]:
        for nugget in line["nuggets"]:
            del nugget["importance"]
    made = send(said, judging.archive(tmp_path, **parts))
    assert made.report is not None
    assert [warning.rule[:18] for warning in made.report.warnings] == [
        "No importance with",
        "No vital nuggets i",
    ]


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("nuggets.jsonl", "assignments.jsonl"), ""),
        (("oak/nuggets.jsonl.gz", "oak/support.jsonl", "oak/.DS_Store"), ""),
        (("nuggets.jsonl", "notes.txt"), ""),
        (("oak/assignments.jsonl", "elm/assignments.jsonl"), "zip"),
        (("oak.txt", "elm.txt"), "zip"),
    ],
)
def test_one_judge_is_told_from_many(tmp_path: Path, names: tuple[str, ...], kind: str) -> None:
    """By the names of files: each part once is one judge, anything else a batch."""
    path = tmp_path / "sent.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "{}\n")
    assert archive_kind(path, DEFAULT_LIMITS, "judges") == kind
    assert archive_kind(path, DEFAULT_LIMITS, "rankings") == "zip"


def test_a_large_archive_is_for_the_evaluator(tmp_path: Path) -> None:
    """By the bytes of its files, not of itself."""
    path = judging.archive(tmp_path, nuggets=[{"text": "a" * 50_000}])
    assert path.stat().st_size < 1000
    assert is_large(path, 40_000)
    assert not is_large(path, 60_000)
