"""What visitors read of a task, as a bundle: it comes back as the same board, and tells nothing more."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from leaderboard.boards.ops import board as boards
from leaderboard.boards.page import tables
from leaderboard.bundles.ops import describing
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.bundles.ops.release import PUBLIC_COLUMNS, PUBLIC_TABLES
from leaderboard.bundles.page import export_public
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Entry, Phase
from leaderboard.errors import NotFound
from leaderboard.runs.ops import withdrawals
from leaderboard.trec.read.plain import plain_blocks
from leaderboard.trec.runs.runs import read_run
from tests.bundles import make as bundles
from tests.make import build, masked, people, phased, revised, twins

RANKINGS = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}


def _board(database: Database, slug: str, edition: int | None = None) -> str:
    """What a visitor reads of a board, without ids."""
    with database.read() as session:
        facts = tables.board_facts(boards.board(session, ANONYMOUS, slug, edition=edition))
    for row in facts["rows"]:
        del row["run_id"]
    del facts["task"]
    return json.dumps(facts)


@pytest.mark.trial
@pytest.mark.dialect
def test_the_board_comes_back_as_visitors_know_it(database: Database, tmp_path: Path) -> None:
    """Runs of two teams under two revisions; a withdrawn run and who marked one before the close stay."""
    revised.task(database, tmp_path)
    build.revise(database, tmp_path, revised.BETTER)
    late = build.run(database, tmp_path, revised.FIRST, "third", team_name="Other team")
    gone = build.run(database, tmp_path, revised.SECOND, "gone")
    with database.write() as session:
        withdrawals.mark_run(session, OPERATOR, late)
        withdrawals.withdraw(session, OPERATOR, gone, "a mistake")
    build.drain(database)
    bundles.public(database, tmp_path / "out")
    there = bundles.contents(tmp_path / "out")
    assert not any(b"gone" in body or b"a mistake" in body for body in there.values())
    bundles.imported(database, tmp_path / "out", ImportRequest(slug="again"))
    for edition in (None, 1):
        assert _board(database, "again", edition) == _board(database, "t", edition)
    bundles.public(database, tmp_path / "back", "again")
    of_slug = {"records/task.jsonl", "scores/board.json", "citation.bib"}
    back = bundles.contents(tmp_path / "back")
    assert {name for name in there if there[name] != back.get(name)} <= of_slug


def test_the_same_task_gives_the_same_bytes(database: Database, tmp_path: Path) -> None:
    """Whenever it is asked for."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, RANKINGS)
    build.drain(database)
    bodies = []
    for number in range(2):
        with (tmp_path / f"{number}.zip").open("w+b") as file:
            made = describing.archived(file, is_zip=True, at=describing.NO_TIME)
            export_public(database, "t", made)
            file.seek(0)
            bodies.append(file.read())
    assert bodies[0] == bodies[1]


@pytest.mark.trial
def test_names_that_pages_mask_are_in_no_byte(sqlite_template: Path, tmp_path: Path) -> None:
    """Two sites that differ in the names of masked teams give the same files; the board comes back."""
    moment = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=9)
    trees = []
    for secret in ("a", "b"):
        (tmp_path / secret).mkdir()
        world = masked.build(sqlite_template, tmp_path / secret, secret, moment)
        bundles.public(world.database, tmp_path / f"out-{secret}", masked.SLUG)
        trees.append(bundles.contents(tmp_path / f"out-{secret}"))
        shown = _board(world.database, masked.SLUG)
        target = bundles.new_site(sqlite_template, tmp_path / f"target-{secret}")
        bundles.imported(target, tmp_path / f"out-{secret}")
        assert _board(target, masked.SLUG) == shown
        world.database.dispose()
    assert trees[0] == trees[1]
    runs = [path for path in (tmp_path / "out-a" / "runs").iterdir() if masked.PSEUDONYMS[0] in path.name]
    assert len(runs) == 1
    lines = b"".join(plain_blocks(runs[0])).splitlines()
    assert [line.split()[1:2] + line.split()[3:4] for line in lines[:2]] == [[b"Q0", b"1"], [b"Q0", b"2"]]


@pytest.mark.trial
def test_teams_without_a_pseudonym_are_several(database: Database, tmp_path: Path) -> None:
    """A name with blanks becomes a run's name, and two teams that pages call alike are two."""
    build.task(database, tmp_path)
    for number, team in enumerate(("First team", "Second team", "Third team")):
        rankings = {**RANKINGS, "1": ["a", "c", "b"][number:]}
        build.run(database, tmp_path, rankings, f"run{number}", team_name=team)
    build.drain(database)
    people.mask(database, 1, "Team 7")
    with database.write() as session:
        session.execute(update(Entry).values(reveal_at=None))
    bundles.public(database, tmp_path / "out")
    names = [row["name"] for row in bundles.rows(tmp_path / "out", "teams")]
    assert names == ["Team 7", "a team", "a team 2"]
    made = bundles.imported(database, tmp_path / "out", ImportRequest(slug="again"))
    assert (made.runs, made.teams_new) == (3, ("Team 7", "a team", "a team 2"))
    (first, *_) = sorted((tmp_path / "out" / "runs").iterdir())
    assert read_run(first).tag == "Team-7-1"


@pytest.mark.parametrize("slug", ["blind", "sealed", "draft"])
def test_nothing_goes_out_while_something_is_held_back(
    sqlite_template: Path, tmp_path: Path, slug: str
) -> None:
    """Before the target is opened."""
    world = twins.build(sqlite_template, tmp_path, "b", datetime.now(UTC))
    with pytest.raises(NotFound):
        bundles.public(world.database, tmp_path / "out", slug)
    assert not (tmp_path / "out").exists()
    world.database.dispose()


@pytest.mark.trial
def test_one_hidden_phase_holds_all_back(sqlite_template: Path, tmp_path: Path) -> None:
    """Phases may share topics; once every one is shown the task goes out, with a board for each."""
    world = phased.build(sqlite_template, tmp_path, "a", datetime.now(UTC))
    with pytest.raises(NotFound):
        bundles.public(world.database, tmp_path / "out", phased.SLUG)
    with world.database.write() as session:
        session.execute(update(Phase).values(visibility="open", at_close="open", reveal_at=None))
    bundles.public(world.database, tmp_path / "out", phased.SLUG)
    assert len(list((tmp_path / "out" / "scores").glob("board-*.json"))) > 1
    world.database.dispose()


def test_every_column_that_everybody_is_given_is_listed() -> None:
    """A column of a listed name that is gone, or a table without columns, is noticed here."""
    there = {table.name: {column.name for column in table.columns} for table in PUBLIC_TABLES}
    assert there == {name: set(columns.split()) for name, columns in PUBLIC_COLUMNS.items()}
