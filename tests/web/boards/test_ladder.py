"""The Ladder on every surface of a blind task: what it keeps back shows nowhere while the task is blind."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from flask import Flask
from sqlalchemy import select, update

from leaderboard.checksums import of_row
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, EvaluationMean, TaskRole, TopicSet
from leaderboard.services import snapshots
from leaderboard.services.policy import OPERATOR
from leaderboard.web import health, requests
from leaderboard.web.runs import uploads
from tests.make import blind, phased, twins, walks
from tests.web.conftest import browser, enter

FORMS = ("", ".json", ".csv", ".tex")
ADDRESSES = (
    *(f"{page}{form}" for page in ("/tasks/t", "/my", "/runs/2") for form in FORMS),
    *(f"/tasks/t/{page}.json" for page in ("history", "reveal", "efficiency", "intervals")),
    *("/tasks/t/history", "/tasks/t/reveal"),
    *("/tasks/t?one=team", "/tasks/t?measure=NumRel", "/tasks/t.json?edition=1", "/tasks/t?at=9000-01-01"),
    *("/", "/tasks.json", "/runs/1", "/runs/3", "/runs/2/origin", "/tasks/t/about", "/tasks/t/measures.json"),
    *("/tasks/t/compare?a=1&b=2", "/tasks/t/topics.json", "/runs/2.trec_eval", "/tasks/t/pools/audit.json"),
)


@pytest.fixture
def ids(database: Database, tmp_path: Path) -> dict[str, int]:
    """A blind task by the Ladder; Ann's second run is no better than her first."""
    ids = blind.task(database, tmp_path)
    blind.settle(database, ladder_step=0.1)
    return ids


def _answers(app: Flask, database: Database, name: str | None) -> Iterator[tuple[str, int, bytes]]:
    client = browser(app)
    if name is not None:
        enter(database, client, name)
    for address in ADDRESSES:
        answer = client.get(address)
        assert answer.status_code < 500
        yield address, answer.status_code, answer.get_data()


def _move(database: Database, run_id: int, by: float) -> None:
    """Change what a run got on the public topics."""
    of_run = select(Evaluation.id).where(Evaluation.run_id == run_id)
    public = select(TopicSet.id).where(TopicSet.name == "public").scalar_subquery()
    moved = update(EvaluationMean).where(
        EvaluationMean.evaluation_id.in_(of_run), EvaluationMean.topic_set_id == public
    )
    with database.write() as session:
        session.execute(moved.values(mean=EvaluationMean.mean + by))
        for mean in session.scalars(select(EvaluationMean)):
            mean.checksum = of_row(mean.summed)


@pytest.mark.slow
@pytest.mark.trial
@pytest.mark.parametrize("name", [None, "Ann"])
def test_no_address_tells_of_it(
    app: Flask, database: Database, ids: dict[str, int], monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    """Every address of the task, its runs and its people answers a visitor and the team itself as before."""
    monkeypatch.setattr(uploads, "secrets", SimpleNamespace(token_urlsafe=lambda _: "chance"))
    monkeypatch.setattr(requests, "new_id", lambda: "chance")
    twins.note_at_one_moment(monkeypatch)
    # How long ago somebody worked changes with the moment; who asks from elsewhere is told none of it.
    monkeypatch.setattr(health, "_counts", lambda _: {})
    monkeypatch.setattr(requests, "_record", walks.noted_once(requests._record))
    client = browser(app)
    if name is not None:
        enter(database, client, name)
    ask = walks.asking(client)
    objects = {**phased.OBJECTS, "slug": ("t",), "run_id": tuple(ids.values())}
    paths = [
        path
        for rule in app.url_map.iter_rules()
        if "GET" in (rule.methods or ())
        # What a whole site counts is told to its operators alone, whom a test on loopback passes for.
        for path in walks.paths(rule, objects)
        if path != "/metrics"
    ]

    def answers() -> dict[str, object]:
        return {path: ask(path) for path in paths}

    answers()
    before = answers()
    _move(database, ids["even"], 0.3)
    after = answers()
    assert [path for path in paths if after[path] != before[path]] == []
    _move(database, ids["even"], 0.5)
    board = "/tasks/t.json"
    assert ask(board) != before[board], "beyond the step it shows"


def test_a_score_that_is_no_improvement_shows_nowhere(
    app: Flask, database: Database, ids: dict[str, int]
) -> None:
    """Whatever a later run really got, everybody reads the same bytes; its frozen board is the same too."""

    def seen(*names: str | None) -> list[list[tuple[str, int, bytes]]]:
        return [list(_answers(app, database, name)) for name in names]

    def frozen() -> str:
        with database.read() as session:
            return snapshots.freeze(session, OPERATOR, "t").sha256

    before, frozen_before = seen(None, "Ann"), frozen()
    assert {status for _, status, _ in before[1]} >= {200, 404}
    _move(database, ids["even"], 0.3)
    for one, other in zip(before, seen(None, "Ann"), strict=True):
        assert [found[0] for found, again in zip(one, other, strict=True) if found != again] == []
    assert frozen() == frozen_before
    blind.settle(database, ladder_step=None)
    changed = [found[0] for found, again in zip(before[1], seen("Ann")[0], strict=True) if found != again]
    assert {"/tasks/t", "/tasks/t.json", "/tasks/t.csv", "/runs/2", "/runs/2.json", "/my", "/my.json"} <= {
        *changed
    }


def test_teams_read_steps_and_organisers_both(app: Flask, database: Database, ids: dict[str, int]) -> None:
    """A later run shows its team's best; the organisers read real scores, and beside them what teams read."""
    client = browser(app)
    rows = {row["run"]: row["scores"]["RR"] for row in client.get("/tasks/t.json").get_json()["rows"]}
    assert rows == {"public": 1.0, "even": 1.0, "hidden": 0.2}
    assert "improves on its best by more than 0.1" in client.get("/tasks/t").text
    olga = enter(database, client, "Olga", is_organiser=True)
    with database.write() as session:
        session.add(TaskRole(task_id=1, account_id=olga, role="organiser"))
    runs = client.get("/tasks/t/reveal.json").get_json()["runs"]
    (even,) = (row for row in runs if row["run"] == "even")
    assert (even["public"], even["shown"]) == (pytest.approx(0.55), 1.0)
    assert "Bits told, at most" in client.get("/tasks/t/reveal").text


def test_withdrawing_does_not_start_the_ladder_anew(
    app: Flask, database: Database, ids: dict[str, int]
) -> None:
    """Else a team could withdraw its best and have the next one answered."""
    client = browser(app)
    enter(database, client, "Ann")
    assert client.post(f"/runs/{ids['public']}/withdraw", data={"why": "to ask again"}).status_code == 303
    rows = {row["run"]: row["scores"]["RR"] for row in client.get("/tasks/t.json").get_json()["rows"]}
    assert rows == {"even": 1.0, "hidden": 0.2}
