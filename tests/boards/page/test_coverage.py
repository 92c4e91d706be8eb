"""How much of a run is judged, how low and high its score could be, against numbers worked out by hand."""

from pathlib import Path

import pytest
from sqlalchemy import event

from leaderboard.boards.ops import board
from leaderboard.boards.page import view
from leaderboard.boards.page.view import Bounds, Coverage, CoveredRun, outside_the_pool
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.measures.grammar import parse
from leaderboard.scoring.ops import board_measures, rankings
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import build
from tests.make.copies import built_once

HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
DEEP = {"1": ["a", "b", "x", "y"]}


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


@pytest.fixture
@built_once
def runs(database: Database, tmp_path: Path) -> tuple[Source, dict[str, CoveredRun]]:
    """Where the scores of a board are, and its two runs by name."""
    build.task(database, tmp_path, measures=("AP", "RR"))
    build.run(database, tmp_path, HALF, "half")
    build.run(database, tmp_path, DEEP, "deep")
    build.drain(database)
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "t")
    assert shown.source is not None
    rows = {row.run: CoveredRun(row.run_id, row.ranking_sha256, row.order_differs) for row in shown.rows}
    return shown.source, rows


def _coverage(database: Database, source: Source, key: str, run: CoveredRun) -> Coverage:
    with database.read() as session:
        return view.coverage(session, source, parse(key), [run])[run.run_id]


def _bounds(database: Database, source: Source, key: str, run: CoveredRun) -> Bounds:
    with database.read() as session:
        return view.coverage_bounds(session, source, parse(key), [run])[run.run_id]


def test_shares_are_of_the_topics_that_a_run_ranks_documents_for(
    database: Database, runs: tuple[Source, dict[str, CoveredRun]]
) -> None:
    """One of two in each of three topics; of the run with one topic, two of four, none of the first two."""
    source, rows = runs
    assert _coverage(database, source, "AP", rows["half"]) == Coverage(0.5, 0.5)
    assert _coverage(database, source, "AP", rows["deep"]) == Coverage(0.5, 0.5)
    assert _coverage(database, source, "P@2", rows["deep"]) == Coverage(0.0, 0.5)
    assert _coverage(database, source, "P@3", rows["deep"]).unjudged == pytest.approx(1 / 3)


def test_a_run_that_ranks_nothing_here_is_left_out(database: Database, tmp_path: Path) -> None:
    """A mean over no topics is none."""
    build.task(database, tmp_path, judgments={"1": {"a": 1}}, measures=("RR",))
    build.run(database, tmp_path, {"2": ["a"]}, "elsewhere")
    build.drain(database)
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "t")
        assert shown.source is not None
        (row,) = shown.rows
        covered = [CoveredRun(row.run_id, row.ranking_sha256, row.order_differs)]
        assert view.coverage(session, shown.source, parse("RR"), covered) == {}


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [
        # Topics 1 and 3 have two relevant documents, topic 2 one; the run has one at rank 2 of each.
        ("AP", (1 / 4 + 1 / 2 + 1 / 4) / 3, (2 / 3 + 1 + 2 / 3) / 3),
        ("P@2", 0.5, 1.0),
        ("P(rel=2)@2", (0.5 + 0 + 0.5) / 3, (1 + 0.5 + 1) / 3),
        ("RR", 0.5, 1.0),
        # All but rank 2 has a weight of 1 - 0.2 · 0.8.
        ("RBP", 0.16, 1.0),
    ],
)
def test_ends_are_those_worked_out_by_hand(
    database: Database, runs: tuple[Source, dict[str, CoveredRun]], key: str, low: float, high: float
) -> None:
    """The lowest and highest mean, with the measure's own parameters."""
    source, rows = runs
    found = _bounds(database, source, key, rows["half"])
    assert (found.low, found.high) == pytest.approx((low, high))


def test_an_unjudged_document_may_have_the_highest_grade(
    database: Database, runs: tuple[Source, dict[str, CoveredRun]]
) -> None:
    """By nDCG both ends hold the score itself, and an unjudged first rank of grade 3 would lift it."""
    source, rows = runs
    found = _bounds(database, source, "nDCG@10", rows["half"])
    assert 0 < found.low < found.high < 1
    assert _bounds(database, source, "nDCG@1", rows["half"]) == Bounds(0.0, 1.0)


@pytest.mark.parametrize(
    "key", ["R@10", "Bpref", "AP(judged_only=True)", "nDCG(gains={1:1,2:5})@10", "Success@5"]
)
def test_other_measures_have_no_ends(
    database: Database, runs: tuple[Source, dict[str, CoveredRun]], key: str
) -> None:
    """Where it is not known how far a score could move nothing is said."""
    source, rows = runs
    assert not view.has_bounds(parse(key))
    with database.read() as session:
        assert view.coverage_bounds(session, source, parse(key), list(rows.values())) == {}


def test_what_was_computed_once_takes_no_statement(
    database: Database, runs: tuple[Source, dict[str, CoveredRun]]
) -> None:
    """It is kept by the digest of the rankings; another run is computed alone."""
    source, rows = runs
    with database.read() as session:
        first = view.coverage(session, source, parse("RR"), [rows["half"]])
        sent: list[str] = []
        event.listen(database.engine, "before_cursor_execute", lambda *given: sent.append(str(given[2])))
        assert view.coverage(session, source, parse("RR"), [rows["half"]]) == first
        assert sent == []
        view.coverage(session, source, parse("RR"), list(rows.values()))
        assert len(sent) == 1


@pytest.mark.parametrize(
    ("shares", "outside"),
    [
        ((1.0, 1.0, 0.89), {2}),
        ((1.0, 1.0, 0.91), set()),
        ((0.9, 0.88, 0.86, 0.80), {3}),
        # Thin judgments tell who finds the known documents, not who was pooled.
        ((0.5, 0.4, 0.1), set()),
        ((0.6,), set()),
        ((), set()),
    ],
)
def test_outside_is_who_is_clearly_less_judged_than_the_others(
    shares: tuple[float, ...], outside: set[int]
) -> None:
    """Below nine tenths and more than .05 below the median, where that is at least eight tenths."""
    found = {run_id: Coverage(0.0, share) for run_id, share in enumerate(shares)}
    assert outside_the_pool(found) == outside


def test_of_a_large_board_the_shares_are_stored(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An evaluator computes them for each depth; a page then reads no run, and of new runs what they are."""
    monkeypatch.setattr(board_measures, "LEAST_RUNS", 2)
    build.task(database, tmp_path, measures=("AP", "P@2", "RR"))
    build.run(database, tmp_path, HALF, "half")
    build.run(database, tmp_path, DEEP, "deep")
    build.drain(database)
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    opened: list[int] = []
    monkeypatch.setattr(rankings, "unpack_hits", lambda *_: opened.append(1))
    with database.read() as session:
        for key in ("AP", "P@2"):
            shown = board.board(session, ANONYMOUS, "t", key)
            assert shown.source is not None
            rows = [CoveredRun(row.run_id, row.ranking_sha256, row.order_differs) for row in shown.rows]
            found = view.coverage(session, shown.source, parse(key), rows)
            assert {row.run: found[row.run_id].unjudged for row in shown.rows} == {
                "half": 0.5,
                "deep": {"AP": 0.5, "P@2": 0.0}[key],
            }
    assert not opened
