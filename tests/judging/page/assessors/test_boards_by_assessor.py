"""The order of the runs under each assessor of a pool."""

from pathlib import Path

import pytest

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.judging.ops.pools.previews import PoolDocument
from leaderboard.judging.page.assessors import boards_by_assessor
from leaderboard.judging.page.assessors.boards_by_assessor import BoardsByAssessor
from tests.make import build, judged, pools


def _boards(database: Database) -> BoardsByAssessor:
    with database.read() as session:
        return boards_by_assessor.boards_by_assessor(session, OPERATOR, "t", 1)


@pytest.mark.dialect
def test_each_assessor_s_labels_go_before_what_is_settled(database: Database, tmp_path: Path) -> None:
    """Anne finds d1 relevant and Bert d2: under Anne the run with d1 first leads, the majority ties low.

    Both agree on d0, so that the topic counts: with d1 and d2 not relevant every run has its one relevant
    document third.
    """
    build.task(database, tmp_path, measures=("RR",))
    pools.pool(database, {"1": ["d0", "d1", "d2"], "2": [PoolDocument("e", grade=1)]})
    anne, bert = judged.assessor(database, "Anne"), judged.assessor(database, "Bert")
    judged.judge(database, anne, "1", {"d0": 1, "d1": 1, "d2": 0})
    judged.judge(database, bert, "1", {"d0": 1, "d1": 0, "d2": 1})
    build.run(database, tmp_path, {"1": ["d1", "x", "d0"], "2": ["e"]}, "first")
    build.run(database, tmp_path, {"1": ["d2", "x", "y", "d0"], "2": ["e"]}, "other")
    found = _boards(database)
    assert (found.measure, found.runs, found.topics, found.why) == ("RR", 2, 2, "")
    assert found.leader == "first"
    by_anne, by_bert = found.rows
    assert (by_anne.judge.name, by_anne.documents, by_anne.changed) == ("Anne", 3, 1)
    assert (by_anne.leader, by_anne.tau, by_anne.mover) == ("first", pytest.approx(1.0), "")
    assert (by_bert.leader, by_bert.tau) == ("other", pytest.approx(-1.0))
    assert (by_bert.mover, by_bert.mover_ranks) == ("first", (1, 2))
    assert _boards(database) == found


def test_without_runs_or_overlap_a_sentence_says_why(database: Database, tmp_path: Path) -> None:
    """Two runs are needed, and a document that two assessors judged."""
    anne, _ = judged.judged_by_two(database, tmp_path)
    assert "Fewer than two" in _boards(database).why
    for name in ("one", "two"):
        build.run(database, tmp_path, {"1": ["d0"]}, name)
    assert _boards(database).why == ""
    pools.pool(database, {"1": ["a"]})
    judged.judge(database, anne, "1", {"a": 1})
    with database.read() as session:
        found = boards_by_assessor.boards_by_assessor(session, OPERATOR, "t", 2)
    assert "two assessors" in found.why
