"""Two sites that differ in nuggets of a topic that is held back show the same of a judge's labels."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update
from werkzeug.test import TestResponse

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Phase, Run, Task
from leaderboard.judges.ops.labels import reference
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.web import session
from tests.judges import make as judging
from tests.make import answers, build, nuggeted, people, twins
from tests.make.twins import World

pytestmark = pytest.mark.trial
HIDDEN = {"a": ("known to a", "vital"), "b": ("known to b", "okay")}
PARTS = ("assignments", "support")
ENDINGS = ("", "/1", "/2", *(f"{of}.{form}" for of in ("", "/1", "/2") for form in ("json", "csv")))
STATES = ("", "?documents=either&all", "?part=support", "?table=nuggets", "?table=nugget-words", "?scale=0=0")


@pytest.fixture(scope="module")
def filled(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, World]]:
    """Two worlds with the same clock and ids, built once."""
    yield from twins.pair(sqlite_template, tmp_path_factory, _world)


def _world(template: Path, folder: Path, secret: str, moment: datetime) -> World:
    return twins.build(template, folder, secret, moment, _fill)


def _fill(database: Database, folder: Path, secret: str) -> None:
    people.team(database, "Owls", people.account(database, "Ann"))
    judging.answered_task(database, folder)
    _judge_anew(database, folder, secret)
    judging.task(database, folder, topics=("1", "2"))
    judging.refer_to(database, "said", measure="NuggetRecall(set=all)")
    sent = judging.archive(folder, **_parts(secret))
    made = build.submit(database, sent, "judged", team_name="Bears", run_request=RunRequest("oak"))
    assert made.run_id is not None, made.report
    build.drain(database)
    with database.write() as session:
        of_judges = select(Task.id).where(Task.slug == "judged").scalar_subquery()
        over = now(session) - timedelta(days=1)
        session.execute(update(Phase).where(Phase.task_id == of_judges).values(closes_at=over))
    judging.score_only(database, "said", "1")


def _parts(secret: str) -> dict[str, list[answers.Line]]:
    """A judge's own nuggets, of which that on topic 2 is known to one world, with labels by that world."""
    parts = judging.own_parts()
    text, importance = HIDDEN[secret]
    for line in [*parts["nuggets"], *parts["assignments"]]:
        if line["qid"] == "2":
            own = next(nugget for nugget in line["nuggets"] if nugget["text"] == "sky")
            own |= {"text": text, "importance": importance}
    for line in parts["support"]:
        if line["topic_id"] == "2" and secret == "b":
            line["sentences"][0]["citations"][0]["support"] = "0"
    return parts


def _judge_anew(database: Database, folder: Path, secret: str) -> None:
    """What people say of topic 2 is known to one world as well."""
    text, importance = HIDDEN[secret]
    lines = judging.held_nuggets()
    for line in lines:
        if line["qid"] == "2":
            line["nuggets"][0] |= {"text": f"people: {text}", "importance": importance}
    sets = [
        answers.nuggets(line["qid"], **{one["text"]: one["importance"] for one in line["nuggets"]})
        for line in lines[:2]
    ]
    files = nuggeted.files(folder, nuggets=sets, assignments=lines)
    nuggeted.revise(database, files, slug="said")
    build.drain(database)


@pytest.fixture
def worlds(filled: tuple[World, World], monkeypatch: pytest.MonkeyPatch) -> tuple[World, World]:
    """The two worlds, where chance is the same too."""
    monkeypatch.setattr(session, "new_id", lambda: "chance")
    return filled


def _differences(worlds: tuple[World, World], name: str | None) -> Iterator[str]:
    """The addresses of labels that do not answer alike, byte for byte, header for header."""
    clients = [world.browser(name) for world in worlds]
    with worlds[0].database.read() as session:
        run_id = session.scalars(select(Run.id).where(Run.name == "oak")).one()
    for ending in ENDINGS:
        for state in STATES:
            address = f"/tasks/judged/judges/{run_id}/labels{ending}{state}"
            one, other = (client.get(address) for client in clients)
            if _told(one) != _told(other):
                yield address


def _told(answer: TestResponse) -> tuple[int, bytes, list[tuple[str, str]]]:
    """All of an answer but when it was given."""
    headers = sorted(header for header in answer.headers if header[0] != "Date")
    return answer.status_code, answer.data, headers


@pytest.mark.parametrize("name", [None, "Ann"])
def test_no_labels_tell_of_a_topic_that_is_held_back(worlds: tuple[World, World], name: str | None) -> None:
    """Neither a visitor nor another team's member reads of nuggets or labels there."""
    assert list(_differences(worlds, name)) == []


def test_the_walk_is_worth_something(worlds: tuple[World, World]) -> None:
    """Topic 1 is shown with both sets and both kinds of labels, topic 2 is not."""
    client = worlds[0].browser(None)
    with worlds[0].database.read() as session:
        run_id = session.scalars(select(Run.id).where(Run.name == "oak")).one()
    address = f"/tasks/judged/judges/{run_id}/labels"
    for part in PARTS:
        found = client.get(f"{address}.json?part={part}").get_json()
        assert [row["topic"] for row in found["topics"]] == ["1"]
        assert [row["topic"] for row in found["nuggets"]] == ["1"] * (part == "assignments")
    assert client.get(f"{address}/1").status_code == 200
    assert client.get(f"{address}/2").status_code == 404


def test_a_planted_leak_is_found(worlds: tuple[World, World], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all topics are taken for shown, the worlds differ."""
    real = reference._seen_topics
    monkeypatch.setattr(reference, "_seen_topics", lambda *given: (real(*given)[0], frozenset({"1", "2"})))
    assert any("nugget" in address for address in _differences(worlds, None))
