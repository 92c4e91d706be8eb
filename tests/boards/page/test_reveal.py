"""Public and hidden topics side by side: for organisers before the close, for everybody after it."""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.boards.ops import board
from leaderboard.boards.page import tables, view
from leaderboard.boards.page.view import BoardChoice
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase, Run, Task
from leaderboard.errors import NotFound
from leaderboard.qrels.page import reveal
from leaderboard.qrels.page.reveal import RevealPage
from leaderboard.runs.ops import withdrawals
from leaderboard.scoring.ops import scored_topics
from tests.make import blind, build, people
from tests.make.copies import built_once


@pytest.fixture
@built_once
def ids(database: Database, tmp_path: Path) -> dict[str, int]:
    """A blind task with five public and five hidden topics."""
    return blind.task(database, tmp_path)


def _page(database: Database, viewer: Viewer = ANONYMOUS, slug: str = "t") -> RevealPage:
    with database.read() as session:
        return reveal.reveal_page(session, viewer, slug)


def _board(database: Database, viewer: Viewer = ANONYMOUS) -> list[dict[str, object]]:
    with database.read() as session:
        shown = view.view(session, viewer, board.board(session, viewer, "t"), BoardChoice())
        rows: list[dict[str, object]] = tables.facts(shown)["rows"]
        assert [row.get("public_rank") for row in rows] == [
            row.get("public_rank") for row in tables.table(shown).facts()
        ]
        return rows


def test_every_run_is_shown_on_both(database: Database, ids: dict[str, int]) -> None:
    """Ranks, scores and moves, from the public to the hidden topics."""
    blind.close(database)
    page = _page(database)
    assert (page.public_topics, page.hidden_topics, page.is_closed, page.budget) == (5, 5, True, None)
    facts = reveal.facts(page)
    assert [
        (row["run"], row["public_rank"], row["hidden_rank"], row["moved_up"], row["public"], row["hidden"])
        for row in facts["runs"]
    ] == [
        ("hidden", 3, 1, 2, 0.25, 1.0),
        ("even", 2, 2, 0, pytest.approx(0.55), pytest.approx(0.55)),
        ("public", 1, 3, -2, 1.0, 0.25),
    ]
    assert [row["all"] for row in facts["runs"]] == pytest.approx([0.625, 0.55, 0.625])
    assert facts["tau"] == pytest.approx(-1.0)
    assert "budget" not in facts


def test_the_board_says_how_far_each_run_moved(database: Database, ids: dict[str, int]) -> None:
    """From its public rank to that on the board, once the hidden topics are shown."""
    assert all("public_rank" not in row for row in _board(database))
    blind.close(database)
    assert [
        (row["run"], row["rank"], row["public_rank"], row["moved_up"], row["public_score"])
        for row in _board(database)
    ] == [("hidden", 1, 3, 2, 0.25), ("public", 1, 1, 0, 1.0), ("even", 3, 2, -1, pytest.approx(0.55))]


@pytest.mark.parametrize(("task", "phase", "has_them"), [("open", "blind", True), ("blind", "open", False)])
def test_the_board_follows_its_phase(
    database: Database, ids: dict[str, int], task: str, phase: str, has_them: bool
) -> None:
    """Public ranks are those of a blind phase, whatever the task says of its other phases."""
    blind.close(database)
    blind.settle(database, visibility=task)
    with database.write() as session:
        session.execute(update(Phase).values(visibility=phase))
    assert [("public_rank" in row) for row in _board(database)] == [has_them] * 3


def test_a_team_that_marked_none_counts_by_the_topics_of_its_phase(
    database: Database, tmp_path: Path, ids: dict[str, int]
) -> None:
    """Its best run on the public topics of a blind phase, and on all of an open one."""
    shown = blind.public(database)
    good = [topic for topic in blind.TOPICS if topic not in shown] + shown[:2]
    ids["deep"] = build.run(database, tmp_path, blind.ranked(good), "deep", team_name="Owls")
    build.drain(database)
    blind.close(database)
    blind.settle(database, final_runs=1, unmarked="best")
    counting = {}
    for visibility in ("blind", "open"):
        with database.write() as session:
            session.execute(update(Phase).values(visibility=visibility))
        with database.read() as session:
            left_out = scored_topics.not_chosen(session, session.scalars(select(Task)).one())
        counting[visibility] = {name for name, run_id in ids.items() if run_id not in left_out}
    assert counting == {"blind": {"public", "hidden"}, "open": {"deep", "hidden"}}


def test_ranks_are_among_the_runs_that_count(database: Database, ids: dict[str, int]) -> None:
    """A run that was not chosen has no rank on either side, and a place on neither."""
    blind.settle(database, final_runs=1)
    blind.close(database)
    runs = reveal.table(_page(database)).facts()
    rows = {row["run"]: (row["public_rank"], row["hidden_rank"]) for row in runs}
    assert rows == {"hidden": (2, 1), "public": (1, 2), "even": (None, None)}
    assert {row["run"]: row["public_rank"] for row in _board(database)}["even"] is None


def test_before_the_close_only_organisers_see_it(
    database: Database, ids: dict[str, int], tmp_path: Path
) -> None:
    """Everybody else is told that there is nothing yet; an open task has nothing to compare."""
    for viewer in (ANONYMOUS, people.viewer(database, 1)):
        with pytest.raises(NotFound, match="blind until it closes"):
            _page(database, viewer)
    page = _page(database, OPERATOR)
    assert not page.is_closed
    assert page.budget is not None
    assert [row["public_rank"] for row in _board(database, OPERATOR)] == [3, 1, 2]
    build.task(database, tmp_path, "open")
    with pytest.raises(NotFound, match="no public and hidden topics"):
        _page(database, OPERATOR, "open")


def test_the_budget_counts_what_was_told(database: Database, ids: dict[str, int], tmp_path: Path) -> None:
    """Answers to teams by the measures shown, withdrawn runs and earlier revisions too, baselines not."""

    def budget() -> reveal.AnswerBudget:
        found = _page(database, OPERATOR).budget
        assert found is not None
        return found

    before = budget()
    assert (before.answers, before.teams, before.measures, before.decimals) == (3, 2, 2, 3)
    assert before.bits == pytest.approx(3 * 2 * 9.967, abs=0.01)
    assert before.hidden_order == 3, "of three runs there are six orders"
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, ids["even"], "a mistake")
        session.execute(update(Run).where(Run.id == ids["hidden"]).values(kind="baseline"))
    assert budget().answers == 2
    build.revise(database, tmp_path, {topic: {"r": 1, "n": 0, "m": 0} for topic in blind.TOPICS})
    build.drain(database)
    assert budget().answers == 3
    keys = [row.key for row in reveal.budget_rows(budget())]
    assert keys == ["answers", "teams", "bits", "order_bits", "error"]
