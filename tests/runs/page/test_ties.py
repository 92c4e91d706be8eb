"""Equal scores of a stored run, and what their order does to its means."""

from pathlib import Path

import pytest
from sqlalchemy import event

from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.runs.page.head import scored_run
from leaderboard.runs.page.ties import RunTies, ties_page
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import build

LINES = (
    *("1 Q0 a 1 2.0 t", "1 Q0 x 2 2.0 t", "1 Q0 b 3 1.0 t"),
    *("2 Q0 d 1 2.0 t", "2 Q0 x 2 1.0 t"),
    *("3 Q0 e 1 3.0 t", "3 Q0 y 2 2.0 t", "3 Q0 z 3 2.0 t"),
)
"""The relevant a is tied with x, which trec_eval puts first; y and z are tied and not judged."""


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def scored(
    database: Database, folder: Path, lines: tuple[str, ...], measures: tuple[str, ...], dialect: int = 10
) -> int:
    """The id of a scored run made of these lines."""
    build.task(database, folder, measures=measures, dialect=str(dialect))
    path = folder / "run.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    run_id = build.submit(database, path).run_id
    assert run_id is not None
    build.drain(database)
    return run_id


def ties(database: Database, run_id: int, *, drawn: bool = False) -> RunTies:
    """The ties on the run's page."""
    with database.read() as session:
        return ties_page(session, scored_run(session, ANONYMOUS, run_id), drawn=drawn).ties


def test_ties_leave_a_mean_open(database: Database, tmp_path: Path) -> None:
    """RR is 1/2, 1 and 1 in trec_eval's order; on topic 1 it could be 1, and is 3/4 on average."""
    run_id = scored(database, tmp_path, LINES, ("RR", "P@5", "NumRelRet"))
    found = ties(database, run_id)
    assert (found.topics, found.of_topics, found.documents, found.largest) == (2, 3, 4, 2)
    by = {each.column.key: each for each in found.measures}
    rr = by["RR"]
    assert (rr.lowest, rr.expected, rr.highest) == pytest.approx((2.5 / 3, 2.75 / 3, 1.0))
    assert rr.exact
    for key in ("P@5", "NumRelRet"):
        assert by[key].lowest == by[key].expected == by[key].highest
    assert found.left == ()


def test_orders_are_drawn_only_when_asked_for(database: Database, tmp_path: Path) -> None:
    """Bpref has no formula: it is left until somebody asks, then it has a standard error."""
    lines = ("1 Q0 a 1 2.0 t", "1 Q0 b 2 2.0 t", *LINES[3:])
    run_id = scored(database, tmp_path, lines, ("Bpref", "RR"))
    found = ties(database, run_id)
    assert ([each.column.key for each in found.measures], found.left) == (["RR"], ("Bpref",))
    drawn = ties(database, run_id, drawn=True)
    assert drawn.left == ()
    bpref = drawn.measures[0]
    assert bpref.expected is not None
    assert bpref.lowest < bpref.expected < bpref.highest
    assert not bpref.exact
    assert 0 < bpref.error < bpref.highest - bpref.lowest
    assert ties(database, run_id, drawn=True) == drawn


def test_a_geometric_mean_has_ends_but_no_expectation(database: Database, tmp_path: Path) -> None:
    """Each topic's least score gives the least geometric mean; expectations do not pass through it."""
    run_id = scored(database, tmp_path, LINES, ("GMAP", "AP"))
    by = {each.column.key: each for each in ties(database, run_id).measures}
    assert by["GMAP"].expected is None
    assert by["GMAP"].lowest < by["GMAP"].highest
    assert by["AP"].expected is not None


def test_the_dialect_decides_what_is_equal(database: Database, tmp_path: Path) -> None:
    """Scores that differ beyond 32 bits are ties for trec_eval 9 alone."""
    lines = ("1 Q0 a 1 0.5000000001 t", "1 Q0 b 2 0.5 t", "2 Q0 d 1 1 t", "3 Q0 e 1 1 t")
    run_id = scored(database, tmp_path, lines, ("RR",), dialect=9)
    assert ties(database, run_id).documents == 2


def test_without_ties_nothing_is_said_of_measures(database: Database, tmp_path: Path) -> None:
    """No ties, no effect; the rankings are read for the first page only."""
    lines = ("1 Q0 a 1 2.0 t", "2 Q0 d 1 2.0 t", "3 Q0 e 1 3.0 t")
    run_id = scored(database, tmp_path, lines, ("RR", "Bpref"))
    assert ties(database, run_id) == RunTies(
        topics=0, of_topics=3, documents=0, largest=0, measures=(), left=()
    )
    statements: list[str] = []
    event.listen(
        database.engine, "before_cursor_execute", lambda *given: statements.append(str(given[2])), named=False
    )
    assert ties(database, run_id).documents == 0
    assert not [each for each in statements if "ranking_block" in each]
