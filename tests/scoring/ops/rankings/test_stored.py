"""Rankings read back from the database: their order, their ties, and one document in those of many."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.db.engine import Database
from leaderboard.scoring.ops import rankings
from leaderboard.scoring.ops.rankings import DocumentPosition
from leaderboard.trec.runs.runs import Ranking
from tests.make import build
from tests.make.copies import built_once

CLOSE = "1 Q0 m 1 0.5 t\n1 Q0 z 2 0.5 t\n1 Q0 a 3 0.500000000001 t\n1 Q0 b 4 0.1 t\n2 Q0 z 1 7 t\n"


@pytest.fixture
@built_once
def run_id(database: Database, tmp_path: Path) -> int:
    """A run with scores that are equal in 32 bits only."""
    build.task(database, tmp_path)
    path = tmp_path / "close.txt"
    path.write_text(CLOSE)
    found = build.submit(database, path).run_id
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("dialect", "docnos", "first", "last"),
    [
        (10, ("a", "z", "m", "b"), (1, 2, 2, 4), (1, 3, 3, 4)),
        (9, ("z", "m", "a", "b"), (1, 1, 1, 4), (3, 3, 3, 4)),
    ],
)
def test_ties_are_those_of_the_dialect(
    database: Database,
    run_id: int,
    dialect: int,
    docnos: tuple[str, ...],
    first: tuple[int, ...],
    last: tuple[int, ...],
) -> None:
    """Documents stand by score, then docno descending; every one knows the ranks that share its score."""
    with database.read() as session:
        found = rankings.ordered(session, run_id, "1", dialect)
    assert (found.docnos, found.first, found.last) == (docnos, first, last)
    assert dict(zip(found.docnos, found.scores.tolist(), strict=True))["a"] == 0.500000000001


def test_a_missed_topic_has_no_documents(database: Database, run_id: int) -> None:
    """It reads as an empty ranking, and no document has a place in it."""
    with database.read() as session:
        assert len(rankings.ordered(session, run_id, "3", 10)) == 0
        assert rankings.positions_of(session, [run_id], "3", "z", 10) == ()


@pytest.mark.parametrize(("dialect", "rank"), [(10, 3), (9, 2)])
def test_a_document_is_found_in_the_runs_that_have_it(
    database: Database, run_id: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: int, rank: int
) -> None:
    """Its rank is the dialect's; runs without it are left out, however few are read at a time."""
    monkeypatch.setattr(rankings, "RUNS_AT_ONCE", 1)
    second = build.run(database, tmp_path, {"1": ["m"], "2": ["x"]}, "second")
    third = build.run(database, tmp_path, {"1": ["other"]}, "third")
    with database.read() as session:
        found = rankings.positions_of(session, [third, second, run_id], "1", "m", dialect)
    assert found == (DocumentPosition(run_id, rank, 0.5), DocumentPosition(second, 1, 999.0))


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 0.5 + 1e-12, 1.0, 1e300]), st.binary(min_size=1, max_size=3)),
        min_size=1,
        max_size=12,
        unique_by=lambda pair: pair[1].rstrip(b"\0"),
    ),
    st.sampled_from([9, 10]),
)
def test_the_place_of_a_document_is_where_the_order_has_it(
    entries: list[tuple[float, bytes]], dialect: int
) -> None:
    """Counting what stands above a document gives the rank that sorting gives it."""
    docnos = np.array([b"d" + docno.replace(b"\0", b"\1").hex().encode() for _, docno in entries])
    if len(set(docnos.tolist())) < len(docnos):
        return
    ranking = Ranking("1", docnos, np.array([score for score, _ in entries]))
    in_order = rankings.stored_in_order(ranking, dialect)
    found = [rankings.rank_in(ranking, docno.encode(), dialect) for docno in in_order.docnos]
    assert found == list(range(1, len(docnos) + 1))
    assert rankings.rank_in(ranking, b"elsewhere", dialect) is None
