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

from leaderboard import __version__, temporary
from leaderboard.counters import WebCounter
from leaderboard.db.base import SECRETS, Base
from leaderboard.db.engine import Database
from leaderboard.resources import bundled
from leaderboard.services import run_kinds
from leaderboard.settings import Settings
from leaderboard.shared import Shared
from leaderboard.web import (
    answers,
    api,
    bodies,
    budgets,
    clicks,
    errors,
    feeds,
    figures,
    filters,
    health,
    markdown,
    measures,
    metrics,
    rankings,
    requests,
    revisions,
    rules,
    security,
    session,
    topics,
    webhooks,
)
from leaderboard.web import kept as kept_pages
from leaderboard.web.accounts import (
    accounts,
    device_logins,
    invitations,
    mail,
    my,
    openid,
    second_factor,
    teams,
    tokens,
)
from leaderboard.web.assessors import adjudication, agreement, assessors, judging, settled
from leaderboard.web.boards import boards, carried, efficiency, intervals, reveal, snapshots
from leaderboard.web.bundles import bundles, imports
from leaderboard.web.cards import badges, frames
from leaderboard.web.comparisons import comparisons, curves, many
from leaderboard.web.judges import judges
from leaderboard.web.judges import labels as judge_labels
from leaderboard.web.kept import KeptFiles
from leaderboard.web.labelling import decisions as labelling_decisions
from leaderboard.web.labelling import desk as labelling_desk
from leaderboard.web.labelling import rounds as labelling_rounds
from leaderboard.web.nuggets import topics as nuggets
from leaderboard.web.pools import audits, combined, pools
from leaderboard.web.reproductions import links as reproduction_links
from leaderboard.web.reproductions import reproductions
from leaderboard.web.runs import batches, checks, facts, files, outward, pieces, runs, sections, uploads
from leaderboard.web.scores import heat_maps, measure_orders
from leaderboard.web.side_by_side import judging as side_by_side_judging
from leaderboard.web.side_by_side import side_by_side
from leaderboard.web.site import accounts as site_accounts
from leaderboard.web.site import audit as site_audit
from leaderboard.web.site import site
from leaderboard.web.suites import sending as suite_sending
from leaderboard.web.suites import suites
from leaderboard.web.tasks import (
    activity,
    entries,
    groups,
    members,
    naming,
    news,
    organise,
    people,
    phases,
    pictures,
    search,
    tasks,
)
from leaderboard.web.tasks import settings as task_settings

PAGES = (
    tasks,
    search,
    phases,
    suites,
    suite_sending,
    boards,
    snapshots,
    intervals,
    reveal,
    measure_orders,
    comparisons,
    badges,
    frames,
    many,
    curves,
    reproductions,
    reproduction_links,
    efficiency,
    topics,
    heat_maps,
    runs,
    sections,
    files,
    facts,
    outward,
    rankings,
    answers,
    nuggets,
    judges,
    judge_labels,
    uploads,
    pieces,
    batches,
    checks,
    organise,
    task_settings,
    pictures,
    people,
    activity,
    news,
    members,
    entries,
    groups,
    naming,
    revisions,
    pools,
    combined,
    bundles,
    imports,
    audits,
    assessors,
    agreement,
    adjudication,
    settled,
    judging,
    side_by_side,
    side_by_side_judging,
    labelling_rounds,
    labelling_decisions,
    labelling_desk,
    clicks,
    my,
    teams,
    invitations,
    accounts,
    second_factor,
    tokens,
    device_logins,
    mail,
    webhooks,
    feeds,
    openid,
    site_accounts,
    measures,
    site,
    site_audit,
    health,
    metrics,
)


log = logging.getLogger(__name__)

COMPILED = "templates"
"""The folder of compiled templates, among the temporary files."""
ADDRESSES = 2**12
"""That are kept: some one megabyte, which is what two large pages name."""
OUTSIDE = frozenset(("token", "_external", "_scheme"))
"""Of the values of an address, those with which it is a secret, or another one for each host."""


class _Guarding(CodeGenerator):
    """Asks for a secret's name through the guard; every other attribute is read as fast as Jinja does."""

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:
        if node.attr in SECRETS:
            self.visit(nodes.Getitem(node.node, nodes.Const(node.attr), node.ctx), frame)
        else:
            super().visit_Getattr(node, frame)


class _Templates(FlaskEnvironment):
    """Templates, which read of a row of the database what may be shown, never a secret that is beside it."""

    code_generator_class = _Guarding

    def getitem(self, obj: Any, argument: Any) -> Any:
        """As Jinja has it; raises PermissionError for a secret of a row."""
        if argument.__class__ is str and argument in SECRETS and isinstance(obj, Base):
            raise PermissionError(f"A template asks a row of {type(obj).__name__} for its {argument}.")
        return super().getitem(obj, argument)


class _Application(Flask):
    """An application none of whose views is a coroutine: to ask each time takes a fiftieth of a request.

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
        """As Flask has it, with what goes along; what depends on the host is built anew."""
        if along := carried.added(endpoint, values):
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
    counter: where requests are counted; one of its own where that is None.
    Raises RuntimeError where a route declares no rule.
    """
    run_kinds.register()
    app = _Application(__name__, static_folder=None, template_folder=str(bundled("templates")))
    app.jinja_env.undefined = StrictUndefined
    # FLASK_DEBUG in the environment, meant for another program, would show readers what is inside.
    app.debug = False
    session.register(app, session.Site(settings, database, wake))
    requests.register(app)
    app.extensions[budgets.EXTENSION] = budgets.Budget(shared=shared)
    security.register(app, settings)
    errors.register(app)
    inside = (bodies.refuse_unread, security.refuse_many_fields, security.refuse_unstorable)
    files = KeptFiles(settings.data, shared.memory, settings.kept_bytes) if shared else None
    kept_pages.register_pages(app, settings.kept_bytes, files)
    for check in (*security.checks(), rules.enforce, budgets.enforce, *inside, kept_pages.answer_page):
        app.before_request(check)
    kept_pages.register_static(app)
    kept_pages.register_styles(app)
    _add_pages(app)
    api.register(app)
    metrics.register_request_counts(app, counter)
    rules.require_rules(app)
    return app


def load_templates(app: Flask, data: Path) -> None:
    """Load every template, so that no reader waits while one is compiled.

    Compiling all of them takes two seconds of processor; loading what an earlier start compiled takes less
    than a tenth of one. Where the data folder cannot hold the compiled ones, they are compiled anew.
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
    figures.register(app)
    carried.register(app)
    phases.register(app)
    news.register(app)
    pictures.register(app)
    app.jinja_env.filters["markdown"] = markdown.render
    app.context_processor(lambda: {"viewer": session.viewer(), "has_mail": bool(session.settings().smtp_url)})
    for module in PAGES:
        app.register_blueprint(module.blueprint)
