"""How sure the leads of many tasks are: what their boards say, in few statements, never at length."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select

from leaderboard.boards.ops import board
from leaderboard.boards.page.leaders import LeaderOfTask
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, Run, Statistic
from leaderboard.runs.ops import withdrawals
from leaderboard.scoring.ops.statistics import leaders, requests
from leaderboard.scoring.ops.statistics.leaders import LeaderPlace
from leaderboard.scoring.ops.statistics.procedures import field_leaders
from leaderboard.scoring.ops.statistics.requests import KeptResults
from leaderboard.settings import Settings
from leaderboard.site.ops.checks import all_checks
from leaderboard.tasks.page import landing
from leaderboard.worker import Evaluator
from tests.make import build, damage, people

TOPICS = tuple(str(number) for number in range(1, 9))
JUDGMENTS = {topic: {"a": 1, "b": 0, "c": 1} for topic in TOPICS}
GOOD, FAIR, BAD = ("a", "c", "b"), ("a", "b", "c"), ("b", "x", "y")


@pytest.fixture(autouse=True)
def _nothing_in_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process that has just begun."""
    leaders._places.clear()
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    yield
    leaders._places.clear()


def _task(database: Database, folder: Path, slug: str, **options: Any) -> None:
    build.task(database, folder, slug, judgments=JUDGMENTS, topics=TOPICS, measures=("AP", "RR"), **options)
    for name, ranking in (("good", GOOD), ("fair", FAIR), ("bad", BAD)):
        mixed = {topic: ranking if topic != "1" else GOOD for topic in TOPICS}
        if name == "fair":
            mixed = {topic: (GOOD if int(topic) % 2 else FAIR) for topic in TOPICS}
        build.run(database, folder, mixed, f"{name}-{slug}", slug=slug)


def _places(database: Database) -> dict[str, LeaderPlace | None]:
    with database.read() as session:
        rows = landing.landing(session, ANONYMOUS)
        return {row.task.slug: row.leader.place if row.leader else None for row in rows}


def _statements(database: Database) -> tuple[dict[str, LeaderPlace | None], int]:
    count = 0

    def note(*_: Any) -> None:
        nonlocal count
        count += 1

    event.listen(database.engine, "before_cursor_execute", note)
    found = _places(database)
    event.remove(database.engine, "before_cursor_execute", note)
    return found, count


@pytest.mark.dialect
def test_a_lead_is_as_sure_as_the_board_says(database: Database, tmp_path: Path) -> None:
    """The same count and range; none while scores are held back."""
    _task(database, tmp_path, "a")
    _task(database, tmp_path, "b", visibility="sealed")
    build.drain(database)
    found = _places(database)
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "a")
    place = shown.places[shown.rows[0].run_id]
    assert sum(each.best_set for each in shown.places.values()) == 2
    assert found == {"a": LeaderPlace(2, place.rank_low, place.rank_high), "b": None}


@pytest.mark.trial
def test_more_tasks_take_no_more_statements(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cold or warm; when they are known, not even the one that reads scores."""
    _task(database, tmp_path, "a")
    build.drain(database)
    _, of_one = _statements(database)
    for slug in ("b", "c", "d"):
        _task(database, tmp_path, slug)
    build.drain(database)
    leaders._places.clear()
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    cold, of_four = _statements(database)
    warm, again = _statements(database)
    assert None not in cold.values()
    assert cold == warm
    assert (of_four, again) == (of_one, of_one - 1)


def test_a_large_board_is_not_compared_for_the_front_page(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is over the time has no place until its own board was opened."""
    _task(database, tmp_path, "a")
    build.drain(database)
    monkeypatch.setattr(leaders, "AT_ONCE_S", leaders.LEAST_S / 2)
    assert _places(database) == {"a": None}
    with database.read() as session:
        board.board(session, ANONYMOUS, "a")
    assert _places(database)["a"] is not None


@contextmanager
def _read(database: Database) -> Iterator[list[str]]:
    """The statements that are sent meanwhile."""
    sent: list[str] = []

    def note(*facts: Any) -> None:
        sent.append(facts[2])

    event.listen(database.engine, "before_cursor_execute", note)
    yield sent
    event.remove(database.engine, "before_cursor_execute", note)


def _leader(database: Database) -> LeaderOfTask | None:
    with database.read() as session:
        (row,) = landing.landing(session, ANONYMOUS)
        return row.leader


def _all_read(database: Database, monkeypatch: pytest.MonkeyPatch) -> LeaderOfTask | None:
    """The leader as it comes out of all runs of the board."""
    with monkeypatch.context() as small:
        small.setattr(field_leaders, "LEAST_RUNS", 99)
        return _leader(database)


@pytest.mark.dialect
def test_of_a_large_board_the_leader_is_stored(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is said of it is what its runs say, and none of them is read; a change is seen at once."""
    monkeypatch.setattr(field_leaders, "LEAST_RUNS", 2)
    _task(database, tmp_path, "a")
    build.drain(database)
    with _read(database) as sent:
        stored = _leader(database)
    assert stored is not None
    assert stored.run == "good-a"
    assert stored.place is not None
    assert stored == _all_read(database, monkeypatch)
    assert not any("evaluation_mean" in statement for statement in sent)
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, stored.run_id, "a mistake")
    changed = _leader(database)
    assert changed is not None
    assert (changed.run, changed.runs) == ("fair-a", 2)
    build.drain(database)
    with _read(database) as sent:
        assert _leader(database) == _all_read(database, monkeypatch)
    with database.read() as session:
        kept = session.scalars(select(Statistic.request)).all()
    assert [request["procedure"] for request in kept].count("leaders") == 1


def test_runs_that_share_the_lead_are_told_by_the_names_that_a_viewer_knows(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of them by name, which is a pseudonym for others."""
    monkeypatch.setattr(field_leaders, "LEAST_RUNS", 2)
    build.task(database, tmp_path, "a", judgments=JUDGMENTS, topics=TOPICS, measures=("AP",))
    for name, team in (("alpha", "Owls"), ("beta", "Bears")):
        build.run(database, tmp_path, dict.fromkeys(TOPICS, GOOD), name, slug="a", team_name=team)
    build.drain(database)
    first = _leader(database)
    assert first is not None
    assert (first.run, first.tied) == ("alpha", 2)
    with database.read() as session:
        owls = session.get_one(Run, first.run_id).team_id
    people.mask(database, owls, "Violet")
    masked = _leader(database)
    assert masked is not None
    assert (masked.run, masked.tied) == (min("Violet-1", "beta"), 2)
    assert masked == _all_read(database, monkeypatch)


def test_a_damaged_leader_is_never_shown(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page reads the runs, and `db check` lists what is damaged."""
    monkeypatch.setattr(field_leaders, "LEAST_RUNS", 2)
    _task(database, tmp_path, "a")
    build.drain(database)
    whole = _leader(database)
    damage.damage(database, Statistic.result)
    assert _leader(database) == _all_read(database, monkeypatch) == whole
    damaged = [
        check.name
        for check in all_checks()
        for place in check.places(database)
        for _ in check.damage(database, place)
    ]
    assert damaged == ["comparisons"]


def test_leaders_that_were_never_stored_are_queued_by_evaluators(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a site that an earlier version scored."""
    _task(database, tmp_path, "a")
    build.drain(database)
    monkeypatch.setattr(field_leaders, "LEAST_RUNS", 2)
    assert Evaluator(database, Settings()).drain() == 1
    with _read(database) as sent:
        assert _leader(database) is not None
    assert not any("evaluation_mean" in statement for statement in sent)


def test_damaged_scores_leave_the_other_tasks_alone(database: Database, tmp_path: Path) -> None:
    """The front page is shown; the board of the damaged task is not."""
    _task(database, tmp_path, "a")
    build.drain(database)
    damage.damage(database, Evaluation.scores)
    assert _places(database) == {"a": None}
