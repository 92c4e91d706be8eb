"""A replica, a real standby: visitors read it, whoever acts never does, and it may go away."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import create_engine, text, update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.errors import Invalid
from leaderboard.settings import Settings
from tests.make import build, postgres
from tests.make.apps import application
from tests.make.postgres import Server
from tests.web.conftest import browser, enter

pytestmark = pytest.mark.trial
NAME = "leaderboard"
WRITTEN = "-c fsync=off"
"""A commit is in the log when it is acknowledged, or nobody could say when the replica has it."""


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    """A server with an empty, migrated database, and one that follows it."""
    if postgres.binaries() is None:
        pytest.skip("no PostgreSQL binaries (initdb, pg_ctl) on this machine")
    with postgres.own_server(WRITTEN) as first:
        postgres.make_template(first.url)
        postgres.copy(f"{first.url}/{NAME}", postgres.TEMPLATE, NAME)
        with postgres.own_server(WRITTEN, like=first) as follower:
            yield first, follower


@pytest.fixture(scope="module")
def followed(servers: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A site with a task `t`, and its replica."""
    first, follower = servers
    opened = Database(f"{first.url}/{NAME}", replica_url=f"{follower.url}/{NAME}")
    build.task(opened, tmp_path_factory.mktemp("task"))
    yield opened
    opened.dispose()


@pytest.fixture
def visitor(followed: Database, tmp_path: Path) -> FlaskClient:
    """A browser nobody is signed in with."""
    url = followed.engine.url.render_as_string(hide_password=False)
    return browser(application(Settings(data=tmp_path, database_url=url), followed))


def _ask(server: Server, statement: str) -> Any:
    engine = create_engine(f"{server.url}/{NAME}", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        answer = connection.execute(text(statement)).scalar()
    engine.dispose()
    return answer


def _catch_up(servers: tuple[Server, Server]) -> None:
    """Wait until the replica has all that was committed."""
    first, follower = servers
    reached = _ask(first, "SELECT pg_current_wal_lsn()")
    while _ask(follower, f"SELECT pg_last_wal_replay_lsn() < '{reached}'"):
        pass


@contextmanager
def _held(servers: tuple[Server, Server]) -> Iterator[None]:
    """The replica shows what it has by now, and nothing that is committed meanwhile."""
    _catch_up(servers)
    _ask(servers[1], "SELECT pg_wal_replay_pause()")
    while _ask(servers[1], "SELECT pg_get_wal_replay_pause_state()") != "paused":
        pass
    try:
        yield
    finally:
        _ask(servers[1], "SELECT pg_wal_replay_resume()")
    _catch_up(servers)


def _rename(database: Database, name: str) -> None:
    with database.write() as session:
        session.execute(update(Task).values(name=name))


def test_visitors_read_the_replica_and_who_is_signed_in_does_not(
    servers: tuple[Server, Server], followed: Database, visitor: FlaskClient
) -> None:
    """What the replica has not yet is shown to who may have made it; visitors have it with the replica."""
    signed_in = browser(visitor.application)
    enter(followed, signed_in, "Ann")
    _rename(followed, "Early")
    with _held(servers):
        assert "Early" in visitor.get("/tasks/t").text
        _rename(followed, "Late")
        assert "Late" in signed_in.get("/tasks/t").text
        for _ in range(2):
            assert "Early" in visitor.get("/tasks/t").text
    for _ in range(2):
        assert "Late" in visitor.get("/tasks/t").text


def test_without_its_replica_a_site_goes_on(
    servers: tuple[Server, Server], followed: Database, visitor: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Visitors are shown the database's own pages, and the replica's again once it answers."""
    monkeypatch.setattr("leaderboard.db.engine.REPLICA_AGAIN_S", 0.0)
    servers[1].stop()
    _rename(followed, "Alone")
    assert "Alone" in visitor.get("/tasks/t").text
    servers[1].start()
    _catch_up(servers)
    with _held(servers):
        _rename(followed, "Newer")
        assert "Alone" in visitor.get("/tasks/t").text


def test_a_lost_replica_is_left_alone_for_a_while(followed: Database) -> None:
    """Not every page waits for a machine that does not answer."""
    followed.lose_replica("it is tried")
    assert followed.replica is None
    with followed.read_replica() as session:
        assert not session.scalar(text("SELECT pg_is_in_recovery()"))
    followed._replica_again = 0.0
    with followed.read_replica() as session:
        assert session.scalar(text("SELECT pg_is_in_recovery()"))
        with pytest.raises(AssertionError, match="reading session"):
            session.add(Task())
            session.flush()


def test_only_postgresql_has_replicas(tmp_path: Path) -> None:
    """SQLite's file has no server that could be followed."""
    with pytest.raises(Invalid, match="PostgreSQL"):
        Database(f"sqlite:///{tmp_path / 'one'}", replica_url=f"sqlite:///{tmp_path / 'other'}")
