"""Labels that judges send in place of boards: how they are read, and the board that they make."""

from pathlib import Path

import numpy as np
import pytest

from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Evaluation, JudgeBoard, Run
from leaderboard.judges.ops import store
from leaderboard.measures.naming import parse
from leaderboard.site.ops.checks import Damage, all_checks
from leaderboard.trec.boards.judge_labels import KeptLabels
from leaderboard.trec.boards.packing import KeptBoard
from leaderboard.trec.qrels.align import Aligner, compile_judgments
from leaderboard.trec.qrels.left_out import LeftOut
from leaderboard.trec.runs.runs import Ranking, block_of
from tests.judges import make as judging
from tests.make import build

GRADES = {"1": {b"a": 2, b"b": 1, b"c": 0}, "2": {b"a": 1, b"d": 1, b"x": 0}, "3": {b"e": 3, b"f": 1}}
"""What judging.LABELS says."""


@pytest.fixture
def judged(database: Database, tmp_path: Path) -> Database:
    """A task of judges whose reference is the board of a task of rankings."""
    judging.ranked(database, tmp_path)
    judging.task(database, tmp_path)
    judging.refer_to(database)
    build.drain(database)
    return database


def board(database: Database, run_id: int) -> KeptBoard:
    """The board of a judge under the newest edition of its task."""
    with database.read() as session:
        of_task = session.get_one(Run, run_id).task_id
        edition = (
            session.query(Edition).filter(Edition.task_id == of_task).order_by(Edition.id.desc()).first()
        )
        assert edition is not None
        return store.of_runs(session, [(run_id, "oak")], edition)[run_id]


def expected(
    grades: dict[str, dict[bytes, int]], measure: str, without: str = ""
) -> dict[str, dict[str, float]]:
    """What the runs score by labels, without a site; without: a document that no ranking has."""
    compiled, values = compile_judgments(grades), {}
    for run, rankings in judging.RANKINGS.items():
        aligner = Aligner(compiled, dialect=10)
        for topic, ranked in rankings.items():
            docnos = [docno for docno in ranked if docno != without]
            scores = np.arange(1000, 1000 - len(docnos), -1, dtype=np.float64)
            aligner.add(block_of([Ranking(topic, np.array(docnos, dtype=np.bytes_), scores)]))
        scored = parse(measure).compute(aligner.judged())
        values[run] = dict(zip(compiled.judgments.topics, scored.tolist(), strict=True))
    return values


def damage(database: Database) -> list[Damage]:
    """What the checks find, scores and boards computed again among them."""
    return [
        found
        for check in all_checks(with_scores=True)
        for place in check.places(database)
        for found in check.damage(database, place)
    ]


@pytest.mark.parametrize("measure", ["AP", "nDCG@10"])
def test_labels_make_the_board_that_the_runs_score_by_them(
    database: Database, tmp_path: Path, measure: str
) -> None:
    """Every run of the reference by its measure, numbers cut to whole ones, True as 1."""
    judging.ranked(database, tmp_path)
    judging.task(database, tmp_path)
    judging.refer_to(database, measure=measure)
    made = judging.label(database, tmp_path)
    assert made.run_id is not None, made.report
    assert made.report is not None
    assert (made.report.facts["form"], made.report.facts["documents"]) == ("labels", 8)
    build.drain(database)
    kept = board(database, made.run_id)
    assert kept.primary == measure
    assert kept.board.values == {measure: expected(GRADES, measure)}
    with database.read() as session:
        scored = session.query(Evaluation).filter(Evaluation.run_id == made.run_id).all()
    assert {row.measure for row in scored} == {"BoardTau", "TopicTau", "TopicAccuracy"}
    assert damage(database) == []


def test_what_the_reference_leaves_out_counts_for_no_judge(database: Database, tmp_path: Path) -> None:
    """A reference of a residual round: its runs are scored without the documents that were left out."""
    judging.ranked(database, tmp_path)
    gone = LeftOut(dict.fromkeys(judging.TOPICS, frozenset({b"a"})), True)
    people = {"1": {"b": 0, "c": 1}, "2": {"d": 1, "x": 0}, "3": {"e": 3, "f": 1}}
    build.revise(database, tmp_path, people, left_out=gone)
    build.drain(database)
    judging.task(database, tmp_path)
    judging.refer_to(database, measure="AP")
    made = judging.label(database, tmp_path)
    partial = judging.label(database, tmp_path, "1 0 a 2\n2 0 d 1\n", "elm", team_name="Other")
    assert made.run_id is not None, made.report
    assert partial.run_id is not None, partial.report
    build.drain(database)
    grades = {
        topic: {docno: grade for docno, grade in of_topic.items() if docno != b"a"}
        for topic, of_topic in GRADES.items()
    }
    values = board(database, made.run_id).board.values
    assert values == {"AP": expected(grades, "AP", without="a")}
    assert values != {"AP": expected(GRADES, "AP")}
    of_one_topic = board(database, partial.run_id).board.values
    assert of_one_topic == {"AP": expected({"2": {b"d": 1}}, "AP", without="a")}
    assert damage(database) == []


def test_confidence_is_kept_and_weighs_nothing(judged: Database, tmp_path: Path) -> None:
    """Six columns: the board is that of the same labels without confidence; a topic may have none."""
    sure = judging.label(judged, tmp_path, judging.CONFIDENT)
    plain = "".join(f"{' '.join(line.split()[:4])}\n" for line in judging.CONFIDENT.splitlines())
    bare = judging.label(judged, tmp_path, plain, "bare", team_name="Other")
    assert sure.run_id is not None, sure.report
    assert bare.run_id is not None, bare.report
    build.drain(judged)
    assert board(judged, sure.run_id).board.values == board(judged, bare.run_id).board.values
    with judged.read() as session:
        sent = store.sent_labels(session, sure.run_id)
        assert session.get_one(Run, sure.run_id).tag == "oak"
    assert isinstance(sent, KeptLabels)
    assert sent.labels.confidence["1"] == {b"a": 0.9, b"b": 0.4}


def test_the_board_of_the_task_of_rankings_stays_as_it_is(judged: Database, tmp_path: Path) -> None:
    """Labels belong to the task of judges alone: no edition or score of the other one is new."""

    def others() -> tuple[int, list[int]]:
        with judged.read() as session:
            runs = session.query(Run.id).filter(Run.name.in_(judging.RANKINGS))
            scores = session.query(Evaluation.id).filter(Evaluation.run_id.in_(runs.scalar_subquery()))
            return session.query(Edition).count(), sorted(row.id for row in scores)

    before = others()
    judging.label(judged, tmp_path)
    build.drain(judged)
    assert others() == before


def test_another_reference_scores_the_runs_again(judged: Database, tmp_path: Path) -> None:
    """By the measure that the new one is by; a board file without runs leaves the judge without a rank."""
    made = judging.label(judged, tmp_path)
    assert made.run_id is not None
    build.drain(judged)
    judging.refer_to(judged, measure="nDCG@10")
    build.drain(judged)
    assert board(judged, made.run_id).primary == "nDCG@10"
    judging.refer(judged, tmp_path)
    build.drain(judged)
    with judged.read() as session:
        newest = session.query(Edition).order_by(Edition.id.desc()).first()
        assert newest is not None
        assert newest.state == "current"
        assert store.of_runs(session, [(made.run_id, "oak")], newest) == {}
    assert damage(judged) == []


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("1 0 a 2\n9 0 a 1\n", "The task has no such topic.", 2),
        ("1 0 a 2\n1 0 b high\n", "A label is a number, or True or False.", 2),
        ("1 0 a 2\n1 0 a 1\n", "Topic 1 has this document already with label 2; here it has 1.", 2),
        ("1 0 a 2\n1 0 b\n", "A judgment has four fields, or six with confidence and run", 2),
        ("1 Q0 a 2 sure oak\n", "A confidence is a number.", 1),
    ],
)
def test_labels_are_refused_with_line_rule_and_remedy(
    judged: Database, tmp_path: Path, text: str, rule: str, line: int
) -> None:
    """Nothing of such a file is stored."""
    made = judging.label(judged, tmp_path, text)
    assert made.state == "rejected"
    assert made.report is not None
    (problem,) = made.report.problems
    assert problem.rule.startswith(rule)
    assert problem.line == line
    assert problem.remedy
    with judged.read() as session:
        assert session.query(JudgeBoard).count() == 0


def test_labels_need_a_reference_with_runs(database: Database, tmp_path: Path) -> None:
    """A board file has none; the report says what to send."""
    judging.task(database, tmp_path)
    judging.refer(database, tmp_path)
    made = judging.label(database, tmp_path)
    assert made.report is not None
    (problem,) = made.report.problems
    assert problem.rule == (
        "Labels are scored on the runs of the reference, which here is a board file without runs."
    )
    assert problem.remedy == "Submit a board file: run topic measure value."


def test_topics_without_a_label_are_left_out(judged: Database, tmp_path: Path) -> None:
    """A warning names the first; the judge is held against the others."""
    made = judging.label(judged, tmp_path, "1 0 a 2\n1 0 b 1\n3 0 e 1\n")
    assert made.report is not None
    (warning,) = made.report.warnings
    assert (warning.rule, warning.value) == (
        "The file has no label on this topic, so the topic is left out for this judge.",
        "2",
    )
    build.drain(judged)
    assert made.run_id is not None
    assert board(judged, made.run_id).board.topics == ("1", "3")


def test_a_blind_task_takes_labels_on_most_topics_alone(database: Database, tmp_path: Path) -> None:
    """Fewer would tell how the reference orders runs there."""
    judging.ranked(database, tmp_path)
    judging.task(database, tmp_path, visibility="blind")
    judging.refer_to(database)
    made = judging.label(database, tmp_path, "1 0 a 2\n")
    assert made.report is not None
    assert any("at least 80%" in problem.rule for problem in made.report.problems)


def test_boards_that_look_like_qrels_are_read_as_boards(judged: Database, tmp_path: Path) -> None:
    """In the order `ranked` the third column names runs."""
    lines = [
        f"{topic} Q0 {run} 1 0.{place}{topic} M\n"
        for place, run in enumerate(judging.RANKINGS)
        for topic in judging.TOPICS
    ]
    made = judging.label(judged, tmp_path, "".join(lines))
    assert made.report is not None
    assert made.report.facts["order"] == "ranked"
