"""Two sites that differ only in what is held back answer the same to everybody it is held back from.

After the two-worlds test of information flow (non-interference; Goguen and Meseguer 1982): whatever a
visitor or another team's member can ask for, byte for byte, header for header.
"""

import secrets
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update

from leaderboard.db import schema
from leaderboard.db.base import UtcDateTime
from leaderboard.db.engine import Database
from leaderboard.db.tables import TopicSet, metadata
from leaderboard.services import policy
from leaderboard.settings import Settings
from leaderboard.web import create_app
from tests import build
from tests.services import people
from tests.web.conftest import browser, enter

TOPICS = tuple(str(number) for number in range(1, 11))
MOMENT = datetime.now(UTC).replace(microsecond=0)
STATES = ["?measure=RR", "?measure=Judged@10", "?measure=AP", "?edition=1", "?edition=2", "?all", "?docno=a"]
SUFFIXED = ("", ".json", ".csv")


def _judgments(public: set[str], held_back: bool) -> dict[str, dict[str, int]]:
    """Public topics alike in both worlds; the others have other grades and other documents judged."""
    other = {"late00": 1, "a": 0, "p03": 1, "p04": 0}
    return {
        topic: {"a": 1, "b": 0, "late01": 1} if topic in public or not held_back else other
        for topic in TOPICS
    }


def _world(folder: Path, visibility: str, held_back: bool) -> Iterator[tuple[Flask, Database]]:
    """A site with one task, two teams of one member each, a run of each, everything at the same moment."""
    folder.mkdir()
    database = Database(f"sqlite:///{folder / 'world.sqlite3'}")
    schema.upgrade(database)
    one, two = people.account(database, "Ann"), people.account(database, "Bob")
    teams = {"One": people.team(database, "One", one), "Two": people.team(database, "Two", two)}
    build.task(
        database,
        folder,
        judgments=None,
        topics=TOPICS,
        measures=("RR", "AP", "Judged@10"),
        visibility=visibility,
    )
    with database.read() as session:
        public = set(session.scalar(select(TopicSet.topics).where(TopicSet.name == "public")) or ())
    build.revise(database, folder, _judgments(public, held_back))
    for place, name in enumerate(teams):
        late = [f"late{number:02}" for number in range(12)]
        rankings = {topic: [*late[: place + 1], "a", *late[place + 1 :], "b"] for topic in TOPICS}
        build.run(database, folder, rankings, f"run-{name}", team_name=name)
    build.drain(database)
    _stop_the_clock(database)
    yield create_app(Settings(data=folder, database_url=str(database.engine.url)), database), database
    database.dispose()


def _stop_the_clock(database: Database) -> None:
    with database.write() as session:
        for table in metadata.sorted_tables:
            for column in table.columns:
                if isinstance(column.type, UtcDateTime) and not column.primary_key:
                    session.execute(update(table).where(column.is_not(None)).values({column.name: MOMENT}))


@pytest.fixture(params=["blind", "sealed"])
def worlds(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list]:  # type: ignore[type-arg]
    """The application and database of two worlds that differ in held-back judgments only."""
    monkeypatch.setattr(secrets, "token_urlsafe", lambda *_: "the-same-in-both-worlds")
    made = [_world(tmp_path / name, request.param, name == "b") for name in ("a", "b")]
    yield [next(world) for world in made]
    for world in made:
        assert next(world, None) is None


def _addresses(app: Flask) -> list[str]:
    """Every GET rule with every object there is, with and without parameters."""
    values = {
        "slug": ["t"],
        "run_id": ["1", "2"],
        "topic_id": list(TOPICS[:4]),
        "upload_id": ["1", "2"],
        "team_id": ["1", "2"],
        "token": ["x"],
        "filename": ["app.css"],
    }
    found: list[str] = []
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()):
            continue
        paths = [rule.rule]
        for argument in rule.arguments:
            spelled = next(part for part in rule.rule.split("/") if f"{argument}>" in part)
            placeholder = spelled[spelled.index("<") : spelled.index(">") + 1]
            paths = [path.replace(placeholder, value) for path in paths for value in values[argument]]
        found += paths
    return [path + state for path in found for state in ("", *STATES)]


def _answer(client: FlaskClient, address: str) -> tuple[int, list[tuple[str, str]], bytes]:
    response = client.get(address)
    headers = sorted((key, value) for key, value in response.headers if key != "Date")
    return response.status_code, headers, response.get_data()


def _differences(worlds: list, name: str | None) -> list[str]:  # type: ignore[type-arg]
    """The addresses whose answers differ between the worlds, for a visitor or an account."""
    clients = []
    for app, database in worlds:
        client = browser(app)
        if name is not None:
            enter(database, client, name)
        clients.append(client)
    return [
        address
        for address in _addresses(worlds[0][0])
        if _answer(clients[0], address) != _answer(clients[1], address)
    ]


@pytest.mark.parametrize("name", [None, "Ann", "Bob", "Stranger"])
def test_nothing_that_is_held_back_shows(worlds: list, name: str | None) -> None:  # type: ignore[type-arg]
    """Visitor, both teams' members and a stranger get the same bytes and headers in both worlds."""
    assert _differences(worlds, name) == []


def test_planted_leaks_are_found(worlds: list, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[type-arg]
    """Showing details, means over all topics, or unrounded scores makes the two worlds differ."""
    real = policy.sight
    leaks = [
        lambda seen: replace(seen, details=True),
        lambda seen: replace(seen, means=True, topic_set=policy.ALL_TOPICS, decimals=None),
        lambda seen: replace(seen, means=True, details=True, topic_set=policy.ALL_TOPICS),
    ]
    for leak in leaks:
        monkeypatch.setattr(policy, "sight", lambda *given, leak=leak: leak(real(*given)))
        assert _differences(worlds, None), leak
