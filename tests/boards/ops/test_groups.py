"""Groups of teams and families of runs: boards of their own, tested within when declared in time."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from leaderboard.boards.ops import board
from leaderboard.boards.ops.board import CHOSEN_LATE, Board, Group
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Evaluation, GroupedRun, GroupedTeam, RunGroup
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound
from leaderboard.scoring.ops.statistics.standings import Standing
from leaderboard.tasks.page import members as pages
from tests.make import build
from tests.make.copies import built_once

RANKINGS = {"Owls": ["a", "c"], "Bears": ["c"], "Wolves": ["b", "a"], "Foxes": ["x"]}


def _declare(database: Database, name: str = "students", **members: Any) -> Group:
    with database.write() as session:
        return board.declare_group(session, OPERATOR, "t", name, **members)


def _board(database: Database, **asked: Any) -> Board:
    with database.read() as session:
        return board.board(session, ANONYMOUS, "t", **asked)


@pytest.fixture
@built_once
def site(database: Database, tmp_path: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Runs of four teams that are not scored yet: ids of the teams and of their runs."""
    build.task(database, tmp_path, judgments=None, measures=("AP",))
    runs = {
        name: build.run(database, tmp_path, {"1": ranking, "2": ["d"]}, f"run-{name}", team_name=name)
        for name, ranking in RANKINGS.items()
    }
    return {name: build.team(database, name) for name in RANKINGS}, runs


def _score(database: Database, folder: Path) -> None:
    """The first judgments come, and every run is scored a while after whatever was declared."""
    build.revise(database, folder, build.JUDGMENTS)
    build.drain(database)
    with database.write() as session:
        session.execute(update(Evaluation).values(created_at=now(session) + timedelta(hours=1)))


@pytest.mark.dialect
def test_a_group_declared_in_time_is_ranked_and_tested_within(
    database: Database, tmp_path: Path, site: tuple[dict[str, int], dict[str, int]]
) -> None:
    """Its board is that of a task with its runs alone; the board of all runs does not change."""
    teams, _ = site
    _score(database, tmp_path)
    before = _board(database)
    with database.write() as session:
        session.execute(update(Evaluation).values(created_at=now(session) + timedelta(hours=1)))
    chosen = _declare(database, teams=[teams["Bears"], teams["Foxes"]])
    assert chosen.is_early
    shown = _board(database, group="students")
    assert [(row.rank, row.team) for row in shown.rows] == [(1, "Bears"), (2, "Foxes")]
    assert isinstance(shown.standing, Standing)
    assert (shown.standing.pairs, shown.standing.run_ids) == (1, tuple(row.run_id for row in shown.rows))
    too_few = "3 topics are too few to order these 2 runs of the group students; about 26 would be needed."
    assert shown.sentences[0].endswith(too_few)
    after = _board(database)
    assert (after.rows, after.sentences, after.places) == (before.rows, before.sentences, before.places)
    assert (before.groups, after.groups) == ((), ("students",))


def test_a_group_that_was_chosen_late_has_ranks_and_no_verdict(
    database: Database, tmp_path: Path, site: tuple[dict[str, int], dict[str, int]]
) -> None:
    """Nothing is said of who is better, nor drawn."""
    _, runs = site
    build.revise(database, tmp_path, build.JUDGMENTS)
    build.drain(database)
    assert not _declare(database, "family", runs=[runs["Owls"], runs["Wolves"]]).is_early
    shown = _board(database, group="family")
    assert [(row.rank, row.team) for row in shown.rows] == [(1, "Owls"), (2, "Wolves")]
    assert (shown.standing, shown.sentences, shown.places) == (None, (CHOSEN_LATE,), {})
    with database.read() as session:
        assert board.differences(session, shown, runs["Owls"]) == {}


def test_other_members_make_a_group_late_unless_they_have_no_score(
    database: Database, tmp_path: Path, site: tuple[dict[str, int], dict[str, int]]
) -> None:
    """A team that comes later may join a group; one whose scores are known may not, nor may one leave."""
    teams, _ = site
    first = _declare(database, teams=[teams["Bears"]])
    _score(database, tmp_path)
    newcomer = build.run(database, tmp_path, {"1": ["a"]}, "new", team_name="Newts")
    with_newts = [teams["Bears"], build.team(database, "Newts")]
    same = _declare(database, teams=with_newts)
    assert (same.is_early, same.declared_at) == (True, first.declared_at)
    assert newcomer in {row.run_id for row in _board(database, group="students").rows}
    with database.write() as session:
        session.execute(update(Evaluation).values(created_at=now(session) - timedelta(hours=1)))
        session.execute(update(RunGroup).values(declared_at=now(session) - timedelta(hours=2)))
    assert _declare(database, teams=with_newts).is_early
    assert not _declare(database, teams=[*with_newts, teams["Foxes"]]).is_early


def test_what_is_no_group_changes_nothing(
    database: Database, site: tuple[dict[str, int], dict[str, int]]
) -> None:
    """Nobody in it, teams and runs at once, members of no such task, names that look alike, others' tasks."""
    teams, runs = site
    owls, run = teams["Owls"], runs["Owls"]
    _declare(database, teams=[owls])
    cases: list[tuple[str, dict[str, Any], type[Exception]]] = [
        ("x", {}, Invalid),
        ("x", {"teams": [owls], "runs": [run]}, Invalid),
        ("x", {"teams": [999]}, Invalid),
        ("x", {"runs": [999]}, Invalid),
        ("", {"teams": [owls]}, Invalid),
        ("Students", {"teams": [owls]}, Conflict),
        ("students", {"runs": [run]}, Conflict),
    ]
    for name, members, error in cases:
        with pytest.raises(error):
            _declare(database, name, **members)
    with database.write() as session, pytest.raises(Forbidden):
        board.declare_group(session, Viewer(account_id=1), "t", "x", teams=[owls])
    with database.read() as session:
        assert session.scalar(select(func.count(RunGroup.id))) == 1
    for asked in ("x", "STUDENTS"):
        with pytest.raises(NotFound, match="no group"):
            _board(database, group=asked)


@pytest.mark.dialect
def test_a_removed_group_leaves_nothing_behind(
    database: Database, site: tuple[dict[str, int], dict[str, int]]
) -> None:
    """Its board is gone; the organiser's page lists what is left, members by name."""
    teams, runs = site
    gone = _declare(database, teams=list(teams.values()))
    _declare(database, "family", runs=[runs["Owls"], runs["Bears"]])
    with database.write() as session:
        board.remove_group(session, OPERATOR, "t", gone.id)
    with database.write() as session, pytest.raises(NotFound):
        board.remove_group(session, OPERATOR, "t", gone.id)
    with database.read() as session:
        page = pages.groups_page(session, OPERATOR, "t")
        assert session.scalars(select(GroupedTeam.team_id)).all() == []
        assert len(session.scalars(select(GroupedRun.run_id)).all()) == 2
    assert [row["members"] for row in pages.groups_table(page).facts()] == ["run-Bears, run-Owls"]
