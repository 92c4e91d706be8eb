"""How runs moved since the edition before: what counts as a move, and who is told of it."""

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.boards.ops import board as boards
from leaderboard.boards.ops.board import Board
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops import board_measures
from tests.make import blind, build
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table

FIRST = {"1": ["a", "x", "y"], "2": ["d", "x", "y"]}
SECOND = {"1": ["x", "a", "y"], "2": ["x", "d", "y"]}
THIRD = {"1": ["x", "y", "a"], "2": ["x", "y", "d"]}
FRESH = {"1": ["y", "x"], "2": ["y", "x"]}
BEFORE = {"1": {"a": 1, "x": 0}, "2": {"d": 1, "x": 0}}
AFTER = {"1": {"y": 1, "x": 0}, "2": {"y": 1, "x": 0}}
"""Before, a and d are relevant; after, y: third goes from the last place to the first."""


@pytest.fixture
@built_once
def revised(database: Database, tmp_path: Path) -> None:
    """Three runs and a baseline; then one leaves, another judgment turns the order, and one comes."""
    build.task(database, tmp_path, judgments=BEFORE, topics=("1", "2"), measures=("RR", "AP"))
    for name, rankings in (("first", FIRST), ("second", SECOND), ("third", THIRD), ("gone", FIRST)):
        build.run(database, tmp_path, rankings, name)
    build.run(database, tmp_path, FIRST, "base", run_request=RunRequest("base", "baseline"))
    build.drain(database)
    with database.write() as session:
        gone = next(row.run_id for row in boards.board(session, OPERATOR, "t").rows if row.run == "gone")
        withdrawals.withdraw(session, OPERATOR, gone, "a mistake")
    build.revise(database, tmp_path, AFTER)
    build.drain(database)
    build.run(database, tmp_path, FRESH, "fresh")
    build.drain(database)


def _board(database: Database, measure: str | None = None, edition: int | None = None) -> Board:
    with database.read() as session:
        return boards.board(session, ANONYMOUS, "t", measure, edition)


def _moved(shown: Board) -> dict[str, int | None]:
    """Run -> its move; only of runs that are said to have moved, stayed or come."""
    assert shown.before is not None
    return {row.run: shown.before.moved[row.run_id] for row in shown.rows if row.run_id in shown.before.moved}


@pytest.mark.trial
@pytest.mark.usefixtures("revised")
def test_ranks_are_of_the_runs_that_both_editions_rank(database: Database) -> None:
    """first, second, third became third, then the others level; who came or went moves nobody."""
    shown = _board(database)
    assert [(row.run, row.rank) for row in shown.rows if row.rank] == [
        ("fresh", 1),
        ("third", 2),
        ("first", 3),
        ("second", 3),
    ]
    assert _moved(shown) == {"fresh": None, "third": 2, "first": -1, "second": 0}
    assert shown.before is not None
    assert (shown.before.number, shown.before.revision, shown.before.both, shown.before.movers) == (
        1,
        1,
        3,
        2,
    )


@pytest.mark.usefixtures("revised")
def test_the_first_edition_and_a_new_measure_have_nothing_to_be_compared_with(database: Database) -> None:
    """No edition was before the first; a measure that the edition before lacked has no ranks in it."""
    assert _board(database, edition=1).before is None
    with database.write() as session:
        board_measures.choose(session, OPERATOR, "t", ["RR", "AP", "P@1"], "RR")
    build.drain(database)
    assert _board(database, "P@1").before is None
    then = _board(database)
    assert then.before is not None
    assert (then.before.number, then.before.movers, then.before.both) == (2, 0, 4)


@pytest.mark.usefixtures("revised")
def test_an_earlier_edition_says_what_it_said_while_it_was_shown(database: Database, tmp_path: Path) -> None:
    """Edition 2 seen from edition 3 is held against edition 1 still."""
    now = _moved(_board(database))
    build.revise(database, tmp_path, BEFORE)
    build.drain(database)
    assert _moved(_board(database, edition=2)) == now
    assert _moved(_board(database)) == {"first": 2, "second": 1, "third": -1, "fresh": -3}


@pytest.mark.usefixtures("revised")
def test_a_run_sent_later_is_new_though_it_is_scored_under_the_same_judgments(
    database: Database, tmp_path: Path
) -> None:
    """Its scores fit the edition before, whose board never had it."""
    with database.write() as session:
        board_measures.choose(session, OPERATOR, "t", ["RR", "P@1"], "RR")
    build.drain(database)
    build.run(database, tmp_path, FRESH, "latest")
    build.drain(database)
    assert _moved(_board(database)) == {"latest": None, "fresh": 0, "third": 0, "first": 0, "second": 0}


@pytest.mark.usefixtures("revised")
def test_days_and_chosen_topics_are_not_compared(database: Database, client: FlaskClient) -> None:
    """Neither is what the board of an edition showed."""
    for state in (f"?at={datetime.now(UTC):%Y-%m-%d}", "?topics=1"):
        found = client.get(f"/tasks/t.json{state}").get_json()
        assert found["moved_since_edition"] is None
        assert {row["moved"] for row in found["rows"]} == {None}
        assert "▲" not in main(client.get(f"/tasks/t{state}"))


@pytest.mark.usefixtures("revised")
def test_the_page_and_its_files_say_the_same(client: FlaskClient) -> None:
    """Arrows with words beside the rank, once what they are since, and a column that can be left out."""
    page = client.get("/tasks/t")
    ranks = {row[2].split()[0]: row[0].split() for row in table(page, "Ranked by")}
    assert [(ranks[name][0], ranks[name][-1]) for name in ("fresh", "third", "first")] == [
        ("1", "new"),
        ("2", "▲2"),
        ("3", "▼1"),
    ]
    assert "new" not in ranks["base"]
    assert [arrow["aria-label"] for arrow in parsed(page).select("small.move[role=img]")] == [
        "up 2 ranks",
        "down 1 rank",
    ]
    assert "2 of 3 runs moved (▲▼)" in main(page)
    links = parsed(page)
    assert links.select('caption a[href="/tasks/t?edition=1"]')
    assert links.select('#reading a[href="/tasks/t/revisions/2"]')
    assert "▲" not in main(client.get("/tasks/t?columns=RR"))
    found = client.get("/tasks/t.json").get_json()
    moved = {row["run"]: row["moved"] for row in found["rows"]}
    assert (found["moved_since_edition"], moved) == (
        1,
        {"fresh": None, "third": 2, "first": -1, "second": 0, "base": None},
    )
    lines = csv.DictReader(io.StringIO(client.get("/tasks/t.csv").get_data(as_text=True)))
    assert {line["run"]: line["moved"] for line in lines} == {
        run: "" if places is None else str(places) for run, places in moved.items()
    }


def test_a_blind_board_tells_no_more_than_its_rounded_scores(database: Database, tmp_path: Path) -> None:
    """Moves are of what the board of each edition shows to the reader: public topics, three decimals."""
    blind.task(database, tmp_path)
    hidden = {topic: {"x0": 1} for topic in blind.TOPICS if topic not in blind.public(database)}
    build.revise(database, tmp_path, {topic: {"r": 1} for topic in blind.TOPICS} | hidden)
    build.drain(database)
    assert set(_moved(_board(database)).values()) == {0}
    with database.read() as session:
        whole = boards.board(session, OPERATOR, "t")
    assert set(_moved(whole).values()) != {0}
