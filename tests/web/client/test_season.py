"""A blind track where the organiser has the API and the team nothing but its client."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from leaderboard_submit import Client, OverQuota

from tests.make import build
from tests.web.api.conftest import Program, Programs
from tests.web.conftest import Site

TASK = "/tasks/track"
TOPICS = [str(number) for number in range(1, 9)]
GOOD, MIDDLING, BAD = (
    {topic: {f"d{topic}-{n}": -float(place) for place, n in enumerate(order)} for topic in TOPICS}
    for order in (range(1, 13), (3, 2, 1, *range(4, 13)), range(12, 0, -1))
)


def _moment(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def _ask(program: Program, method: str, path: str, body: Any = None, file: str | None = None) -> Any:
    answer = program.ask(method, path, **({"data": file} if file is not None else {"json": body}))
    assert answer.status_code < 300, f"{method} {path}: {answer.text}"
    return answer.json


def _made(olga: Program) -> None:
    _ask(olga, "PUT", f"{TASK}?name=Track", file="".join(f"{topic}\ttopic {topic}\n" for topic in TOPICS))
    qrels = "".join(f"{topic} 0 d{topic}-1 1\n" for topic in TOPICS)
    draft = _ask(olga, "POST", f"{TASK}/revisions/drafts?note=first", file=qrels)["draft"]
    _ask(olga, "POST", f"{TASK}/revisions/drafts/{draft}/publish", {"base": 0})
    _ask(olga, "PATCH", f"{TASK}/settings", {"settings": {"final_runs": "1"}})
    phase = {"name": "main", "visibility": "blind", "closes_at": _moment(5), "runs_in_all": 3}
    _ask(olga, "PUT", f"{TASK}/phases/main", {"phase": phase})
    _ask(olga, "POST", f"{TASK}/publish")


@pytest.mark.trial
def test_a_blind_season_by_client(
    site: Site, program: Programs, client: Client, clients: Callable[..., Client], address: str
) -> None:
    """Three runs of three, then none; one is chosen, one withdrawn; the reveal ranks the one that counts."""
    olga, visitor = program("Olga", "read", "organise"), clients(address)
    _made(olga)
    assert "track" in [row["task"] for row in visitor.tasks()]
    assert visitor.check("track", GOOD).accepted
    sent = [
        client.submit("track", rankings, name=name)
        for name, rankings in (("good", GOOD), ("middling", MIDDLING), ("bad", BAD))
    ]
    assert [run.left_in_all for run in sent] == [2, 1, 0]
    with pytest.raises(OverQuota):
        client.submit("track", GOOD, name="more")
    client.withdraw(sent[2].run_id, "A mistake.")
    client.choose(sent[1].run_id)
    assert {row["run"] for row in visitor.board("track")["rows"]} == {"good", "middling"}

    _ask(olga, "PUT", f"{TASK}/dates", {"closes_at": _moment(-1), "reason": "All runs are in."})
    build.drain(site.database)
    rows = {row["run"]: row for row in visitor.board("track")["rows"]}
    assert rows["middling"]["rank"] == 1
    assert rows["good"]["rank"] is None
