"""How sure the leads of many tasks are: what their boards say, in few statements, never at length."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation
from leaderboard.pages.tasks import landing
from leaderboard.services.boards import board
from leaderboard.services.policy import ANONYMOUS
from leaderboard.services.statistics import leaders, requests
from leaderboard.services.statistics.cache import KeptResults
from leaderboard.services.statistics.leaders import LeaderPlace
from tests.make import build, damage

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


def test_damaged_scores_leave_the_other_tasks_alone(database: Database, tmp_path: Path) -> None:
    """The front page is shown; the board of the damaged task is not."""
    _task(database, tmp_path, "a")
    build.drain(database)
    damage.damage(database, Evaluation.scores)
    assert _places(database) == {"a": None}
