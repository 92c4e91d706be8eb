"""`leaderboard serve` and `leaderboard worker`: the site and its evaluators."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import click

from leaderboard import logs, traces
from leaderboard.carrier import broker
from leaderboard.cli.serving import first, start
from leaderboard.cli.serving.kept_backups import seconds_of
from leaderboard.cli.serving.processes import in_a_process
from leaderboard.cli.serving.start import SignIn
from leaderboard.cli.serving.supervisor import Supervisor, bind, claim_folder
from leaderboard.cli.site import data_option, keep_private, leave_address, opened
from leaderboard.errors import Invalid
from leaderboard.settings import Settings, is_loopback

SHORTEST_TOKEN = 20
"""Characters of a token that nobody guesses; nothing counts the tries."""


@click.command()
@click.option("--demo", is_flag=True, help="Load the demo's tasks, unless they are there already.")
@click.option("--host", help="Address to bind to [127.0.0.1].")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to bind to [8000].")
@click.option(
    "--insecure-http", is_flag=True, default=None, help="Allow sign-in over plain http from elsewhere."
)
@click.option("--every", "--backup-every", "backup_every", help="Back the site up that often, such as 6h.")
@click.option(
    "--keep",
    "--backup-keep",
    "backup_keep",
    type=click.IntRange(1),
    help="How many such backups to keep [14].",
)
@click.option("--no-evaluators", "is_only_web", is_flag=True, help="Leave jobs to workers on other machines.")
@data_option
def serve(demo: bool, is_only_web: bool, data: Path | None, **given: Any) -> None:
    """Run the site: web server and evaluators, on SQLite unless LEADERBOARD_DATABASE_URL says otherwise."""
    settings = Settings.from_env(data=data, **given)
    require_safe(settings)
    keep_private(settings)
    logs.configure(settings.log_format)
    claim_folder(settings)
    listening = bind(settings.host, settings.port)
    sign_in = in_a_process(start.prepare_site, settings, demo)
    supervisor = Supervisor(settings)
    if not is_only_web:
        supervisor.add_evaluators(settings.evaluator_slots)
    supervisor.add_web(listening)
    if settings.backup_every:
        supervisor.add_backups()
    supervisor.run(lambda: _greet(settings, sign_in))
    click.echo("Stopped.")


@click.command()
@click.option("--once", is_flag=True, help="Do what is queued, then exit.")
@click.option("--celery", "is_carried", is_flag=True, help="Be told by LEADERBOARD_BROKER_URL what to do.")
@data_option
def worker(once: bool, is_carried: bool, data: Path | None) -> None:
    """Run evaluators only, beside a site on another machine that uses the same database."""
    if is_carried and once:
        raise click.UsageError("--celery and --once exclude each other; leave one out.")
    if once:
        click.echo(f"{_drain(data)} jobs were done.")
        return
    settings = Settings.from_env(data=data)
    keep_private(settings)
    logs.configure(settings.log_format)
    traces.require_extra()
    if is_carried:
        broker.require_set(settings)
    in_a_process(start.require_schema, settings)
    supervisor = Supervisor(settings)
    add = supervisor.add_carried_evaluators if is_carried else supervisor.add_evaluators
    add(settings.evaluator_slots)
    supervisor.run(lambda: click.echo("Evaluators are running. Ctrl-C stops them."))


def _drain(data: Path | None) -> int:
    from leaderboard.worker import Evaluator, free_dead_owners

    with opened(data) as (database, settings):
        keep_private(settings)
        logs.configure(settings.log_format)
        free_dead_owners(database)
        return Evaluator(database, settings).drain()


def require_safe(settings: Settings) -> None:
    """Raise Invalid where starting would show others what is theirs to hide."""
    if os.name == "posix" and settings.data.is_dir() and settings.data.stat().st_mode & 0o077:
        raise Invalid(
            f"The folder {settings.data} can be read by other users of this machine; "
            f"run `chmod 700 {settings.data}` first."
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
            f"On {settings.host} the site can be reached under any name; say which it answers to with "
            "LEADERBOARD_TRUSTED_HOSTS=board.example.org, or with LEADERBOARD_PUBLIC_URL behind a proxy."
        )


def _require_token(token: str) -> None:
    if token and (len(token) < SHORTEST_TOKEN or not re.fullmatch("[!-~]+", token)):
        raise Invalid(
            f"LEADERBOARD_METRICS_TOKEN needs {SHORTEST_TOKEN} letters, digits or signs at least, without "
            "spaces; `openssl rand -hex 20` makes one."
        )


def _greet(settings: Settings, sign_in: SignIn) -> None:
    base = leave_address(settings)
    click.echo(f"The leaderboard is at {base}/")
    if sign_in.token:
        link = f"{base}/sign-in/{sign_in.token}"
        click.echo(f"Sign in once as {sign_in.name}, within {sign_in.hours} hours: {link}")
    else:
        command = f"leaderboard account link {shlex.quote(sign_in.name)}"
        click.echo(f"Lost the password? `{command}` prints a way in.")
    if not is_loopback(settings.host) and not settings.public_url and not settings.insecure_http:
        click.echo("Sign-in is refused over plain http: set LEADERBOARD_PUBLIC_URL, or use --insecure-http.")
    click.echo("Ctrl-C stops it.")
