"""`leaderboard db`: the schema of the database."""

from datetime import UTC, datetime
from pathlib import Path

import click
from sqlalchemy import text

from leaderboard.cli.site import data_option, open_database
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.settings import DATABASE_FILE, Settings


@click.group()
def db() -> None:
    """Look after the database."""


@db.command()
@data_option
def upgrade(data: Path | None) -> None:
    """Make or migrate the tables; a SQLite database with data in it is copied first."""
    settings = Settings.from_env(data=data)
    database = open_database(settings)
    try:
        found = schema.current(database)
        if found == schema.head():
            click.echo(f"The database is at schema {found}, the newest; nothing was done.")
            return
        if found is not None and not settings.database_url:
            click.echo(f"Copied the database to {_copy(database, settings)} first.")
        schema.upgrade(database)
        click.echo(f"The database is now at schema {schema.head()} (was {found or 'empty'}).")
    finally:
        database.dispose()


def _copy(database: Database, settings: Settings) -> Path:
    target = settings.data / f"{DATABASE_FILE}.{datetime.now(UTC):%Y%m%dT%H%M%S}.before-upgrade"
    with database.engine.connect() as connection:
        # VACUUM refuses to run inside a transaction, and SQLAlchemy has begun one.
        connection.exec_driver_sql("COMMIT")
        connection.execute(text("VACUUM INTO :target"), {"target": str(target)})
        connection.exec_driver_sql("BEGIN")
    return target
