"""`leaderboard backup` and `leaderboard restore`."""

import sys
from pathlib import Path

import click

from leaderboard.core.cli.site import FILE, data_option, keep_private, open_database, opened
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from leaderboard.site.ops import backups, objects
from leaderboard.site.ops.backups import Backup, TableCount

TARGET = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=TARGET)
@click.option("--no-verify", is_flag=True, help="Skip the test restore to a temporary database")
@data_option
def backup(file: Path, no_verify: bool, data: Path | None) -> None:
    """Back up the whole site to FILE, also while it is running; replaces an existing FILE."""
    with opened(data) as (database, settings):
        keep_private(settings)
        site_backup = backups.back_up(database, file, verify=not no_verify, progress=shown)
        elsewhere = _elsewhere(database)
    checked = "" if no_verify else ", verified by a test restore"
    end_shown()
    click.echo(f"{_described(site_backup)} in {file}{checked}.")
    click.echo(f"SHA-256 {site_backup.sha256}{elsewhere}")


@click.command()
@click.argument("file", type=FILE)
@data_option
def restore(file: Path, data: Path | None) -> None:
    """Restore the site from the backup FILE into an empty database."""
    settings = Settings.from_env(data=data)
    keep_private(settings)
    open_database(settings).dispose()
    site_backup = backups.restore(file, settings.url, progress=shown)
    end_shown()
    database = open_database(settings)
    try:
        click.echo(f"{_described(site_backup)} restored.{_elsewhere(database)}")
    finally:
        database.dispose()


def shown(count: TableCount) -> None:
    """Show the last finished table on a terminal, on a line that the next table overwrites."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{count.table}: {count.rows:,} rows", err=True, nl=False)


def end_shown() -> None:
    """Clear the progress line."""
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)


def _elsewhere(database: Database) -> str:
    """A note about files in the object store, which backups do not contain; empty without any."""
    with database.read() as session:
        kept = objects.count_moves(session)
    if not kept.files:
        return ""
    return (
        f"\n{kept.files:,} files ({kept.bytes:,} bytes) are in the object store and not in this backup. "
        "Back up the store too."
    )


def _described(site_backup: Backup) -> str:
    return f"{site_backup.rows:,} rows of {len(site_backup.counts)} tables at schema {site_backup.schema}"
