"""The judging room: the order so far, what the next labels may change, agreement, pace, who sees what."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select, update

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Assessor, Phase, Pool, Run, Task
from leaderboard.errors import Forbidden, SignInNeeded
from leaderboard.pages.room import scene, tables
from leaderboard.pages.room.orders import OrderedRun
from leaderboard.pages.room.room import JudgingRoom, judging_room
from leaderboard.services.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.services.pools.documents import PoolDocument
from tests.make import build, judged, pools

DOCUMENTS = {"1": ["a", "b", "c"], "2": ["d", "e"]}
FIRST, SECOND = {"1": ["a", "b"], "2": ["d"]}, {"1": ["c", "a"], "2": ["e", "d"]}


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    """What stands still is kept for some seconds: a test changes it at once."""
    yield
    scene.room_pool.kept.clear()


def _task(database: Database, folder: Path, documents: Any = DOCUMENTS, **options: Any) -> int:
    """A task with two runs and a pool that Ada judges; her id."""
    build.task(database, folder, topics=("1", "2"), **{"measures": ("P@2",), "judgments": None, **options})
    for name, rankings in (("first", FIRST), ("second", SECOND)):
        build.run(database, folder, rankings, name)
    build.drain(database)
    pools.pool(database, documents)
    pools.judges(database, "Ada", order="docno")
    with database.read() as session:
        return session.scalars(select(Assessor.id)).one()


def _room(database: Database, viewer: Viewer = OPERATOR, **options: Any) -> JudgingRoom:
    with database.read() as session:
        return judging_room(session, viewer, "t", 1, **options)


def _by_name(page: JudgingRoom) -> dict[str, OrderedRun]:
    assert page.numbers.order is not None, page.why
    return {row.name: row for row in page.numbers.order.rows}


@contextmanager
def _counted(database: Database) -> Iterator[list[str]]:
    statements: list[str] = []

    def note(*given: Any) -> None:
        statements.append(given[2])

    event.listen(database.engine, "before_cursor_execute", note)
    yield statements
    event.remove(database.engine, "before_cursor_execute", note)


@pytest.mark.dialect
def test_the_order_moves_and_the_next_judgments_are_bounded(database: Database, tmp_path: Path) -> None:
    """P@2 worked out by hand.

    After a = 1, b = 0 both runs have 1/2 on topic 1 and share rank 1; c = 1 lifts `second` to 1. What is left
    is d and e of topic 2: `first` has d alone, which `second` has too, so it never comes nearer than 1/4.
    """
    ada = _task(database, tmp_path)
    judged.judge(database, ada, "1", {"a": 1, "b": 0, "c": 1})
    page = _room(database)
    rows, numbers = _by_name(page), page.numbers
    order = numbers.order
    assert order is not None
    assert (order.measure, order.topics, order.since, order.moved) == ("P@2", 1, 1, 1)
    assert {name: (row.rank, row.move, row.mean, row.holds) for name, row in rows.items()} == {
        "second": (1, 0, 1.0, 2),
        "first": (2, -1, 0.5, 1),
    }
    first, second = rows["first"].soon, rows["second"].soon
    assert first is not None
    assert second is not None
    assert (first.first, first.last, first.low, first.high) == (2, 2, 0.25, 0.5)
    assert (second.first, second.last, second.low, second.high) == (1, 1, 0.5, 1.0)
    assert (order.changeable, [row.name for row in order.may_lead]) == (0, ["second"])
    assert (len(numbers.coming.soon), numbers.coming.left, numbers.coming.documents) == (2, 2, 2)
    assert (numbers.judgments, numbers.judged, page.pool.documents) == (3, 3, 5)
    assert [topic.share for topic in numbers.topics] == [1.0, 0.0]


def test_what_nobody_was_asked_for_may_still_change_the_end(database: Database, tmp_path: Path) -> None:
    """A judgment that is used again counts; without anybody's queue the next change nothing, all may."""
    documents = {"1": [PoolDocument("a", grade=1), "b", "c"], "2": ["d", "e"]}
    ada = _task(database, tmp_path, documents)
    with database.write() as session:
        session.execute(update(Assessor).values(token_sha256=None))
    judged.judge(database, ada, "1", {"b": 0})
    page = _room(database)
    rows = _by_name(page)
    assert (page.numbers.coming.soon, page.numbers.coming.left) == ((), 0)
    assert {name: (row.rank, row.mean) for name, row in rows.items()} == {
        "first": (1, 0.5),
        "second": (1, 0.5),
    }
    soon, later = rows["first"].soon, rows["first"].later
    assert soon is not None
    assert later is not None
    assert (soon.is_open, (later.first, later.last)) == (False, (1, 2))


@pytest.mark.dialect
def test_against_the_present_board(database: Database, tmp_path: Path) -> None:
    """The board has `first` before `second`; one judgment of Ada says otherwise: one of one pairs swaps."""
    ada = _task(database, tmp_path, judgments={"1": {"b": 1, "c": 0}, "2": {"d": 1}})
    judged.judge(database, ada, "1", {"c": 1})
    page = _room(database)
    order = page.numbers.order
    assert order is not None
    assert {row.name: (row.board_rank, row.rank, row.move) for row in order.rows} == {
        "first": (1, 2, None),
        "second": (2, 1, None),
    }
    assert (order.swapped, order.pairs, order.since) == (1, 1, 0)
    assert page.basis is not None


def test_a_measure_without_bounds_still_has_an_order(database: Database, tmp_path: Path) -> None:
    """Recall is ordered and moves; nothing is said of what may change. Preferences have no order at all."""
    ada = _task(database, tmp_path, measures=("R@2",))
    judged.judge(database, ada, "1", {"a": 0, "c": 1})
    page = _room(database)
    assert {name: (row.rank, row.soon) for name, row in _by_name(page).items()} == {
        "second": (1, None),
        "first": (2, None),
    }
    with database.write() as session:
        session.execute(update(Task).values(primary_measure="alpha_nDCG@2", measures=["alpha_nDCG@2"]))
    scene.room_pool.kept.clear()
    page = _room(database)
    assert page.numbers.order is None
    assert "needs more than the grades" in page.why


@pytest.mark.dialect
def test_agreement_is_that_of_the_agreement_page_and_has_a_past(database: Database, tmp_path: Path) -> None:
    """Ten documents judged by both: Cohen's kappa .354839; the last point of the curve is the alpha now."""
    judged.judged_by_two(database, tmp_path)
    found = _room(database).numbers.agreement
    assert (found.double, found.kappa_name) == (10, "Cohen’s kappa")
    assert found.kappa.value == pytest.approx(0.354839, abs=1e-6)
    assert found.raw == (0.6, 10, "")
    assert found.points[-1].judgments == 20
    assert found.points[-1].alpha == found.alpha.value
    assert [point.judgments for point in found.points] == sorted({point.judgments for point in found.points})


def test_the_pace_is_of_the_last_hour(database: Database, tmp_path: Path) -> None:
    """Two judgments just now, one of 30 minutes ago, one of yesterday, which is in no bar."""
    ada = _task(database, tmp_path)
    with database.read() as session:
        at = now(session)
    for ago, docno in ((timedelta(minutes=30), "a"), (timedelta(days=1), "b")):
        judged.judge(database, ada, "1", {docno: 0}, at=at - ago)
    judged.judge(database, ada, "2", {"d": 0, "e": 1}, at=at - timedelta(seconds=20))
    (pace,) = _room(database).paces
    assert (pace.judge.name, pace.judged, pace.asked, pace.recent) == ("Ada", 4, 5, 2)
    assert (sum(pace.counts), pace.counts[-1], len(pace.counts)) == (3, 2, 30)


@pytest.mark.dialect
def test_a_look_costs_little_and_a_label_shows_at_once(database: Database, tmp_path: Path) -> None:
    """Four statements where nothing happened, five after a judgment: a screen asks every five seconds."""
    ada = _task(database, tmp_path)
    judged.judge(database, ada, "1", {"a": 1})
    _room(database)
    with _counted(database) as statements:
        before = _room(database)
    assert len(statements) <= 5
    judged.judge(database, ada, "1", {"b": 0, "c": 1})
    with _counted(database) as statements:
        page = _room(database)
    assert len(statements) <= 6
    assert (before.numbers.judgments, page.numbers.judgments) == (1, 3)


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_a_screen_shows_no_order_that_is_held_back(
    visibility: str, database: Database, tmp_path: Path
) -> None:
    """Not even to an organiser, who may have it shown to organisers alone; a coordinator may not."""
    ada = _task(database, tmp_path)
    judged.judge(database, ada, "1", {"a": 1})
    assert _room(database).numbers.order is not None
    with database.write() as session:
        session.execute(update(Phase).values(visibility=visibility))
        task = session.scalars(select(Task.id)).one()
    page = _room(database)
    assert (page.numbers.order, page.basis, page.can_see_more) == (None, None, True)
    assert page.why
    assert "first" not in str(tables.facts(page))
    assert set(_by_name(_room(database, for_organisers=True))) == {"first", "second"}
    carla = Viewer(account_id=5, name="Carla", coordinates=frozenset({task}))
    assert _room(database, carla).numbers.order is None
    with pytest.raises(Forbidden):
        _room(database, carla, for_organisers=True)
    for other, error in ((ANONYMOUS, SignInNeeded), (Viewer(account_id=6, name="Nina"), Forbidden)):
        with pytest.raises(error):
            _room(database, other)


def test_teams_go_by_their_pseudonyms(database: Database, tmp_path: Path) -> None:
    """On the screen; for organisers alone by their names. A draft's order is theirs alone too."""
    ada = _task(database, tmp_path)
    judged.judge(database, ada, "1", {"a": 1})
    with database.write() as session:
        session.execute(update(Task).values(naming="close"))
    page = _room(database)
    assert "first" not in _by_name(page)
    assert page.can_see_more
    assert "first" in _by_name(_room(database, for_organisers=True))
    with database.write() as session:
        session.execute(update(Task).values(naming="names", published_at=None))
    assert _room(database).numbers.order is None


def test_an_adaptive_pool_knows_no_next(database: Database, tmp_path: Path) -> None:
    """What comes next depends on what is judged before it; all that is left is bounded."""
    ada = _task(database, tmp_path)
    with database.write() as session:
        session.execute(update(Pool).values(adaptive=True))
    judged.judge(database, ada, "1", {"a": 1})
    page = _room(database)
    assert (page.adaptive, page.numbers.coming.soon, page.numbers.coming.left) == (True, (), 4)
    assert page.numbers.order is not None
    assert page.numbers.order.changeable_later == 2


def test_a_run_that_is_withdrawn_leaves_the_room(database: Database, tmp_path: Path) -> None:
    """Once what stands still is read again; one run alone has no order."""
    ada = _task(database, tmp_path)
    judged.judge(database, ada, "1", {"a": 1})
    with database.write() as session:
        session.execute(update(Run).where(Run.name == "first").values(withdrawn_at=now(session)))
    page = _room(database)
    assert page.numbers.order is None
    assert "fewer than two" in page.why


def test_every_table_has_plain_values(database: Database, tmp_path: Path) -> None:
    """Runs with both ranges, assessors, topics, the way of the agreement."""
    ada = _task(database, tmp_path)
    judged.judge(database, ada, "1", {"a": 1, "b": 0, "c": 1})
    page = _room(database)
    facts = tables.facts(page)
    assert (facts["judgments"], facts["next"]["ranks_that_may_change"], facts["next"]["left"]) == (3, 0, 2)
    assert facts["runs"][0]["run"] == "second"
    assert (facts["runs"][0]["soon_first"], facts["runs"][0]["later_last"]) == (1, 1)
    names = {name: table(page).data()[0][0] for name, table in tables.FILES.tables.items()}
    assert names == {"runs": "rank", "assessors": "assessor", "topics": "topic", "agreement": "judgments"}
