"""Late is late: after its close a phase takes a run only where an organiser says why it counts."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import select, update

from leaderboard.cli import main
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Phase, Task, Upload
from leaderboard.errors import Closed
from leaderboard.runs.ops import fixing, withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.page import run as run_pages
from leaderboard.scoring.ops import scored_topics
from leaderboard.scoring.ops.scored_topics import ChosenRun, counting
from tests.make import build, people
from tests.make.copies import built_once

DOCUMENTS = [f"n{place}" for place in range(10)]
PERFECT = {"1": ["a", "c", *DOCUMENTS], "2": ["d", *DOCUMENTS], "3": ["e", "f", *DOCUMENTS]}
POOR = {topic: [*DOCUMENTS, topic] for topic in PERFECT}
CLOSED = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)


@pytest.fixture
@built_once
def closed(database: Database, tmp_path: Path) -> dict[str, int]:
    """A blind task where two runs of a team count, closed, with three runs that came in time: name -> id."""
    build.task(database, tmp_path, visibility="blind", measures=("AP",))
    made = {name: build.run(database, tmp_path, POOR, name) for name in ("one", "two", "three")}
    build.drain(database)
    with database.write() as session:
        session.execute(update(Task).values(final_runs=2, unmarked="best"))
        session.execute(update(Upload).values(created_at=CLOSED - timedelta(hours=1)))
        session.execute(update(Phase).values(closes_at=CLOSED))
    return made


def test_an_organisers_run_is_refused_too(database: Database, tmp_path: Path, closed: dict[str, int]) -> None:
    """The sentence says when the task closed, and the ways on."""
    with pytest.raises(Closed) as refused:
        build.run(database, tmp_path, PERFECT, "late")
    assert refused.value.message == (
        "Task t closed at 2026-01-31 23:59:59 UTC, so a run submitted now is late. Submit it as a late or "
        "baseline run, or give the reason why it counts (late, --late). The reason is shown with the run."
    )


@pytest.mark.parametrize("kind", ["late", "baseline"])
def test_late_and_baseline_runs_are_taken_beside_the_others(
    kind: str, database: Database, tmp_path: Path, closed: dict[str, int]
) -> None:
    """They say by themselves that they are not of the contest."""
    build.run(database, tmp_path, PERFECT, "other", run_request=RunRequest("other", kind))
    with database.read() as session:
        task = session.scalars(select(Task)).one()
        assert scored_topics.not_chosen(session, task) == {closed["three"]}


def test_a_reason_is_on_record_and_shown(database: Database, tmp_path: Path, closed: dict[str, int]) -> None:
    """On the run, its page and in the audit; and those that count stay those that were sent in time."""
    why = "The upload failed through our fault."
    late = build.run(database, tmp_path, PERFECT, "late", run_request=RunRequest("late", late=why))
    build.drain(database)
    with database.read() as session:
        assert run_pages.run_page(session, ANONYMOUS, late).late == why
        event = session.scalars(
            select(Audit).where(Audit.action == "run.submit", Audit.subject == f"run:{late}")
        ).one()
        assert event.detail["late"] == why
        task = session.scalars(select(Task)).one()
        assert scored_topics.not_chosen(session, task) == {closed["three"], late}


def test_a_reason_is_not_kept_where_nothing_is_late(database: Database, tmp_path: Path) -> None:
    """A run sent in time is like any other."""
    build.task(database, tmp_path)
    made = build.run(database, tmp_path, PERFECT, run_request=RunRequest("run", late="just in case"))
    with database.read() as session:
        assert run_pages.run_page(session, ANONYMOUS, made).late == ""


def test_late_runs_fill_only_what_is_left() -> None:
    """Whatever they score, and whether or not they are marked."""
    in_time = ChosenRun(run_id=1, team_id=1, score=0.1)
    late = ChosenRun(run_id=2, team_id=1, score=0.9, is_marked=True, is_late=True)
    assert counting([in_time, late], 1, "best") == {1}
    assert counting([in_time, late], 1, "newest") == {1}
    assert counting([in_time, late], 2, "best") == {1, 2}
    assert counting([late], 1, "best") == {2}


def test_a_fix_after_the_close_is_late(database: Database, tmp_path: Path) -> None:
    """Neither its team nor an organiser makes a run of a rejected file then."""
    ann = people.account(database, "Ann")
    people.team(database, "Owls", ann)
    build.task(database, tmp_path, depth=1)
    rejected = build.submit(database, build.run_file(tmp_path, PERFECT, "deep"), team_name="Owls")
    assert rejected.state == "rejected"
    with database.write() as session:
        session.execute(update(Phase).values(closes_at=CLOSED))
        upload = session.get_one(Upload, rejected.upload_id)
        possible = fixing.offered(session, upload)
    assert possible
    for viewer in (people.viewer(database, ann), OPERATOR):
        with pytest.raises(Closed, match="closed at 2026-01-31 23:59:59 UTC"), database.write() as session:
            fixing.ask(session, viewer, rejected.upload_id, possible[:1])


def test_marks_change_after_the_close_only_with_a_reason(database: Database, closed: dict[str, int]) -> None:
    """An operator's; it goes on record."""
    said = r"could choose the runs that count until the deadline\. Give a reason \(--why\)\."
    with pytest.raises(Closed, match=said), database.write() as session:
        withdrawals.mark_run(session, OPERATOR, closed["one"])
    with database.write() as session:
        withdrawals.mark_run(session, OPERATOR, closed["one"], "Asked for by mail before the close.")
    with database.read() as session:
        event = session.scalars(select(Audit).where(Audit.action == "run.mark")).one()
        assert event.detail["why"] == "Asked for by mail before the close."


def test_the_command_refuses_and_asks_for_words(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run add` to a closed task: no official run without --late."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))

    def call(*arguments: object) -> tuple[int, str]:
        done = CliRunner().invoke(main, [str(argument) for argument in arguments])
        return done.exit_code, done.output

    topics, file = build.topics_file(tmp_path), build.run_file(tmp_path, PERFECT, "perfect")
    assert call("task", "create", "t", "--name", "A task", "--topics", topics)[0] == 0
    assert call("task", "dates", "t", "--closes", "2026-01-31")[0] == 0
    code, said = call("run", "add", "t", file, "--team", "Owls")
    assert (code, "A task closed at" in said, "so a run submitted now is late." in said) == (1, True, True)
    code, said = call("run", "add", "t", file, "--team", "Owls", "--late", "Agreed by mail.")
    assert (code, "accepted" in said) == (0, True)
