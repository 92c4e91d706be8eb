"""`leaderboard serve` and `leaderboard worker`: the site and its evaluators."""

import logging
import os
from pathlib import Path

import click

from leaderboard.cli.site import data_option, open_database, opened
from leaderboard.cli.supervisor import Supervisor, bind
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.services.accounts import accounts
from leaderboard.settings import Settings
from leaderboard.web.session import is_loopback
from leaderboard.worker import Evaluator, free_dead_owners


@click.command()
@click.option("--demo", is_flag=True, help="Load the demo task, unless it is there already.")
@click.option("--host", help="Address to bind to [127.0.0.1].")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to bind to [8000].")
@click.option(
    "--insecure-http", is_flag=True, default=None, help="Allow sign-in over plain http from elsewhere."
)
@data_option
def serve(
    demo: bool, host: str | None, port: int | None, insecure_http: bool | None, data: Path | None
) -> None:
    """Run the site: web server and evaluators, on SQLite unless LEADERBOARD_DATABASE_URL says otherwise."""
    settings = Settings.from_env(data=data, host=host, port=port, insecure_http=insecure_http)
    require_safe(settings)
    listening = bind(settings.host, settings.port)
    database = open_database(settings)
    try:
        prepare(database)
        free_dead_owners(database)
        if demo:
            _load_demo(database)
        with database.write() as session:
            name, token = accounts.first_organiser(session)
        supervisor = Supervisor(settings, database)
        supervisor.add_evaluators(evaluators(settings))
        supervisor.add_web(listening)
        supervisor.run(lambda: _greet(settings, name, token))
    finally:
        database.dispose()
    click.echo("Stopped.")


@click.command()
@click.option("--once", is_flag=True, help="Do what is queued, then exit.")
@data_option
def worker(once: bool, data: Path | None) -> None:
    """Run evaluators only, beside a site that runs elsewhere on the same database."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    with opened(data) as (database, settings):
        free_dead_owners(database)
        if once:
            click.echo(f"{Evaluator(database, settings).drain()} jobs were done.")
            return
        supervisor = Supervisor(settings, database)
        supervisor.add_evaluators(evaluators(settings))
        supervisor.run(lambda: click.echo("Evaluators are running. Ctrl-C stops them."))


def require_safe(settings: Settings) -> None:
    """Raise Invalid where starting would show others what is theirs to hide."""
    if os.name == "posix" and settings.data.is_dir() and settings.data.stat().st_mode & 0o077:
        raise Invalid(
            f"The folder {settings.data} can be read by other users of this machine; "
            f"run `chmod 700 {settings.data}` first."
        )
    named = settings.trusted_hosts or settings.public_url
    if not is_loopback(settings.host) and not named:
        raise Invalid(
            f"On {settings.host} the site can be reached under any name; say which it answers to with "
            "LEADERBOARD_TRUSTED_HOSTS=board.example.org, or with LEADERBOARD_PUBLIC_URL behind a proxy."
        )


def prepare(database: Database) -> None:
    """Make the tables of an empty database; raises SchemaOutdated for one of another version."""
    if schema.current(database) is None:
        schema.upgrade(database)
    schema.require_head(database)


def evaluators(settings: Settings) -> int:
    """How many evaluation slots to run."""
    return settings.evaluators or max(1, (os.cpu_count() or 2) - 1)


def _load_demo(database: Database) -> None:
    from leaderboard.services import demo

    with click.progressbar(length=demo.STEPS, label="Loading the demo task") as shown:
        loaded = demo.load(database, lambda: shown.update(1))
    click.echo(f"The demo task {'was loaded' if loaded else 'is there already'}.")


def _greet(settings: Settings, name: str, token: str) -> None:
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    base = settings.public_url.rstrip("/") or f"http://{shown}:{settings.port}"
    click.echo(f"The leaderboard is at {base}/")
    click.echo(f"Sign in once as {name}, within {accounts.LINK_HOURS} hours: {base}/sign-in/{token}")
    if not is_loopback(settings.host) and not settings.public_url and not settings.insecure_http:
        click.echo("Sign-in is refused over plain http: set LEADERBOARD_PUBLIC_URL, or use --insecure-http.")
    click.echo("Ctrl-C stops it.")
