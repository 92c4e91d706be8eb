"""`leaderboard backup` and `leaderboard restore`; backups that `leaderboard serve` makes by itself."""

import sys
from pathlib import Path

import click

from leaderboard.cli.site import FILE, data_option, keep_private, open_database, opened
from leaderboard.db.engine import Database
from leaderboard.services import backups, objects
from leaderboard.services.backups import Backup, TableCount
from leaderboard.settings import Settings

TARGET = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=TARGET)
@click.option("--no-verify", is_flag=True, help="Do not restore it to a temporary place to see that it works")
@data_option
def backup(file: Path, no_verify: bool, data: Path | None) -> None:
    """Write the whole site to FILE, while it runs or not; it replaces an older one of that name."""
    with opened(data) as (database, settings):
        keep_private(settings)
        made = backups.back_up(database, file, verify=not no_verify, progress=shown)
        elsewhere = _elsewhere(database)
    checked = "" if no_verify else ", restored once to see that it works"
    end_shown()
    click.echo(f"{_described(made)} in {file}{checked}.")
    click.echo(f"SHA-256 {made.sha256}{elsewhere}")


@click.command()
@click.argument("file", type=FILE)
@data_option
def restore(file: Path, data: Path | None) -> None:
    """Make a site of the backup FILE, in a place that holds nothing yet."""
    settings = Settings.from_env(data=data)
    keep_private(settings)
    open_database(settings).dispose()
    made = backups.restore(file, settings.url, progress=shown)
    end_shown()
    database = open_database(settings)
    try:
        click.echo(f"{_described(made)} restored.{_elsewhere(database)}")
    finally:
        database.dispose()


def shown(count: TableCount) -> None:
    """Tell on a terminal which table was done last, in one line that the next one takes."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{count.table}: {count.rows:,} rows", err=True, nl=False)


def end_shown() -> None:
    """Clear the line that tells of tables."""
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)


def _elsewhere(database: Database) -> str:
    """A line about files that no backup has, where there are any."""
    with database.read() as session:
        kept = objects.count_moves(session)
    if not kept.files:
        return ""
    return (
        f"\n{kept.files:,} files, {kept.bytes:,} bytes, are in the object store, not in the backup: "
        "keep a copy of the store too."
    )


def _described(made: Backup) -> str:
    return f"{made.rows:,} rows of {len(made.counts)} tables at schema {made.schema}"
