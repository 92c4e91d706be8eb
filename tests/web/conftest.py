"""Fixtures of the web tests: an application, a browser that stays on it, and a quick way to sign in."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard.accounts.ops import names, sessions
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account
from leaderboard.settings import Settings
from tests.make import worlds
from tests.make.apps import application
from tests.make.copies import built_once, is_copy_of
from tests.make.people import account

SignIn = Callable[..., int]


def browser(app: Flask) -> FlaskClient:
    """A client that sends what a browser sends with a form of this site."""
    client = app.test_client()
    client.environ_base["HTTP_SEC_FETCH_SITE"] = "same-origin"
    return client


@pytest.fixture
def app(settings: Settings, database: Database) -> Flask:
    """The application over the test's own database."""
    return application(settings, database)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A browser nobody is signed in with."""
    return browser(app)


def enter(database: Database, client: FlaskClient, name: str, *, is_organiser: bool = False) -> int:
    """Sign a browser in as the account of that name, made where there is none; the account's id."""
    account_id, token = _session(database, name, is_organiser)
    client.set_cookie("session", token)
    return account_id


@built_once
def _session(database: Database, name: str, is_organiser: bool) -> tuple[int, str]:
    return _signed_in(database, name, is_organiser=is_organiser)


def _signed_in(database: Database, name: str, *, is_organiser: bool) -> tuple[int, str]:
    with database.read() as session:
        found = session.scalar(select(Account.id).where(Account.canonical == names.canonical(name)))
    account_id = found or account(database, name, is_organiser=is_organiser)
    with database.write() as session:
        return account_id, sessions.start(session, account_id, "127.0.0.1", "test")


@pytest.fixture
def sign_in(database: Database) -> SignIn:
    """`sign_in(client, name, is_organiser=False)`: see `enter`."""

    def entering(client: FlaskClient, name: str, *, is_organiser: bool = False) -> int:
        return enter(database, client, name, is_organiser=is_organiser)

    return entering


@dataclass(frozen=True)
class Site:
    """A filled site on SQLite of one test's own."""

    app: Flask
    database: Database
    settings: Settings
    world: worlds.World

    def browser(self, name: str | None = None) -> FlaskClient:
        """A browser, signed in as the account of that name."""
        client = browser(self.app)
        if name is not None:
            # Not a step to be copied: it takes less than a copy of the site.
            _, token = _signed_in(self.database, name, is_organiser=False)
            client.set_cookie("session", token)
        return client


@pytest.fixture(scope="session")
def world_file(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, worlds.World]:
    """A filled SQLite file that each test copies, and what it holds."""
    folder = tmp_path_factory.mktemp("world")
    path = folder / "world.sqlite3"
    shutil.copyfile(sqlite_template, path)
    database = Database(f"sqlite:///{path}")
    world = worlds.build(database, folder)
    with database.engine.connect() as connection:
        connection.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.dispose()
    return path, world


@pytest.fixture
def site(world_file: tuple[Path, worlds.World], tmp_path: Path) -> Iterator[Site]:
    """A filled site, as tests.make.worlds describes it."""
    path = tmp_path / "site.sqlite3"
    shutil.copyfile(world_file[0], path)
    settings = Settings(data=tmp_path, database_url=f"sqlite:///{path}")
    database = Database(settings.url)
    is_copy_of(database, "world")
    yield Site(application(settings, database), database, settings, world_file[1])
    database.dispose()
