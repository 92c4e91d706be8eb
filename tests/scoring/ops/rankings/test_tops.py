"""The tops of runs as the database has them, against the rankings as they were sent."""

from pathlib import Path

import numpy as np

from leaderboard.db.engine import Database
from leaderboard.scoring.ops.rankings import TopicTops, judged_places, read_tops, topic_seed, topic_tops
from tests.make import build
from tests.make.pooled import RUNS, fill


def _docnos(found: TopicTops) -> list[list[str]]:
    return [[found.docno(place) for place in ranking.tolist()] for ranking in found.rankings]


def test_tops_are_the_best_documents_in_the_order_of_the_runs_asked_for(
    database: Database, tmp_path: Path
) -> None:
    """Depth cuts every ranking, docnos are in byte order, and scores go along."""
    ids = fill(database, tmp_path)
    with database.read() as session:
        found = read_tops(session, [ids["C"], ids["A"]], ["1"], 3, 10)["1"]
        alone = topic_tops(session, [ids["C"], ids["A"]], "1", 3, 10)
    assert _docnos(found) == [RUNS["C"][:3], RUNS["A"][:3]]
    assert found.docnos.tolist() == [b"d1", b"d2", b"d3", b"d8", b"d9"]
    assert [scores.tolist() for scores in found.scores] == [[999.0, 998.0, 997.0]] * 2
    assert _docnos(alone) == _docnos(found)


def test_documents_left_out_make_no_room_for_others(database: Database, tmp_path: Path) -> None:
    """The rank of a distractor is not given to the next document."""
    ids = fill(database, tmp_path)
    with database.read() as session:
        found = read_tops(session, [ids["A"], ids["B"]], ["1"], 2, 10, {b"d2", b"zz"})["1"]
    assert _docnos(found) == [["d1"], ["d1"]]
    assert [len(scores) for scores in found.scores] == [1, 1]


def test_a_topic_that_a_run_misses_is_an_empty_top(database: Database, tmp_path: Path) -> None:
    """So is one that no run has."""
    build.task(database, tmp_path, topics=("1", "2"), judgments=None)
    ids = [
        build.run(database, tmp_path, {"1": ["a", "b"]}, "one"),
        build.run(database, tmp_path, {"2": ["c"], "1": ["b"]}, "two"),
    ]
    with database.read() as session:
        found = read_tops(session, ids, ["1", "2", "3"], 10, 10)
    assert _docnos(found["1"]) == [["a", "b"], ["b"]]
    assert _docnos(found["2"]) == [[], ["c"]]
    assert _docnos(found["3"]) == [[], []]


def test_ties_go_by_docno_as_they_are_scored(database: Database, tmp_path: Path) -> None:
    """Of equal scores the docno that is later in byte order is the better one."""
    build.task(database, tmp_path, topics=("1",), judgments=None)
    path = tmp_path / "tied.txt"
    path.write_text("1 Q0 a 1 1.0 x\n1 Q0 b 2 1.0 x\n1 Q0 c 3 2.0 x\n")
    run_id = build.submit(database, path).run_id
    assert run_id is not None
    with database.read() as session:
        assert _docnos(read_tops(session, [run_id], ["1"], 2, 10)["1"]) == [["c", "b"]]


def test_judged_places_leave_out_what_was_pooled_but_not_judged() -> None:
    """A grade of -1 is no judgment."""
    tops = TopicTops(np.array([b"a", b"b", b"c"]), (), ())
    assert judged_places(tops, {b"a": 2, b"c": -1, b"z": 1}) == {0: 2}


def test_the_seed_of_a_topic_is_what_it_always_was() -> None:
    """Pools that are stored must be drawn again as they were."""
    assert topic_seed(1, "401") == 16_659_644_616_619_564
