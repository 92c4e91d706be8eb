"""The board's links and its refreshing while it is scored again."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from leaderboard.web import boards
from tests import build
from tests.web.pages import parsed

HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}


@pytest.fixture
def rescoring(database: Database, tmp_path: Path) -> None:
    """A board of three runs while a second revision is scored."""
    build.task(database, tmp_path, measures=("RR", "AP"))
    for number in range(3):
        build.run(database, tmp_path, HALF, f"run-{number}")
    build.drain(database)
    build.revise(database, tmp_path, {"1": {"a": 1}})


@pytest.mark.usefixtures("rescoring")
def test_a_board_that_refreshes_itself_stays_as_it_was_asked_for(client: FlaskClient) -> None:
    """Polling asks for the same order again, and says how far the scoring is."""
    state = parsed(client.get("/tasks/t?measure=AP")).find(id="rescoring")
    assert state is not None
    assert state["hx-get"] == "/tasks/t?measure=AP"
    assert "revision 2: 0 of 3 done" in " ".join(state.get_text().split())
    assert "Until then the board shows revision 1" in " ".join(state.get_text().split())


@pytest.mark.usefixtures("rescoring")
def test_a_long_board_is_cut_and_stays_whole_once_asked_for(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows and a link to all; the links that sort keep all, and the files always have all."""
    monkeypatch.setattr(boards, "ROWS_AT_FIRST", 2)
    cut = parsed(client.get("/tasks/t?measure=AP"))
    assert len(cut.find_all("tr")) == 1 + 2
    (everything,) = cut.find_all("a", string="All 3 runs")
    whole = parsed(client.get(str(everything["href"])))
    assert len(whole.find_all("tr")) == 1 + 3
    assert whole.find("a", string="All 3 runs") is None
    head = whole.find("a", string="RR")
    assert head is not None
    assert len(parsed(client.get(str(head["href"]))).find_all("tr")) == 1 + 3
    assert len(client.get("/tasks/t.json").get_json()["rows"]) == 3
