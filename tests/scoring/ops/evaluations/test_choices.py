"""Which runs count at the end: the rule, over all small cases and over a task that closes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.boards.ops import board
from leaderboard.boards.page import history
from leaderboard.boards.page.scores import table as score_tables
from leaderboard.core.policy import ANONYMOUS, OPEN_ACCESS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase, Run, Task
from leaderboard.errors import Closed, Conflict, Forbidden
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.page import run as run_pages
from leaderboard.scoring.ops import run_facts
from leaderboard.scoring.ops.scored_topics import NOT_CHOSEN, ChosenRun, counting
from leaderboard.tasks.page import landing
from tests.make import build, people
from tests.make.copies import built_once

GOOD, FAIR, POOR = ["a", "c"], ["b", "a"], ["b"]


def _run(run_id: int, team: int = 1, score: float | None = 0.5, *, marked: bool = False) -> ChosenRun:
    return ChosenRun(run_id=run_id, team_id=team, is_marked=marked, score=score)


def test_every_small_case() -> None:
    """Three runs of a team, marked and scored in every way, under every rule: what holds of the choice."""
    for marked, scores in product(product((False, True), repeat=3), product((None, 0.1, 0.2), repeat=3)):
        runs = [_run(at, 1, scores[at], marked=marked[at]) for at in range(3)]
        for most, unmarked in product((None, 1, 2, 3), ("best", "newest")):
            chosen = counting(runs, most, unmarked)
            case = (marked, scores, most, unmarked, chosen)
            pool = {at for at in range(3) if marked[at]} or {0, 1, 2}
            if most is None:
                assert chosen == {0, 1, 2}, case
                continue
            assert chosen <= pool, case
            assert len(chosen) == min(most, len(pool)), case
            for left_out, kept in product(pool - chosen, chosen):
                better = (scores[kept] is not None, scores[kept] or 0.0, -kept)
                worse = (scores[left_out] is not None, scores[left_out] or 0.0, -left_out)
                assert kept > left_out if unmarked == "newest" else better > worse, case
            assert counting(reversed(runs), most, unmarked) == chosen, case


def test_teams_choose_on_their_own() -> None:
    """One team's marks say nothing of another's runs; no runs, no choice."""
    runs = [_run(1, 1, 0.9), _run(2, 1, 0.1, marked=True), _run(3, 2, 0.3), _run(4, 2, 0.4)]
    assert counting(runs, 1, "best") == {2, 4}
    assert counting(runs, 1, "newest") == {2, 4}
    assert counting([], 2, "best") == frozenset()


@pytest.fixture
@built_once
def task(database: Database, tmp_path: Path) -> dict[str, int]:
    """An open task where one run of a team counts, with three runs of Anna's team and one of Bob's."""
    build.task(database, tmp_path, measures=("AP",))
    anna, bob = people.account(database, "Anna"), people.account(database, "Bob")
    people.team(database, "Owls", anna)
    people.team(database, "Bears", bob)
    ids = {
        name: build.run(database, tmp_path, {"1": docs}, name, team_name=team)
        for name, docs, team in (
            ("good", GOOD, "Owls"),
            ("fair", FAIR, "Owls"),
            ("poor", POOR, "Owls"),
            ("bobs", FAIR, "Bears"),
        )
    }
    build.drain(database)
    _set(database, final_runs=1)
    return ids


def _set(database: Database, **values: object) -> None:
    with database.write() as session:
        session.execute(update(Task).values(**values))


def _close(database: Database, ago: timedelta = timedelta(minutes=1)) -> None:
    with database.write() as session:
        session.execute(update(Phase).values(closes_at=datetime.now(UTC) - ago))


def _ranks(database: Database) -> dict[str, tuple[int | None, str]]:
    with database.read() as session:
        return {row.run: (row.rank, row.kind) for row in board.board(session, ANONYMOUS, "t").rows}


@pytest.mark.dialect
def test_after_the_close_only_runs_that_count_have_ranks(database: Database, task: dict[str, int]) -> None:
    """Before, all are ranked; after, one of each team, on every page, the others below without a rank."""
    anna = people.viewer(database, 1)
    assert [rank for rank, _ in _ranks(database).values()] == [1, 2, 2, 4]
    with database.write() as session:
        withdrawals.mark_run(session, anna, task["poor"])
    assert _ranks(database)["good"] == (1, "official"), "the close has not come"
    _close(database)
    assert _ranks(database) == {
        "bobs": (1, "official"),
        "poor": (2, "official"),
        "good": (None, NOT_CHOSEN),
        "fair": (None, NOT_CHOSEN),
    }
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "t")
        assert "of each team, the run that it marked" in shown.sentences[1]
        (front,) = landing.landing(session, ANONYMOUS)
        assert front.leader is not None
        assert front.leader.run == "bobs"
        (edition,) = history.history(session, ANONYMOUS, "t").editions
        assert edition.leader is not None
        assert edition.leader.run == "bobs"
        page = run_pages.run_page(session, ANONYMOUS, task["good"])
        assert (page.kind, page.measures[0].rank, page.measures[0].ranked) == (NOT_CHOSEN, None, 2)
        compared = score_tables.named_runs(
            session, ANONYMOUS, session.scalars(select(Task)).one(), OPEN_ACCESS
        )
        assert [run.kind for run in compared] == [NOT_CHOSEN, NOT_CHOSEN, "official", "official"]
    _set(database, final_runs=None)
    assert [rank for rank, _ in _ranks(database).values()] == [1, 2, 2, 4]


def test_a_team_that_marked_none_has_its_best_or_its_newest(database: Database, task: dict[str, int]) -> None:
    """By the task's rule; what the board was before the close is what it was."""
    _close(database)
    assert {name for name, (rank, _) in _ranks(database).items() if rank} == {"good", "bobs"}
    _set(database, unmarked="newest")
    assert {name for name, (rank, _) in _ranks(database).items() if rank} == {"poor", "bobs"}
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, task["poor"], "a mistake")
    assert {name for name, (rank, _) in _ranks(database).items() if rank} == {"fair", "bobs"}


@pytest.mark.dialect
def test_marks_have_a_limit_and_an_end(database: Database, task: dict[str, int]) -> None:
    """One takes the place of another; of two no third; none of others, none after the close."""
    anna, bob = people.viewer(database, 1), people.viewer(database, 2)

    def marked() -> set[int]:
        with database.read() as session:
            return set(run_facts.marked_runs(session, session.scalars(select(Task)).one()))

    def act(viewer: object, name: str, change: object = withdrawals.mark_run) -> None:
        with database.write() as session:
            change(session, viewer, task[name])  # type: ignore[operator]

    act(anna, "good")
    act(anna, "good")
    act(anna, "fair")
    assert marked() == {task["fair"]}
    _set(database, final_runs=2)
    act(anna, "good")
    with pytest.raises(Conflict, match="good, fair. Unmark one first"):
        act(anna, "poor")
    act(anna, "good", withdrawals.unmark_run)
    act(anna, "good", withdrawals.unmark_run)
    act(anna, "poor")
    assert marked() == {task["fair"], task["poor"]}
    with pytest.raises(Forbidden):
        act(bob, "good")
    _close(database)
    with pytest.raises(Closed):
        act(anna, "poor", withdrawals.unmark_run)
    with database.write() as session:
        withdrawals.unmark_run(session, OPERATOR, task["poor"], "Its team asked before the close.")
    assert marked() == {task["fair"]}
    _set(database, final_runs=None)
    act(anna, "good")
    assert marked() == {task["good"]}, "where all runs count, the one primary run may change at any time"


def test_teams_choose_for_every_phase(database: Database, task: dict[str, int]) -> None:
    """Runs of an open phase are all ranked while those of one that is over are chosen; marks are apart."""
    anna = people.viewer(database, 1)
    with database.write() as session:
        late = Phase(task_id=1, name="late", closes_at=datetime.now(UTC) + timedelta(days=1))
        session.add(late)
        session.flush()
        late_runs = (task["good"], task["poor"])
        session.execute(update(Run).where(Run.id.in_(late_runs)).values(phase_id=late.id))
        session.execute(
            update(Phase).where(Phase.id != late.id).values(closes_at=datetime.now(UTC) - timedelta(hours=1))
        )
    with database.write() as session:
        withdrawals.mark_run(session, anna, task["poor"])
        with pytest.raises(Closed):
            withdrawals.mark_run(session, anna, task["fair"])

    def ranked(phase: str) -> set[str]:
        with database.read() as session:
            rows = board.board(session, Viewer(phase=phase), "t").rows
        return {row.run for row in rows if row.rank is not None}

    assert (ranked("late"), ranked("main")) == ({"good", "poor"}, {"fair", "bobs"})
    with database.read() as session:
        one = session.scalars(select(Task)).one()
        assert run_facts.shown_marks(session, one) == frozenset(), "the late phase has not closed"
    with database.write() as session:
        session.execute(update(Phase).values(closes_at=datetime.now(UTC) - timedelta(minutes=1)))
    assert (ranked("late"), ranked("main")) == ({"poor"}, {"fair", "bobs"})


@pytest.mark.dialect
def test_marks_at_once_stay_within_the_limit(database: Database, task: dict[str, int]) -> None:
    """Two of three runs may be marked, however many members press the buttons in one moment."""
    anna = people.viewer(database, 1)
    _set(database, final_runs=2)

    def press(name: str) -> bool:
        try:
            with database.write() as session:
                withdrawals.mark_run(session, anna, task[name])
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(press, ("good", "fair", "poor"))) == 2


def test_nobody_else_sees_marks_before_they_count(database: Database, task: dict[str, int]) -> None:
    """A mark is told to its own people; to others once it decides, or where it decides nothing."""
    with database.write() as session:
        withdrawals.mark_run(session, people.viewer(database, 1), task["poor"])

    def told() -> list[bool]:
        with database.read() as session:
            viewers = (people.viewer(database, 1), people.viewer(database, 2), ANONYMOUS)
            pages = [run_pages.run_page(session, viewer, task["poor"]) for viewer in viewers]
            one = board.board(session, ANONYMOUS, "t", one_per_team=True)
            is_in = any(row.run == "poor" for row in one.rows if row.rank)
            return [*(page.actions.is_marked for page in pages), is_in]

    assert told() == [True, False, False, False]
    _close(database)
    assert told() == [True, True, True, True]
    with database.write() as session:
        session.execute(update(Phase).values(closes_at=None))
    _set(database, final_runs=None)
    assert told() == [True, True, True, True]
    with database.read() as session:
        assert session.get_one(Run, task["poor"]).final_by == 1
