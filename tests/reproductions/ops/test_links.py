"""Who may say what a run reproduces, and which runs can be a reproduction."""

from pathlib import Path

import pytest

from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Reproduction, Run
from leaderboard.errors import Conflict, Forbidden, Invalid
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.ops import OriginalRuns
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from tests.make import build
from tests.make.copies import built_once
from tests.reproductions import make as reproduced
from tests.reproductions.make import Reproduced, say


@pytest.fixture
@built_once
def made(database: Database, tmp_path: Path) -> Reproduced:
    """Runs of two tasks, of which nothing is said yet."""
    return reproduced.runs(database, tmp_path)


def rows(database: Database) -> dict[int, OriginalRuns]:
    """What is stored."""
    with database.read() as session:
        return {row.run_id: reproductions.stored(row) for row in session.query(Reproduction)}


def refused(database: Database, run_id: int, of: OriginalRuns, viewer: Viewer = OPERATOR) -> Invalid:
    """The refusal; nothing is stored."""
    with pytest.raises(Invalid) as error:
        say(database, run_id, of, viewer)
    assert run_id not in rows(database)
    return error.value


def member(database: Database, run_id: int) -> Viewer:
    """A member of a run's team."""
    with database.read() as session:
        return Viewer(account_id=None, team_ids=frozenset({session.get_one(Run, run_id).team_id}))


def test_what_is_said_can_be_said_anew_and_taken_back(database: Database, made: Reproduced) -> None:
    """Each time on record; a second taking back is refused."""
    say(database, made.new_again, OriginalRuns(made.new))
    say(database, made.new_again, made.reproduced)
    assert rows(database) == {made.new_again: made.reproduced}
    with database.write() as session:
        reproductions.unlink(session, OPERATOR, made.new_again)
    assert rows(database) == {}
    with database.read() as session:
        acts = [row.action for row in session.query(Audit).order_by(Audit.id) if "reproduces" in row.action]
    assert acts == ["run.reproduces", "run.reproduces", "run.reproduces_nothing"]
    with database.write() as session, pytest.raises(Conflict):
        reproductions.unlink(session, OPERATOR, made.new_again)


def test_its_team_may_and_another_may_not(database: Database, made: Reproduced) -> None:
    """A member of the run's team says it; one of the original's does not."""
    say(database, made.new_again, made.reproduced, member(database, made.new_again))
    with pytest.raises(Forbidden):
        say(database, made.base_again, OriginalRuns(made.base), Viewer(account_id=1))
    assert set(rows(database)) == {made.new_again}


def test_no_run_reproduces_itself_by_others_or_not(database: Database, made: Reproduced) -> None:
    """Neither directly nor by a circle of three."""
    assert "the run itself" in refused(database, made.new, OriginalRuns(made.new)).problems[0].rule
    say(database, made.new_again, OriginalRuns(made.new))
    say(database, made.base_again, OriginalRuns(made.new_again))
    problem = refused(database, made.new, OriginalRuns(made.base_again)).problems[0]
    assert (problem.field, problem.value) == ("original", str(made.base_again))


@pytest.mark.parametrize(
    ("baselines", "field"),
    [
        (("base", None), "original_baseline"),
        ((None, "base_again"), "baseline"),
        (("base", "new_again"), "baseline"),
        (("new", "base_again"), "original_baseline"),
        (("base_there", "base_again"), "original_baseline"),
        (("base", "base_there"), "baseline"),
    ],
)
def test_baselines_are_both_named_and_others_of_the_same_task(
    database: Database, made: Reproduced, baselines: tuple[str | None, str | None], field: str
) -> None:
    """One alone, the advanced run itself, and a run of another task are refused by the field at fault."""
    numbers = (None if name is None else getattr(made, name) for name in baselines)
    error = refused(database, made.new_again, OriginalRuns(made.new, *numbers))
    assert field in {problem.field for problem in error.problems}


def test_a_run_that_cannot_be_seen_is_as_one_that_is_not_there(database: Database, made: Reproduced) -> None:
    """Of a draft of others and of no run at all the same is said."""
    with database.write() as session:
        session.connection().exec_driver_sql("UPDATE task SET published_at = NULL WHERE slug = 'u'")
    viewer = member(database, made.new_again)
    hidden, absent = (
        refused(database, made.new_again, OriginalRuns(number), viewer) for number in (made.new_there, 999)
    )
    said = [[(problem.rule, problem.remedy) for problem in error.problems] for error in (hidden, absent)]
    assert said[0] == said[1]


def test_a_withdrawn_run_is_no_original(database: Database, made: Reproduced) -> None:
    """Nor a baseline."""
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, made.base, "wrong")
    assert refused(database, made.base_again, OriginalRuns(made.base)).problems
    assert refused(database, made.new_again, made.reproduced).problems


def test_it_is_said_with_the_file(database: Database, made: Reproduced, tmp_path: Path) -> None:
    """An upload that names an original is linked once it is accepted; a wrong one stores nothing."""
    path = build.run_file(tmp_path, reproduced.NEW, "third")
    run_request = RunRequest("third", reproduces=made.reproduced.named)
    run_id = build.submit(database, path, run_request=run_request).run_id
    assert run_id is not None
    assert rows(database) == {run_id: made.reproduced}
    with pytest.raises(Invalid):
        build.submit(database, path, run_request=RunRequest("fourth", reproduces={"original": 999}))
    with database.read() as session:
        assert session.query(Run).filter(Run.name == "fourth").count() == 0
