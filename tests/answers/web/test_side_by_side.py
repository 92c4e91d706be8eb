"""Two answers side by side, without a name: what each says, and the documents it cites."""

import json
from pathlib import Path

from flask.testing import FlaskClient

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.judging.ops import judging, side_by_side
from leaderboard.judging.ops.side_by_side import ComparisonRequest
from tests.make import answered, pages


def test_an_assessor_reads_two_answers_and_prefers_one(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Segments lead to the documents of their side, whose texts open; no run is named."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"_id": "d4", "title": "On light", "text": "Blue is scattered."}) + "\n")
    answered.task(database, tmp_path, documents=corpus)
    runs = [
        answered.run(database, tmp_path, name="zeppelin"),
        answered.run(
            database, tmp_path, {"1": [("Because <i>God</i>.", ["d4"])]}, "yacht", team_name="Other"
        ),
    ]
    with database.write() as session:
        (link,) = judging.add_link(session, OPERATOR, "answers", ["Ada"])
        request = ComparisonRequest(run=runs[0], others=(runs[1],), assessors=(1,), topics=("1",))
        side_by_side.ask_pair(session, OPERATOR, "answers", request)
    start = f"/judge/{link.token}"
    page = pages.parsed(client.get(f"{start}/side-by-side"))
    here = str(page.select_one("main tbody a")["href"])
    page = pages.parsed(client.get(here))
    sides = {side: page.find(id=side) for side in ("left", "right")}
    said = {side: [text.text for text in part.find_all(class_="answer-text")] for side, part in sides.items()}
    long, short = sorted(said.values(), key=len, reverse=True)
    assert [text.split() for text in long] == [
        ["Air", "scatters", "<b>blue</b>", "light", "most.", "[1]", "[2]"],
        ["It", "always", "did."],
    ]
    assert [text.split() for text in short] == [["Because", "<i>God</i>.", "[1]"]]
    for side, part in sides.items():
        assert part.find("a", href=f"#{side}-1") is not None
        assert "Blue is scattered." in part.find(id=f"{side}-1").text
    assert not any(name in page.text for name in ("zeppelin", "yacht"))
    sent = client.post(
        here, data={**pages.form(client.get(here), here), "verdict": "left", "left": "3", "right": "2"}
    )
    assert sent.status_code == 303
