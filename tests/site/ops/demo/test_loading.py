"""Loading the demo: every task once, and what its boards say is what the files say."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from leaderboard.answers.ops.nuggets import scoring
from leaderboard.core.jobs.queue import EVALUATE
from leaderboard.core.policy import ANONYMOUS, OPERATOR, visible_task
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Evaluation, Job, Qrels, QrelsRevision, Run, Task, Upload
from leaderboard.demo import answers, judges
from leaderboard.judges.ops import demo as judges_task
from leaderboard.judges.ops import imported, sending
from leaderboard.site.ops.checks import all_checks
from leaderboard.site.ops.demo import answers as answers_task
from leaderboard.site.ops.demo import loading, rankings
from leaderboard.suites.ops import demo as suites
from leaderboard.trec.nuggets.scoring import JudgmentFiles, read_judgments, score_answers
from tests.make import demo_sites

pytestmark = pytest.mark.trial


@pytest.fixture(scope="module")
def demo(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The tasks of answers and of judges, scored."""
    with demo_sites.demo_database(sqlite_template, tmp_path_factory.mktemp("demo")) as database:
        yield database


def _task(database: Database, slug: str) -> int:
    with database.read() as session:
        return session.scalars(select(Task.id).where(Task.slug == slug)).one()


def test_every_run_is_taken_without_a_warning(demo: Database) -> None:
    """Twelve runs of answers and two boards, each accepted, none with anything to say against it."""
    with demo.read() as session:
        uploads = session.scalars(select(Upload)).all()
        reports = [upload.report for upload in uploads]
    assert len(uploads) == len(answers.RUNS) + len(judges.runs())
    assert {upload.state for upload in uploads} == {"accepted"}
    assert [report["warnings"] for report in reports if report["warnings"]] == []


def test_what_is_there_is_not_loaded_again(demo: Database) -> None:
    """A second loading adds nothing."""
    assert loading.load(demo, lambda: None, demo_sites.WITH_ANSWERS) == 0
    with demo.read() as session:
        assert len(session.scalars(select(Task.slug)).all()) == 2


def test_boards_are_there_before_an_evaluator_is(database: Database) -> None:
    """Loading scores what the judges are held against, and the judges: no evaluation is left to be done."""
    loading.load(database, lambda: None, demo_sites.WITH_ANSWERS)
    with database.read() as session:
        left = session.scalars(select(Job).where(Job.kind == EVALUATE, Job.state != "done")).all()
        states = session.execute(select(Edition.task_id, Edition.number, Edition.state)).all()
    assert left == []
    assert sorted(state for _, _, state in states) == ["current", "current", "past"]


def test_progress_is_told_as_often_as_is_said(database: Database) -> None:
    """Each task calls step as often as it says, so that the bar ends full."""
    for task in (answers_task, judges_task):
        told = Counter[str]()
        assert task.load(database, partial(told.update, ["step"]))
        assert told["step"] == task.STEPS
    assert sum(task.STEPS for task in (*loading.tasks(), suites)) == loading.steps()
    assert rankings in loading.tasks()


def test_scores_are_those_of_the_files(demo: Database) -> None:
    """The board has what `leaderboard evaluate` computes from the shipped files, topic by topic."""
    files = JudgmentFiles(
        answers.FOLDER / "nuggets.jsonl",
        answers.FOLDER / "assignments.jsonl",
        answers.FOLDER / "support.jsonl",
    )
    wanted = ["V_strict", "A", "W", "SupportP", "SupportR", "AnswerLength", "NumCitations"]
    scored, _ = score_answers(read_judgments(files), answers.runs().values(), wanted, "mean-of-present")
    by_files = {
        (one.run, measure.key): one.scores[measure].tolist() for one in scored for measure in one.scores
    }
    with demo.read() as session:
        edition = session.scalars(
            select(Edition).join(Task).where(Task.slug == answers.SLUG, Edition.state == "current")
        ).one()
        rows = session.execute(
            select(Run.name, Evaluation.measure, Evaluation.scores)
            .join(Run, Run.id == Evaluation.run_id)
            .where(Evaluation.revision_id == edition.revision_id)
        ).all()
    assert {(name, measure) for name, measure, _ in rows} == by_files.keys()
    assert len(by_files) == len(answers.RUNS) * len(wanted)
    for name, measure, scores in rows:
        assert scores.tolist() == pytest.approx(by_files[name, measure]), (name, measure)


def test_each_part_says_which_machine_made_it(demo: Database) -> None:
    """Nuggets and labels are by machines, and those of support by another one in the first revision."""
    with demo.read() as session:
        numbers = (
            select(QrelsRevision.number, QrelsRevision.id)
            .join(Qrels)
            .where(Qrels.task_id == _task(demo, answers.SLUG))
        )
        made = {number: scoring.of_revision(session, key).made_by for number, key in session.execute(numbers)}
    assert {maker.kind for by in made.values() for maker in by.values()} == {"machine"}
    by_part = {number: {part: maker.name for part, maker in by.items()} for number, by in made.items()}
    both = {"nuggets": answers.JUDGE, "assignments": answers.JUDGE}
    assert by_part == {1: {**both, "support": answers.COUNTER}, 2: {**both, "support": answers.JUDGE}}


def test_the_reference_is_the_board_of_the_answers(demo: Database) -> None:
    """Judges are held against the ranked runs by the primary measure, as the board shows them."""
    with demo.read() as session:
        kept = sending.newest_reference(session, _task(demo, judges.SLUG))
        again = imported.from_task(session, OPERATOR, judges.SLUG, answers.SLUG).kept
    assert kept is not None
    assert kept.is_machine
    assert set(kept.reference.runs) == set(answers.RUNS) - answers.UNRANKED
    assert kept.reference.runs == again.reference.runs
    assert np.array_equal(kept.reference.scores, again.reference.scores)


def test_everybody_sees_what_the_judges_are_held_against(demo: Database) -> None:
    """The task of judges is closed, so nothing is held back."""
    with demo.read() as session:
        _, access = visible_task(session, ANONYMOUS, judges.SLUG)
    assert access.details


def test_nothing_is_damaged(demo: Database) -> None:
    """`leaderboard db check` finds nothing."""
    found = [
        damage
        for check in all_checks(with_scores=True)
        for place in check.places(demo)
        for damage in check.damage(demo, place)
    ]
    assert found == []
