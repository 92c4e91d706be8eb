"""Labels of answers that judges send: assignments and support labels, and the board that they make."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, JudgeBoard, Run
from leaderboard.judges.ops import imported, sending, store
from leaderboard.runs.ops.uploads import Submission
from leaderboard.site.ops.checks import all_checks
from leaderboard.trec.boards.packing import KeptBoard
from tests.judges import make as judging
from tests.make import answers, build

MEASURE = "NuggetRecall(set='all')"
FAR = {
    "metadata": {"topic_id": "1", "run_id": "A", "sentence_index": 10**15, "citation_index": 10**15},
    "support_label": "FS",
    "status": "completed",
}
"""A label of a place that no memory has room for."""


@pytest.fixture
def said(database: Database, tmp_path: Path) -> Database:
    """A task of judges whose reference is the board of a task of answers."""
    judging.answered_task(database, tmp_path)
    judging.task(database, tmp_path, topics=("1", "2"))
    judging.refer_to(database, "said", measure=MEASURE)
    build.drain(database)
    return database


def send(database: Database, folder: Path, lines: Iterable[object], name: str = "oak") -> Submission:
    """What became of a file of JSON lines."""
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    return judging.label(database, folder, text, name, team_name=f"Team {name}")


def board(database: Database, run_id: int) -> KeptBoard:
    """The board of a judge under the newest edition of its task."""
    with database.read() as session:
        task_id = session.get_one(Run, run_id).task_id
        newest = session.query(Edition).filter(Edition.task_id == task_id).order_by(Edition.id.desc()).first()
        assert newest is not None
        return store.of_runs(session, [(run_id, "oak")], newest)[run_id]


def test_the_same_assignments_make_the_same_board(said: Database, tmp_path: Path) -> None:
    """What people said, said again: the board of the reference, value by value."""
    made = send(said, tmp_path, judging.held_nuggets())
    assert made.run_id is not None, made.report
    assert made.report is not None
    assert (made.report.facts["form"], made.report.facts["labels"]) == ("assignments", 18)
    build.drain(said)
    kept = board(said, made.run_id)
    with said.read() as session:
        reference = sending.newest_reference(session, session.get_one(Run, made.run_id).task_id)
    assert reference is not None
    for run, scores in zip(reference.reference.runs, reference.reference.scores.tolist(), strict=True):
        values = kept.board.values[kept.primary][run]
        assert [values[topic] for topic in reference.reference.topics] == scores
    assert not [
        found
        for check in all_checks(with_scores=True)
        for place in check.places(said)
        for found in check.damage(said, place)
    ]


def test_a_judge_may_have_nuggets_of_its_own(said: Database, tmp_path: Path) -> None:
    """A file of assignments has its own set: the union of what its lines name."""
    other = {"sky": ("vital", "support"), "sea": ("vital", "not_support")}
    lines = [answers.assigned(topic, other, run=run) for run in judging.HELD for topic in ("1", "2")]
    made = send(said, tmp_path, lines)
    assert made.run_id is not None, made.report
    build.drain(said)
    assert board(said, made.run_id).board.values[MEASURE]["A"] == {"1": 0.5, "2": 0.5}


def test_support_labels_score_a_board_of_support(database: Database, tmp_path: Path) -> None:
    """Whole answers or pairs; by hand: the first citations of A are 2 and 0, so P is 1/2."""
    judging.answered_task(database, tmp_path)
    judging.task(database, tmp_path, topics=("1", "2"))
    judging.refer_to(database, "said", measure="SupportP")
    whole = [answers.supported(topic, (2, 0), (0,), run=run) for run in judging.HELD for topic in ("1", "2")]
    pairs = [
        {
            "metadata": {"topic_id": topic, "run_id": run, "sentence_index": place, "citation_index": 0},
            "support_label": "FS" if place == 0 else "NS",
            "status": "completed",
        }
        for run in judging.HELD
        for topic in ("1", "2")
        for place in (0, 1)
    ]
    one, two = send(database, tmp_path, whole), send(database, tmp_path, pairs, "elm")
    assert one.run_id is not None, one.report
    assert two.run_id is not None, two.report
    build.drain(database)
    expected = {run: {"1": 0.5, "2": 0.5} for run in judging.HELD}
    assert board(database, one.run_id).board.values["SupportP"] == expected
    assert board(database, two.run_id).board.values["SupportP"] == expected


def test_a_topic_that_a_run_has_no_label_on_is_left_out(said: Database, tmp_path: Path) -> None:
    """Not judged is not zero; a run without any label leaves the judge without a rank, which is said."""
    lines = [line for line in judging.held_nuggets() if (line["run_id"], line["qid"]) != ("B", "2")]
    made = send(said, tmp_path, lines)
    assert made.run_id is not None
    build.drain(said)
    assert "2" not in board(said, made.run_id).board.values[MEASURE]["B"]
    short = send(said, tmp_path, [line for line in lines if line["run_id"] != "B"], "elm")
    assert short.report is not None
    assert [warning.rule for warning in short.report.warnings] == [
        "A run of the reference has no label, so the judge has no rank."
    ]


@pytest.mark.parametrize(
    ("line", "rule", "number"),
    [
        (answers.assigned("1", {"v1": ("vital", "support")}, run="Z"), "The reference has no such run.", 1),
        (answers.assigned("9", {"v1": ("vital", "support")}, run="A"), "The task has no such topic.", 1),
        (answers.assigned("1", {"v1": ("vital", "perhaps")}, run="A"), "An assignment is one of", 1),
        (answers.nuggets("1", v1="vital"), "Nuggets alone score no run", None),
        (answers.supported("1", (2,), run="A"), "The reference is by NuggetRecall(set='all'), which", None),
        (answers.supported("1", (2, 0, 1), run="A"), "Run A has labels of a citation that its answer", None),
        (FAR, "Run A has labels of a citation that its answer", None),
        ("1 0 a 2", "The runs of the reference are answers, which labels of documents", None),
    ],
)
def test_labels_are_refused_with_rule_and_remedy(
    said: Database, tmp_path: Path, line: object, rule: str, number: int | None
) -> None:
    """Nothing of such a file is stored."""
    text = line if isinstance(line, str) else json.dumps(line)
    made = judging.label(said, tmp_path, f"{text}\n")
    assert made.report is not None
    (problem,) = made.report.problems
    assert problem.rule.startswith(rule)
    assert problem.line == number
    assert problem.remedy
    with said.read() as session:
        assert session.query(JudgeBoard).count() == 0


def test_assignments_do_not_score_rankings(database: Database, tmp_path: Path) -> None:
    """The report says what the runs of the reference are."""
    judging.ranked(database, tmp_path)
    judging.task(database, tmp_path)
    judging.refer_to(database)
    made = send(database, tmp_path, judging.held_nuggets())
    assert made.report is not None
    assert made.report.problems[0].rule == (
        "The runs of the reference are rankings, which assignments cannot score."
    )


def test_a_reference_of_answers_is_known_by_its_runs(said: Database) -> None:
    """Its origin names them in the order of the board."""
    with said.read() as session:
        prepared = imported.from_task(session, OPERATOR, "judged", "said", MEASURE)
        origin = prepared.kept.origin
        assert origin is not None
        names = {run.id: run.name for run in session.query(Run)}
    assert origin.kind == "answers"
    assert tuple(names[run_id] for run_id in origin.run_ids) == prepared.kept.reference.runs
