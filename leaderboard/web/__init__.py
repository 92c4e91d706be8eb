"""The web application: parses input, calls one service, renders."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from flask import Flask
from jinja2 import StrictUndefined

from leaderboard.db.engine import Database
from leaderboard.resources import bundled
from leaderboard.settings import Settings
from leaderboard.web import errors, markdown, rules, security, session

MODULES = ("accounts", "teams", "uploads", "organise", "health", "tasks", "boards", "runs", "topics")


def _nobody_waits() -> None:
    """Wake no evaluator."""


def create_app(settings: Settings, database: Database, wake: Callable[[], None] = _nobody_waits) -> Flask:
    """The application over a database; wake is called after a commit that queued jobs.

    Raises RuntimeError where a route declares no rule.
    """
    app = Flask(__name__, static_folder="static", template_folder=str(bundled("templates")))
    app.jinja_env.undefined = StrictUndefined
    session.register(app, session.Site(settings, database, wake))
    security.register(app, settings)
    errors.register(app)
    for check in (*security.checks(), rules.enforce, security.refuse_unstorable):
        app.before_request(check)
    _add_pages(app)
    rules.require_rules(app)
    return app


def _add_pages(app: Flask) -> None:
    app.jinja_env.filters["markdown"] = markdown.render
    app.context_processor(lambda: {"viewer": session.viewer()})
    for name in MODULES:
        if find_spec(f"leaderboard.web.{name}"):
            app.register_blueprint(import_module(f"leaderboard.web.{name}").blueprint)
    if find_spec("leaderboard.web.filters"):
        import_module("leaderboard.web.filters").register(app)
    rules.rule(rules.PUBLIC)(app.view_functions["static"])
