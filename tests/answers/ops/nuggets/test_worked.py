"""The worked numbers of the measures, from files of judgments to the board."""

from pathlib import Path

import pytest

from leaderboard.boards.ops import board
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from tests.make import answers, build, nuggeted

V_STRICT = "NuggetRecall(set='vital',strict=1)"
A = "NuggetRecall(set='all')"
W = "NuggetRecall(set='weighted')"


def test_files_of_labels_make_the_board_of_the_worked_example(database: Database, tmp_path: Path) -> None:
    """V_strict is (2/4 + 0)/2, A (4/7 + 0.5)/2, W (3.25/5.5 + 0.5)/2."""
    nuggeted.task(database, tmp_path)
    nuggeted.run(database, tmp_path, "one", nuggeted.worked_lines())
    made = nuggeted.revise(database, nuggeted.files(tmp_path, assignments=nuggeted.worked_labels()))
    assert (made.number, made.topics, made.judgments) == (1, 2, 9)
    build.drain(database)
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "t")
    (row,) = shown.rows
    assert row.rank == 1
    assert row.scores[V_STRICT] == pytest.approx(0.25, abs=1e-12)
    assert row.scores[A] == pytest.approx((4 / 7 + 0.5) / 2, abs=1e-12)
    assert row.scores[W] == pytest.approx((3.25 / 5.5 + 0.5) / 2, abs=1e-12)
    assert set(row.scores) == {V_STRICT, A, W, "AnswerLength", "NumCitations"}


def test_a_cell_that_nobody_judged_blocks_the_rank(database: Database, tmp_path: Path) -> None:
    """Its mean is over the judged topics, and it has no value to rank by."""
    nuggeted.task(database, tmp_path)
    for name in ("one", "two"):
        nuggeted.run(database, tmp_path, name, nuggeted.worked_lines(name))
    lines = [*nuggeted.worked_labels(), *nuggeted.worked_labels("two", ["1"])]
    nuggeted.revise(database, nuggeted.files(tmp_path, assignments=lines))
    build.drain(database)
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "t")
    ranks = {row.run: (row.rank, row.scores[V_STRICT]) for row in shown.rows}
    assert ranks == {"one": (1, 0.25), "two": (None, None)}
    partial = {row.run: row.partial.get(V_STRICT) for row in shown.rows}
    assert partial["one"] is None
    assert partial["two"] is not None
    assert (partial["two"].mean, partial["two"].judged, partial["two"].topics) == (0.5, 1, 2)


def test_support_of_the_worked_example(database: Database, tmp_path: Path) -> None:
    """Six segments [2,0] [1] [] [-1,2] [0,1,2] [-1]: P 0.5, R 0.375."""
    labels = ([2, 0], [1], [], [-1, 2], [0, 1, 2], [-1])
    cited = [(f"Segment {at}.", [f"d{n}" for n in range(len(of))]) for at, of in enumerate(labels)]
    nuggeted.task(database, tmp_path)
    nuggeted.run(database, tmp_path, "one", [answers.answer("1", *cited)])
    nuggeted.revise(database, nuggeted.files(tmp_path, support=[answers.supported("1", *labels)]))
    build.drain(database)
    with database.read() as session:
        (row,) = board.board(session, ANONYMOUS, "t", "SupportP").rows
    assert (row.scores["SupportP"], row.scores["SupportR"]) == (0.5, 0.375)
    assert row.scores["AnswerLength"] == 12.0
