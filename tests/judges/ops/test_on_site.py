"""Judges as participants of a task: its reference, their files, their scores."""

from pathlib import Path

import numpy as np
import pytest

from leaderboard.core import policy
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Evaluation, EvaluationMean, Run, Task
from leaderboard.errors import Closed, Conflict, Invalid
from leaderboard.judges.ops import imported, sending, store
from leaderboard.measures.judges.registry import tau_of_means
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision
from leaderboard.site.ops.checks import all_checks
from leaderboard.stats.orders.rank_correlation import tau_b
from leaderboard.tasks.ops import phases, settings
from leaderboard.tasks.ops.phases import PhasePlan
from tests.judges import make as judging
from tests.make import build


def scores(database: Database, run_id: int) -> dict[str, np.ndarray]:
    """Measure -> scores by topic under the newest revision."""
    with database.read() as session:
        rows = session.query(Evaluation).filter(Evaluation.run_id == run_id).order_by(Evaluation.id)
        return {row.measure: row.scores for row in rows}


def means(database: Database, run_id: int) -> dict[str, float]:
    """Measure -> mean over all topics."""
    with database.read() as session:
        rows = session.query(Evaluation.measure, EvaluationMean.mean).join(
            EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id
        )
        return {row.measure: row.mean for row in rows.filter(Evaluation.run_id == run_id)}


def test_a_judge_is_scored_by_its_agreement(database: Database, tmp_path: Path) -> None:
    """Its value is τ_b of the means, and by topic τ_b and accuracy of the runs within it."""
    judging.task(database, tmp_path)
    judging.refer(database, tmp_path)
    run_id = judging.judge(database, tmp_path)
    build.drain(database)
    found, reference = scores(database, run_id), np.array(list(judging.REFERENCE.values()))
    oak = np.array(list(judging.OAK.values()))
    by_topic = [tau_b(reference[:, at], oak[:, at]) for at in range(3)]
    assert found["TopicTau"].tolist() == pytest.approx(by_topic)
    whole = tau_b(np.round(reference.mean(axis=1), 12), np.round(oak.mean(axis=1), 12))
    assert means(database, run_id)["BoardTau"] == pytest.approx(whole)
    assert set(found) == {"BoardTau", "TopicTau", "TopicAccuracy"}
    assert not [
        found
        for check in all_checks(with_scores=True)
        for place in check.places(database)
        for found in check.damage(database, place)
    ]


def test_a_submission_of_another_digest_is_damage(database: Database, tmp_path: Path) -> None:
    """What is stored of a judge is what its run was accepted with."""
    judging.task(database, tmp_path)
    judging.refer(database, tmp_path)
    run_id = judging.judge(database, tmp_path)
    with database.write() as session:
        run = session.get_one(Run, run_id)
        assert list(store.damage(database, run)) == []
        run.ranking_sha256 = "0" * 64
    assert list(store.damage(database, run)) == ["its board or its labels do not have its digest"]


@pytest.mark.parametrize("seed", range(20))
def test_the_value_is_that_of_the_statistics(seed: int) -> None:
    """The measure's τ_b of means is the one that judges.md defines, ties or not."""
    drawn = np.random.default_rng(seed).integers(0, 4, (2, 7)).astype(float)
    drawn[:, :2] = [[0, 3], [1, 2]]
    assert tau_of_means(*drawn.ravel()) == pytest.approx(tau_b(drawn[0], drawn[1]))


def test_no_rank_where_a_run_is_missing(database: Database, tmp_path: Path) -> None:
    """A board without a run of the reference is taken, with a warning, and has no score."""
    judging.task(database, tmp_path)
    judging.refer(database, tmp_path)
    without = {run: values for run, values in judging.OAK.items() if run != "E"}
    made = judging.submit(database, tmp_path, without)
    assert made.report is not None
    assert any("lacks" in warning.rule for warning in made.report.warnings)
    build.drain(database)
    assert made.run_id is not None
    assert not means(database, made.run_id)


def test_topics_that_say_nothing_are_left_out(database: Database, tmp_path: Path) -> None:
    """Where the reference ties all runs nobody is scored by topic; where a judge does, it has no rank."""
    tied = {run: (1.0, *values[1:]) for run, values in judging.REFERENCE.items()}
    judging.task(database, tmp_path)
    judging.refer(database, tmp_path, tied)
    level = {run: (values[0], 0.5, values[2]) for run, values in judging.OAK.items()}
    run_id = judging.judge(database, tmp_path, level)
    build.drain(database)
    with database.read() as session:
        (edition,) = session.query(Edition).all()
        left_out = {measure["key"]: measure["left_out"] for measure in edition.measures}
    assert left_out == {"BoardTau": [], "TopicTau": ["1"], "TopicAccuracy": ["1"]}
    found = scores(database, run_id)
    assert np.isnan(found["TopicTau"]).tolist() == [True, True, False]
    assert found["TopicAccuracy"][1] == 0.5
    assert "BoardTau" in means(database, run_id)


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ("X 1 M 0.5\n", "The reference has no such run."),
        ("A 9 M 0.5\n", "The reference has no such topic."),
        ("A 1 M 0.1\n", "M of run A on topic 1 is"),
        ("A 1 N 0.1\n", "The file has 2 measures"),
        ("# primary: N\n", "The primary measure must be one of the file: M."),
    ],
)
def test_files_are_refused_with_what_is_wrong(
    database: Database, tmp_path: Path, lines: str, rule: str
) -> None:
    """Unknown runs and topics, a cell of two values, and no primary measure are errors."""
    judging.task(database, tmp_path)
    judging.refer(database, tmp_path)
    path = judging.board_file(tmp_path, judging.OAK)
    path.write_text(path.read_text() + lines)
    made = build.submit(database, path, "judged")
    assert made.state == "rejected"
    assert made.report is not None
    assert any(problem.rule.startswith(rule) for problem in made.report.problems), made.report


def test_the_measure_that_counts_is_named_in_the_file(database: Database, tmp_path: Path) -> None:
    """A comment names it beforehand; the others stay beside it."""
    judging.task(database, tmp_path)
    judging.refer(database, tmp_path)
    text = "# primary: N\n" + judging.board_text(judging.OAK) + judging.board_text(judging.ELM, "N")
    path = tmp_path / "two.txt"
    path.write_text(text)
    made = build.submit(database, path, "judged")
    assert made.report is not None
    assert made.report.facts["primary"] == "N"
    assert made.report.facts["measures"] == 2


def test_the_order_of_the_columns_is_asked_for(database: Database, tmp_path: Path) -> None:
    """Where topics and runs do not tell the columns apart a heading is asked for, and answers."""
    names = dict(zip("12345", judging.REFERENCE.values(), strict=True))
    judging.task(database, tmp_path, topics=("1", "2", "3"))
    judging.refer(database, tmp_path, names, facts="run,team\n")
    mixed = {"1": (0.1, 0.2, 0.3), "2": (0.3, 0.3, 0.2), "3": (0.4, 0.5, 0.9)}
    asked = judging.submit(database, tmp_path, mixed, with_all=False)
    assert asked.report is not None
    assert "order of the columns is ambiguous" in asked.report.problems[0].rule
    told = judging.submit(database, tmp_path, mixed, with_all=False, head=judging.HEAD, name="told")
    assert told.state == "accepted", told.report


def test_a_blind_task_takes_no_probe(database: Database, tmp_path: Path) -> None:
    """A board on few topics would tell how the reference orders runs there."""
    judging.task(database, tmp_path, visibility="blind")
    judging.refer(database, tmp_path)
    path = tmp_path / "probe.txt"
    path.write_text("".join(f"{run} 1 M {values[0]}\n" for run, values in judging.OAK.items()))
    made = build.submit(database, path, "judged")
    assert made.report is not None
    assert any("at least 80%" in problem.rule for problem in made.report.problems)


def test_boards_wait_for_the_reference(database: Database, tmp_path: Path) -> None:
    """Before it is chosen no file can be checked, so none is taken."""
    judging.task(database, tmp_path)
    with pytest.raises(Closed, match="no reference yet"):
        judging.submit(database, tmp_path)


def test_the_reference_is_never_open_before_the_close(database: Database, tmp_path: Path) -> None:
    """No task of judges is made open, and one that is set so later still holds back what it rests on."""
    with pytest.raises(Invalid) as refused:
        judging.task(database, tmp_path, visibility="open")
    assert "blind or sealed" in refused.value.problems[0].rule
    judging.task(database, tmp_path, visibility="blind")
    judging.refer(database, tmp_path)
    with database.write() as session:
        session.query(Task).update({"visibility": "open"})
    with database.read() as session:
        _, access = policy.visible_task(session, policy.ANONYMOUS, "judged")
        assert not access.details
        assert access.topic_set == "public"


def test_no_setting_opens_what_the_reference_says(database: Database, tmp_path: Path) -> None:
    """Neither the task nor a phase of it can be set open."""
    judging.task(database, tmp_path)
    with database.write() as session, pytest.raises(Invalid, match="stays hidden until the close"):
        settings.change_settings(session, OPERATOR, "judged", {"visibility": "open"})
    with database.write() as session, pytest.raises(Invalid, match="stays hidden until the close"):
        phases.add(session, OPERATOR, "judged", PhasePlan(name="second", visibility="open"))


def from_task(database: Database, source: str = "t", measure: str = "") -> sending.PreparedReference:
    """The reference that the board of a task is."""
    with database.read() as session:
        return imported.from_task(session, OPERATOR, "judged", source, measure)


def test_the_board_of_a_task_becomes_a_reference_and_stays(database: Database, tmp_path: Path) -> None:
    """Its ranked runs by the measure, kept: another edition changes nothing until it is chosen again."""
    build.task(database, tmp_path, measures=("AP", "nDCG@10"))
    for name, docnos in {"one": ["a", "c"], "two": ["c", "b"], "three": ["b"]}.items():
        build.run(database, tmp_path, {"1": docnos, "2": docnos, "3": ["e"]}, name)
    build.drain(database)
    judging.task(database, tmp_path)
    made = from_task(database, measure="nDCG@10")
    assert set(made.kept.reference.runs) == {"one", "two", "three"}
    assert made.kept.source == "Task t (t), edition 1"
    with database.write() as session:
        revisions.revise(session, OPERATOR, "judged", NewRevision(prepared=made, note="The board."))
    board = {run: row for run, row in zip(made.kept.reference.runs, made.kept.reference.scores, strict=True)}
    run_id = judging.judge(database, tmp_path, board)
    build.drain(database)
    assert means(database, run_id)["BoardTau"] == 1.0
    build.revise(database, tmp_path, {"1": {"b": 2}, "2": {"b": 1}, "3": {"e": 1}})
    build.drain(database)
    assert means(database, run_id)["BoardTau"] == 1.0
    assert from_task(database).sha256 != made.sha256
    with pytest.raises(Conflict, match="These judgments are identical to revision 1"):
        _publish_again(database, made)


def _publish_again(database: Database, made: sending.PreparedReference) -> None:
    with database.write() as session:
        revisions.revise(session, OPERATOR, "judged", NewRevision(prepared=made, note="The same."))


def test_a_reference_is_of_the_topics_of_its_task(database: Database, tmp_path: Path) -> None:
    """A board of other topics is refused."""
    judging.task(database, tmp_path, topics=("7", "8", "9"))
    with pytest.raises(Invalid):
        judging.refer(database, tmp_path)
