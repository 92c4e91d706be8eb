"""The web application: parses input, calls one service, renders."""

import logging
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Flask, request
from flask.templating import Environment as FlaskEnvironment
from jinja2 import Environment, FileSystemBytecodeCache, StrictUndefined, nodes
from jinja2.compiler import CodeGenerator, Frame

from leaderboard import __version__, features, reference, temporary
from leaderboard.db.engine import SECRETS, Base, Database
from leaderboard.logs import WebCounter
from leaderboard.resources import bundled
from leaderboard.settings import Settings
from leaderboard.shared import Shared
from leaderboard.web import addresses, errors, filters, rules, session
from leaderboard.web import kept as kept_pages
from leaderboard.web.api.problems import as_answer_of_the_api
from leaderboard.web.http import checks, refuse_many_fields, refuse_unstorable, register
from leaderboard.web.kept import KeptFiles

log = logging.getLogger(__name__)

COMPILED = "templates"
"""The folder of compiled templates, among the temporary files."""
ADDRESSES = 2**12
"""That are kept: some one megabyte, which is what two large pages name."""
OUTSIDE = frozenset(("token", "_external", "_scheme"))
"""The values of an address that make it secret, or different for each host."""


class _Guarding(CodeGenerator):
    """Requests a secret's name through the guard; every other attribute is read as fast as Jinja does."""

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:
        if node.attr in SECRETS:
            self.visit(nodes.Getitem(node.node, nodes.Const(node.attr), node.ctx), frame)
        else:
            super().visit_Getattr(node, frame)


class _Templates(FlaskEnvironment):
    """Templates, which read of a row of the database what may be shown, never a secret that is next to it."""

    code_generator_class = _Guarding

    def getitem(self, obj: Any, argument: Any) -> Any:
        """As Jinja has it; raises PermissionError for a secret of a row."""
        if argument.__class__ is str and argument in SECRETS and isinstance(obj, Base):
            raise PermissionError(f"A template asks a row of {type(obj).__name__} for its {argument}.")
        return super().getitem(obj, argument)


class _Application(Flask):
    """An application none of whose views is a coroutine: asking each time takes a fiftieth of a request.

    Nor does it build an address twice: a page of a large task has some thousand, most of them those of the
    page before.
    """

    jinja_environment = _Templates

    def __init__(self, *names: Any, **options: Any) -> None:
        super().__init__(*names, **options)
        self._address = lru_cache(ADDRESSES, typed=True)(super().url_for)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return func

    def url_for(self, /, endpoint: str, **values: Any) -> str:
        """As Flask has it, with what goes along; what depends on the host is built again."""
        if along := addresses.added(endpoint, values):
            values = {**along, **values}
        if not request or request.script_root or endpoint[0] == "." or not OUTSIDE.isdisjoint(values):
            return super().url_for(endpoint, **values)
        try:
            return self._address(endpoint, **values)
        except TypeError:
            # A list among the values: it cannot be looked up.
            return super().url_for(endpoint, **values)


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
    app = _Application(__name__, static_folder=None, template_folder=str(bundled("templates")))
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
    app.after_request(lambda answer: as_answer_of_the_api(answer) if session.in_api() else answer)
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
    app.jinja_env.globals.update(parts_at=features.parts_at)
    app.jinja_env.filters["markdown"] = filters.render
    app.context_processor(lambda: {"viewer": session.viewer(), "has_mail": bool(session.settings().smtp_url)})
    for feature in features.FEATURES:
        feature.set_up(app)
        for blueprint in feature.pages():
            app.register_blueprint(blueprint)
