"""Suite runs on their way in: ordinary runs of all members, or nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Run, SuiteRun, SuiteRunPart, Task, Upload
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.uploads import RunDetails
from leaderboard.suites.ops import sending
from leaderboard.trec.read.lines import Limits
from tests.make import build, people, suites
from tests.suites import make as suited

ALL = dict.fromkeys(suites.MEMBERS, 1)


def _count(database: Database) -> tuple[int, ...]:
    with database.read() as session:
        return tuple(
            session.scalar(select(func.count()).select_from(table)) or 0
            for table in (Run, Upload, SuiteRun, SuiteRunPart)
        )


def test_each_member_gets_an_ordinary_run(database: Database, tmp_path: Path) -> None:
    """One archive makes a run in every task, under the tag of its metadata, which the runs have too."""
    suited.suite(database, tmp_path)
    made = suited.send(database, tmp_path, ALL, "good", team="Owls")
    with database.read() as session:
        runs = session.scalars(select(Run).join(SuiteRunPart).where(SuiteRunPart.suite_run_id == made)).all()
        assert {run.name for run in runs} == {"good"}
        assert len({run.task_id for run in runs}) == 3
        assert {run.details["actor"]["team"] for run in runs} == {"owls"}


def test_an_error_in_one_member_stores_nothing(database: Database, tmp_path: Path) -> None:
    """What is wrong in one run refuses all of them, and says in which member and where."""
    suited.suite(database, tmp_path)
    before = _count(database)
    content = suites.files(ALL, "bad")
    content["snapshot-3/run.txt"] = b"5 Q0 e 1 high t\n"
    path = suites.zipped(tmp_path / "bad.zip", content)
    team_id = build.team(database)
    with database.read() as session:
        rules = sending.rules_of(session, OPERATOR, suited.SLUG, team_id)
    submission = sending.prepared(path, path.name, rules, tmp_path, Limits())
    with database.write() as session, pytest.raises(Invalid) as caught:
        sending.send(session, OPERATOR, suited.SLUG, submission, RunDetails(team_id=team_id))
    (problem, *_) = caught.value.problems
    assert problem.line == 1
    assert "snapshot-3" in str(problem)
    assert _count(database) == before


def test_what_a_task_refuses_inside_the_transaction_refuses_all(database: Database, tmp_path: Path) -> None:
    """A name that one task has already refuses the whole suite run, runs of other members too."""
    suited.suite(database, tmp_path)
    build.run(database, tmp_path, {"5": ["e"]}, "good", slug="web-3", team_name="Others")
    before = _count(database)
    with pytest.raises(Invalid) as caught:
        suited.send(database, tmp_path, ALL, "good", team="Owls")
    (problem,) = caught.value.problems
    assert str(problem).startswith("snapshot-3, run name 'good': is the name of another run of this task.")
    assert _count(database) == before


def test_the_same_form_twice_makes_one_suite_run(database: Database, tmp_path: Path) -> None:
    """A key seen before gives what it made; with another archive it is refused."""
    suited.suite(database, tmp_path)
    first = suited.send(database, tmp_path, ALL, "good", team="Owls", key="k")
    before = _count(database)
    assert suited.send(database, tmp_path, ALL, "good", team="Owls", key="k") == first
    assert _count(database) == before
    with pytest.raises(Conflict, match="another file"):
        suited.send(database, tmp_path, dict.fromkeys(suites.MEMBERS, 2), "other", team="Owls", key="k")


def test_a_closed_member_is_a_problem_of_that_member_alone(database: Database, tmp_path: Path) -> None:
    """An archive with a run for an archived task is refused; one without it is not."""
    suited.suite(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).where(Task.slug == "web-2").values(archived_at=now(session)))
    with pytest.raises(Invalid) as caught:
        suited.send(database, tmp_path, ALL, "good", team="Owls")
    assert "snapshot-2" in str(caught.value.problems[0])
    assert "archived" in str(caught.value.problems[0])
    suited.send(database, tmp_path, {"snapshot-1": 1, "snapshot-3": 1}, "good", team="Owls")


def test_metadata_may_be_required(database: Database, tmp_path: Path) -> None:
    """Where a suite requires metadata, an archive without a tag and a team is refused."""
    suited.suite(database, tmp_path, metadata_is_required=True)
    with pytest.raises(Invalid) as caught:
        suited.send(database, tmp_path, ALL, "")
    assert "It says no tag." in {problem.rule for problem in caught.value.problems}


def test_runs_that_a_team_has_are_put_together_and_filled_in(database: Database, tmp_path: Path) -> None:
    """Of runs that are there; members are filled in later, and a run is of one suite run."""
    suited.suite(database, tmp_path)
    team_id = build.team(database, "Owls")
    runs = {
        name: build.run(
            database, tmp_path, {topic: ["x"] for topic in judged}, f"own-{name}", slug=slug, team_name="Owls"
        )
        for (name, judged), slug in zip(suites.MEMBERS.items(), suited.TASKS.values(), strict=True)
    }
    with database.write() as session:
        made = sending.put_together(
            session, OPERATOR, suited.SLUG, team_id, "own", {"snapshot-1": runs["snapshot-1"]}
        )
    with database.write() as session, pytest.raises(Invalid, match="nothing was changed") as caught:
        sending.put_together(
            session, OPERATOR, suited.SLUG, team_id, "again", {"snapshot-1": runs["snapshot-1"]}
        )
    assert "another suite run" in str(caught.value.problems[0])
    with database.write() as session, pytest.raises(Invalid) as caught:
        sending.fill_in(session, OPERATOR, suited.SLUG, made, {"snapshot-2": runs["snapshot-3"]})
    assert "not a run of the team" in str(caught.value.problems[0])
    rest = {name: run_id for name, run_id in runs.items() if name != "snapshot-1"}
    with database.write() as session:
        sending.fill_in(session, OPERATOR, suited.SLUG, made, rest)
    with database.read() as session:
        rows = session.scalars(select(SuiteRunPart.run_id).where(SuiteRunPart.suite_run_id == made)).all()
    assert set(rows) == set(runs.values())


def test_a_withdrawn_part_may_be_replaced(database: Database, tmp_path: Path) -> None:
    """A member whose run was withdrawn may get another one; one whose run stands may not."""
    suited.suite(database, tmp_path)
    made = suited.send(database, tmp_path, ALL, "good", team="Owls")
    other = build.run(database, tmp_path, {"5": ["e"]}, "other", slug="web-3", team_name="Owls")
    with database.write() as session, pytest.raises(Invalid):
        sending.fill_in(session, OPERATOR, suited.SLUG, made, {"snapshot-3": other})
    with database.read() as session:
        part = session.scalar(
            select(Run.id)
            .join(SuiteRunPart)
            .where(SuiteRunPart.suite_run_id == made, Run.name == "good", Run.topics == 2)
            .order_by(Run.id.desc())
        )
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, part or 0, "wrong file")
    with database.write() as session:
        sending.fill_in(session, OPERATOR, suited.SLUG, made, {"snapshot-3": other})


def test_only_the_team_changes_its_suite_runs(database: Database, tmp_path: Path) -> None:
    """Somebody of another team may neither put runs together for it nor take its suite run off."""
    suited.suite(database, tmp_path)
    made = suited.send(database, tmp_path, ALL, "good", team="Owls")
    stranger = people.viewer(database, people.account(database, "Stranger"))
    with database.write() as session, pytest.raises(NotFound):
        sending.withdraw_parts(session, stranger, suited.SLUG, made)
    owls = build.team(database, "Owls")
    with database.write() as session, pytest.raises(Forbidden):
        sending.put_together(session, stranger, suited.SLUG, owls, "x", {})
    own = replace(stranger, team_ids=frozenset({owls}))
    with database.write() as session:
        sending.withdraw_parts(session, own, suited.SLUG, made)
        sending.restore_parts(session, own, suited.SLUG, made)
