"""`leaderboard db`: migrate, check and copy the database."""

import os
import random
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import click
from sqlalchemy import text

from leaderboard.core import audit
from leaderboard.core.cli.site import data_option, keep_private, open_database, opened
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.errors import Damaged
from leaderboard.settings import Settings
from leaderboard.site.cli.backups import end_shown, shown
from leaderboard.site.ops import backups
from leaderboard.site.ops import checks as check_list
from leaderboard.site.ops.checks import Damage, DamageCheck


def file_of(database: Database) -> Path | None:
    """Path of the database, according to SQLite; None for PostgreSQL and for a database in memory."""
    if not database.is_sqlite:
        return None
    with database.engine.connect() as connection:
        name = connection.scalar(text("SELECT file FROM pragma_database_list WHERE name = 'main'"))
    return Path(name) if name else None


def copy_file(database: Database, path: Path) -> Path:
    """Copy the database of a file, at one moment, next to it; the copy's path.

    Raises Damaged where the copy is not sound, OSError and sqlite3's errors where it cannot be made; the
    copy has its name only when it is whole.
    """
    target = path.with_name(f"{path.name}.{datetime.now(UTC):%Y%m%dT%H%M%S}.before-upgrade")
    part = target.with_name(f"{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL, 0o600))
        with database.engine.connect() as connection:
            # VACUUM refuses to run inside a transaction, and SQLAlchemy has started one.
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("VACUUM INTO ?", (str(part),))
            connection.exec_driver_sql("BEGIN")
        require_sound(part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target


def require_sound(path: Path) -> None:
    """Raise Damaged, with SQLite's own words, where its integrity check finds anything."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        try:
            messages = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
        except sqlite3.DatabaseError as error:
            messages = [str(error)]
    if messages != ["ok"]:
        raise Damaged(f"{path} is damaged: {'; '.join(messages)}. Restore a backup.")


@click.group()
def db() -> None:
    """Migrate, check and copy the database."""


@db.command()
@data_option
def upgrade(data: Path | None) -> None:
    """Create or migrate the tables; a SQLite database with data is copied first."""
    settings = Settings.from_env(data=data)
    keep_private(settings)
    database = open_database(settings)
    try:
        version = schema.current(database)
        if version == schema.head():
            click.echo(f"The database already has the latest schema, {version}. Nothing to do.")
            return
        schema.require_known(version)
        path = file_of(database)
        if version is not None and path is not None:
            click.echo(f"Copied the database to {copy_file(database, path)} first.")
        schema.upgrade(database)
        click.echo(f"The database is now at schema {schema.head()} (was {version or 'empty'}).")
    finally:
        database.dispose()


@db.command()
@click.option(
    "--sample", type=click.IntRange(1), help="Check only a random sample of this size of each kind."
)
@click.option(
    "--scores", is_flag=True, help="Recompute all scores from the rankings and compare them bit by bit."
)
@data_option
def check(sample: int | None, scores: bool, data: Path | None) -> None:
    """Check all stored data for damage; if any is found, list it and exit with code 1."""
    damages: list[Damage] = []
    with opened(data) as (database, _):
        for kind in check_list.all_checks(with_scores=scores):
            damages += _damage(database, kind, sample)
        with database.read() as session:
            at = audit.last_backup(session)
    click.echo(f"Last backup: {at:%Y-%m-%d %H:%M} UTC." if at else "No backup yet.")
    for damage in damages:
        click.echo(str(damage))
    if damages:
        raise click.ClickException(
            f"{len(damages)} damaged items found. Restore a backup, or see docs/operating.md."
        )
    click.echo("No damage found.")


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
    """Copy the site's database into an empty one at URL, for example from SQLite to PostgreSQL.

    First create its tables: run `leaderboard db upgrade` with LEADERBOARD_DATABASE_URL set to URL. Also stop
    the site first, because data stored during the copy is not copied.
    """
    with opened(data) as (source, _):
        target = Database(url)
        try:
            counts = backups.copy(source, target, progress=shown)
        finally:
            target.dispose()
    end_shown()
    rows = sum(count.rows for count in counts)
    click.echo(f"{rows:,} rows of {len(counts)} tables copied; the digests of all tables match.")
