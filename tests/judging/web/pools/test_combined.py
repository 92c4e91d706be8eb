"""The page of people and machine: drawing, judging, showing; its sentences."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.judging.web.pools.test_pools import organise
from tests.make import sampled
from tests.make.pages import parsed

BOARD = "/tasks/t/combined"


def _text(client: FlaskClient, address: str = BOARD) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(parsed(answer).get_text().split())


OPENED = {"state": "open", "highest_grade": "2", "without_texts": "yes"}


@pytest.mark.trial
def test_from_the_draw_to_everybodys_board(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """An organiser draws, a person judges, the board is shown, and the task's board leads to it."""
    sampled.task(database, tmp_path)
    assert client.get(BOARD).status_code == 404
    organise(database, client)
    assert "What people would say is unknown" in _text(client)
    assert client.post(BOARD, data={"share": "3"}).status_code == 422
    drawn = client.post(BOARD, data={"share": "50", "note": "first round"})
    assert (drawn.status_code, drawn.location) == (303, "/tasks/t/pools/1")
    assert "Sample for people, 50% of the machine’s revision 1" in _text(client, "/tasks/t/pools/1")
    assert client.post("/tasks/t/pools/1/state", data=OPENED).status_code == 303
    assert "0 of 26 topics are judged completely" in _text(client)
    sampled.judge(database, 1)
    text = _text(client)
    assert "Model-1 judged all 208 documents. People judge" in text
    assert "the top two runs" in text
    assert "Machine bias by team" in text
    assert "Visible to organisers only" in text
    client.post("/tasks/t/pools/1/shown", data={"shown": "1"})
    client.post("/sign-out")
    assert "Draw a larger sample" not in _text(client)
    status = parsed(client.get("/tasks/t")).select_one("p.status")
    assert status is not None
    assert status.find("a", href=BOARD)
    assert "no verdicts" in _text(client, f"{BOARD}?by=machine")
    assert client.get(f"{BOARD}?measure=AP").status_code == 422
    assert client.get(f"{BOARD}?sample=x").status_code == 422
    assert client.get(f"{BOARD}?sample=7").status_code == 404
    csv = client.get(f"{BOARD}.csv?table=teams").text.splitlines()
    assert csv[0] == "team,runs,favour,low,high,p,is_favoured,visible"


def test_whole_topics_by_the_form(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Drawn, judged, and said in words; a number of topics that cannot be is refused."""
    sampled.task(database, tmp_path)
    organise(database, client)
    for wrong in ("9", "27", "x"):
        assert client.post(BOARD, data={"topics": wrong}).status_code == 422
    drawn = client.post(BOARD, data={"topics": "12"})
    assert (drawn.status_code, drawn.location) == (303, "/tasks/t/pools/1")
    assert "Topics for people, 12 of the machine’s revision 1" in _text(client, "/tasks/t/pools/1")
    client.post("/tasks/t/pools/1/state", data=OPENED)
    assert "A board needs 10" in _text(client)
    sampled.judge(database, 1)
    text = _text(client)
    assert "People judge 12 of 26 topics completely (96 documents), drawn at random" in text
    assert "12 of them judged by people" in text
    assert "scores, weighted" in text
    assert "The judgments so far separate the top two runs with probability" in text
    facts = client.get(f"{BOARD}.json").get_json()
    assert facts["sample"]["design"] == "topics"
    assert client.get(f"{BOARD}.csv?table=models").text.startswith("model,runs,favour")
