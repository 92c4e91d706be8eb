"""One application a process for tests: its routes and templates are compiled once, not again in each test."""

import copy
import os
import tempfile
from functools import cache
from pathlib import Path

from flask import Flask
from jinja2 import FileSystemBytecodeCache

from leaderboard import __version__
from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from leaderboard.web import kept, session
from leaderboard.web.http import trusted_hosts
from tests.make.memory import TEMPLATES


def application(settings: Settings, database: Database) -> Flask:
    """An application over a test's own database, with routes and templates that every test shares.

    It has its own settings and configuration. What a test adds to the routes would be there for all
    others: such a test, or one behind a proxy, takes `create_app`.
    """
    assert not settings.public_url, "only create_app puts the proxy's headers in place"
    app = copy.copy(_compiled())
    app.config = copy.copy(app.config)
    app.config["TRUSTED_HOSTS"] = trusted_hosts(settings)
    app.extensions = {**app.extensions, session.EXTENSION: session.Site(settings, database, lambda: None)}
    kept.register_pages(app, settings.kept_bytes)
    (settings.data / "tmp").mkdir(parents=True, exist_ok=True)
    return app


@cache
def _compiled() -> Flask:
    """The application that all copies are made of; it answers no request itself."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(data=Path(folder)), Database("sqlite://"))
    # By the names under which sites keep theirs: what one of them compiled is loaded here, and the other way.
    app.jinja_env.bytecode_cache = FileSystemBytecodeCache(os.environ[TEMPLATES], f"{__version__}-%s.cache")
    # Adding a route or a handler is an error from now on: it would reach the tests that follow.
    app._got_first_request = True
    return app
