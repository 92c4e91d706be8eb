"""Fixtures shared by all tests."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text

from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from leaderboard.trec.read import kernel
from tests.make import postgres

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real runs, qrels and expected outputs; skips where it is absent."""
    folder = Path(os.environ.get("LEADERBOARD_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real runs and qrels at {folder} (set LEADERBOARD_SHARED_DATA)")
    return folder


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty SQLite file that each test copies."""
    path = tmp_path_factory.mktemp("template") / "empty.sqlite3"
    database = Database(f"sqlite:///{path}")
    schema.upgrade(database)
    with database.engine.connect() as connection:
        connection.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.dispose()
    return path


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server with a migrated database named `empty`; skips where there is none."""
    if postgres.binaries() is None:
        pytest.skip("no PostgreSQL binaries (initdb, pg_ctl) on this machine")
    with postgres.server() as url:
        _administer(url, 'CREATE DATABASE "empty"')
        database = Database(f"{url}/empty")
        schema.upgrade(database)
        database.dispose()
        yield url


def _administer(url: str, statement: str) -> None:
    engine = create_engine(f"{url}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


def _sqlite_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / "leaderboard.sqlite3"
    shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
    return f"sqlite:///{path}"


def _postgres_url(request: pytest.FixtureRequest) -> str:
    url = request.getfixturevalue("postgres_server")
    name = f"t{uuid4().hex}"
    _administer(url, f'CREATE DATABASE "{name}" TEMPLATE "empty"')
    return f"{url}/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a migrated, empty database of this test's own: once SQLite, once PostgreSQL."""
    return _sqlite_url(request, tmp_path) if request.param == "sqlite" else _postgres_url(request)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated, empty database."""
    opened = Database(database_url)
    yield opened
    opened.dispose()


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    """Settings that point at the test's own database and folder."""
    return Settings(data=tmp_path, database_url=database_url)


@pytest.fixture(scope="module", params=["C", "numpy"])
def each_kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test of the module runs with the C kernel and again with numpy alone."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "C" and kernel.native is None:
            pytest.skip("the C kernel was not built")
        if request.param == "numpy":
            patch.setattr(kernel, "native", None)
        yield kernel.name()
