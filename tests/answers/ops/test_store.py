"""Answers come back as they were stored, and damaged ones are an error that names run and topic."""

from pathlib import Path

import pytest

from leaderboard.answers.ops import answers as answers_services
from leaderboard.db.engine import Database
from leaderboard.db.tables import Answer as StoredAnswer
from leaderboard.errors import Damaged
from leaderboard.trec.answers.record import Answer, Citation, Segment, cut
from tests.make import build
from tests.make.damage import damage

pytestmark = pytest.mark.dialect
BLUE = Answer(
    "u3",
    "1",
    (Segment("Air scatters \u00b4 blue.", (Citation("d4", 0.9), Citation("d9"))), Segment("It always did.")),
    ("d4", "d9"),
    '{"metadata": {"\U0001f600": 1}}',
)


def _stored(database: Database, folder: Path, *answers: Answer) -> int:
    build.task(database, folder, measures=("AP",))
    run_id = build.run(database, folder, {"1": ["a"], "2": ["a"], "3": ["a"]})
    with database.write() as session:
        answers_services.add_answers(session, run_id, answers)
    return run_id


def test_answers_come_back_as_they_were(database: Database, tmp_path: Path) -> None:
    """Texts, citations with their confidence, references, the line, and what was cut off."""
    short = cut(BLUE, 4, "words")
    other = Answer("u3", "3", short.segments, ("d4",), "{}", short.cut_off)
    run_id = _stored(database, tmp_path, other, BLUE)
    with database.read() as session:
        assert answers_services.of_topic(session, run_id, "1") == BLUE
        assert answers_services.of_topic(session, run_id, "2") is None
        assert list(answers_services.of_run(session, run_id)) == [BLUE, other]
        assert list(answers_services.of_topic_in(session, [run_id], "3")) == [(run_id, other)]
    assert short.cut_off == (Segment("It always did."),)


def test_a_damaged_answer_is_an_error_that_names_it(database: Database, tmp_path: Path) -> None:
    """No answer is better than another one."""
    run_id = _stored(database, tmp_path, BLUE)
    damage(database, StoredAnswer.body)
    with database.read() as session, pytest.raises(Damaged, match=f"answers of run {run_id} on topic 1"):
        answers_services.of_topic(session, run_id, "1")
