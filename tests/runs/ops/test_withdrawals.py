"""Withdrawing and restoring runs: who may, until when, what it leaves, and two at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.boards.ops import board
from leaderboard.core.policy import ANONYMOUS, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Job, Phase, Run, Task, TaskRole
from leaderboard.errors import Closed, Conflict, Forbidden, Invalid, LeaderboardError
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops import run_facts
from tests.make import build, people
from tests.make.copies import built_once

FIRST, SECOND = {"1": ["a", "c"]}, {"1": ["b"]}


@pytest.fixture
@built_once
def site(database: Database, tmp_path: Path) -> dict[str, Viewer]:
    """A task with two runs of the Owls, and the accounts that act."""
    build.task(database, tmp_path, measures=("AP",))
    anna, bob, olga = (people.account(database, name) for name in ("Anna", "Bob", "Olga"))
    people.team(database, "Owls", anna)
    with database.write() as session:
        session.add(TaskRole(task_id=1, account_id=olga, role="organiser"))
    for name, rankings in (("first", FIRST), ("second", SECOND)):
        build.run(database, tmp_path, rankings, name, team_name="Owls")
    build.drain(database)
    accounts = {"anna": anna, "bob": bob, "olga": olga}
    return {name: people.viewer(database, account_id) for name, account_id in accounts.items()}


def _withdraw(database: Database, viewer: Viewer, run_id: int = 1, why: str = "a mistake") -> None:
    with database.write() as session:
        withdrawals.withdraw(session, viewer, run_id, why)


def _restore(database: Database, viewer: Viewer, run_id: int = 1) -> None:
    with database.write() as session:
        withdrawals.restore(session, viewer, run_id)


def _rows(database: Database) -> list[tuple[str, int | None]]:
    with database.read() as session:
        return [(row.run, row.rank) for row in board.board(session, ANONYMOUS, "t").rows]


def _refused(kind: type[LeaderboardError], act: Callable[[], None]) -> None:
    with pytest.raises(kind):
        act()


@pytest.mark.dialect
def test_a_team_withdraws_and_restores(database: Database, site: dict[str, Viewer], tmp_path: Path) -> None:
    """Off the board, back with its old score; both on record; not twice, not without a reason."""
    anna = site["anna"]
    with pytest.raises(Invalid) as blank:
        _withdraw(database, anna, why=" ")
    assert [problem.field for problem in blank.value.problems] == ["why"]
    _refused(Conflict, lambda: _restore(database, anna))
    _withdraw(database, anna)
    assert _rows(database) == [("second", 1)]
    _refused(Conflict, lambda: _withdraw(database, anna))
    _restore(database, anna)
    build.drain(database)
    assert _rows(database) == [("first", 1), ("second", 2)]
    with database.read() as session:
        acts = session.scalars(select(Audit.action).where(Audit.subject == "run:1")).all()
        assert acts == ["run.submit", "run.withdraw", "run.restore"]
        run = session.get_one(Run, 1)
        assert (run.withdrawn_at, run.withdrawn_by, run.withdrawn_why) == (None, None, "")


def test_a_restored_run_is_scored_where_it_was_not(
    database: Database, site: dict[str, Viewer], tmp_path: Path
) -> None:
    """Withdrawn while it waited for its score, and through a new revision: restored, it is scored."""
    late = build.run(database, tmp_path, FIRST, "late", team_name="Owls")
    _withdraw(database, site["anna"], late)
    build.drain(database)
    build.revise(database, tmp_path, {"1": {"a": 1}, "2": {"d": 1}, "3": {"e": 1}})
    build.drain(database)
    _restore(database, site["anna"], late)
    build.drain(database)
    assert dict(_rows(database))["late"] == 1
    with database.read() as session:
        assert not session.scalars(select(Job.id).where(Job.state.in_(("queued", "leased", "failed")))).all()


def test_who_may_and_until_when(database: Database, site: dict[str, Viewer]) -> None:
    """Not others; no team what an organiser withdrew, nor after the close, nor where it is forbidden."""
    anna, bob, olga = site["anna"], site["bob"], site["olga"]
    _refused(Forbidden, lambda: _withdraw(database, bob))
    _withdraw(database, olga)
    _refused(Forbidden, lambda: _restore(database, anna))
    _refused(Forbidden, lambda: _restore(database, bob))
    _restore(database, olga)
    with database.write() as session:
        session.execute(update(Task).values(may_withdraw=False))
    _refused(Forbidden, lambda: _withdraw(database, anna))
    with database.write() as session:
        session.execute(update(Task).values(may_withdraw=True))
    _withdraw(database, anna)
    with database.write() as session:
        session.execute(update(Phase).values(closes_at=datetime.now(UTC) - timedelta(hours=1)))
    _refused(Closed, lambda: _restore(database, anna))
    _refused(Closed, lambda: _withdraw(database, anna, 2))
    _restore(database, olga)
    _withdraw(database, olga)
    assert _rows(database) == [("second", 1)]


@pytest.mark.dialect
def test_the_name_of_a_withdrawn_run_is_free(
    database: Database, site: dict[str, Viewer], tmp_path: Path
) -> None:
    """The next run of that name gets a number, so that the first can be restored under its own name."""
    path = build.run_file(tmp_path, SECOND, "first")

    def send(name: str) -> str | None:
        sent = build.submit(database, path, team_name="Owls", run_request=RunRequest(name))
        with database.read() as session:
            return session.get_one(Run, sent.run_id).name if sent.run_id else None

    assert send("first") is None, "it stands on the board"
    _withdraw(database, site["anna"])
    assert send("first") == "first (2)"
    assert send("first") is None
    _withdraw(database, site["anna"], 3)
    assert send("first") == "first (3)"
    _restore(database, site["anna"])
    _restore(database, site["anna"], 3)
    assert {name for name, _ in _rows(database)} == {"first", "first (2)", "first (3)", "second"}
    assert send("first (4)") is None, "such names are given, not asked for"


def test_a_mark_comes_back_unless_others_took_its_place(database: Database, site: dict[str, Viewer]) -> None:
    """A withdrawn run's mark does not count, and is kept as long as there is room for it."""
    anna = site["anna"]

    def marked() -> list[int]:
        with database.read() as session:
            return sorted(run_facts.marked_runs(session, session.scalars(select(Task)).one()))

    with database.write() as session:
        withdrawals.mark_run(session, anna, 1)
    _withdraw(database, anna)
    assert marked() == []
    _restore(database, anna)
    assert marked() == [1]
    _withdraw(database, anna)
    with database.write() as session:
        withdrawals.mark_run(session, anna, 2)
    _restore(database, anna)
    assert marked() == [2]


@pytest.mark.dialect
def test_withdrawing_restoring_and_scoring_at_once(
    database: Database, site: dict[str, Viewer], tmp_path: Path
) -> None:
    """Whoever comes first, the run ends withdrawn or on the board with a score, and nothing is stuck."""
    run_id = build.run(database, tmp_path, FIRST, "contested", team_name="Owls")

    def act(number: int) -> bool:
        try:
            if number % 3 == 2:
                build.drain(database)
            else:
                (_withdraw, _restore)[number % 3](database, site["anna"], run_id)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(act, range(12)))
    build.drain(database)
    assert done[2]
    with database.read() as session:
        gone = session.get_one(Run, run_id).withdrawn_at is not None
        unfinished = Job.state.in_(("queued", "leased", "failed"))
        assert session.scalars(select(Job.id).where(Job.kind == "evaluate", unfinished)).all() == []
    assert (("contested", 1) in _rows(database)) is not gone
