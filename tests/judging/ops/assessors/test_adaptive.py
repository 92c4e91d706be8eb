"""Pools whose next document depends on the judgments so far."""

from pathlib import Path

import pytest

from leaderboard.db.engine import Database
from leaderboard.judging.ops.assessors import log, queues
from leaderboard.judging.ops.assessors.log import SentLabel
from leaderboard.judging.page.assessors import judging
from tests.make import build, pools

RUNS = {
    "A": ["d1", "d2", "d3", "d4", "d5"],
    "B": ["d2", "d1", "d6", "d3", "d7"],
    "C": ["d8", "d9", "d1", "d6", "d2"],
}
RELEVANT = {"d1", "d6", "d9"}
MOVE_TO_FRONT = ["d1", "d2", "d6", "d3", "d8", "d4", "d7", "d9", "d5"]
HEDGE = ["d1", "d2", "d8", "d3", "d6", "d9", "d4", "d7", "d5"]


def _pool(
    database: Database, folder: Path, method: dict[str, object], left_out: str = "", **plan: object
) -> list[str]:
    """The links of those who judge the three runs' documents."""
    build.task(database, folder)
    ids = [build.run(database, folder, {"1": docnos}, name) for name, docnos in RUNS.items()]
    docnos = sorted({docno for each in RUNS.values() for docno in each} - {left_out})
    pools.pool(database, {"1": docnos}, method=method, run_ids=ids, adaptive=True, budget=9)
    names = ("Ada", "Grace") if plan else ("Ada",)
    return pools.judges(database, *names, **plan)


def _save(database: Database, token: str, docno: str, grade: int | None) -> None:
    with database.read() as session:
        sent = SentLabel(f"{docno} {grade}", docno, grade)
        checked = log.check(session, token, 1, "1", sent)
    with database.write() as session:
        log.save(session, checked)


def _first(database: Database, token: str) -> str | None:
    with database.read() as session:
        return queues.queue(session, token, 1, "1").first()


def _judged(database: Database, token: str) -> list[str]:
    """Judge until nothing is left, by what is relevant; the order in which documents came."""
    came = []
    while (docno := _first(database, token)) is not None:
        _save(database, token, docno, int(docno in RELEVANT))
        came.append(docno)
    return came


@pytest.mark.parametrize(("name", "order"), [("mtf", MOVE_TO_FRONT), ("hedge", HEDGE)])
def test_the_method_says_what_comes_next(
    database: Database, tmp_path: Path, name: str, order: list[str]
) -> None:
    """Move-to-front and Hedge (beta 0.8) in the order worked out by hand for the three runs."""
    (token,) = _pool(database, tmp_path, {"name": name, "depth": 5})
    assert _judged(database, token) == order


@pytest.mark.dialect
def test_both_ways_to_go_on_are_on_the_page(database: Database, tmp_path: Path) -> None:
    """What comes if the document shown is relevant, and what if it is not: whichever grade is given then."""
    (token,) = _pool(database, tmp_path, {"name": "mtf", "depth": 5})
    for docno in ("d1", "d2"):
        _save(database, token, docno, int(docno in RELEVANT))
    with database.read() as session:
        page = judging.judging_page(session, token, 1, "1")
    assert page.shown is not None
    assert page.shown.docno == "d6"
    for coming in page.coming:
        if coming.condition in ("", "relevant"):
            expected = coming.docno
    _save(database, token, "d6", 1)
    assert _first(database, token) == expected


def test_a_skipped_document_does_not_come_back_at_once(database: Database, tmp_path: Path) -> None:
    """It teaches the method nothing, and waits in the list of what was skipped."""
    (token,) = _pool(database, tmp_path, {"name": "hedge", "depth": 5})
    _save(database, token, "d1", None)
    assert _first(database, token) == "d2"
    with database.read() as session:
        assert queues.queue(session, token, 1, "1").skipped == ("d1",)


def test_what_is_not_in_the_pool_never_comes(database: Database, tmp_path: Path) -> None:
    """A document that was left out of the pool is passed over, though the runs have it."""
    (token,) = _pool(database, tmp_path, {"name": "mtf", "depth": 5}, left_out="d2")
    assert set(_judged(database, token)) == set(MOVE_TO_FRONT) - {"d2"}


def test_two_assessors_learn_from_each_other_and_share_no_document(
    database: Database, tmp_path: Path
) -> None:
    """Each has the best of an own half; what both are to judge comes once the other has judged it."""
    ada, grace = _pool(database, tmp_path, {"name": "hedge", "depth": 5}, way="share", overlap=0.0)
    came = {ada: _first(database, ada), grace: _first(database, grace)}
    assert None not in came.values()
    assert came[ada] != came[grace]
    both = [_judged(database, ada), _judged(database, grace)]
    assert sorted(both[0] + both[1]) == sorted(HEDGE)


def test_the_overlap_comes_after_the_own_part(database: Database, tmp_path: Path) -> None:
    """Of a topic that is one person's, another judges the planned share of what is judged."""
    ada, grace = _pool(database, tmp_path, {"name": "hedge", "depth": 5}, way="topic", overlap=0.3)
    owner, second = (ada, grace) if _first(database, ada) else (grace, ada)
    assert _first(database, second) is None
    assert _judged(database, owner) == HEDGE
    assert len(_judged(database, second)) == 3
