"""`leaderboard db`: the database's schema, its state, and a copy of it elsewhere."""

import random
import sys
from pathlib import Path

import click

from leaderboard.cli.backups import end_shown, shown
from leaderboard.cli.site import data_option, keep_private, open_database, opened
from leaderboard.db import files, schema
from leaderboard.db.engine import Database
from leaderboard.services import audit, backups
from leaderboard.services import checks as check_list
from leaderboard.services.checks import Damage, DamageCheck
from leaderboard.settings import Settings


@click.group()
def db() -> None:
    """Look after the database."""


@db.command()
@data_option
def upgrade(data: Path | None) -> None:
    """Make or migrate the tables; a SQLite database with data in it is copied first."""
    settings = Settings.from_env(data=data)
    keep_private(settings)
    database = open_database(settings)
    try:
        found = schema.current(database)
        if found == schema.head():
            click.echo(f"The database is at schema {found}, the newest; nothing was done.")
            return
        schema.require_known(found)
        path = files.file_of(database)
        if found is not None and path is not None:
            click.echo(f"Copied the database to {files.copy_file(database, path)} first.")
        schema.upgrade(database)
        click.echo(f"The database is now at schema {schema.head()} (was {found or 'empty'}).")
    finally:
        database.dispose()


@db.command()
@click.option("--sample", type=click.IntRange(1), help="Look at that many of each kind only, at random.")
@click.option("--scores", is_flag=True, help="Compute all scores again from the rankings, and compare bits.")
@data_option
def check(sample: int | None, scores: bool, data: Path | None) -> None:
    """Look for damage in everything that is stored; exit code 1 and a list where there is any."""
    found: list[Damage] = []
    with opened(data) as (database, _):
        for kind in check_list.all_checks(with_scores=scores):
            found += _damage(database, kind, sample)
        with database.read() as session:
            at = audit.last_backup(session)
    click.echo(f"The last backup is of {at:%Y-%m-%d %H:%M} UTC." if at else "There is no backup yet.")
    for damage in found:
        click.echo(str(damage))
    if found:
        raise click.ClickException(f"{len(found)} damaged. Restore a backup, or see docs/operating.md.")
    click.echo("Nothing is damaged.")


def _damage(database: Database, check: DamageCheck, sample: int | None) -> list[Damage]:
    places = check.places(database)
    if sample is not None and sample < len(places):
        places = random.sample(places, sample)
    with click.progressbar(places, label=f"{check.name} ({len(places):,})", file=sys.stderr) as shown:
        return [damage for place in shown for damage in check.damage(database, place)]


@db.command()
@click.argument("url")
@data_option
def copy(url: str, data: Path | None) -> None:
    """Copy the site's database into the empty one at URL, such as from SQLite to PostgreSQL.

    Make its tables first: run `leaderboard db upgrade` with LEADERBOARD_DATABASE_URL set to URL. Stop the
    site before, as what it stores meanwhile is not copied.
    """
    with opened(data) as (source, _):
        target = Database(url)
        try:
            counts = backups.copy(source, target, progress=shown)
        finally:
            target.dispose()
    end_shown()
    rows = sum(count.rows for count in counts)
    click.echo(f"{rows:,} rows of {len(counts)} tables were copied; the digests of all tables are equal.")
