"""Two people, or two forms, in one moment with one key or one name: an answer for both, and one row."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from leaderboard.core.jobs import queue
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Base, Database
from leaderboard.db.tables import Collection, Job, Run, Task, Upload
from leaderboard.errors import Conflict
from leaderboard.runs.ops import limits, prepare, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery
from leaderboard.scoring.ops import collections
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.trec.read.lines import Limits
from tests.make import build

Result = TypeVar("Result")
BLOCKED = """
    SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
"""


def _in_one_moment(
    database: Database, first: Callable[[Session], Result], second: Callable[[Session], Result]
) -> tuple[Result, Result]:
    """What both return; the second begins while the first is not committed, and waits for it."""

    def after() -> Result:
        with database.write() as session:
            return second(session)

    with ThreadPoolExecutor(1) as threads:
        with database.write() as session:
            result = first(session)
            session.flush()
            later = threads.submit(after)
            while not later.done() and not _is_blocked(database):
                threading.Event().wait(0.01)
        return result, later.result()


def _is_blocked(database: Database) -> bool:
    with database.read() as session:
        return bool(session.scalar(text(BLOCKED)))


def _count(database: Database, table: type[Base]) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def _delivery(database: Database, folder: Path, team: str, name: str, key: str | None = None) -> Delivery:
    team_id = build.team(database, team)
    with database.read() as session:
        rules = limits.rules_for(session, OPERATOR, "t", team_id)
    path = build.run_file(folder, {"1": ["a"]}, name)
    file = prepare.prepare(path, path.name, rules, Limits())
    run_request = RunRequest(name)
    return Delivery(sender=OPERATOR, slug="t", team_id=team_id, file=file, run_request=run_request, key=key)


@pytest.mark.parametrize("team", ["Owls", "Bears"])
def test_one_key_makes_one_run(on_postgresql: Database, tmp_path: Path, team: str) -> None:
    """A form that is sent twice at once gets the same run twice, also where the team was changed."""
    build.task(on_postgresql, tmp_path)
    one = _delivery(on_postgresql, tmp_path, "Owls", "run", key="0:key")
    two = _delivery(on_postgresql, tmp_path, team, "run", key="0:key")
    first, second = _in_one_moment(
        on_postgresql, partial(uploads.submit, delivery=one), partial(uploads.submit, delivery=two)
    )
    assert first.run_id is not None
    assert second == first
    assert (_count(on_postgresql, Run), _count(on_postgresql, Upload)) == (1, 1)


@pytest.mark.parametrize("team", ["Owls", "Bears"])
def test_one_name_makes_one_run(on_postgresql: Database, tmp_path: Path, team: str) -> None:
    """The second run of a name is rejected with the rule and the remedy."""
    build.task(on_postgresql, tmp_path)
    one, two = (_delivery(on_postgresql, tmp_path, sender, "run") for sender in ("Owls", team))
    first, second = _in_one_moment(
        on_postgresql, partial(uploads.submit, delivery=one), partial(uploads.submit, delivery=two)
    )
    assert first.run_id is not None
    assert (second.run_id, second.state) == (None, "rejected")
    assert second.report is not None
    assert [problem.field for problem in second.report.problems] == ["run name"]
    assert (_count(on_postgresql, Run), _count(on_postgresql, Upload)) == (1, 2)


def _new_task(session: Session, folder: Path) -> Any:
    draft = TaskDraft(slug="t", name="T", topics=build.topics_file(folder), collection="shared")
    return drafts.create(session, OPERATOR, drafts.prepare(draft))


def _new_collection(session: Session, folder: Path) -> Any:
    return collections.add(session, OPERATOR, folder.name)


@pytest.mark.parametrize(("make", "table"), [(_new_task, Task), (_new_collection, Collection)])
def test_a_name_taken_in_this_moment_is_a_conflict(
    on_postgresql: Database, tmp_path: Path, make: Callable[[Session, Path], Any], table: type[Base]
) -> None:
    """Two tasks of one slug, two collections of one name: the second is told to choose another."""
    with on_postgresql.write() as session:
        collections.add(session, OPERATOR, "shared")
    before = _count(on_postgresql, table)
    making = partial(make, folder=tmp_path)
    with pytest.raises(Conflict, match="already"):
        _in_one_moment(on_postgresql, making, making)
    assert _count(on_postgresql, table) == before + 1


def test_a_job_queued_twice_at_once_is_one(on_postgresql: Database) -> None:
    """Two changes that need the same work queue it once."""
    enqueue = partial(queue.enqueue, kind=queue.EVALUATE, subject_id=1, priority=queue.FRESH)
    _in_one_moment(on_postgresql, enqueue, enqueue)
    assert _count(on_postgresql, Job) == 1
