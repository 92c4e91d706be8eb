"""A board on some of its topics: means over these alone, ranks by them, and no verdict."""

from pathlib import Path

import pytest
from sqlalchemy import update

from leaderboard.boards.ops.board import Board, board
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase
from leaderboard.errors import Invalid
from tests.make import build
from tests.make.copies import built_once

RUNS = {
    "wide": {"1": ["a", "c"], "2": ["a", "d"], "3": ["x", "y"]},
    "late": {"1": ["x", "a"], "2": ["d", "a"], "3": ["e", "f"]},
}
"""P@2 1, .5 and 0 against .5, .5 and 1; RR 1, .5 and 0 against .5, 1 and 1."""


@pytest.fixture
@built_once
def runs(database: Database, tmp_path: Path) -> list[int]:
    """Two scored runs of an open task."""
    build.task(database, tmp_path, measures=("P@2", "RR", "NumRelRet", "GMAP"))
    made = [build.run(database, tmp_path, run, name) for name, run in RUNS.items()]
    build.drain(database)
    return made


def shown(database: Database, *topics: str, viewer: Viewer = ANONYMOUS, measure: str | None = None) -> Board:
    """The board on some topics."""
    with database.read() as session:
        return board(session, viewer, "t", measure, topics=topics)


def test_means_and_ranks_are_of_the_chosen_topics(database: Database, runs: list[int]) -> None:
    """On topic 1 the other run leads; the status says how many topics there are, the sentence why no more."""
    whole = shown(database)
    assert [row.run for row in whole.rows] == ["late", "wide"]
    one = shown(database, "1")
    assert [(row.rank, row.run, row.scores["P@2"]) for row in one.rows] == [
        (1, "wide", 1.0),
        (2, "late", 0.5),
    ]
    assert one.basis is not None
    assert (one.basis.topics, one.chosen_topics, one.standing) == (1, ("1",), None)
    assert one.sentences[0].startswith("Means over 1 selected topic of 3. No significance tests")
    assert one.places == {}
    two = shown(database, "2", "1", "1")
    assert two.chosen_topics == ("1", "2")
    by_run = {row.run: row.scores for row in two.rows}
    assert by_run["wide"]["RR"] == pytest.approx(0.75)
    assert (by_run["wide"]["NumRelRet"], by_run["late"]["NumRelRet"]) == (3, 2)
    assert by_run["late"]["GMAP"] == pytest.approx((0.25 * 1.0) ** 0.5)


def test_all_topics_chosen_are_the_board(database: Database, runs: list[int]) -> None:
    """The same values, whatever is aggregated how; the verdicts stay out, as the reader chose."""
    whole, chosen = shown(database), shown(database, "1", "2", "3")
    assert [row.scores for row in chosen.rows] == [pytest.approx(row.scores) for row in whole.rows]
    assert whole.standing is not None
    assert chosen.standing is None


def test_topics_that_do_not_count_are_refused(database: Database, runs: list[int]) -> None:
    """By name; and while scores by topic are held back any topic is, whether it is one or not."""
    with pytest.raises(Invalid, match="do not count for the board: 4, none"):
        shown(database, "1", "none", "4")
    with database.write() as session:
        session.execute(update(Phase).values(visibility="blind"))
    said = set()
    for topic in ("1", "none"):
        with pytest.raises(Invalid) as refused:
            shown(database, topic)
        said.add(refused.value.message)
    assert said == {"Topic scores are hidden, so a board on selected topics is not available."}
    assert shown(database, "1", viewer=OPERATOR).chosen_topics == ("1",)
