"""`leaderboard serve` and `leaderboard worker`: the site and its evaluators.

Preparation of a site before its processes start, in a process that ends before them.

The one that starts them waits next to them for months; it should not hold what only this needs, so nothing
large is imported above the functions.
"""

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leaderboard import logs, traces
from leaderboard.carrier import broker
from leaderboard.cli.serving import first
from leaderboard.cli.serving.kept_backups import seconds_of
from leaderboard.cli.serving.processes import in_a_process
from leaderboard.cli.serving.supervisor import Supervisor, bind, claim_folder
from leaderboard.core.cli.site import data_option, keep_private, leave_address, open_database, opened
from leaderboard.errors import Invalid
from leaderboard.settings import Settings, is_loopback

if TYPE_CHECKING:
    from leaderboard.db.engine import Database


@dataclass(frozen=True, slots=True)
class SignIn:
    """The token that signs the first organiser in once; empty where an organiser has a password."""

    name: str
    token: str
    hours: int
    """Hours until it expires."""


def prepare_site(settings: Settings, with_demo: bool) -> SignIn:
    """Make the tables of an empty database, load the demo's tasks if asked to, let the organiser sign in.

    Raises SchemaOutdated for a database of another version, Invalid for settings of mail or of the first
    account that make no sense.
    """
    from leaderboard.accounts.ops import accounts
    from leaderboard.core.policy import OPERATOR
    from leaderboard.signatures import ops as signatures
    from leaderboard.tasks.ops import roles

    _require_mail_settings(settings)
    database = open_database(settings)
    try:
        prepare(database)
        first.set_up(database, settings)
        if with_demo:
            _load_demo(database)
        with database.write() as session:
            signatures.ensure_key(session)
            organiser = accounts.first_organiser(session)
            roles.adopt(session, OPERATOR)
    finally:
        database.dispose()
    return SignIn(organiser.name, organiser.token, accounts.LINK_HOURS)


def require_schema(settings: Settings) -> None:
    """Raise SchemaOutdated, naming the command to run, unless the database is at this program's schema.

    Raises Invalid for settings of mail that make no sense.
    """
    from leaderboard.db import schema

    _require_mail_settings(settings)
    database = open_database(settings)
    try:
        schema.require_head(database)
    finally:
        database.dispose()


def _require_mail_settings(settings: Settings) -> None:
    from leaderboard import features
    from leaderboard.core import events

    # This process may be one that was made for the purpose.
    features.register()
    for post in events.MAIL:
        post.server_of(settings)


def prepare(database: "Database") -> None:
    """Make the tables of an empty database; raises SchemaOutdated for one of another version."""
    from leaderboard.db import schema

    if schema.current(database) is None:
        schema.upgrade(database)
    schema.require_head(database)


def _load_demo(database: "Database") -> None:
    from leaderboard.site.ops.demo import loading

    with click.progressbar(length=loading.steps(), label="Loading the demo") as shown:
        loaded = loading.load(database, lambda: shown.update(1))
    click.echo(f"Demo tasks: {loaded} loaded, {len(loading.tasks()) - loaded} already loaded.")


SHORTEST_TOKEN = 20
"""Characters of an unguessable token; nothing counts the tries."""


@click.command()
@click.option("--demo", is_flag=True, help="Load the demo tasks, unless they exist.")
@click.option("--host", help="Address to bind to [127.0.0.1].")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to bind to [8000].")
@click.option(
    "--insecure-http", is_flag=True, default=None, help="Allow sign-in over plain http from other machines."
)
@click.option(
    "--every", "--backup-every", "backup_every", help="Back up the site at this interval, such as 6h."
)
@click.option(
    "--keep", "--backup-keep", "backup_keep", type=click.IntRange(1), help="Number of backups to keep [14]."
)
@click.option(
    "--no-evaluators",
    "is_only_web",
    is_flag=True,
    help="Do not run evaluators; workers on other machines do.",
)
@data_option
def serve(demo: bool, is_only_web: bool, data: Path | None, **given: Any) -> None:
    """Run the site: web server and evaluators, on SQLite unless LEADERBOARD_DATABASE_URL is set."""
    settings = Settings.from_env(data=data, **given)
    require_safe(settings)
    keep_private(settings)
    logs.configure(settings.log_format)
    claim_folder(settings)
    listening = bind(settings.host, settings.port)
    sign_in = in_a_process(prepare_site, settings, demo)
    supervisor = Supervisor(settings)
    if not is_only_web:
        supervisor.add_evaluators(settings.evaluator_slots)
    supervisor.add_web(listening)
    if settings.backup_every:
        supervisor.add_backups()
    supervisor.run(lambda: _greet(settings, sign_in))
    click.echo("Stopped.")


@click.command()
@click.option("--once", is_flag=True, help="Run all queued jobs, then exit.")
@click.option(
    "--celery", "is_carried", is_flag=True, help="Receive jobs from the broker LEADERBOARD_BROKER_URL."
)
@data_option
def worker(once: bool, is_carried: bool, data: Path | None) -> None:
    """Run evaluators only, for a site on another machine with the same database."""
    if is_carried and once:
        raise click.UsageError("Use either --celery or --once, not both.")
    if once:
        click.echo(f"{_drain(data)} jobs done.")
        return
    settings = Settings.from_env(data=data)
    keep_private(settings)
    logs.configure(settings.log_format)
    traces.require_extra()
    if is_carried:
        broker.require_set(settings)
    in_a_process(require_schema, settings)
    supervisor = Supervisor(settings)
    add = supervisor.add_carried_evaluators if is_carried else supervisor.add_evaluators
    add(settings.evaluator_slots)
    supervisor.run(lambda: click.echo("Evaluators are running. Press Ctrl-C to stop."))


def _drain(data: Path | None) -> int:
    from leaderboard.worker import Evaluator, free_dead_owners

    with opened(data) as (database, settings):
        keep_private(settings)
        logs.configure(settings.log_format)
        free_dead_owners(database)
        return Evaluator(database, settings).drain()


def require_safe(settings: Settings) -> None:
    """Raise Invalid where starting would expose protected data."""
    if os.name == "posix" and settings.data.is_dir() and settings.data.stat().st_mode & 0o077:
        raise Invalid(
            f"Other users of this machine can read the folder {settings.data}. Run `chmod 700 "
            f"{settings.data}` first."
        )
    if settings.backup_every:
        seconds_of(settings.backup_every)
    _require_token(settings.metrics_token)
    first.require_whole(settings)
    traces.require_extra()
    broker.require(settings)
    named = settings.trusted_hosts or settings.public_url
    if not is_loopback(settings.host) and not named:
        raise Invalid(
            f"On {settings.host} the site is reachable under any host name. Set the valid names in "
            "LEADERBOARD_TRUSTED_HOSTS=board.example.org, or set LEADERBOARD_PUBLIC_URL behind a proxy."
        )


def _require_token(token: str) -> None:
    if token and (len(token) < SHORTEST_TOKEN or not re.fullmatch("[!-~]+", token)):
        raise Invalid(
            f"LEADERBOARD_METRICS_TOKEN needs at least {SHORTEST_TOKEN} letters, digits or signs, without "
            "spaces. `openssl rand -hex 20` generates one."
        )


def _greet(settings: Settings, sign_in: SignIn) -> None:
    base = leave_address(settings)
    click.echo(f"The leaderboard is at {base}/")
    if sign_in.token:
        link = f"{base}/sign-in/{sign_in.token}"
        click.echo(f"Sign in once as {sign_in.name}, within {sign_in.hours} hours: {link}")
    else:
        command = f"leaderboard account link {shlex.quote(sign_in.name)}"
        click.echo(f"Forgot the password? `{command}` prints a sign-in link.")
    if not is_loopback(settings.host) and not settings.public_url and not settings.insecure_http:
        click.echo("Sign-in over plain http is disabled. Set LEADERBOARD_PUBLIC_URL, or use --insecure-http.")
    click.echo("Press Ctrl-C to stop.")
