"""What assessors said of documents, and who found them."""

from pathlib import Path

import numpy as np
import pytest

from leaderboard.boards.page.scores import table
from leaderboard.boards.page.scores.table import Field
from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.qrels.page.topics import judgments
from leaderboard.qrels.page.topics.judgments import DocumentFinders, document_places, grades_of
from leaderboard.scoring.ops.evaluations.shown import shown_edition
from leaderboard.trec.qrels.align import compile_judgments
from tests.make import build
from tests.make.copies import built_once


def _field(database: Database) -> Field:
    with database.read() as session:
        task, access = policy.visible_task(session, ANONYMOUS, "t")
        found = table.field(session, ANONYMOUS, task, access, shown_edition(session, task, access))
    assert found is not None
    return found


@pytest.fixture
@built_once
def runs(database: Database, tmp_path: Path) -> tuple[int, int]:
    """Two runs, of which neither has all."""
    build.task(database, tmp_path, measures=("RR",))
    one = build.run(database, tmp_path, {"1": ["x", "a"], "2": ["a"]}, "one")
    two = build.run(database, tmp_path, {"1": ["a"]}, "two")
    build.drain(database)
    return one, two


def _finders(runs: int, of: int, best: int, best_run_id: int, best_run: str) -> DocumentFinders:
    return DocumentFinders(runs=runs, of=of, best=best, best_run_id=best_run_id, best_run=best_run)


def test_a_topics_documents_say_who_found_them(database: Database, runs: tuple[int, int]) -> None:
    """Grade and finders of every judged document in byte order; the highest rank and whose it is."""
    field = _field(database)
    with database.read() as session:
        found = judgments.judged_topic(session, field.source, field.runs, "1", 1)
        assert judgments.judged_topic(session, field.source, field.runs, "77", 1) is None
        assert found is not None
        assert grades_of(session, field.source.revision_id, "1") == found.grade_of
    assert found.grade_of == {"a": 2, "b": 0, "c": 1}
    assert found.finders == (_finders(2, 2, 1, runs[1], "two"), *[_finders(0, 2, 0, 0, "")] * 2)


def test_a_documents_finders_by_topic(database: Database, runs: tuple[int, int]) -> None:
    """Only the topics it is judged for count, whatever else the runs have it for."""
    field = _field(database)
    with database.read() as session:
        found = judgments.finders_of(session, field.source, field.runs, "a", 1)
        assert judgments.finders_of(session, field.source, field.runs, "x", 1) == {}
    assert found == {"1": _finders(2, 2, 1, runs[1], "two"), "2": _finders(1, 2, 1, runs[0], "one")}


def test_a_document_is_found_among_the_judged_ones_of_every_topic() -> None:
    """The first, a middle, the last and none; a docno that begins like another is another."""
    compiled = compile_judgments(
        {"1": {b"a": 1, b"ab": 0, b"b": 0}, "2": {b"ab": 2}, "3": {b"0": 1, b"z": 1}, "4": {b"b": 1}}
    )
    assert document_places(compiled, "ab") == {0: 1, 1: 3}
    assert document_places(compiled, "a") == {0: 0}
    assert document_places(compiled, "b") == {0: 2, 3: 6}
    assert document_places(compiled, "zz") == {}
    assert np.array_equal(compiled.judgments.grades[[1, 3]], [0, 2])


@pytest.mark.dialect
def test_grades_over_time_say_what_changed(database: Database, tmp_path: Path, runs: tuple[int, int]) -> None:
    """Revisions that were shown, in order; one that is still being scored does not count yet."""
    build.revise(database, tmp_path, {"1": {"a": 3}, "2": {"d": 1}})
    build.drain(database)
    build.revise(database, tmp_path, {"1": {"a": 0}})
    with database.read() as session:
        task = session.get_one(Task, 1)
        revisions = judgments.shown_revisions(session, task)
        found = judgments.grades_over_time(session, task, revisions, "a")
        assert judgments.grades_over_time(session, task, revisions, "nowhere") == ()
    assert [(each.number, each.note) for each in revisions] == [(1, ""), (2, "a note")]
    assert [(each.topic_id, [(then.grade, then.change) for then in each.grades]) for each in found] == [
        ("1", [(2, ""), (3, "raised")]),
        ("2", [(0, ""), (None, "removed")]),
    ]
    assert [each.of(revisions[1].id, revisions) for each in found] == [3, None]
    assert found[0].of(None, revisions) is None
