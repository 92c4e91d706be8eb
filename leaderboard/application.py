"""The web application: parses input, calls one service, renders."""

import logging
from collections.abc import Callable
from pathlib import Path

from flask import Flask
from jinja2 import Environment, FileSystemBytecodeCache, StrictUndefined

from leaderboard import __version__, features, reference, temporary
from leaderboard.db.engine import Database
from leaderboard.logs import WebCounter
from leaderboard.resources import bundled
from leaderboard.settings import Settings
from leaderboard.shared import Shared
from leaderboard.web import actions, errors, filters, rules, session
from leaderboard.web import kept as kept_pages
from leaderboard.web.api.problems import as_answer_of_the_api
from leaderboard.web.http import Application, checks, refuse_many_fields, refuse_unstorable, register
from leaderboard.web.kept import KeptFiles

log = logging.getLogger(__name__)

COMPILED = "templates"
"""The folder of compiled templates, among the temporary files."""


def _nobody_waits() -> None:
    """Wake no evaluator."""


def create_app(
    settings: Settings,
    database: Database,
    wake: Callable[[], None] = _nobody_waits,
    shared: Shared | None = None,
    counter: WebCounter | None = None,
) -> Flask:
    """The application over a database; wake is called after a commit that queued jobs.

    shared: what this process shares with the site's other web processes; None where it is alone.
    counter: where requests are counted; its own if that is None.
    Raises RuntimeError where a route declares no rule.
    """
    features.register()
    app = Application(__name__, static_folder=None, template_folder=str(bundled("templates")))
    app.jinja_env.undefined = StrictUndefined
    # FLASK_DEBUG in the environment, meant for another program, would expose internals.
    app.debug = False
    session.register(app, session.Site(settings, database, wake))
    session.register_traces(app)
    app.extensions[rules.BUDGET] = rules.Budget(shared=shared)
    register(app, settings)
    errors.register(app)
    inside = (rules.refuse_unread, refuse_many_fields, refuse_unstorable)
    files = KeptFiles(settings.data, shared.memory, settings.kept_bytes) if shared else None
    kept_pages.register_pages(app, settings.kept_bytes, files)
    for check in (*checks(), rules.enforce, rules.enforce_budget, *inside, kept_pages.answer_page):
        app.before_request(check)
    kept_pages.register_static(app, settings.site_logo)
    kept_pages.register_styles(app)
    _add_pages(app)
    app.jinja_env.globals.update(site_name=settings.site_name, site_about=settings.site_about)
    reference.register(app)
    app.after_request(session.of_the_api(as_answer_of_the_api))
    session.register_request_counts(app, counter)
    rules.require_rules(app)
    return app


def load_templates(app: Flask, data: Path) -> None:
    """Load every template, so that no reader waits while one is compiled.

    Compiling all of them takes two seconds of processor; loading what an earlier start compiled takes less
    than a tenth of one. Where the data folder cannot hold the compiled ones, they are compiled again.
    """
    folder = temporary.folder(data) / COMPILED
    environment = app.jinja_env
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        for other in folder.iterdir():
            if not other.name.startswith(f"{__version__}-"):
                other.unlink(missing_ok=True)
        environment.bytecode_cache = FileSystemBytecodeCache(str(folder), f"{__version__}-%s.cache")
        _load_all(environment)
    except OSError as error:
        log.warning("compiled templates cannot be kept in %s: %s", folder, error)
        environment.bytecode_cache = None
        _load_all(environment)


def _load_all(environment: Environment) -> None:
    for name in environment.list_templates():
        environment.get_template(name)


def _add_pages(app: Flask) -> None:
    filters.register(app)
    filters.register_figures(app)
    app.jinja_env.globals.update(parts_at=features.parts_at, form_of=actions.form_of)
    app.jinja_env.filters["markdown"] = filters.render
    app.context_processor(session.known_to_templates)
    for feature in features.FEATURES:
        feature.set_up(app)
        for blueprint in feature.pages():
            app.register_blueprint(blueprint)
